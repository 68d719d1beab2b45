"""Whoever puts requests at the desk and waits for them: what a verb and a framework's run share.

A waiter drives one run. It asks the scripted reviewer in force beside the people who look at a
screen, and is woken by every decision, made in this process or in another.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from . import deciders, surface
from .desk import Desk, desk_of
from .errors import OutcomeUnknown
from .request import Call, Receipt, Request, Run, new_id, to_doc, utc
from .store import Store
from .store.base import NewCall


class Waiter:
    """Somebody of this process who waits for what is decided about one run.

    Parameters
    ----------
    store
        A path, a store, or None for the configured default.

    Attributes
    ----------
    token
        The lease of the run that it drives.
    reviewer
        The scripted reviewer that is asked beside people, or None.
    shown
        What shows requests here, or None.

    Raises
    ------
    AgentDefinitionError
        The administrator's file cannot be understood: nothing is asked then (R5).
    """

    def __init__(self, store: Any) -> None:
        deciders.settings()
        self.store: Store = deciders.store_of(store)
        self.desk: Desk = desk_of(self.store)
        self.token = new_id("l")
        self.reviewer = deciders.in_force()
        self.shown = surface.current()
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._consulting: set[asyncio.Task[None]] = set()
        self._problem: Exception | None = None

    @property
    def origin(self) -> dict[str, Any]:
        """Where it asks from, as far as known."""
        return {} if self.shown is None else self.shown.origin()

    # -- the run

    def _new_run(self, kind: Literal["agent", "verb"], agent_id: str, **more: Any) -> Run:
        """A run that this process drives."""
        now = utc(time.time())
        origin = self.origin
        return Run(
            id=new_id("run"),
            kind=kind,
            agent_id=agent_id,
            state="running",
            created_at=now,
            updated_at=now,
            notebook=origin.get("notebook"),
            owner=self.store.owner,
            token=self.token,
            origin=origin,
            **more,
        )

    async def _open_run(self, run: Run, **with_it: Any) -> Run:
        """Store a run; with a key, the unfinished one that the key already names (R22)."""
        if run.key is not None:
            await self.desk.write(self.store.sweep)
        return await self.desk.write(self.store.open_run, run, **with_it)

    @contextmanager
    def _driving(self, run_id: str) -> Generator[None]:
        """Hear of what is decided about a run; nobody is consulted any more once that ends."""
        stop = self.desk.watch()
        self.desk.drivers[run_id] = self._wake
        try:
            yield
        finally:
            for task in list(self._consulting):
                on_loop(task.get_loop(), task.cancel)
            self.desk.drivers.pop(run_id, None)
            stop()

    # -- consulting

    def _put_to_reviewer(self, request: Request) -> None:
        if self.reviewer is not None:
            task = asyncio.ensure_future(self._consult(self.reviewer, request))
            self._consulting.add(task)
            task.add_done_callback(self._consulting.discard)

    async def _consult(self, decide: deciders.Decide, request: Request) -> None:
        try:
            await deciders.consult_at(self.desk, decide, request)
        except Exception as e:  # noqa: BLE001  # raised to whoever waits: nothing was decided
            self._problem = e
            self._wake()

    # -- waiting

    @contextmanager
    def _listening(self) -> Generator[asyncio.Event]:
        """An event of this loop that is set by every change; clear it before looking."""
        mine = (asyncio.get_running_loop(), asyncio.Event())
        self._waiters.add(mine)
        try:
            yield mine[1]
        finally:
            self._waiters.discard(mine)

    def _wake(self) -> None:
        """Have everybody who listens look again. Called on any thread."""
        for loop, event in list(self._waiters):
            on_loop(loop, event.set)

    async def _wait(self, changed: asyncio.Event, latest: Mapping[str, Request]) -> None:
        """Until something changes; what is over by then is swept."""
        due = [r.expires_at.timestamp() for r in latest.values() if r.expires_at is not None]
        left = max(0.0, min(due) - time.time()) + 0.01 if due else None
        if any(r.state == "executing" for r in latest.values()):
            left = 1.0  # the death of the process that runs it is no event
        try:
            await asyncio.wait_for(changed.wait(), left)
        except TimeoutError:
            await self.desk.write(self.store.sweep)


def on_loop(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
    """Call it on the loop, from any thread; a loop that has gone waits for nothing."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function)


# -- values ----------------------------------------------------------------------------------------


def waiting_call(
    request: Request, args: dict[str, Any], *, index: int = 0, provider_id: str | None = None
) -> NewCall:
    """A request about a call, together with the call: it waits for the decision.

    Parameters
    ----------
    args
        What would run, secrets in clear.
    index
        Its place among the calls of its turn.
    provider_id
        The model provider's own id of the call.
    """
    call = Call(
        id=request.tool_call_id,
        run_id=request.run_id,
        tool_name=request.tool_name,
        args=args,
        state="waiting",
        frame=request.run_id,
        turn=request.turn or request.run_id,
        index=index,
        provider_id=provider_id,
        permission="ask",
        evaluation=request.evaluation,
    )
    columns = ("tool_name", "kind", "fingerprint", "agent_id")
    template = {**to_doc(request), **{name: getattr(request, name) for name in columns}}
    return NewCall(call, {**template, "preview": None}, request)


def plain(value: Any) -> Any:
    """Any value as JSON, for the record; what has no form is told by its ``repr``."""
    try:
        return to_jsonable_python(value, fallback=repr, inf_nan_mode="strings")
    except Exception:  # noqa: BLE001  # bytes that are no text, a ring, a repr that fails
        return _words(value)


def _words(value: Any) -> str:
    try:
        return repr(value)
    except Exception:  # noqa: BLE001
        return f"a {type(value).__qualname__} that has no form"


def receipt_of(request: Request | None) -> Receipt | None:
    """The receipt of a decided request; None when nobody decided it."""
    if request is None or request.decided_at is None:
        return None
    return Receipt(
        request_id=request.id,
        state=request.state,
        reviewer=request.reviewer or "",
        identity_source=request.identity_source or "",
        via=request.via or "",
        decided_at=request.decided_at,
    )


def names_of(requests: Sequence[Request]) -> str:
    """Requests by tool and id, for an error."""
    return ", ".join(f"{r.tool_name} ({r.id})" for r in requests)


def outcome_unknown(requests: Sequence[Request]) -> OutcomeUnknown:
    """The error for calls that a process which died had started (R13)."""
    return OutcomeUnknown(
        f"{names_of(requests)}: approved and started, and nobody knows how it ended. Look, then: "
        "await hitl.settle(request, 'happened' | 'run_again' | 'give_up'), and run this again."
    )
