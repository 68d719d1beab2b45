"""A session as a run at the desk: its asks are requests, its events what the panel shows."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ... import deciders
from ...errors import AlreadyDecided, HitlError, NotPermitted
from ...events import ChunkType, chunk
from ...external import Ask, External
from ...request import Call, Decision, Evaluation, Request, Reviewer, new_id, to_doc
from ...store.base import NewCall

ELSEWHERE = Reviewer("another client of the session", "service")
"""Who decided what was answered by somebody who is not here."""

_log = logging.getLogger("hitl_widgets")


@dataclass(frozen=True, kw_only=True)
class SessionAsk(Ask):
    """An ask of a session.

    Attributes
    ----------
    evaluation
        What the service says of who asks, kept as it came.
    thread
        The sub-agent's thread, or None.
    rules
        Whether rules may decide it; False where one's decision could not be carried out.
    notes
        Whether a note with a yes can be delivered.
    """

    evaluation: dict[str, Any] | None = None
    thread: str | None = None
    rules: bool = True
    notes: bool = True


def no_edits(_args: dict[str, Any]) -> dict[str, Any]:
    """`Ask.check` of a call that the service runs."""
    raise NotPermitted(
        "Managed Agents run a call as it is or not at all: it can not be edited. Decline it with "
        "a reason that says what to do instead. The request is still pending."
    )


class SessionRun(External):
    """`External` for a session: it waits at the service, whoever looks on.

    Parameters
    ----------
    decide
        The rule of `attach`, asked before the reviewer in force.
    interrupt
        What the panel's Cancel does.
    changed
        Called when a rule has been asked.
    """

    def __init__(
        self,
        *,
        session_id: str,
        title: str,
        decide: deciders.Decide | None,
        interrupt: Callable[[], None],
        changed: Callable[[], None],
        store: Any,
    ) -> None:
        super().__init__(
            agent_id=f"managed-agents:{title}",
            title=title,
            prompt=session_id,
            thread_id=session_id,
            store=store,
        )
        # Cards of a live session stand in a cell that has ended.
        self.asking = self.shown is not None and self.shown.can_ask(background=True)
        self._deciders = [d for d in (decide, self.reviewer) if d is not None]
        self.reviewer = self._rules if self._deciders else None
        self._interrupt = interrupt
        self._changed = changed

    # -- asking

    async def _new(self, one: Ask, turn: str, index: int) -> NewCall:
        new = await super()._new(one, turn, index)
        if not isinstance(one, SessionAsk) or new.request is None:
            return new
        judged = Evaluation(one.evaluation or {"type": "always_ask"})
        scope = {
            **new.request.scope,
            "how": "managed-agents",
            "thread": one.thread,
            "rules": one.rules,
            "notes": one.notes,
        }
        request = replace(new.request, evaluation=judged, scope=scope)
        template = {**new.template, **to_doc(request)}
        return NewCall(replace(new.call, evaluation=judged), template, request)

    async def begin_free(self, name: str, args: dict[str, Any], provider_id: str) -> Call:
        """A call that nobody is asked about, with its started row (R13)."""
        token = new_id("t")
        ask = Ask(name=name, args=args, agent_path=(self.title,), provider_id=provider_id)
        asked = await super()._new(ask, new_id("turn"), 0)
        call = replace(
            asked.call,
            state="executing",
            permission="allow",
            evaluation=Evaluation(type="always_allow"),
            owner=self.store.owner,
            token=token,
        )
        new = NewCall(call, asked.template)
        await self.desk.write(self.store.save, self.id, self.token, calls=[new])
        return call

    def show(self, request: Request) -> None:
        """Draw a request anew."""
        if self.screen is not None:
            self.screen.request(request)

    async def latest(self, call_id: str) -> Request:
        """The request about a call."""
        return (await self._latest([call_id]))[call_id]

    async def decision_of(self, call_id: str) -> Request:
        """Wait until a call's request is no longer pending, whoever saw to that."""
        with self._listening() as changed:
            while True:
                changed.clear()
                request = await self.latest(call_id)
                if request.state != "pending":
                    return request
                await self._wait(changed, {call_id: request})

    # -- deciders without a screen

    @property
    def consulting(self) -> bool:
        """Whether a rule is being asked right now."""
        return any(not t.done() for t in self._consulting)

    def _rules(self, request: Request) -> Decision | None:
        """Stands for the rules, which `_consult` asks one by one under their own names."""
        raise NotImplementedError

    async def _consult(self, decide: deciders.Decide, request: Request) -> None:
        """Ask the rules in turn; one that fails decides nothing, and a person is asked (R5)."""
        del decide
        if request.scope.get("rules") is not False:
            await self._ask_rules(request)
        # The task that this runs in is done only after it: whoever looks now must not count it.
        asyncio.get_running_loop().call_soon(self._changed)

    async def _ask_rules(self, request: Request) -> None:
        for rule in self._deciders:
            try:
                if await deciders.consult_at(self.desk, rule, request):
                    return
            except Exception as e:  # noqa: BLE001  # whatever broke it, a person is asked
                who, _ = deciders.identity(rule, request)
                _log.exception("%s failed on %s (%s)", who.name, request.tool_name, request.id)
                self.tell(f"\n{who.name} could not decide {request.tool_name}: {e}\n")

    # -- what others did

    async def decided_elsewhere(self, call_id: str, decision: Decision) -> None:
        """Write down another client's answer as the decision that it is."""
        request = await self.latest(call_id)
        try:
            await self.desk.decide(request, decision, reviewer=ELSEWHERE, via="api", drive=False)
        except HitlError:  # ours was first at the desk; the service says which one counts
            return

    async def take_back(self, call_id: str, why: str) -> None:
        """It is not asked any more."""
        request = await self.latest(call_id)
        told = {"type": "denied", "value": f"{request.tool_name} was not decided: {why}."}
        try:
            await self.desk.write(
                self.store.move,
                request.id,
                "withdraw",
                "withdrawn",
                detail={"why": why},
                call_result=told,
            )
        except AlreadyDecided:
            return

    # -- the panel

    def tell(self, text: str) -> None:
        """Words in the panel."""
        self.say("text-delta", (self.title,), text=text)

    def say(self, kind: ChunkType, path: tuple[str, ...], **payload: Any) -> None:
        """A chunk in the panel."""
        if self.screen is not None:
            self.screen.chunk(chunk(kind, self.id, path, **payload))

    def _cancel(self) -> None:
        self._interrupt()

    async def over(self, reason: str, outcome: Mapping[str, Any]) -> None:
        """End it; what still waits is withdrawn, and the panel is the record of it."""
        state = "completed" if reason == "end_turn" else "cancelled"
        await asyncio.shield(self.end(state, {"finish_reason": reason, **outcome}))
