"""Sum JUnit reports into one line, ``N passed, N failed``; exit 1 if anything failed."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree as ET


def count(report: Path) -> tuple[int, int]:
    """Return (passed, failed) of one report; an unreadable report counts as one failure."""
    try:
        root = ET.parse(report).getroot()  # noqa: S314 - our own test run wrote it
    except (OSError, ET.ParseError) as error:
        print(f"No readable test report at {report}: {error}")
        return 0, 1
    cases = list(root.iter("testcase"))
    bad = sum(1 for case in cases if {child.tag for child in case} & {"failure", "error"})
    skipped = sum(1 for case in cases if "skipped" in {child.tag for child in case})
    if skipped:
        print(f"{report}: {skipped} skipped")
    return len(cases) - bad - skipped, bad


def main(reports: list[str]) -> int:
    """Print the sum over `reports`, each of which must exist."""
    counts = [count(Path(report)) for report in reports]
    passed, failed = (sum(column) for column in zip(*counts, strict=True))
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
