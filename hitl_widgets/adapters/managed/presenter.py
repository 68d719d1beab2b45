"""Keeps the desk in step with a session: one card per call that waits, closed when it does not."""

from __future__ import annotations

import asyncio

from ...request import Approve, Decision, Decline, Request
from . import budget
from .carrier import BUDGET, Carrier, Follow, Item
from .customs import Customs
from .history import Event, Waiting
from .run import SessionAsk
from .service import TRANSIENT, Service


class Presenter:
    """Opens and closes requests as the session's events say."""

    def __init__(self, service: Service, carrier: Carrier, customs: Customs) -> None:
        self._service = service
        self._carrier = carrier
        self._customs = customs
        self._run = carrier.run
        self._history = carrier.history
        self._budget_idle: str | None = None

    async def refresh(self) -> None:
        """Close what is no longer asked, open what is new: one card per call, ever (R1)."""
        for item in list(self._carrier.items.values()):
            if item.pending:
                await self._close(item)
        await self._open()

    def pending(self) -> list[Item]:
        """What waits for a decision."""
        return [i for i in self._carrier.items.values() if i.pending]

    def call_id(self, key: str) -> str | None:
        """The desk's id of a call, if it was put to the desk."""
        item = self._carrier.items.get(key)
        return None if item is None else item.call_id

    async def drain(self, seconds: float | None) -> None:
        """Let what was decided reach the service; at most so long."""
        items = self._carrier.items.values()
        tasks = [i.task for i in items if i.task and not i.pending and not i.over]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def stop(self) -> None:
        """Stop everything: what was started and is not known to have ended is said to be so."""
        tasks = [i.task for i in self._carrier.items.values() if i.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _close(self, item: Item) -> None:
        assert item.call_id is not None
        if item.key == BUDGET:
            if self._history.stopped() != "budget_reached":
                await self._run.take_back(item.call_id, "the session goes on")
            return
        call = self._history.calls.get(item.key)
        if call is None or call.waits:
            return
        answer = call.answer
        if answer is None:
            await self._run.take_back(item.call_id, call.closed or "it is not asked any more")
        elif answer["type"] == "user.tool_confirmation":
            await self._run.decided_elsewhere(item.call_id, _decision(answer))
        else:
            await self._run.take_back(item.call_id, "another client answered it")

    async def _open(self) -> None:
        asks: list[tuple[Item, SessionAsk, Follow]] = []
        for call in self._history.waiting():
            if call.id not in self._carrier.items and not self._others(call):
                asks += await self._begin(call)
        asks += self._budget_due()
        if not asks:
            return
        ids = await self._run.ask([ask for _, ask, _ in asks])
        for (item, _, follow), call_id in zip(asks, ids, strict=True):
            item.call_id = call_id
            self._carrier.start(item, self._carrier.see_through(item, follow))
        self._carrier.news()

    def _others(self, call: Waiting) -> bool:
        """Whether somebody else answers it: a worker of the environment, another client."""
        return call.kind == "hosted" or (call.kind == "custom" and self._customs.others(call))

    async def _begin(self, call: Waiting) -> list[tuple[Item, SessionAsk, Follow]]:
        item = self._carrier.items[call.id] = Item(call.id)
        if call.kind == "custom":
            return await self._customs.begin(item, call)
        return [(item, self._carrier.ask(call), self._carrier.confirm)]

    # -- the budget --------------------------------------------------------------------------------

    def _budget_due(self) -> list[tuple[Item, SessionAsk, Follow]]:
        """A form at the cap: once for each time that the session comes to stand there."""
        if self._history.stopped() != "budget_reached":
            return []
        item = self._carrier.items.get(BUDGET)
        if item is not None and (not item.over or self._budget_idle == self._history.idle_id):
            return []
        self._budget_idle = self._history.idle_id
        item = self._carrier.items[BUDGET] = Item(BUDGET)
        rules = BUDGET not in self._carrier.refused
        return [(item, budget.ask(self._history, self._run.title, rules=rules), self._raise)]

    async def _raise(self, item: Item, request: Request) -> None:
        assert item.call_id is not None
        if request.state in ("declined", "expired"):
            await self._run.answer(item.call_id, "denied", "The budget stays as it is.")
        if request.state != "answered":
            return
        token = await self._run.claim(request, budget.args(self._history), None)
        if token is None:
            self._carrier.again(item)
            return
        with self._carrier.or_unknown(item, token):
            given = await self._run.given(item.call_id)
            try:
                await self._service.set_budget(given["cents"], budget.currency(self._history))
            except TRANSIENT as e:
                await self._run.finish(item.call_id, token, "error", str(e))
                self._run.tell(f"\nThe budget was not raised: {e}\n")
                self._carrier.again(item)
            else:
                await self._run.finish(item.call_id, token, "result", given)


def _decision(answer: Event) -> Decision:
    """Another client's confirmation as a decision."""
    return Approve() if answer.get("result") == "allow" else Decline(answer.get("deny_message"))
