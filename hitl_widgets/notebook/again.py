"""A cell that is run again shows another inbox: the one before it stops listening."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from . import kernel


class _Shown(NamedTuple):
    """What one execution of a cell has displayed."""

    execution: str
    widgets: weakref.WeakSet[Any]


class Replacing:
    """Hears of every widget that is displayed, and closes what a cell displayed when it ran before.

    Only inboxes: they live until they are closed. What is displayed outside of a cell, or in a
    front end that names no cells, stays.
    """

    def __init__(self) -> None:
        self._cells: dict[str, _Shown] = {}

    def displayed(self, widget: Any) -> None:
        """Note it; close those of the cell's earlier execution."""
        cell, parent = kernel.cell_id(), kernel.current_parent()
        if widget.shows != "inbox" or cell is None or parent is None:
            return
        execution = parent["header"]["msg_id"]
        before = self._cells.get(cell)
        if before is None or before.execution != execution:
            self._cells[cell] = _Shown(execution, weakref.WeakSet())
        self._cells[cell].widgets.add(widget)
        if before is not None and before.execution != execution:
            for other in before.widgets:
                if not any(other in shown.widgets for shown in self._cells.values()):
                    other.close()
