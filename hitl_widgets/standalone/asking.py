"""One question being put, from opening to what its caller gets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext, suppress
from typing import Any, cast

from .. import deciders
from ..calling import said
from ..describe import Description
from ..errors import (
    AgentDefinitionError,
    Declined,
    Expired,
    LeaseLost,
    NoReviewer,
    OutcomeUnknown,
    RunSuspended,
    StaleFingerprint,
    Withdrawn,
)
from ..fingerprint import Fingerprint, mask
from ..previews.look import Looked, differences
from ..previews.masks import hiding, masked, secret_texts
from ..previews.plain import told_why
from ..request import Request, Run, RunState, new_id
from ..surface import RunScreen
from ..waiting import Waiter, outcome_unknown, plain, receipt_of, waiting_call
from .question import Question
from .shown import screen_of


class Asking(Waiter):
    """One question being put, from opening to what its caller gets."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.store)
        self.question = question
        self.screen: RunScreen | None = None
        self._ended: Request | None = None
        self._over = False
        self._value: Any = None

    async def answer(self) -> Any:
        """Put the question and wait; the answer, or why there is none.

        Raises
        ------
        AgentDefinitionError
            The key names an unfinished question that is another one.
        Declined, Expired, Withdrawn
            It ended without consent.
        RunSuspended, NoReviewer
            Nobody can be asked here (R5), or the key's question is waited for elsewhere.
        OutcomeUnknown
            It was approved, and did not end well or with an outcome that anybody knows.
        """
        told = self.question.describe()
        looked = await self.question.look(told)
        mine = self._run(told)
        request = self._request(told, looked, run_id=mine.id, call_id=new_id("c"))
        run = await self._open_run(mine, calls=[waiting_call(request, told.args)])
        if run.id == mine.id:
            return await self._see_through(run, request)
        if run.key_digest != mine.key_digest:
            raise self._other_question(run, told)
        return await self._earlier(run)

    # -- opening

    def _identity(self, told: Description, looked: Looked, ordinal: int = 0) -> Fingerprint:
        return self.question.identity(told, looked, ordinal, self.store.secret_key())

    def _request(
        self, told: Description, looked: Looked, *, run_id: str, call_id: str, ordinal: int = 0
    ) -> Request:
        return self.question.request(
            told,
            looked,
            self._identity(told, looked, ordinal),
            run_id=run_id,
            call_id=call_id,
            ordinal=ordinal,
            origin=self.origin,
        )

    def _run(self, told: Description) -> Run:
        key = self.question.key
        return self._new_run(
            "verb",
            self.question.scope,
            key=key,
            key_digest=None if key is None else self._identity(told, Looked()).text,
            resumable=key is not None,
        )

    def _other_question(self, run: Run, told: Description) -> AgentDefinitionError:
        question = self.question
        return AgentDefinitionError(
            f"key={question.key!r} already names the unfinished question {run.id} of "
            f"{question.name}, and this one has other arguments, another message or schema "
            f"({question.message or mask(told.args, told.secrets)!r}). Decide that one "
            "(hitl.inbox()), or use another key."
        )

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
        return await self._see_through(run, asked[-1])

    # -- waiting

    async def _see_through(self, run: Run, request: Request) -> Any:
        """Wait for what becomes of it; that the caller leaves before is written down."""
        try:
            return await self._wait_in_view(run, request)
        except BaseException:
            if not self._over:
                await self._interrupted(run)
            raise

    async def _wait_in_view(self, run: Run, request: Request) -> Any:
        shown = self.shown if self.shown is not None and self.shown.can_ask() else None
        if shown is None and self.reviewer is None:
            self.reviewer = deciders.instead_of_people()
        if shown is None and self.reviewer is None:
            now = await self.desk.read(self.store.request, request.id)
            if now.state == "pending":
                return await self._nobody_here(run, request)
        with self._driving(run.id), nullcontext() if shown is None else shown.waiting():
            if shown is not None:
                self.screen = await screen_of(shown, run.id, self.question.under, self.desk)
                self.screen.request(request)
            return await self._decided(run, request)

    async def _decided(self, run: Run, request: Request) -> Any:
        self._put_to_reviewer(request)
        with self._listening() as changed:
            while True:
                changed.clear()
                now = await self.desk.read(self.store.request, request.id)
                if now.state != "pending":
                    again = await self._act(run, now)
                    if again is None:
                        return await self._deliver(run)
                    request = again
                    self._put_to_reviewer(request)
                elif self._problem is not None:
                    raise self._problem
                else:
                    await self._wait(changed, {now.tool_call_id: now})

    # -- acting

    async def _act(self, run: Run, request: Request) -> Request | None:
        """Do what was decided and end the run; a new request when it has to be asked again."""
        decision = request.decision or {}
        match request.state:
            case "approved" | "answered":
                return await self._claim_and_run(run, request)
            case "responded":
                await self._end(run, request, "completed", {"value": decision.get("result")})
            case "declined":
                await self._end(run, request, "declined", {"reason": decision.get("reason")})
            case "executing" | "outcome_unknown":
                raise outcome_unknown([request])
            case "done" | "failed":
                calls = await self.desk.read(self.store.calls, run.id)
                value = (calls[-1].result or {}).get("value")
                state = "completed" if request.state == "done" else "failed"
                await self._end(run, request, state, {"value": value})
            case _:
                await self._end(run, request, "cancelled", {"state": request.state})
        return None

    async def _claim_and_run(self, run: Run, request: Request) -> Request | None:
        token = new_id("t")
        told = self.question.describe()
        looked = await self.question.look(told, bound_only=True)
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
            return await self._ask_again(request, told, e)
        if self.question.perform is None:
            await self._give_answer(run, request, token)
        else:
            await self._perform(run, request, token, told)
        return None

    async def _give_answer(self, run: Run, request: Request, token: str) -> None:
        value: Any = True
        if request.kind == "input":
            value = (await self.desk.read(self.store.answers, request.tool_call_id))[-1]["answer"]
        shape = self.question.shape
        kept = mask(value, shape.secrets_in(value)) if shape is not None else value
        await self._done(run, request, token, value, kept)

    async def _perform(self, run: Run, request: Request, token: str, told: Description) -> None:
        perform = cast("Callable[[], Awaitable[Any]]", self.question.perform)
        try:
            value = await perform()
        except asyncio.CancelledError:
            self.desk.write_now(self.store.lose, request.tool_call_id, token, "interrupted")
            raise
        except BaseException as e:
            with hiding(secret_texts(told.args, told.secrets)):
                failed = {"type": "error", "value": masked(said(e))}
            await self.desk.write(self.store.finish, request.tool_call_id, token, "failed", failed)
            await self._end(run, request, "failed", {"value": failed["value"]})
            await self.desk.write(self.store.deliver, run.id)
            raise
        await self._done(run, request, token, value, plain(value))

    async def _done(self, run: Run, request: Request, token: str, value: Any, kept: Any) -> None:
        """The caller gets `value`; the store keeps `kept`."""
        result = {"type": "result", "value": kept}
        await self.desk.write(self.store.finish, request.tool_call_id, token, "done", result)
        self._value = value
        await self._end(run, request, "completed", {"value": kept})

    async def _ask_again(
        self, request: Request, told: Description, error: StaleFingerprint
    ) -> Request:
        """What was approved is not what would run now: a new request, with the difference."""
        looked = await self.question.look(told)
        again = self._request(
            told,
            looked,
            run_id=request.run_id,
            call_id=request.tool_call_id,
            ordinal=request.ordinal + 1,
        )
        again.scope["changed"] = differences(request, looked)
        why = str(told_why(error, again))
        again.scope["stale"] = why
        detail = {"why": why}
        await self.desk.write(
            self.store.move, request.id, "make_stale", "stale", opens=again, detail=detail
        )
        if self.screen is not None:
            self.screen.request(again)
        return again

    # -- the end

    async def _end(
        self, run: Run, request: Request, state: RunState, more: Mapping[str, Any]
    ) -> None:
        now = await self.desk.read(self.store.request, request.id)
        outcome: dict[str, Any] = {"request_state": now.state, "text": "", **more}
        await self.desk.write(self.store.end_run, run.id, self.token, state, outcome)
        self._ended, self._over = now, True
        if self.screen is not None:
            self.screen.request(now)
            self.screen.ended(state, outcome)

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
                raise Declined(outcome.get("reason"), receipt_of(self._ended))
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

    # -- leaving without an outcome

    async def _nobody_here(self, run: Run, request: Request) -> None:
        waits = self.question.key is not None and deciders.settings().headless != "error"
        if waits:
            await self._release(run)
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
            await self._release(run)

    async def _release(self, run: Run) -> None:
        await self.desk.write(self.store.release, run.id, self.token, "suspended")
        self._over = True

    async def _withdraw(self, run: Run, why: str) -> None:
        outcome = {"request_state": "withdrawn", "text": "", "why": why}
        with suppress(LeaseLost):  # it had ended before
            await self.desk.write(self.store.end_run, run.id, self.token, "cancelled", outcome)
        self._over = True
