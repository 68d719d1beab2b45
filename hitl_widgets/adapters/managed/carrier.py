"""What was decided here, carried to the service and booked as what became of it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from ...external.asking import BLOCKED, DECLINED, EXPIRED
from ...request import Effect, Request
from .answers import Answers, Fate
from .history import Event, History, Waiting
from .run import SessionAsk, SessionRun, no_edits

_log = logging.getLogger("hitl_widgets")

EFFECTS: Mapping[str, Effect] = {
    "read": "read",
    "glob": "read",
    "grep": "read",
    "web_fetch": "read",
    "web_search": "read",
    "write": "write",
    "edit": "write",
}
"""What the built-in tools do; ``bash`` and others can do anything."""

BUDGET = "budget"
"""The key of the one question that is about no call."""


@dataclass(eq=False)
class Item:
    """One thing that was put to a person (or a rule), or is being done without one.

    Attributes
    ----------
    key
        The call's event id, or `BUDGET`.
    call_id
        The call's id at the desk; None until it is known.
    """

    key: str
    call_id: str | None = None
    task: asyncio.Task[None] | None = None
    decided: bool = False

    @property
    def over(self) -> bool:
        """Whether nothing more happens to it."""
        return self.task is not None and self.task.done()

    @property
    def pending(self) -> bool:
        """Whether somebody has to decide it."""
        return self.call_id is not None and not self.decided and not self.over


class Carrier:
    """Carries verdicts to the service.

    Parameters
    ----------
    news
        Called when something here changed.
    interrupt
        Ends the session's turn: "decline and stop".

    Attributes
    ----------
    items
        What is asked or being done, by key.
    refused
        Keys whose answer the service refused: a person decides them, no rule.
    """

    def __init__(
        self,
        *,
        session_id: str,
        history: History,
        answers: Answers,
        run: SessionRun,
        news: Callable[[], None],
        interrupt: Callable[[], Awaitable[None]],
    ) -> None:
        self.session_id = session_id
        self.history = history
        self.answers = answers
        self.run = run
        self.news = news
        self.interrupt = interrupt
        self.items: dict[str, Item] = {}
        self.refused: set[str] = set()

    def start(self, item: Item, work: Coroutine[Any, Any, None]) -> None:
        """Do something about an item in a task of its own."""
        item.task = asyncio.create_task(self._or_said(item, work))
        item.task.add_done_callback(lambda _: self.news())

    async def _or_said(self, item: Item, work: Coroutine[Any, Any, None]) -> None:
        """What breaks on the way is said, and a person looks again: nothing waits unseen."""
        try:
            await work
        except Exception as e:  # noqa: BLE001  # whatever broke it
            _log.exception("session %s: %s was not carried out", self.session_id, item.key)
            self.run.say("error", (self.run.title,), error=f"\nNot carried out: {e}\n")
            if self.items.get(item.key) is item:
                self.again(item)

    async def see_through(self, item: Item, follow: Follow) -> None:
        """Wait for an item's decision and do what it says."""
        assert item.call_id is not None
        request = await self.run.decision_of(item.call_id)
        item.decided = True
        self.news()
        await follow(item, request)
        self.run.show(await self.run.latest(item.call_id))

    def ask(self, call: Waiting) -> SessionAsk:
        """A call that waits for a confirmation, as a question."""
        return SessionAsk(
            name=call.name,
            args=call.args,
            agent_path=self.history.agent_path(call.event, self.run.title),
            provider_id=call.id,
            effect=EFFECTS.get(call.name, "unknown"),
            check=no_edits,
            evaluation=call.event.get("evaluation"),
            thread=call.event.get("session_thread_id"),
            rules=call.id not in self.refused,
            notes=False,
        )

    async def confirm(self, item: Item, request: Request) -> None:
        """Carry a verdict to the service."""
        with self.answers.expected(item.key):
            await self._confirm(item, request)

    async def _confirm(self, item: Item, request: Request) -> None:
        decision = request.decision or {}
        mine = request.identity_source != "service"
        event: Event = {"type": "user.tool_confirmation", "tool_use_id": item.key}
        if request.state == "approved":
            token = await self.claim(item, request)
            if token is None:
                return
            with self.or_unknown(item, token):
                fate = await self.give({**event, "result": "allow"}) if mine else Fate("sent")
                await self.book(item, fate, token, {"confirmation": "allow"})
        elif request.state in ("declined", "expired"):
            why = decision.get("reason") or DECLINED.format(request.tool_name, "")
            if request.state == "expired":
                why = EXPIRED.format(request.tool_name)
            fate = Fate("sent")
            if mine:
                fate = await self.give({**event, "result": "deny", "deny_message": why})
            await self.book(item, fate, None, why)
            if decision.get("stop") and mine:
                await self.interrupt()

    async def claim(self, item: Item, request: Request) -> str | None:
        """The right to say yes once, to what is asked now (R3)."""
        call = self.history.calls.get(item.key)
        args = call.args if call is not None else {}
        token = await self.run.claim(request, args, None)
        if token is None:
            self.run.tell(f"\n{BLOCKED.format(request.tool_name)}\n")
            self.again(item)
        return token

    def again(self, item: Item) -> None:
        """It still waits, and the answer that it got could not be given: a new card."""
        self.refused.add(item.key)  # rules had their say: a person looks
        del self.items[item.key]

    async def give(self, event: Event) -> Fate:
        """Send an answer."""
        return await self.answers.give(event)

    async def book(self, item: Item, fate: Fate, token: str | None, value: Any) -> None:
        """Write down what became of an answer, and say it where it is not what was decided."""
        assert item.call_id is not None
        kind = "result" if token is not None else "denied"
        if fate.how == "elsewhere":
            said = (fate.event or {}).get("result", "a result")
            kind, value = "error", f"another client answered first: {said}"
        elif fate.how != "sent":
            kind, value = "error", fate.why
        if token is None:
            await self.run.answer(item.call_id, kind, value)
        else:
            await self.run.finish(item.call_id, token, kind, value)
        if kind != "error":
            return
        call = self.history.calls.get(item.key)
        name = call.name if call is not None else "The answer"
        self.run.say("error", (self.run.title,), error=f"\n{name}: not as decided here: {value}\n")
        if fate.how == "refused":
            self.again(item)

    def or_unknown(self, item: Item, token: str) -> OrUnknown:
        """A context for what a claimed call does."""
        return OrUnknown(self.run, item, token)


Follow = Callable[[Item, Request], Awaitable[None]]
"""What happens once a request is decided."""


class OrUnknown:
    """What is cancelled between the claim and its end has an unknown outcome (R13)."""

    def __init__(self, run: SessionRun, item: Item, token: str) -> None:
        self.run, self.item, self.token = run, item, token

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self.item.call_id is not None:
            self.run.lose(self.item.call_id, self.token)
