"""One output per run: what it says and does, and the cards that wait in it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, cast

import traitlets

from ..deciders import settings
from ..events import Chunk
from ..request import Request
from . import deskport
from .card import subscribe
from .compare import comparable
from .hub import HubWidget, locale
from .messages import Ack, Cancel, Decide, DecideAll, Focus, Prepare, RunView, Settle
from .record import RunRecord, record
from .timeline import Timeline
from .views import request_view

__all__ = ["RunPanel"]

FLUSH = 0.05
"""Seconds between redraws while text streams."""

BYTES_PER_SECOND = 200_000
"""A long text is sent again less often, so that it never costs more than this."""

OPEN_STATES = frozenset({"running", "suspended", "budget-paused"})

_logger = logging.getLogger(__name__)


class RunPanel(HubWidget):
    """Shows one run: streamed text, a timeline of tool calls, its cards, `Cancel`.

    Parameters
    ----------
    run_id, title
        The run, and the agent's name; with an empty title only the cards are drawn.
    desk
        Where decisions go.
    cancel
        Called when a person cancels the run; None: it cannot be cancelled here.
    elsewhere
        Ids of requests whose cards stand beside the panel: only their calls are shown in it.

    Attributes
    ----------
    view : dict
        See `screen.messages.RunView`.
    requests : list of dict
        See `screen.messages.RequestView`.
    """

    requests: Any = cast("Any", traitlets.List()).tag(sync=True)

    def __init__(
        self,
        *,
        run_id: str,
        title: str,
        desk: deskport.DeskPort,
        cancel: Callable[[], None] | None = None,
        elsewhere: Container[str] = (),
        **kwargs: Any,
    ) -> None:
        self.run_id = run_id
        self.title = title
        self._desk = desk
        self._cancel = cancel
        self._elsewhere = elsewhere
        self._timeline = Timeline()
        self._shown: dict[str, Request] = {}
        self._views: dict[str, dict[str, Any]] = {}
        self._began = time.monotonic()
        self._started = datetime.now(UTC)
        self._state = "running"
        self._paused = False
        self._text = ""
        self._focused = False
        self._flushing = False
        super().__init__(shows="panel", view=self._run_view(), **kwargs)
        self._unsubscribe = subscribe(desk, self, run_id)

    # -- surface.RunScreen; callable on any thread ---------------------------------------------

    def chunk(self, chunk: Chunk) -> None:
        """Show that something happened."""
        self._soon(lambda: self._guard(lambda: self._take(chunk)))

    def request(self, request: Request) -> None:
        """Show a stored request, or redraw it after a change."""
        self._soon(lambda: self._guard(lambda: self._request(request)))

    def paused(self) -> None:
        """Nobody in a cell waits any more: cards stay open and decidable."""
        self._soon(lambda: self._guard(self._pause))

    def ended(self, state: str, outcome: dict[str, Any]) -> None:
        """Show the end, and freeze to the static record once no one is at work in it."""
        self._soon(lambda: self._guard(lambda: self._end(state, outcome)))

    def show(self, request: Request) -> None:
        """Hear of a change at the desk."""
        if request.run_id == self.run_id or request.id in self._shown:
            self.request(request)

    # -- on the owning loop ---------------------------------------------------------------------

    def _guard(self, do: Callable[[], None]) -> None:
        # A panel that cannot be drawn must not end the run that it shows.
        try:
            do()
        except Exception:
            _logger.exception("The panel of run %s could not be drawn.", self.run_id)

    def _take(self, chunk: Chunk) -> None:
        if self._timeline.add(chunk):
            self._flush_later()

    def show_in(self, output: Callable[[], AbstractContextManager[Any]]) -> None:
        """Display in the cell that `output` stands for.

        Cards alone are displayed with the first of them: what is saved beside them says what is
        asked, and does not change any more until the end.
        """
        self._output = output
        if self.title or self._shown:
            super().show_in(output)

    def _request(self, request: Request) -> None:
        if self._shown.get(request.id) == request:
            return  # told by whoever asked, and by the desk
        first = not self._shown
        self._shown[request.id] = request
        self._timeline.request(request)
        waiting = any(r.state == "pending" for r in self._shown.values())
        if self._state in OPEN_STATES:
            self._state = "suspended" if waiting else "running"
        with self.hold_sync():
            # Only the one that changed: each look for what it can be compared with is a query.
            if request.id not in self._elsewhere:
                self._views[request.id] = request_view(request, compare=comparable(request))
            self.requests = list(self._views.values())
            self._flush()
        if first and not self.title and not self.displayed:
            self.show_in(self._output)

    def _pause(self) -> None:
        self._paused = True
        self._flush()

    def _end(self, state: str, outcome: dict[str, Any]) -> None:
        self._state = state
        self._paused = False
        self._text = str(outcome.get("text") or "")
        self._unsubscribe()
        self._flush()
        self._freeze_if_left()

    def _freeze_if_left(self) -> None:
        if self._state not in OPEN_STATES and not self._focused:
            self.retire()

    def _flush_later(self) -> None:
        loop = self._loop
        if loop is None or loop.is_closed():
            self._flush()
        elif not self._flushing:
            self._flushing = True
            size = len(self._timeline.text)
            loop.call_later(max(FLUSH, size / BYTES_PER_SECOND), self._guard, self._flush)

    def _flush(self) -> None:
        self._flushing = False
        self.view = self._run_view()

    def _run_view(self) -> dict[str, Any]:
        over = self._state not in OPEN_STATES
        view = RunView(
            run_id=self.run_id,
            title=self.title,
            state=self._state,
            items=list(self._timeline.items),
            cancellable=self._cancel is not None and not over,
            paused=self._paused,
            seconds=round(time.monotonic() - self._began, 1) if over else None,
            finish_reason=self._timeline.finish_reason,
            times=self._timeline.times() if over else None,
        )
        return view.model_dump(mode="json")

    async def _handle(self, message: Any) -> Ack:
        match message:
            case Decide() | DecideAll() | Prepare() | Settle():
                told, _ = await deskport.answer(self._desk, message, via="card")
                return told
            case Cancel() if self._cancel is not None:
                self._cancel()
            case Focus(inside=inside):
                self._focused = inside
                self._freeze_if_left()
            case _:
                pass
        return await super()._handle(message)

    # -- the record -------------------------------------------------------------------------------

    def record(self) -> dict[str, str]:
        """What stays in a saved notebook."""
        run = None
        if self.title:
            text = self._text or self._timeline.text
            going = self._started if self._state in OPEN_STATES else None
            run = RunRecord(self.title, self._state, text, self._timeline.calls, going)
        return record(list(self._shown.values()), run, locale=locale(), level=settings().record)
