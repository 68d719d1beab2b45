"""One question without an agent, from opening to what its caller gets.

It is a run of kind ``verb`` with one call, so that the same desk, store, cards and rules hold.
With ``key=`` it can be answered after a restart, by running the cell again (R22); without, it is
withdrawn when there is nobody left to return to (R14, R16).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from pydantic_core import to_jsonable_python

from . import deciders, surface
from .describe import Description
from .desk import Desk, desk_of
from .errors import (
    AgentDefinitionError,
    AlreadyDecided,
    Declined,
    Expired,
    LeaseLost,
    NoReviewer,
    OutcomeUnknown,
    RunSuspended,
    SnapshotNotFound,
    StaleFingerprint,
    Withdrawn,
)
from .events import Chunk
from .fingerprint import digest, fingerprint, mask
from .previews.look import Looked, Plan, differences, look
from .previews.plain import told_why
from .request import (
    Call,
    Effect,
    Evaluation,
    OnExpire,
    Receipt,
    Record,
    Request,
    Run,
    Verdict,
    new_id,
    to_doc,
    utc,
)
from .schema import Shape
from .store import open_store
from .store.base import NewCall
from .surface import RunScreen, Surface

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Under:
    """The agent's run in which a question comes up: it is shown there, and stays its own.

    Attributes
    ----------
    agent_path
        Ids of the agents from the root to the one whose call asks.
    """

    run_id: str
    agent_path: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Question:
    """Everything about one question that does not depend on when it is asked.

    Attributes
    ----------
    name
        What is asked about: a function's name, ``ask`` or ``confirm``.
    scope
        Qualified name, under which `key` is unique.
    describe
        The arguments as they are now; asked again at the claim (R3).
    perform
        What an approval lets run, or None (`ask`, `confirm`).
    under
        The run that it belongs to, or None.
    plan, values
        What is looked at before it is asked, and the arguments by name for that.
    """

    name: str
    scope: str
    kind: Any
    describe: Callable[[], Description]
    perform: Callable[[], Awaitable[Any]] | None = None
    shape: Shape | None = None
    message: str | None = None
    initial: Any = None
    allowed: tuple[Verdict, ...] = ("approve", "decline")
    effect: Effect = "unknown"
    key: str | None = None
    expires: float | None = None
    on_expire: OnExpire = "decline"
    quorum: int = 1
    reviewers: tuple[str, ...] | None = None
    record: Record = "full"
    store: Any = None
    under: Under | None = None
    plan: Plan | None = None
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Asking:
    """One question being put, from opening to what its caller gets."""

    def __init__(self, question: Question) -> None:
        self.question = question
        given = question.store
        self.store = open_store(deciders.settings().store if given is None else given)
        self.desk: Desk = desk_of(self.store)
        self.token = new_id("l")
        self.reviewer = deciders.in_force()
        self.shown: Surface | None = surface.current()
        self._changed = asyncio.Event()
        self._consulting: asyncio.Task[None] | None = None
        self._problem: Exception | None = None

    async def answer(self) -> Any:
        """Put the question and wait; the answer, or why there is none."""
        question = self.question
        told = question.describe()
        looked = await self._look(told)
        request = self._request(told, looked, new_id("run"), new_id("c"), ordinal=0)
        run, request = await self._open(told, request)
        if request is None:
            return await self._earlier(run)
        try:
            return await self._wait_in_view(run, request)
        except BaseException:
            if self._last is None:
                await self._interrupted(run)
            raise

    # -- opening

    async def _look(self, told: Description, *, bound_only: bool = False) -> Looked:
        question = self.question
        return await look(
            question.plan,
            question.values,
            secrets=told.secrets,
            plain=told.args,
            bound_only=bound_only,
        )

    def _request(
        self, told: Description, looked: Looked, run_id: str, call_id: str, *, ordinal: int
    ) -> Request:
        question = self.question
        now = time.time()
        schema = None if question.shape is None else question.shape.json_schema
        identity = self._identity(told, looked, ordinal)
        return Request(
            id=new_id("r"),
            run_id=run_id,
            tool_call_id=call_id,
            ordinal=ordinal,
            kind=question.kind,
            tool_name=question.name,
            args=mask(told.args, told.secrets),
            fingerprint=identity.text,
            digests=identity.digests,
            state="pending",
            agent_id=question.scope,
            agent_path=() if question.under is None else question.under.agent_path,
            created_at=utc(now),
            effect=question.effect,
            allowed=question.allowed,
            evaluation=Evaluation(type="tool"),
            message=question.message,
            resume_schema=schema,
            secrets=tuple(told.secrets),
            scope={
                "schema_digest": None,
                "how": "verb",
                "portable": told.portable,
                **({"bound": looked.bound} if looked.bound else {}),
                **({} if question.record == "full" else {"record": question.record}),
                **({} if question.under is None else {"under": question.under.run_id}),
                **({} if question.initial is None else {"initial": question.initial}),
            },
            origin=self.shown.origin() if self.shown is not None else {},
            turn=run_id,
            expires_at=None if question.expires is None else utc(now + question.expires),
            on_expire=question.on_expire,
            resumable=question.key is not None,
            quorum=question.quorum,
            reviewers=question.reviewers,
            preview=looked.preview,
            reads=looked.reads,
        )

    def _identity(self, told: Description, looked: Looked, ordinal: int) -> Any:
        question = self.question
        bound: dict[str, Any] = dict(looked.bound)
        if question.kind == "input" or question.message is not None or ordinal:
            schema = None if question.shape is None else question.shape.json_schema
            bound |= {
                "ordinal": ordinal,
                "message": question.message,
                "resume_schema": digest(schema),
            }
        key = self.store.secret_key()
        return fingerprint(question.name, told.args, secrets=told.secrets, key=key, bound=bound)

    async def _open(self, told: Description, request: Request) -> tuple[Run, Request | None]:
        question = self.question
        now = request.created_at
        run = Run(
            id=request.run_id,
            kind="verb",
            agent_id=question.scope,
            state="running",
            created_at=now,
            updated_at=now,
            key=question.key,
            key_digest=None if question.key is None else self._identity(told, Looked(), 0).text,
            notebook=request.origin.get("notebook"),
            resumable=question.key is not None,
            owner=self.store.owner,
            token=self.token,
            origin=request.origin,
        )
        call = Call(
            id=request.tool_call_id,
            run_id=run.id,
            tool_name=question.name,
            args=told.args,
            state="waiting",
            frame=run.id,
            turn=run.id,
            index=0,
            permission="ask",
            evaluation=request.evaluation,
        )
        template = {**to_doc(request), "tool_name": question.name, "kind": question.kind}
        template |= {"fingerprint": request.fingerprint, "agent_id": question.scope}
        template["preview"] = None
        new = NewCall(call, template, request)
        if question.key is not None:
            await self.desk.write(self.store.sweep)
        stored = await self.desk.write(self.store.open_run, run, calls=[new])
        if stored.id == run.id:
            return stored, request
        if stored.key_digest != run.key_digest:
            raise AgentDefinitionError(
                f"key={question.key!r} already names the unfinished question {stored.id} of "
                f"{question.name}, and this one has other arguments, another message or schema "
                f"({question.message or mask(told.args, told.secrets)!r}). Decide that one "
                "(hitl.inbox()), or use another key."
            )
        return stored, None

    async def _earlier(self, run: Run) -> Any:
        """The same key, asked before: hand out its answer, or go on waiting for it (R22)."""
        if run.outcome is not None:
            if not await self.desk.write(self.store.deliver, run.id):
                return await self.answer()
            return self._outcome(run.outcome)
        try:
            run = await self.desk.write(self.store.adopt, run.id, self.token)
        except LeaseLost as e:
            raise RunSuspended(
                f"key={self.question.key!r}: the question is waited for elsewhere. {e}"
            ) from e
        asked = await self.desk.read(self.store.requests, run_id=run.id)
        try:
            return await self._wait_in_view(run, asked[-1])
        except BaseException:
            if self._last is None:
                await self._interrupted(run)
            raise

    # -- waiting

    async def _wait_in_view(self, run: Run, request: Request) -> Any:
        shown = self.shown
        asking = shown is not None and shown.can_ask()
        headless = deciders.settings().headless
        if self.reviewer is None and not asking and headless == "decline":
            self.reviewer = deciders.decline_all
        if self.reviewer is None and not asking:
            now = await self.desk.read(self.store.request, request.id)
            if now.state == "pending":
                return await self._nobody_here(run, request, headless)
        stop = self.desk.watch()
        loop = asyncio.get_running_loop()
        self.desk.drivers[run.id] = lambda: _on(loop, self._wake)
        try:
            with shown.waiting() if shown is not None and asking else nullcontext():
                screen = None
                if shown is not None and asking:
                    screen = await self._screen(shown, run)
                    screen.request(request)
                return await self._decided(run, request, screen)
        finally:
            self.desk.drivers.pop(run.id, None)
            if self._consulting is not None:
                self._consulting.cancel()
            stop()

    async def _screen(self, shown: Surface, run: Run) -> RunScreen:
        """Its own output, or that of the run which it belongs to, if that is shown here."""
        under = self.question.under
        if under is None or shown.screen_of(under.run_id) is None or not await self._keeps(under):
            return shown.run_started(run_id=run.id, title="", store=self.store, cancel=None)
        theirs = shown.run_started(run_id=under.run_id, title="", store=self.store, cancel=None)
        return _Lent(theirs)

    async def _keeps(self, under: Under) -> bool:
        """Whether that run is in this store: its panel decides on its own store only."""
        try:
            await self.desk.read(self.store.run, under.run_id)
        except SnapshotNotFound:
            return False
        return True

    def _wake(self) -> None:
        self._changed.set()

    async def _decided(self, run: Run, request: Request, screen: Any) -> Any:
        self._consult(request)
        while True:
            self._changed.clear()
            now = await self.desk.read(self.store.request, request.id)
            if now.state != "pending":
                following = await self._act(run, now, screen)
                if following is None:
                    return await self._deliver(run)
                request = following
                self._consult(request)
                continue
            if self._problem is not None:
                raise self._problem
            await self._wait_for_change(now)

    async def _wait_for_change(self, request: Request) -> None:
        due = None
        if request.expires_at is not None:
            due = max(0.0, request.expires_at.timestamp() - time.time()) + 0.01
        try:
            await asyncio.wait_for(self._changed.wait(), due)
        except TimeoutError:
            await self.desk.write(self.store.sweep)

    def _consult(self, request: Request) -> None:
        if self.reviewer is not None:
            self._consulting = asyncio.ensure_future(self._ask_reviewer(self.reviewer, request))

    async def _ask_reviewer(self, decide: deciders.Decide, request: Request) -> None:
        who, via = deciders.identity(decide, request)
        try:
            decision = await deciders.consult(decide, request)
            if decision is not None:
                await self.desk.decide(
                    request, decision, fingerprint=request.fingerprint, reviewer=who, via=via
                )
        except AlreadyDecided:
            return
        except Exception as e:  # noqa: BLE001  # raised to the caller: nothing was decided
            self._problem = e
            self._wake()

    # -- acting

    async def _act(self, run: Run, request: Request, screen: Any) -> Request | None:
        """Do what was decided and end the run; a new request when it has to be asked again."""
        match request.state:
            case "approved" | "answered":
                again = await self._claim_and_run(run, request, screen)
                if again is not None:
                    return again
            case "responded":
                result = (request.decision or {}).get("result")
                await self._end(run, request, "completed", {"value": result}, screen)
            case "declined":
                reason = (request.decision or {}).get("reason")
                await self._end(run, request, "declined", {"reason": reason}, screen)
            case "executing" | "outcome_unknown":
                raise OutcomeUnknown(
                    f"{request.tool_name} ({request.id}) was approved and started, and nobody "
                    "knows how it ended. Look, then: await hitl.settle(request, 'happened' | "
                    "'run_again' | 'give_up')."
                )
            case "done" | "failed":
                calls = await self.desk.read(self.store.calls, run.id)
                value = (calls[-1].result or {}).get("value")
                state = "completed" if request.state == "done" else "failed"
                await self._end(run, request, state, {"value": value}, screen)
            case _:
                await self._end(run, request, "cancelled", {"state": request.state}, screen)
        return None

    async def _claim_and_run(self, run: Run, request: Request, screen: Any) -> Request | None:
        token = new_id("t")
        told = self.question.describe()
        looked = await self._look(told, bound_only=True)
        if looked.preview is not None:  # it had the very objects: what they are now is what runs
            told = self.question.describe()
        try:
            await self.desk.write(
                self.store.claim,
                request.id,
                self.token,
                token,
                fingerprint=self._identity(told, looked, request.ordinal).text,
                schema_digest=None,
            )
        except StaleFingerprint as e:
            return await self._stale(request, told, e, screen)
        if self.question.perform is None:
            await self._give_answer(run, request, token, screen)
            return None
        await self._perform(run, request, token, screen)
        return None

    async def _give_answer(self, run: Run, request: Request, token: str, screen: Any) -> None:
        value: Any = True
        if request.kind == "input":
            value = (await self.desk.read(self.store.answers, request.tool_call_id))[-1]["answer"]
        shape = self.question.shape
        kept = mask(value, shape.secrets_in(value)) if shape is not None else value
        result = {"type": "result", "value": kept}
        await self.desk.write(self.store.finish, request.tool_call_id, token, "done", result)
        self._value = value
        await self._end(run, request, "completed", {"value": kept}, screen)

    async def _perform(self, run: Run, request: Request, token: str, screen: Any) -> None:
        perform = cast("Callable[[], Awaitable[Any]]", self.question.perform)
        try:
            value = await perform()
        except asyncio.CancelledError:
            self.desk.write_now(self.store.lose, request.tool_call_id, token, "interrupted")
            raise
        except BaseException as e:
            failed = {"type": "error", "value": f"{type(e).__name__}: {e}"}
            await self.desk.write(self.store.finish, request.tool_call_id, token, "failed", failed)
            await self._end(run, request, "failed", {"value": failed["value"]}, screen)
            await self.desk.write(self.store.deliver, run.id)
            raise
        plain = to_jsonable_python(value, fallback=repr, inf_nan_mode="strings")
        result = {"type": "result", "value": plain}
        await self.desk.write(self.store.finish, request.tool_call_id, token, "done", result)
        self._value = value
        await self._end(run, request, "completed", {"value": plain}, screen)

    async def _stale(
        self, request: Request, told: Description, error: StaleFingerprint, screen: Any
    ) -> Request:
        looked = await self._look(told)
        again = self._request(
            told, looked, request.run_id, request.tool_call_id, ordinal=request.ordinal + 1
        )
        again.scope["changed"] = differences(request, looked)
        error = told_why(error, again)
        again.scope["stale"] = str(error)
        detail = {"why": str(error)}
        await self.desk.write(
            self.store.move, request.id, "make_stale", "stale", opens=again, detail=detail
        )
        if screen is not None:
            screen.request(again)
        return again

    _value: Any = None

    async def _end(
        self, run: Run, request: Request, state: Any, more: Mapping[str, Any], screen: Any
    ) -> None:
        now = await self.desk.read(self.store.request, request.id)
        outcome: dict[str, Any] = {"request_state": now.state, "text": "", **more}
        await self.desk.write(self.store.end_run, run.id, self.token, state, outcome)
        self._last = now
        if screen is not None:
            screen.request(now)
            screen.ended(state, outcome)

    _last: Request | None = None

    async def _deliver(self, run: Run) -> Any:
        await self.desk.write(self.store.deliver, run.id)
        ended = await self.desk.read(self.store.run, run.id)
        outcome = ended.outcome or {}
        if self._value is not None:
            outcome = {**outcome, "value": self._value}
            if self.question.perform is not None:
                return self._value
        return self._outcome(outcome)

    def _outcome(self, outcome: Mapping[str, Any]) -> Any:
        """What the caller gets from a run that has ended."""
        match outcome.get("request_state"):
            case "declined":
                raise Declined(outcome.get("reason"), _receipt(self._last))
            case "expired":
                raise Expired(f"{self.question.name} was not decided in time: nothing ran.")
            case "failed":
                raise OutcomeUnknown(
                    f"{self.question.name} was approved and failed: {outcome.get('value')} "
                    "Nothing of it is returned; run it again to ask anew."
                )
            case "withdrawn" | "blocked" | "refused":
                raise Withdrawn(f"{self.question.name} was withdrawn: nothing ran.")
            case _:
                value = outcome.get("value")
                shape = self.question.shape
                return value if shape is None else shape.validate(value)

    # -- nobody there

    async def _nobody_here(self, run: Run, request: Request, headless: str) -> Any:
        if self.question.key is not None and headless != "error":
            await self.desk.write(self.store.release, run.id, self.token, "suspended")
            raise RunSuspended(
                f"{self.question.name} waits for a human ({request.id}), and nobody can be asked "
                f"here.\n{deciders.how_to_decide([request], self.store.location)}\n"
                "Then run this again with the same key.",
                [request],
            )
        await self._withdraw(run, "nobody can be asked here")
        raise NoReviewer(
            f"{self.question.name} needs a human, and nobody can be asked here: it was withdrawn "
            "and nothing ran. Give key=… so that it can wait, or a reviewer (hitl.reviewer, "
            "HITL_REVIEWER)."
        )

    async def _interrupted(self, run: Run) -> None:
        """The caller leaves without an outcome: without a key nobody could come back for it."""
        if self.question.key is None:
            await self._withdraw(run, "the caller was interrupted")
        else:
            await self.desk.write(self.store.release, run.id, self.token, "suspended")

    async def _withdraw(self, run: Run, why: str) -> None:
        outcome = {"request_state": "withdrawn", "text": "", "why": why}
        try:
            await self.desk.write(self.store.end_run, run.id, self.token, "cancelled", outcome)
        except LeaseLost:  # it had ended before
            return


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


def _on(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    """Call it on the loop, from any thread; a loop that has gone waits for nothing."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(function)


def _receipt(request: Request | None) -> Receipt | None:
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
