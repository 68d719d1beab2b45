"""One run of another framework's agent: opening, showing, waiting, the one claim, the end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, cast

from pydantic_core import to_jsonable_python

from .. import deciders, surface
from ..desk import Desk, desk_of
from ..errors import (
    AlreadyDecided,
    Declined,
    Expired,
    LeaseLost,
    NoReviewer,
    OutcomeUnknown,
    RunSuspended,
    StaleFingerprint,
    ToolChanged,
    Withdrawn,
)
from ..events import chunk
from ..fingerprint import Fingerprint, digest, fingerprint
from ..request import (
    Call,
    Request,
    Run,
    RunState,
    new_id,
    utc,
)
from ..store import open_store
from ..store.base import NewCall
from .asking import (
    BLOCKED,
    CHECKS,
    DECLINED,
    EXPIRED,
    MAX_DECLINES,
    Ask,
    Check,
    bound_to,
    names_of,
    new_call,
    plain,
    receipt_of,
    words_of,
)


class External:
    """One run of another framework's agent.

    Parameters
    ----------
    agent_id
        ``"<framework>:<name>"``: the colon keeps it apart from the ids of our own agents.
    title
        The agent's name, for the panel.
    prompt
        What the run is about: JSON. With a key, another prompt is another run (R22), and None
        is whichever run the key names.
    key
        Names the run, so that running the cell again goes on with it.
    resumable
        Whether what waits outlives this process.
    """

    def __init__(
        self,
        *,
        agent_id: str,
        title: str,
        prompt: Any,
        key: str | None = None,
        resumable: bool = False,
        thread_id: str | None = None,
        store: Any = None,
    ) -> None:
        self.agent_id = agent_id
        self.title = title
        self.prompt = to_jsonable_python(prompt, fallback=repr)
        self.key = key
        self.resumable = resumable
        self.thread_id = thread_id
        given = deciders.settings().store if store is None else store
        self.store = open_store(given)
        self.desk: Desk = desk_of(self.store)
        self.token = new_id("l")
        self.reviewer = deciders.in_force()
        self.shown = surface.current()
        self.asking = self.shown is not None and self.shown.can_ask()
        if self.reviewer is None and not self.asking:
            headless = deciders.settings().headless
            self.reviewer = deciders.decline_all if headless == "decline" else None
        self.screen: surface.RunScreen | None = None
        self.run: Run | None = None
        self._waiters: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._consulting: set[asyncio.Task[None]] = set()
        self._problem: Exception | None = None
        self._cancel_asked = False
        self._task: asyncio.Task[Any] | None = None
        self._ended = False
        self._checked: list[str] = []

    # -- beginning

    @property
    def id(self) -> str:
        """The run's id."""
        assert self.run is not None
        return self.run.id

    async def begin(self, frame: Any = None) -> Any:
        """Open the run; returns the frame of an unfinished one of the same key, else None.

        Raises
        ------
        RunSuspended
            The key's run waits for a human with another prompt (R15), or somebody else waits
            for it.
        """
        shown = self.shown
        origin = shown.origin() if shown is not None else {}
        now = utc(time.time())
        run = Run(
            id=new_id("run"),
            kind="agent",
            agent_id=self.agent_id,
            state="running",
            created_at=now,
            updated_at=now,
            key=self.key,
            key_digest=None if self.key is None else digest(self.prompt),
            thread_id=self.thread_id,
            notebook=origin.get("notebook"),
            resumable=self.resumable,
            owner=self.store.owner,
            token=self.token,
            origin={**origin, "prompt": words_of(self.prompt)},
        )
        if self.key is not None:
            await self.desk.write(self.store.sweep)
        frames = None if frame is None else {run.id: frame}
        stored = await self.desk.write(self.store.open_run, run, frames=frames)
        self.run = stored
        if stored.id == run.id:
            return None
        await self._same_prompt(stored, run)
        await self._adopt(stored)
        if not self._means(stored, run):
            await self.end("cancelled", {"why": "another prompt took its place"})
            self._ended = False
            return await self.begin(frame)
        return await self.desk.read(self.store.frame, stored.id)

    def _means(self, stored: Run, mine: Run) -> bool:
        """Whether an unfinished run is what the caller asks for: None is whatever waits."""
        return self.prompt is None or stored.key_digest == mine.key_digest

    async def _same_prompt(self, stored: Run, mine: Run) -> None:
        if self._means(stored, mine):
            return
        states = ("pending", "approved", "answered", "responded", "executing", "outcome_unknown")
        waiting = await self.desk.read(self.store.requests, run_id=stored.id, states=states)
        if waiting:
            raise RunSuspended(
                f"{self.title} waits for a human under {self.key!r}: {names_of(waiting)}, asked by "
                f"{stored.origin.get('prompt')!r}. {mine.origin['prompt']!r} would drop that. "
                "Decide it (hitl.inbox()) and run the earlier prompt again, or use another key or "
                "thread.",
                waiting,
            )

    async def _adopt(self, run: Run) -> None:
        kept = _parked.pop((id(self.store), run.id), None)
        if kept is not None:
            self.token = kept
            return
        try:
            self.run = await self.desk.write(self.store.adopt, run.id, self.token)
        except LeaseLost as e:
            raise RunSuspended(
                f"{self.title} under {self.key!r} is already waited for elsewhere. {e}"
            ) from e

    @asynccontextmanager
    async def in_view(self) -> AsyncGenerator[None]:
        """Show the run and have its messages flow; what ends it early is written down."""
        stop = self.desk.watch()
        self.desk.drivers[self.id] = self._wake
        self.desk.experts[self.agent_id] = CHECKS
        self._task = asyncio.current_task()
        try:
            with self._on_screen():
                yield
        except asyncio.CancelledError:
            if not self._cancel_asked:
                await self._interrupted()
                raise
            await self.end("cancelled", {"finish_reason": "aborted"})
            raise Withdrawn(f"{self.title} was cancelled: nothing more of it runs.") from None
        except Exception as e:
            await self._broke(e)
            raise
        finally:
            for task in self._consulting:
                task.get_loop().call_soon_threadsafe(task.cancel)
            for call_id in self._checked:
                CHECKS.by_call.pop(call_id, None)
            self.desk.drivers.pop(self.id, None)
            stop()

    @contextmanager
    def _on_screen(self) -> Generator[None]:
        shown = self.shown
        if shown is None or not self.asking:
            yield
            return
        with shown.waiting():
            self.screen = shown.run_started(
                run_id=self.id, title=self.title, store=self.store, cancel=self._cancel
            )
            yield

    def _cancel(self) -> None:
        self._cancel_asked = True
        if self._task is not None:
            self._task.cancel()

    # -- asking

    async def ask(self, asks: Sequence[Ask], frame: Any = None) -> list[str]:
        """Store what one turn asks, as siblings, then show it (R2, R9); our call ids in order.

        `frame`, when given, is kept in the same transaction. It may be a function of the call
        ids.
        """
        turn = new_id("turn")
        made = [await self._new(one, turn, i) for i, one in enumerate(asks)]
        ids = [new.call.id for new in made]
        frame = frame(ids) if callable(frame) else frame
        for one, call_id in zip(asks, ids, strict=True):
            self.checked_by(call_id, one.check)
        await self.desk.write(
            self.store.save,
            self.id,
            self.token,
            state="suspended",
            frames=None if frame is None else {self.id: frame},
            calls=made,
        )
        for new in made:
            if new.request is not None:
                self._show(replace(new.request, store=self.store))
        return ids

    def checked_by(self, call_id: str, check: Check | None) -> None:
        """Have edits of a call validated by `check` while this process goes on with the run."""
        if check is not None:
            CHECKS.by_call[call_id] = check
            self._checked.append(call_id)

    def _show(self, request: Request) -> None:
        if self.screen is not None:
            self.screen.request(request)
        if self.reviewer is not None and request.state == "pending":
            task = asyncio.ensure_future(self._consult(self.reviewer, request))
            self._consulting.add(task)
            task.add_done_callback(self._consulting.discard)

    async def show_again(self, call_ids: Sequence[str]) -> None:
        """What an adopted run asked before: shown here, and put to this process's reviewer."""
        for request in (await self._latest(call_ids)).values():
            self._show(request)

    async def _new(self, one: Ask, turn: str, index: int) -> NewCall:
        secrets = one.all_secrets()
        bound = bound_to(one.kind, one.message, one.payload, one.resume_schema)
        identity = self._fingerprint(one.name, one.args, secrets, bound)
        before = await self.desk.read(
            self.store.requests, run_id=self.id, fingerprint=identity.text, states=("declined",)
        )
        return new_call(
            cast("Run", self.run),
            replace(one, secrets=secrets),
            identity,
            turn=turn,
            index=index,
            declined_before=len(before),
            origin=self.shown.origin() if self.shown is not None else {},
        )

    def _fingerprint(
        self, name: str, args: Any, secrets: Sequence[str], bound: dict[str, Any] | None
    ) -> Fingerprint:
        key = self.store.secret_key()
        return fingerprint(name, args, secrets=secrets, key=key, bound=bound)

    # -- waiting

    async def decided(self, call_ids: Sequence[str], *, every: bool = True) -> dict[str, Request]:
        """Wait until all (with ``every=False``: any) are decided; the request of each that is.

        Raises
        ------
        RunSuspended, NoReviewer
            Nobody can be asked here (R5).
        OutcomeUnknown
            One was started by a process that died.
        """
        with self._listening() as changed:
            while True:
                changed.clear()
                latest = await self._latest(call_ids)
                over = {c: r for c, r in latest.items() if r.state not in ("pending", "executing")}
                if len(over) == len(latest) or (over and not every):
                    self._check_known(over)
                    return over
                if self._problem is not None:
                    raise self._problem
                if self.reviewer is None and not self.asking:
                    await self._nobody_here([r for r in latest.values() if r.state == "pending"])
                await self._wait(changed, latest)

    @contextmanager
    def _listening(self) -> Generator[asyncio.Event]:
        mine = (asyncio.get_running_loop(), asyncio.Event())
        self._waiters.add(mine)
        try:
            yield mine[1]
        finally:
            self._waiters.discard(mine)

    def _wake(self) -> None:
        for loop, event in list(self._waiters):
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)

    async def _wait(self, changed: asyncio.Event, latest: Mapping[str, Request]) -> None:
        due = [r.expires_at.timestamp() for r in latest.values() if r.expires_at is not None]
        left = max(0.0, min(due) - time.time()) + 0.01 if due else None
        if any(r.state == "executing" for r in latest.values()):
            left = 1.0  # the death of the process that runs it is no event
        try:
            await asyncio.wait_for(changed.wait(), left)
        except TimeoutError:
            await self.desk.write(self.store.sweep)

    async def _latest(self, call_ids: Sequence[str]) -> dict[str, Request]:
        asked = await self.desk.read(self.store.requests, run_id=self.id)
        found = {r.tool_call_id: r for r in asked if r.tool_call_id in set(call_ids)}
        return {call_id: found[call_id] for call_id in call_ids if call_id in found}

    def _check_known(self, over: Mapping[str, Request]) -> None:
        unknown = [r for r in over.values() if r.state == "outcome_unknown"]
        if unknown:
            raise OutcomeUnknown(
                f"{names_of(unknown)}: approved and started, and nobody knows how it ended. Look, "
                "then: await hitl.settle(request, 'happened' | 'run_again' | 'give_up'), and run "
                "this again."
            )

    async def _consult(self, decide: deciders.Decide, request: Request) -> None:
        who, via = deciders.identity(decide, request)
        try:
            decision = await deciders.consult(decide, request)
            if decision is not None:
                await self.desk.decide(
                    request, decision, fingerprint=request.fingerprint, reviewer=who, via=via
                )
        except AlreadyDecided:
            return
        except Exception as e:  # noqa: BLE001  # raised to whoever waits: nothing was decided
            self._problem = e
            self._wake()

    async def _nobody_here(self, waiting: Sequence[Request]) -> None:
        if self.resumable and deciders.settings().headless != "error":
            how = deciders.how_to_decide(waiting, self.store.location)
            raise RunSuspended(
                f"{self.title} waits for a human: {names_of(waiting)}. Nobody can be asked here.\n"
                f"{how}\nThen run this again.",
                waiting,
            )
        how = "" if self.resumable else "Give key=… (or a thread and a durable checkpointer), "
        raise NoReviewer(
            f"{self.title} needs a human for {names_of(waiting)}, and nobody can be asked here: it "
            f"was withdrawn and nothing ran. {how or 'Set '}a reviewer (hitl.reviewer, "
            "HITL_REVIEWER), or run it where a person can be asked."
        )

    # -- acting

    async def claim(
        self, request: Request, args: dict[str, Any], schema: dict[str, Any] | None
    ) -> str | None:
        """The right to run a call once: its token; None when it must not run (R3).

        `args` and `schema` are what would run now. When they are not what was approved the
        request is ``blocked``, for no new question can be put to a framework that was already
        answered.

        Raises
        ------
        AlreadyDecided
            Somebody else has claimed it: it runs there.
        """
        bound = bound_to(
            request.kind, request.message, request.suspend_payload, request.resume_schema
        )
        identity = self._fingerprint(request.tool_name, args, request.secrets, bound)
        token = new_id("t")
        try:
            await self.desk.write(
                self.store.claim,
                request.id,
                self.token,
                token,
                fingerprint=identity.text,
                schema_digest=None if schema is None else digest(schema),
            )
        except (StaleFingerprint, ToolChanged) as e:
            await self.block(request, str(e))
            return None
        except Expired:
            text = EXPIRED.format(request.tool_name)
            await self.answer(request.tool_call_id, "denied", text)
            return None
        return token

    async def block(self, request: Request, why: str) -> None:
        """It was approved and does not run: the model is told."""
        told = {"type": "denied", "value": BLOCKED.format(request.tool_name)}
        await self.desk.write(
            self.store.move,
            request.id,
            "block",
            "blocked",
            detail={"why": why},
            call_result=told,
        )

    async def answer(self, call_id: str, kind: str, value: Any) -> None:
        """End a call whose body does not run; nothing, when it has ended."""
        row = await self.row(call_id)
        if row.state in ("waiting", "parked"):
            result = {"type": kind, "value": plain(value)}
            await self.desk.write(self.store.answer_call, call_id, self.token, "done", result)

    async def finish(self, call_id: str, token: str, kind: str, value: Any) -> None:
        """Keep what a claimed call really did."""
        await self.desk.read(self.finish_now, call_id, token, kind, value)

    def finish_now(self, call_id: str, token: str, kind: str, value: Any) -> None:
        """`finish` for a thread without a loop."""
        state = "failed" if kind == "error" else "done"
        result = {
            "type": kind,
            "value": plain(value),
            **({"raised": True} if kind == "error" else {}),
        }
        self.desk.write_now(self.store.finish, call_id, token, state, result)

    def lose(self, call_id: str, token: str) -> None:
        """It was started, and this process will not learn how it ends."""
        self.desk.write_now(self.store.lose, call_id, token, "interrupted")

    async def row(self, call_id: str) -> Call:
        """A call's row."""
        rows = await self.desk.read(self.store.calls, self.id)
        return next(c for c in rows if c.id == call_id)

    async def given(self, call_id: str) -> Any:
        """What was answered to a call's question; erased when the call ends."""
        return (await self.desk.read(self.store.answers, call_id))[-1]["answer"]

    async def no(self, request: Request) -> str:
        """End a call that a human did not let run; what the model is told.

        Raises
        ------
        Declined
            The run was to stop, or the same call was declined too often (R11).
        Expired, Withdrawn
            The run ends with it.
        """
        decision = request.decision or {}
        match request.state:
            case "declined":
                reason = decision.get("reason")
                if decision.get("stop") or request.declined_before + 1 >= MAX_DECLINES:
                    raise Declined(reason, receipt_of(request))
                words = f" Their reason: {reason!r}." if reason else ""
                text = DECLINED.format(request.tool_name, words)
            case "expired" if request.on_expire == "decline":
                text = EXPIRED.format(request.tool_name)
            case "expired":
                raise Expired(f"{request.tool_name} was not decided in time: nothing ran.")
            case "blocked":
                text = BLOCKED.format(request.tool_name)
            case _:
                raise Withdrawn(f"{request.tool_name} was withdrawn: nothing ran.")
        await self.answer(request.tool_call_id, "denied", text)
        return text

    async def going_on(self) -> None:
        """The framework moves again."""
        await self.desk.write(self.store.save, self.id, self.token, state="running")

    # -- the end

    async def end(self, state: RunState, outcome: Mapping[str, Any]) -> None:
        """End it: what still waits is withdrawn."""
        if self._ended:
            return
        self._ended = True
        told = {"text": "", "finish_reason": "stop" if state == "completed" else state, **outcome}
        try:
            await self.desk.write(self.store.end_run, self.id, self.token, state, told)
        except LeaseLost:  # it had ended before
            return
        if self.screen is not None:
            if told["text"]:
                path = (self.title,)
                self.screen.chunk(chunk("text-delta", self.id, path, text=told["text"]))
            reason = told["finish_reason"]
            self.screen.chunk(chunk("finish", self.id, (self.title,), finish_reason=reason))
            self.screen.ended(state, told)

    async def _broke(self, error: Exception) -> None:
        """Keep what can be gone on with; end the rest."""
        match error:
            case LeaseLost():
                return
            case RunSuspended():
                await self._leave()
            case Declined():
                await self.end("declined", {"finish_reason": "declined"})
            case NoReviewer() | Withdrawn() | Expired():
                await self.end("cancelled", {"finish_reason": "aborted", "why": str(error)})
            case _ if self.resumable:
                await self._leave()
                error.add_note(f"Run {self.id} is kept: running this again goes on with it.")
            case _:
                await self.end("failed", {"finish_reason": "error", "why": str(error)})

    async def _interrupted(self) -> None:
        """An interrupt leaves everything decidable where somebody can come back (R16)."""
        if self.key is None:
            await self.end("cancelled", {"finish_reason": "aborted", "why": "interrupted"})
        else:
            await self._leave()

    async def _leave(self) -> None:
        if self.resumable:
            await self.desk.write(self.store.release, self.id, self.token, "suspended")
        else:
            # Only this process can go on with it. It stays the owner, so that its requests are
            # withdrawn when it dies.
            _parked[(id(self.store), self.id)] = self.token
        if self.screen is not None:
            self.screen.paused()


_parked: dict[tuple[int, str], str] = {}
"""Leases of runs that only this process can go on with while nobody waits for them."""
