"""Where a question is shown: in an output of its own, or in that of the run it belongs to."""

from __future__ import annotations

from typing import Any

from ..desk import Desk
from ..errors import SnapshotNotFound
from ..events import Chunk
from ..request import Request
from ..surface import RunScreen, Surface
from .question import Under


async def screen_of(shown: Surface, run_id: str, under: Under | None, desk: Desk) -> RunScreen:
    """A question's screen.

    Parameters
    ----------
    run_id
        The question's own run.
    under
        The run that it belongs to: its output is taken if it has one here.
    """
    store = desk.store
    if under is None or shown.screen_of(under.run_id) is None or not await _keeps(desk, under):
        return shown.run_started(run_id=run_id, title="", store=store, cancel=None)
    return _Lent(shown.run_started(run_id=under.run_id, title="", store=store, cancel=None))


async def _keeps(desk: Desk, under: Under) -> bool:
    """Whether that run is in this store: its panel decides on its own store only."""
    try:
        await desk.read(desk.store.run, under.run_id)
    except SnapshotNotFound:
        return False
    return True


class _Lent:
    """`surface.RunScreen` of another run: what ends with this question is not that run."""

    def __init__(self, screen: RunScreen) -> None:
        self._screen = screen

    def chunk(self, chunk: Chunk) -> None:
        """Show it there."""
        self._screen.chunk(chunk)

    def request(self, request: Request) -> None:
        """Show it there."""
        self._screen.request(request)

    def paused(self) -> None:
        """Say nothing of the run."""

    def ended(self, state: str, outcome: dict[str, Any]) -> None:
        """Say nothing of the run."""
