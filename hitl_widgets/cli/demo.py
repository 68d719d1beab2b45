"""``hitl-widgets demo``: the lessons, copied to a folder and opened in JupyterLab."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from .common import FAULT, OK

FIRST = "01_first_approval.ipynb"

_PACKAGE = Path(__file__).resolve().parent.parent


def add_to(commands: Any) -> None:
    """Add the command."""
    demo = commands.add_parser("demo", help="copy the lessons to a folder and open JupyterLab")
    demo.add_argument(
        "folder", nargs="?", default="hitl-lessons", help="where to (default: ./hitl-lessons)"
    )
    demo.add_argument("--no-open", action="store_true", help="copy only")
    demo.set_defaults(run=_demo)


def _lessons() -> Path:
    """In the wheel beside the package's code; in a clone at its top."""
    packed = _PACKAGE / "lessons"
    return packed if packed.is_dir() else _PACKAGE.parent / "notebooks"


def _demo(args: argparse.Namespace) -> int:
    folder = Path(args.folder)
    source = _lessons()
    if not (source / FIRST).is_file():
        print(f"hitl-widgets: the lessons are missing ({source}).", file=sys.stderr)
        return FAULT
    try:
        kept = _copy(source, folder)
    except OSError as e:
        print(f"hitl-widgets: the lessons cannot be copied to {folder}: {e}", file=sys.stderr)
        return FAULT
    print(f"The lessons are in {folder.resolve()}.")
    if kept:
        print(f"Left as they were, since they exist: {', '.join(kept)}.")
    return OK if args.no_open else _open(folder)


def _copy(source: Path, folder: Path) -> list[str]:
    """Copy what is not there yet; what a person may have changed is not overwritten."""
    kept: list[str] = []
    for lesson in sorted(source.rglob("*.ipynb")):
        if ".ipynb_checkpoints" in lesson.parts:
            continue
        name = lesson.relative_to(source)
        target = folder / name
        if target.exists():
            kept.append(str(name))
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(lesson, target)
    return kept


def _open(folder: Path) -> int:
    if importlib.util.find_spec("jupyterlab") is None:
        print(
            "JupyterLab is not installed here: pip install jupyterlab ipykernel, "
            "then: hitl-widgets demo",
            file=sys.stderr,
        )
        return FAULT
    command = [sys.executable, "-m", "jupyterlab", str(folder / FIRST)]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.append("--allow-root")
    return _until_it_ends(command)


def _until_it_ends(command: list[str]) -> int:
    """Run JupyterLab. Ctrl-C reaches it too: it asks, and shuts its kernels down before it ends."""
    with subprocess.Popen(command) as lab:  # noqa: S603  # our own interpreter
        while True:
            try:
                return lab.wait()
            except KeyboardInterrupt:
                continue
