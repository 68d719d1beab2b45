"""marimo's cells as places for output: it has no IPython, and displays what a cell ends with."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

import marimo
from marimo._runtime.context import get_context
from marimo._runtime.context.types import ContextNotInitializedError

__all__ = ["display", "output_here"]


def output_here() -> Callable[[], AbstractContextManager[Any]]:
    """Remember the cell that runs now, for output that comes later."""
    try:
        execution: Any = cast("Any", get_context()).execution_context
    except ContextNotInitializedError:  # a thread that marimo does not know
        execution = None

    @contextmanager
    def inside() -> Generator[None]:
        context = cast("Any", get_context())
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
    cast("Any", marimo).output.append(widget)
