"""From a session's waiting calls to requests at the desk, and from decisions back to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidAnswer
from ...external import BLOCKED, DECLINED, EXPIRED
from ...request import Approve, Call, Decision, Decline, Effect, Request
from . import budget
from .answers import Answers, Fate
from .custom import TEXT, Custom, Form, Local, does_not_fit, edited, result_event
from .history import Event, History, Waiting
from .run import SessionAsk, SessionRun, no_edits
from .service import TRANSIENT, Service

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


class Presenter:
    """Keeps the desk in step with the session.

    Parameters
    ----------
    news
        Called when something here changed, so that `refresh` is due and waiters look again.
    interrupt
        Ends the session's turn: "decline and stop".
    """

    def __init__(
        self,
        *,
        service: Service,
        history: History,
        answers: Answers,
        run: SessionRun,
        tools: Mapping[str, Custom],
        news: Callable[[], None],
        interrupt: Callable[[], Awaitable[None]],
    ) -> None:
        self.service = service
        self.history = history
        self.answers = answers
        self.run = run
        self.tools = tools
        self.news = news
        self.interrupt = interrupt
        self.items: dict[str, Item] = {}
        self._refused: set[str] = set()

    # -- in step -----------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Close what is no longer asked, open what is new: one card per call, ever (R1)."""
        for item in list(self.items.values()):
            if item.pending:
                await self._close(item)
        await self._open()

    def pending(self) -> list[Item]:
        """What waits for a decision."""
        return [i for i in self.items.values() if i.pending]

    async def drain(self, seconds: float | None) -> None:
        """Let what was decided reach the service; at most so long."""
        tasks = [i.task for i in self.items.values() if i.task and not i.pending and not i.over]
        if tasks:
            await asyncio.wait(tasks, timeout=seconds)

    async def stop(self) -> None:
        """Stop everything: what was started and is not known to have ended is said to be so."""
        tasks = [i.task for i in self.items.values() if i.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _close(self, item: Item) -> None:
        assert item.call_id is not None
        if item.key == BUDGET:
            if self.history.stopped() != "budget_reached":
                await self.run.take_back(item.call_id, "the session goes on")
            return
        call = self.history.calls.get(item.key)
        if call is None or call.waits:
            return
        answer = call.answer
        if answer is None:
            await self.run.take_back(item.call_id, call.closed or "it is not asked any more")
        elif answer["type"] == "user.tool_confirmation":
            await self.run.decided_elsewhere(item.call_id, _decision(answer))
        else:
            await self.run.take_back(item.call_id, "another client answered it")

    async def _open(self) -> None:
        asks: list[tuple[Item, SessionAsk, Follow]] = []
        for call in self.history.waiting():
            if call.id not in self.items and not self._others(call):
                asks += await self._begin(call)
        if self.history.stopped() == "budget_reached" and not self._asked(BUDGET):
            ask = budget.ask(self.history, self.run.title, rules=BUDGET not in self._refused)
            item = self.items[BUDGET] = Item(BUDGET)
            asks.append((item, ask, self._budget))
        if not asks:
            return
        ids = await self.run.ask([ask for _, ask, _ in asks])
        for (item, _, follow), call_id in zip(asks, ids, strict=True):
            item.call_id = call_id
            self._start(item, self._see_through(item, follow))
        self.news()

    def _asked(self, key: str) -> bool:
        item = self.items.get(key)
        return item is not None and not item.over

    def _others(self, call: Waiting) -> bool:
        """Whether somebody else answers it: a worker of the environment, another client."""
        if call.kind == "hosted":
            return True
        return call.kind == "custom" and self.tools.get(call.name, False) is None

    async def _begin(self, call: Waiting) -> list[tuple[Item, SessionAsk, Follow]]:
        item = self.items[call.id] = Item(call.id)
        if call.kind == "ask":
            return [(item, self._ask(call), self._confirm)]
        tool = self.tools.get(call.name)
        if isinstance(tool, Local):
            return await self._begin_local(item, call, tool)
        form = tool if isinstance(tool, Form) else None
        return [(item, self._form(call, form), self._fill_in)]

    def _start(self, item: Item, work: Coroutine[Any, Any, None]) -> None:
        item.task = asyncio.create_task(work)
        item.task.add_done_callback(lambda _: self.news())

    async def _see_through(self, item: Item, follow: Follow) -> None:
        assert item.call_id is not None
        request = await self.run.decision_of(item.call_id)
        item.decided = True
        self.news()
        await follow(item, request)
        self.run.show(await self.run.latest(item.call_id))

    # -- asks ----------------------------------------------------------------------------------------

    def _ask(self, call: Waiting) -> SessionAsk:
        return SessionAsk(
            name=call.name,
            args=call.args,
            agent_path=self.history.agent_path(call.event, self.run.title),
            provider_id=call.id,
            effect=EFFECTS.get(call.name, "unknown"),
            check=no_edits,
            evaluation=call.event.get("evaluation"),
            thread=call.event.get("session_thread_id"),
            rules=call.id not in self._refused,
        )

    async def _confirm(self, item: Item, request: Request) -> None:
        """Carry a verdict to the service."""
        decision = request.decision or {}
        mine = request.identity_source != "service"
        event: Event = {"type": "user.tool_confirmation", "tool_use_id": item.key}
        if request.state == "approved":
            token = await self._claim(item, request)
            if token is None:
                return
            if mine and decision.get("note"):
                self.run.tell("\nThe note stays in the record: Managed Agents can not be told.\n")
            with self._or_unknown(item, token):
                fate = await self._give({**event, "result": "allow"}) if mine else Fate("sent")
                await self._book(item, fate, token, {"confirmation": "allow"})
        elif request.state in ("declined", "expired"):
            why = decision.get("reason") or DECLINED.format(request.tool_name, "")
            if request.state == "expired":
                why = EXPIRED.format(request.tool_name)
            fate = Fate("sent")
            if mine:
                fate = await self._give({**event, "result": "deny", "deny_message": why})
            await self._book(item, fate, None, why)
            if decision.get("stop") and mine:
                await self.interrupt()

    async def _claim(self, item: Item, request: Request) -> str | None:
        """The right to say yes once, to what is asked now (R3)."""
        call = self.history.calls.get(item.key)
        args = call.args if call is not None else {}
        token = await self.run.claim(request, args, None)
        if token is None:
            self.run.tell(f"\n{BLOCKED.format(request.tool_name)}\n")
            self._again(item)
        return token

    def _again(self, item: Item) -> None:
        """It still waits, and the answer that it got could not be given: a new card."""
        self._refused.add(item.key)  # rules had their say: a person looks
        del self.items[item.key]

    async def _give(self, event: Event) -> Fate:
        return await self.answers.give(event)

    async def _book(self, item: Item, fate: Fate, token: str | None, value: Any) -> None:
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
            self._again(item)

    def _or_unknown(self, item: Item, token: str) -> _OrUnknown:
        return _OrUnknown(self.run, item, token)

    # -- custom tools --------------------------------------------------------------------------------

    def _form(self, call: Waiting, form: Form | None) -> SessionAsk:
        return SessionAsk(
            name=call.name,
            args=call.args,
            agent_path=self.history.agent_path(call.event, self.run.title),
            provider_id=call.id,
            kind="input",
            allowed=("answer", "decline"),
            message=f"What is the result of {call.name}?",
            payload=call.args,
            resume_schema=TEXT if form is None else form.shape.json_schema,
            thread=call.event.get("session_thread_id"),
            rules=call.id not in self._refused,
        )

    async def _fill_in(self, item: Item, request: Request) -> None:
        """Carry a typed result to the service."""
        assert item.call_id is not None
        if request.state == "answered":
            token = await self._claim(item, request)
            if token is None:
                return
            with self._or_unknown(item, token):
                value = await self.run.given(item.call_id)
                untyped = request.resume_schema == TEXT
                fate = await self._give(
                    result_event(item.key, value["result"] if untyped else value)
                )
                await self._book(item, fate, token, value)
        elif request.state in ("declined", "expired"):
            await self._no_result(item, request)

    async def _no_result(self, item: Item, request: Request) -> None:
        reason = (request.decision or {}).get("reason")
        text = DECLINED.format(request.tool_name, f" Their reason: {reason!r}." if reason else "")
        fate = await self._give(result_event(item.key, text, error=True))
        await self._book(item, fate, None, text)
        if (request.decision or {}).get("stop"):
            await self.interrupt()

    async def _begin_local(
        self, item: Item, call: Waiting, tool: Local
    ) -> list[tuple[Item, SessionAsk, Follow]]:
        earlier = await self._earlier(call.id)
        if earlier is not None and earlier.state in ("done", "failed"):
            self._start(item, self._tell_again(item, earlier))
            return []
        try:
            args = tool.check(call.args)
        except InvalidAnswer as e:
            self._start(item, self._reject(item, does_not_fit(e)))
            return []
        judged = await tool.judge(args, self.history.agent_path(call.event, self.run.title))
        # It began under a process that is gone: whether it did its work, nobody knows (R13).
        unsure = earlier is not None and not tool.repeatable
        if judged.permission == "deny":
            self._start(item, self._reject(item, f"{call.name} may not be called."))
        elif judged.permission == "allow" and not unsure:
            self._start(item, self._free(item, tool, args))
        else:
            return [(item, self._gate(call, tool, args, judged.evaluation, unsure), self._gated)]
        return []

    def _gate(
        self, call: Waiting, tool: Local, args: dict[str, Any], evaluation: Any, unsure: bool
    ) -> SessionAsk:
        again = "It was started before and nobody knows how it ended. Run it again?"
        return SessionAsk(
            name=call.name,
            args=args,
            agent_path=self.history.agent_path(call.event, self.run.title),
            provider_id=call.id,
            allowed=("approve", "decline", "respond"),
            effect=tool.effect,
            message=again if unsure else None,
            input_schema=tool.shape.json_schema,
            secrets=tool.declared_secrets,
            check=tool.check,
            evaluation=evaluation,
            thread=call.event.get("session_thread_id"),
            rules=not unsure and call.id not in self._refused,
        )

    async def _gated(self, item: Item, request: Request) -> None:
        """Run a local tool that a human decided on."""
        assert item.call_id is not None
        tool = self.tools[request.tool_name]
        assert isinstance(tool, Local)
        if request.state == "approved":
            args = (await self.run.row(item.call_id)).args
            token = await self.run.claim(request, args, tool.shape.json_schema)
            if token is None:
                await self._reject(item, BLOCKED.format(request.tool_name))
                return
            with self._or_unknown(item, token):
                await self._run_local(item, tool, args, token, request)
        elif request.state == "responded":
            value = (request.decision or {}).get("result")
            fate = await self._give(result_event(item.key, value))
            await self.run.answer(item.call_id, "responded", value)
            if fate.how != "sent":
                self.run.tell(f"\n{request.tool_name}: the response did not count: {fate.why}\n")
        elif request.state in ("declined", "expired"):
            await self._no_result(item, request)

    async def _free(self, item: Item, tool: Local, args: dict[str, Any]) -> None:
        row = await self.run.begin_free(tool.name, args, item.key)
        item.call_id, item.decided = row.id, True
        path = (self.run.title,)
        about = {"tool_call_id": row.id, "tool_name": tool.name, "args": args}
        self.run.say("tool-call", path, **about, evaluated_permission="allow", evaluation=None)
        assert row.token is not None
        with self._or_unknown(item, row.token):
            await self._run_local(item, tool, args, row.token, None)

    async def _run_local(
        self, item: Item, tool: Local, args: dict[str, Any], token: str, request: Request | None
    ) -> None:
        """Run it, keep its result, then tell the service: in this order, so that a result is told
        once more after a crash and the tool does not run again."""
        assert item.call_id is not None
        error = False
        try:
            value = await tool.run(args)
        except Exception as e:  # noqa: BLE001  # the model is told what its tool said
            value, error = f"{type(e).__name__}: {e}", True
        told = value if request is None else edited(request, value)
        event = result_event(item.key, told, error=error)
        kind = "error" if error else "result"
        await self.run.finish(item.call_id, token, kind, event["content"][0]["text"])
        done: Any = {"tool_call_id": item.call_id}
        ended: Any = {"error": value} if error else {"result": value}
        end = "tool-error" if error else "tool-result"
        self.run.say(end, (self.run.title,), **done, **ended)
        await self._told(item, await self._give(event), tool.name)

    async def _told(self, item: Item, fate: Fate, name: str) -> None:
        if fate.how != "sent":
            why = fate.why or "another client answered first"
            self.run.tell(f"\n{name} ran, and its result did not count: {why}\n")

    async def _tell_again(self, item: Item, earlier: Call) -> None:
        result = earlier.result or {}
        event = result_event(item.key, result.get("value"), error=result.get("type") == "error")
        await self._told(item, await self._give(event), earlier.tool_name)

    async def _reject(self, item: Item, why: str) -> None:
        fate = await self._give(result_event(item.key, why, error=True))
        if fate.how == "refused":
            self.run.tell(f"\n{why} The service did not take that: {fate.why}\n")

    async def _earlier(self, event_id: str) -> Call | None:
        """The same call in an earlier life of this session here, if it was ever started."""
        store, read = self.run.store, self.run.desk.read
        for run in reversed(await read(store.runs, thread_id=self.service.id)):
            for call in await read(store.calls, run.id):
                ran = (call.result or {}).get("type") in ("result", "error")
                started = call.state in ("executing", "outcome_unknown") or ran
                if call.provider_id == event_id and started:
                    return call
        return None

    # -- the budget ----------------------------------------------------------------------------------

    async def _budget(self, item: Item, request: Request) -> None:
        assert item.call_id is not None
        if request.state != "answered":
            if request.state in ("declined", "expired"):
                await self.run.answer(item.call_id, "denied", "The budget stays as it is.")
            return
        token = await self.run.claim(request, budget.args(self.history), None)
        if token is None:
            self._again(item)
            return
        with self._or_unknown(item, token):
            given = await self.run.given(item.call_id)
            try:
                await self.service.set_budget(given["cents"], budget.currency(self.history))
            except TRANSIENT as e:
                await self.run.finish(item.call_id, token, "error", str(e))
                self.run.tell(f"\nThe budget was not raised: {e}\n")
                self._again(item)
                return
            await self.run.finish(item.call_id, token, "result", given)


Follow = Callable[[Item, Request], Awaitable[None]]
"""What happens once a request is decided."""


class _OrUnknown:
    """What is cancelled between the claim and its end has an unknown outcome (R13)."""

    def __init__(self, run: SessionRun, item: Item, token: str) -> None:
        self.run, self.item, self.token = run, item, token

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self.item.call_id is not None:
            self.run.lose(self.item.call_id, self.token)


def _decision(answer: Event) -> Decision:
    """Another client's confirmation as a decision."""
    return Approve() if answer.get("result") == "allow" else Decline(answer.get("deny_message"))
