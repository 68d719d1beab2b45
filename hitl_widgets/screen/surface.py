"""The notebook's surface: one panel per run, shown where the run was started."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Container
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

from . import deskport
from .panel import RunPanel

__all__ = ["WidgetSurface"]

Context = Callable[[], AbstractContextManager[Any]]


_cell: ContextVar[Context | None] = ContextVar("hitl_cell", default=None)
"""The output of the cell that started this context's run, once `remember_cell` was called."""


def _nothing() -> AbstractContextManager[Any]:
    return nullcontext()


class WidgetSurface:
    """`surface.Surface` made of widgets. What knows the kernel is handed in by the notebook room.

    Parameters
    ----------
    can_ask
        Whether a person can be reached here now; told whether in the background.
    origin
        ``{"notebook", "kernel", "host", "user"}`` as far as known.
    waiting
        A context that keeps the person's messages flowing.
    blocking
        The same for a caller that blocks its thread; None where that cannot be done.
    output_to
        Called where a run starts; returns the context in which its output is shown in that cell.
    display
        Called with a new panel, in the context of its cell, where widgets are not displayed in
        IPython's way; such an output stays as it is and is never swapped for the record.
    """

    def __init__(
        self,
        *,
        can_ask: Callable[[bool], bool],
        origin: Callable[[], dict[str, Any]],
        waiting: Context = _nothing,
        blocking: Callable[[], AbstractContextManager[Any] | None] = lambda: None,
        output_to: Callable[[], Context] = lambda: _nothing,
        display: Callable[[RunPanel], None] | None = None,
    ) -> None:
        self._can_ask = can_ask
        self._origin = origin
        self._waiting = waiting
        self._blocking = blocking
        self._output_to = output_to
        self._display = display
        self._panels: weakref.WeakValueDictionary[str, RunPanel] = weakref.WeakValueDictionary()

    def can_ask(self, *, background: bool = False) -> bool:
        """Whether a person can be reached here now; False means headless."""
        return self._can_ask(background)

    def waiting(self) -> AbstractContextManager[Any]:
        """Keep the person's messages flowing while the caller awaits."""
        return self._waiting()

    def blocking(self) -> AbstractContextManager[Any] | None:
        """Keep the person's messages flowing while the caller's thread is blocked."""
        return self._blocking()

    def screen_of(self, run_id: str) -> RunPanel | None:
        """The run's output, if it has one here."""
        return self._panels.get(run_id)

    def origin(self) -> dict[str, Any]:
        """Where we are, as far as known."""
        return self._origin()

    def remember_cell(self) -> None:
        """Note in which cell a run of this context will be shown."""
        _cell.set(self._output_to())

    def run_started(
        self, *, run_id: str, title: str, store: Any, cancel: Callable[[], None] | None
    ) -> RunPanel:
        """Open the run's one output, or find the one it already has here."""
        panel = self._panels.get(run_id)
        if panel is None or panel.comm is None:  # none yet, or retired
            output = _cell.get() or self._output_to()
            made = functools.partial(
                RunPanel, run_id=run_id, title=title, desk=deskport.desk_of(store), cancel=cancel
            )
            panel = self._shown(made, output)
            self._panels[run_id] = panel
        return panel

    def run_inside(
        self,
        *,
        run_id: str,
        title: str,
        store: Any,
        cancel: Callable[[], None] | None,
        elsewhere: Container[str],
    ) -> RunPanel | None:
        """A panel that is not displayed; None when the run's own is shown here."""
        shown = self._panels.get(run_id)
        if shown is not None and shown.comm is not None:
            return None
        make = functools.partial(
            RunPanel,
            run_id=run_id,
            title=title,
            desk=deskport.desk_of(store),
            cancel=cancel,
            elsewhere=elsewhere,
        )
        if self._display is None:
            panel = make()
        else:
            with (_cell.get() or self._output_to())():  # see `_shown`
                panel = make()
        self._panels[run_id] = panel
        return panel

    def _shown(self, make: Callable[[], RunPanel], output: Context) -> RunPanel:
        if self._display is None:
            panel = make()
            panel.show_in(output)
        else:
            with output():  # made there too: marimo serves a widget's module for a cell
                panel = make()
                self._display(panel)
        return panel
