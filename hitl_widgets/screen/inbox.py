"""Every request that waits in a store, wherever it was asked."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import traitlets

from ..deciders import settings, store_of
from ..decisions import default_reviewer
from ..desk import Desk, desk_of
from ..errors import HitlError, RequestNotFound, SnapshotNotFound
from ..request import WAITING, Decision, Request
from ..store import Store
from ..store.base import Search
from ..surface import Surface
from . import deskport
from .alike import approvable, check_alike, likeness
from .compare import comparable
from .hub import SESSION, HubWidget, locale
from .inbox_messages import (
    Grants,
    Idle,
    InboxView,
    Look,
    Open,
    OutcomeDoc,
    Revoke,
    Rows,
    RowsDoc,
    RunRef,
)
from .messages import Ack, Decide, DecideAll, DecideEach, Looked, Prepare, Settle, Shown
from .panel import OPEN_STATES, RunPanel
from .record import inbox_record
from .rows import grant_doc, row_view, search_of, tally_of
from .views import request_doc, request_view, text

__all__ = ["Inbox"]

REDRAW = 0.1
"""Seconds for which changes are gathered before the page hears of them."""

AT_ONCE = 3
"""So few requests are opened from the start: whoever has one to decide need not look for it."""

SWEEP = 5.0
"""Seconds between looks for processes that died and requests whose time is over."""

_logger = logging.getLogger(__name__)


_DECIDED = frozenset({"approved", "answered", "responded", "declined"})


class _Read(NamedTuple):
    """What an inbox reads of its store when something changed."""

    waiting: int
    unknown: int
    opened: list[Request]
    idle: dict[str, Idle]
    ended: dict[str, tuple[str, Any]]
    """State and outcome of runs whose panels do not know it yet."""


class Inbox(HubWidget):
    """A live list of everything that waits in a store; a row opens to the whole card.

    The page asks for the rows that are in view. What is opened is drawn from `requests`.

    Parameters
    ----------
    desk
        Where decisions go, and whose store is shown; None: the desk on the configured store.
    shown
        Where runs that are driven on here get their panels; None: they get none.

    Attributes
    ----------
    view : dict
        See `screen.inbox_messages.InboxView`.
    requests : list of dict
        What is opened: see `screen.messages.RequestView`.
    """

    requests: Any = cast("Any", traitlets.List()).tag(sync=True)

    def __init__(
        self, *, desk: Desk | None = None, shown: Surface | None = None, **kwargs: Any
    ) -> None:
        desk = desk_of(store_of()) if desk is None else desk
        self._desk = desk
        self._surface = shown
        # A panel under a row is made in the inbox's own cell, whatever runs when it is needed.
        self._here = contextvars.copy_context()
        if shown is not None:
            self._here.run(shown.remember_cell)
        self._opened = _first(desk)
        self._panels: dict[str, RunPanel] = {}
        self._version = 0
        self._refreshing = False
        super().__init__(
            shows="inbox",
            view=self._view(*self._counted(), self._idle(list(self._opened.values()))),
            requests=self._opened_views(),
            **kwargs,
        )
        self._unsubscribe = _heed(desk, self)
        if self._loop is not None:
            _sweep_again(self._loop, weakref.ref(self))

    # -- keeping up with the store ----------------------------------------------------------------

    def changed(self) -> None:
        """Hear that something in the store changed."""
        self._soon(self._refresh_soon)

    def _refresh_soon(self) -> None:
        loop = self._loop
        if loop is None or loop.is_closed():
            self._redraw(self._read())
        elif not self._refreshing:
            self._refreshing = True
            loop.call_later(REDRAW, lambda: self._on_own_loop(self._refresh))

    async def _refresh(self) -> None:
        self._refreshing = False
        try:
            self._redraw(await self._desk.read(self._read))
        except HitlError:  # the page keeps what it shows; the next change tries again
            _logger.exception("The inbox could not read its store.")

    def _read(self) -> _Read:
        store = self._desk.store
        opened = [found for id_ in list(self._opened) if (found := _found(store, id_))]
        return _Read(*self._counted(), opened, self._idle(opened), self._runs_that_ended())

    def _idle(self, requests: list[Request]) -> dict[str, Idle]:
        """Those that are decided while nobody acts on it."""
        return {r.id: idle for r in requests if (idle := idle_of(self._desk, r)) is not None}

    def _runs_that_ended(self) -> dict[str, tuple[str, Any]]:
        """State and outcome of runs whose panels do not know it yet."""
        ended: dict[str, tuple[str, Any]] = {}
        for run_id, panel in list(self._panels.items()):
            if panel.view["state"] in OPEN_STATES:
                # One whose run was taken over, and ended, by another process; or was pruned.
                with suppress(SnapshotNotFound):
                    run = self._desk.store.run(run_id)
                    if run.state not in OPEN_STATES:
                        ended[run_id] = (run.state, run.outcome)
        return ended

    def _counted(self) -> tuple[int, int]:
        store = self._desk.store
        waiting, unknown = (store.search(Search((state,)), limit=0).total for state in WAITING)
        return waiting, unknown

    def _redraw(self, read: _Read) -> None:
        for run_id, (state, outcome) in read.ended.items():
            panel = self._panels.get(run_id)
            if panel is not None:
                panel.ended(state, outcome or {})
        self._opened.update({r.id: r for r in read.opened if r.id in self._opened})
        self._version += 1
        with self.hold_sync():
            self._draw_opened()
            self.view = self._view(read.waiting, read.unknown, read.idle)

    def _draw_opened(self) -> None:
        self.requests = self._opened_views()

    def _opened_views(self) -> list[dict[str, Any]]:
        return [
            request_view(request, compare=comparable(request)) for request in self._opened.values()
        ]

    def _view(self, waiting: int, unknown: int, idle: dict[str, Idle]) -> dict[str, Any]:
        runs = [
            RunRef(run_id=run_id, panel=f"anywidget:{panel.model_id}")
            for run_id, panel in self._panels.items()
            if panel.comm is not None
        ]
        return InboxView(
            store=_at_home(self._desk.store.location),
            version=self._version,
            waiting=waiting,
            unknown=unknown,
            runs=runs,
            idle=idle,
        ).model_dump(mode="json")

    # -- what the page asks -----------------------------------------------------------------------

    async def _handle(self, message: Any) -> Ack:
        match message:
            case Decide() | DecideAll() | Settle():
                return await self._act(message)
            case Prepare():
                told, _ = await deskport.answer(self._desk, message, via="inbox")
                return told
            case _:
                more = await self._answers(message)
                return Ack(type="ack", id=message.id, session=SESSION, **more)

    async def _answers(self, message: Any) -> dict[str, Any]:
        """What the answer to a message holds beside its id."""
        desk = self._desk
        match message:
            case Rows():
                return {"rows": await self._rows(message)}
            case Look(request_ids=ids):
                return {"looked": await self._look(ids)}
            case DecideEach():
                return {"outcomes": await self._decide_each(message)}
            case Grants():
                return {"grants": [grant_doc(g) for g in await desk.read(desk.store.grants)]}
            case Revoke(grant_id=grant_id):
                await desk.read(desk.revoke, grant_id, default_reviewer(), via="inbox")
            case Open():
                await self._open(message)
            case _:
                pass
        return {}

    async def _rows(self, message: Rows) -> RowsDoc:
        desk, search = self._desk, search_of(message.search)
        found = await desk.read(
            desk.store.search, search, limit=message.limit, offset=message.offset
        )
        counted = await desk.read(desk.store.tally, search.states) if message.tally else None
        return RowsDoc(
            total=found.total,
            rows=[row_view(request) for request in found.requests],
            tally=None if counted is None else tally_of(counted),
        )

    async def _look(self, ids: list[str]) -> list[Looked]:
        store = self._desk.store
        found = await self._desk.read(lambda: [_found(store, id_) for id_ in ids])
        return [
            Looked(
                view=request_doc(request),
                alike=likeness(request),
                together=approvable(request),
            )
            for request in found
            if request is not None
        ]

    async def _open(self, message: Open) -> None:
        if message.open:
            self._opened[message.request_id] = await self._desk.look_up(message.request_id)
        else:
            self._opened.pop(message.request_id, None)
            self._dismiss_ended()
        self._draw_opened()

    # -- deciding ---------------------------------------------------------------------------------

    async def _act(self, message: Decide | DecideAll | Settle) -> Ack:
        ids = (
            [shown.request_id for shown in message.requests]
            if isinstance(message, DecideAll)
            else [message.request_id]
        )
        hosted = [await self._host(await self._desk.look_up(id_)) for id_ in ids]
        try:
            told, _ = await deskport.answer(self._desk, message, via="inbox")
        except BaseException:
            for panel in hosted:
                self._dismiss(panel)
            raise
        return told

    async def _decide_each(self, message: DecideEach) -> list[OutcomeDoc]:
        store = self._desk.store
        ids = [shown.request_id for shown in message.requests]
        found = await self._desk.read(lambda: {id_: _found(store, id_) for id_ in ids})
        if message.decision.verdict == "approve":
            check_alike([request for request in found.values() if request is not None])
        decision = deskport.decision_of(message.decision)
        return [
            await self._decide_one(shown, found[shown.request_id], decision)
            for shown in message.requests
        ]

    async def _decide_one(
        self, shown: Shown, request: Request | None, decision: Decision
    ) -> OutcomeDoc:
        """Decide one of several; what stands in its way is told and stops no other."""
        told = {
            "request_id": shown.request_id,
            "tool": "?" if request is None else text(request.tool_name),
            "fingerprint": shown.fingerprint,
            "agent": "" if request is None else text(request.agent_id),
        }
        hosted = None if request is None else await self._host(request)
        try:
            receipt = await self._desk.decide(
                shown.request_id, decision, fingerprint=shown.fingerprint, via="inbox"
            )
        except HitlError as e:
            self._dismiss(hosted)
            words = str(e)
            return OutcomeDoc(**told, state=None, code=type(e).__name__, words=words, idle=None)
        decided = await self._desk.look_up(shown.request_id)
        idle = await self._desk.read(idle_of, self._desk, decided)
        return OutcomeDoc(**told, state=receipt.state, idle=idle)

    async def _host(self, request: Request) -> RunPanel | None:
        """A panel under the row for a run that will be driven on here, if it has none yet."""
        desk = self._desk
        expert = await desk.read(desk.driver_here, request.run_id, request.agent_id)
        if expert is None or expert.title is None or self._surface is None:
            return None
        run_id = request.run_id
        panel = self._here.run(
            self._surface.run_inside,
            run_id=run_id,
            title=expert.title,
            store=desk.store,
            cancel=lambda: expert.cancel(run_id),
            elsewhere=self._opened,
        )
        if not isinstance(panel, RunPanel):
            return None
        self._panels[run_id] = panel
        return panel

    def _dismiss_ended(self) -> None:
        """Panels of runs that have ended go with the last row of theirs."""
        opened = {request.run_id for request in self._opened.values()}
        for panel in list(self._panels.values()):
            if panel.view["state"] not in OPEN_STATES and panel.run_id not in opened:
                self._dismiss(panel)

    def _dismiss(self, panel: RunPanel | None) -> None:
        """Take a panel away whose run does not go on here after all."""
        if panel is not None:
            self._panels.pop(panel.run_id, None)
            panel.close()

    # -- the record -------------------------------------------------------------------------------

    def record(self) -> dict[str, str]:
        """What stays in a saved notebook: the first of what waits, and how many more there are."""
        return inbox_record(self._desk.store, locale=locale(), level=settings().record)

    # -- the dead ---------------------------------------------------------------------------------

    async def sweep(self) -> None:
        """Have the store tell of processes that died and of requests whose time is over."""
        try:
            await self._desk.write(self._desk.store.sweep)
        except HitlError:  # the store is busy or read-only: the next sweep tries again
            _logger.exception("The inbox could not look for dead processes in its store.")


def _found(store: Store, request_id: str) -> Request | None:
    """A request, or None when it was pruned meanwhile."""
    try:
        return store.request(request_id)
    except RequestNotFound:
        return None


def idle_of(desk: Desk, request: Request) -> Idle | None:
    """Who has to act on a decision that nobody acts on; None where somebody does, or none is due.

    A decision is recorded and runs nothing by itself (R21).
    """
    if request.state not in _DECIDED:
        return None
    try:
        run = desk.store.run(request.run_id)
    except SnapshotNotFound:
        return None
    driven = run.id in desk.drivers or desk.store.driver_alive(run)
    if run.state not in OPEN_STATES or driven or desk.driver_here(run.id, request.agent_id):
        return None
    return "agent" if run.kind == "agent" else "again"


def _at_home(location: str) -> str:
    """A path as people write it: no inbox, and no picture of one, need tell whose home it is in."""
    path = Path(location)
    with suppress(RuntimeError, ValueError):  # nobody's home is known, or it is elsewhere
        return str(Path("~") / path.relative_to(Path.home()))
    return location


def _first(desk: Desk) -> dict[str, Request]:
    """What is opened from the start: everything, where only a few things wait."""
    found = desk.store.search(Search(WAITING), limit=AT_ONCE)
    return {r.id: r for r in found.requests} if found.total <= AT_ONCE else {}


def _heed(desk: Desk, inbox: Inbox) -> Callable[[], None]:
    """Let an inbox hear of changes for as long as it lives, without keeping it alive."""
    ref = weakref.ref(inbox)

    def heard() -> None:
        alive = ref()
        if alive is None:
            stop()
        else:
            alive.changed()

    stop = desk.heed(heard)
    return stop


def _sweep_again(loop: asyncio.AbstractEventLoop, ref: weakref.ref[Inbox]) -> None:
    def sweep() -> None:
        inbox = ref()
        if inbox is not None and inbox.comm is not None:
            _tasks.add(task := loop.create_task(inbox.sweep()))
            task.add_done_callback(_tasks.discard)
            _sweep_again(loop, ref)

    loop.call_later(SWEEP, sweep)


_tasks: set[asyncio.Task[None]] = set()
"""A loop holds its tasks weakly."""
