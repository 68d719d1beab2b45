"""Put the ipykernel versions that the kernel tests need beside the environment's own.

Usage: python scripts/kernels.py [VERSION ...]

Each version gets a folder `.cache/kernels/<version>` without its dependencies, which the
environment has; a test selects one by PYTHONPATH. A folder that is complete is left alone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "kernels"

VERSIONS = ("6.31.0", "7.3.0", "7.4.0")
"""The last ipykernel 6, the last 7 that keeps clicks until the cell ends, the one we ship with."""

OLD_VERSIONS = ("6.17.1", "6.29.5", "7.0.1", "7.1.0", "7.2.0")
"""Tested by `make test-all` only. 6.17.1 is Colab's."""


def folder(version: str) -> Path:
    """Return the folder of one version, installed on the first call."""
    target = CACHE / version
    if not target.is_dir():
        _install(version, target)
    return target


def _install(version: str, target: Path) -> None:
    packages = [f"ipykernel=={version}"]
    if version.startswith("6."):
        packages.append("nest_asyncio")  # a dependency of ipykernel 6 only
    unfinished = target.with_name(f"{version}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    subprocess.run([*command, "--target", str(unfinished), *packages], check=True)
    unfinished.rename(target)


def main() -> None:
    """Install the versions named on the command line, or those the tests need."""
    for version in sys.argv[1:] or VERSIONS:
        print(f"ipykernel {version}: {folder(version)}")


if __name__ == "__main__":
    main()
