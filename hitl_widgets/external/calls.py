"""The calls of one run: what a turn asks, the one claim of each, and what was really done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import deciders
from ..errors import (
    Declined,
    Expired,
    NoReviewer,
    RunSuspended,
    StaleFingerprint,
    ToolChanged,
    Withdrawn,
)
from ..fingerprint import Fingerprint, digest, fingerprint
from ..request import Call, Request, Run, new_id
from ..store.base import NewCall
from ..surface import RunScreen
from ..waiting import Waiter, names_of, outcome_unknown, plain, receipt_of
from .asking import BLOCKED, CHECKS, DECLINED, EXPIRED, MAX_DECLINES, Ask, Check, bound_to, new_call


class Calls(Waiter):
    """The calls of one run, from being asked about to what is kept of them.

    Parameters
    ----------
    title
        The agent's name, for people.
    resumable
        Whether what waits outlives this process.
    store
        A path, a store, or None for the configured default.

    Attributes
    ----------
    asking
        Whether a person can be asked here.
    run
        The run, once it has begun.
    screen
        Its output here, if it has one.
    """

    def __init__(self, *, title: str, resumable: bool, store: Any) -> None:
        super().__init__(store)
        self.title = title
        self.resumable = resumable
        self.asking = self.shown is not None and self.shown.can_ask()
        if self.reviewer is None and not self.asking:
            self.reviewer = deciders.instead_of_people()
        self.run: Run | None = None
        self.screen: RunScreen | None = None
        self._checked: list[str] = []

    @property
    def _its_run(self) -> Run:
        assert self.run is not None
        return self.run

    @property
    def id(self) -> str:
        """The run's id."""
        return self._its_run.id

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
        if request.state == "pending":
            self._put_to_reviewer(request)

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
            self._its_run,
            replace(one, secrets=secrets),
            identity,
            turn=turn,
            index=index,
            declined_before=len(before),
            origin=self.origin,
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
                    unknown = [r for r in over.values() if r.state == "outcome_unknown"]
                    if unknown:
                        raise outcome_unknown(unknown)
                    return over
                if self._problem is not None:
                    raise self._problem
                if self.reviewer is None and not self.asking:
                    await self._nobody_here([r for r in latest.values() if r.state == "pending"])
                await self._wait(changed, latest)

    async def _latest(self, call_ids: Sequence[str]) -> dict[str, Request]:
        asked = await self.desk.read(self.store.requests, run_id=self.id)
        found = {r.tool_call_id: r for r in asked if r.tool_call_id in set(call_ids)}
        return {call_id: found[call_id] for call_id in call_ids if call_id in found}

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
