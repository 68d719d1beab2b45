"""Cards: when they can be seen, what a saved notebook holds, what a thousand of them leave.

``python -m tests.bench.bench_screen``

In a real JupyterLab on this machine; the figures to keep are those of the design: the first card
700 ms after its cell runs, later ones 150 ms, a megabyte of arguments 1 s. Run it on a quiet
machine.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.browser.lab import running_lab
from tests.browser.notebook import Notebook
from tests.browser.session import LabSession, lab_session, running_chromium

FIRST_MS, LATER_MS, LARGE_MS = 700, 150, 1000
LATER = 10

DEFINE = """
import asyncio
import hitl_widgets as hitl

@hitl.require_approval
async def send(value: str | dict[str, str], number: int = 0) -> int:
    return number
"""
CELL = "asyncio.ensure_future(send('hello', {number}));"
LARGE = {
    "in lines": "'0123456789 abcdefghijklmnopqrst\\n' * 32_768",
    "in one line": "'x' * 1_048_576",
    "with hidden characters": "'pay\\u200bme ' * 100_000",
    "in ten thousand keys": "{f'key_{i}': 'v' * 90 for i in range(10_000)}",
}
LARGE_CELL = "asyncio.ensure_future(send({value}));"

# From the moment the cell is started to the first frame that has one card more.
APPEARS = """async ([path, index]) => {
  const before = document.querySelectorAll(".hitl-root .card").length;
  const from = performance.now();
  const shown = new Promise((resolve) => {
    const look = () => {
      const cards = document.querySelectorAll(".hitl-root .card");
      if (cards.length > before) resolve(performance.now() - from);
      else requestAnimationFrame(look);
    };
    look();
  });
  await harness.start(path, "notebook:run-cell", index);
  return shown;
}"""


def main() -> None:
    """Measure, and print."""
    sys.stdout.write("{:52} {:>12} {:>12}\n".format("what", "measured", "at most"))
    folder = Path(tempfile.mkdtemp(prefix="hitl-bench-"))
    with running_lab(folder) as server, running_chromium() as browser:
        for row in measure(lab_session(server, browser)):
            sys.stdout.write("{:52} {:>12} {:>12}\n".format(*row))
            sys.stdout.flush()


def measure(lab: LabSession) -> Iterator[tuple[str, str, str]]:
    """Open cards one after the other in one notebook."""
    large = [LARGE_CELL.format(value=value) for value in LARGE.values()]
    cells = [DEFINE, *(CELL.format(number=n) for n in range(LATER + 1)), *large]
    notebook = lab.open("bench", cells)
    notebook.run(0)
    notebook.wait_done()
    lab.wire.reset()
    yield "the first card, with the bundle", ms(appears(lab, notebook, 1)), ms(FIRST_MS)
    first = sum(lab.wire.received.values())
    lab.wire.reset()
    later = [appears(lab, notebook, n) for n in range(2, LATER + 2)]
    each = sum(lab.wire.received.values()) / LATER
    yield "a later card, median", ms(statistics.median(later)), ms(LATER_MS)
    yield "a later card, slowest", ms(max(later)), ""
    yield "received for the first card", f"{first / 1000:.0f} kB", "325 kB"
    yield "received for a later card", f"{each / 1000:.1f} kB", ""
    for n, how in enumerate(LARGE, LATER + 2):
        yield f"1 MB of arguments, {how}", ms(appears(lab, notebook, n)), ms(LARGE_MS)
    began = time.perf_counter()
    saved = notebook.save()
    yield "the notebook while all of them wait", kilo(notebook), "100 kB"
    assert "widgets" not in saved.metadata
    yield "saving it", ms((time.perf_counter() - began) * 1000), ""


def appears(lab: LabSession, notebook: Notebook, index: int) -> float:
    """Milliseconds until the card of the cell `index` is drawn."""
    shown = float(lab.page.evaluate(APPEARS, [notebook.name, index]))
    notebook.wait_done()
    return shown


def ms(number: float) -> str:
    return f"{number:.0f} ms"


def kilo(notebook: Notebook) -> str:
    return f"{notebook.path.stat().st_size / 1000:.0f} kB"


if __name__ == "__main__":
    main()
