"""marimo's cells as places for output: it has no IPython, and displays what a cell ends with."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

__all__ = ["display", "output_here"]

# Known at run time only: the package is typed without marimo.
_marimo: Any = importlib.import_module("marimo")
_context: Any = importlib.import_module("marimo._runtime.context")
_types: Any = importlib.import_module("marimo._runtime.context.types")


def output_here() -> Callable[[], AbstractContextManager[Any]]:
    """Remember the cell that runs now, for output that comes later."""
    try:
        execution = _context.get_context().execution_context
    except _types.ContextNotInitializedError:  # a thread that marimo does not know
        return nullcontext

    @contextmanager
    def inside() -> Generator[None]:
        context = _context.get_context()
        before = context.execution_context
        # The cell's own, with what it has shown so far: `append` shows that again.
        context.execution_context = execution
        try:
            yield
        finally:
            context.execution_context = before

    return inside


def display(widget: object) -> None:
    """Show a widget below what the present cell shows; nothing where no cell is known."""
    _marimo.output.append(widget)
