"""What the page's server has of the widgets: it is often another environment than the kernel's."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["NEEDED", "Served", "from_here", "from_the_server"]

NEEDED = {"anywidget": "anywidget", "ipywidgets": "@jupyter-widgets/jupyterlab-manager"}
"""Packages by the extension that each brings to JupyterLab."""


@dataclass(frozen=True, slots=True)
class Served:
    """What a page gets from an environment.

    Attributes
    ----------
    prefix
        The environment's folder.
    python
        Its interpreter.
    versions
        Of the extensions that were found, by package.
    """

    prefix: Path
    python: Path
    versions: dict[str, str]


def from_the_server() -> Served | None:
    """What the server that started this kernel serves; None when that cannot be told from here."""
    python = _interpreter(os.getppid())
    if python is None or os.environ.get("JPY_PARENT_PID") != str(os.getppid()):
        return None
    prefix = python.parent.parent  # bin/python, Scripts\python.exe
    versions = {name: found for name in NEEDED if (found := _version(name, prefix)) is not None}
    return Served(prefix, python, versions)


def from_here() -> bool:
    """Whether VS Code finds anywidget's code: it takes it from the kernel's environment."""
    return any((place / "nbextensions" / "anywidget").is_dir() for place in _places(sys.prefix))


def _version(name: str, prefix: Path) -> str | None:
    for place in _places(prefix):
        about = place / "labextensions" / NEEDED[name] / "package.json"
        try:
            return str(json.loads(about.read_text("utf-8"))["version"])
        except (OSError, ValueError, KeyError):
            continue
    return None


def _places(prefix: str | Path) -> Iterator[Path]:
    yield Path(prefix) / "share" / "jupyter"
    from jupyter_core import paths  # noqa: PLC0415  # there wherever there is a kernel

    yield Path(paths.jupyter_data_dir())
    yield from map(Path, paths.SYSTEM_JUPYTER_PATH)


def _interpreter(pid: int) -> Path | None:
    """The Python that a process runs, as it was called: that names its environment."""
    if importlib.util.find_spec("psutil") is None:  # IPython brings it, but not every version
        return None
    psutil: Any = importlib.import_module("psutil")
    try:
        process = psutil.Process(pid)
        called = Path(process.cwd()) / process.cmdline()[0]
    except (psutil.Error, IndexError):
        return None
    return called if called.stem.startswith("python") and called.is_file() else None
