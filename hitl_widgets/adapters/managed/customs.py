"""Custom tools of a session: begun, decided, run and told, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InvalidAnswer
from ...external.asking import BLOCKED, DECLINED
from ...request import Call, Request
from .answers import Fate
from .carrier import Carrier, Follow, Item
from .custom import TEXT, Custom, Form, Local, does_not_fit, edited, result_event
from .history import Waiting
from .run import SessionAsk


class Customs:
    """Answers custom calls: by a local tool, or by a form.

    Parameters
    ----------
    tools
        As `custom.custom_tools` made them.
    """

    def __init__(self, carrier: Carrier, tools: Mapping[str, Custom]) -> None:
        self.tools = tools
        self._carrier = carrier
        self._run = carrier.run
        self._history = carrier.history

    def others(self, call: Waiting) -> bool:
        """Whether another client answers it."""
        return self.tools.get(call.name, False) is None

    async def begin(self, item: Item, call: Waiting) -> list[tuple[Item, SessionAsk, Follow]]:
        """Take a call up: what has to be asked about it, if anything."""
        tool = self.tools.get(call.name)
        if isinstance(tool, Local):
            return await self._begin_local(item, call, tool)
        form = tool if isinstance(tool, Form) else None
        return [(item, self._form(call, form), self._fill_in)]

    def _form(self, call: Waiting, form: Form | None) -> SessionAsk:
        return SessionAsk(
            name=call.name,
            args=call.args,
            agent_path=self._history.agent_path(call.event, self._run.title),
            provider_id=call.id,
            kind="input",
            allowed=("answer", "decline"),
            message=f"What is the result of {call.name}?",
            payload=call.args,
            resume_schema=TEXT if form is None else form.shape.json_schema,
            thread=call.event.get("session_thread_id"),
            rules=call.id not in self._carrier.refused,
        )

    async def _fill_in(self, item: Item, request: Request) -> None:
        """Carry a typed result to the service."""
        assert item.call_id is not None
        if request.state == "answered":
            token = await self._carrier.claim(item, request)
            if token is None:
                return
            with self._carrier.or_unknown(item, token):
                value = await self._run.given(item.call_id)
                untyped = request.resume_schema == TEXT
                fate = await self._carrier.give(
                    result_event(item.key, value["result"] if untyped else value)
                )
                await self._carrier.book(item, fate, token, value)
        elif request.state in ("declined", "expired"):
            await self._no_result(item, request)

    async def _no_result(self, item: Item, request: Request) -> None:
        reason = (request.decision or {}).get("reason")
        text = DECLINED.format(request.tool_name, f" Their reason: {reason!r}." if reason else "")
        fate = await self._carrier.give(result_event(item.key, text, error=True))
        await self._carrier.book(item, fate, None, text)
        if (request.decision or {}).get("stop"):
            await self._carrier.interrupt()

    async def _begin_local(
        self, item: Item, call: Waiting, tool: Local
    ) -> list[tuple[Item, SessionAsk, Follow]]:
        earlier = await self._earlier(call.id)
        if earlier is not None and earlier.state in ("done", "failed"):
            self._carrier.start(item, self._tell_again(item, earlier))
            return []
        try:
            args = tool.check(call.args)
        except InvalidAnswer as e:
            self._carrier.start(item, self._reject(item, does_not_fit(e)))
            return []
        judged = await tool.judge(args, self._history.agent_path(call.event, self._run.title))
        # It began under a process that is gone: whether it did its work, nobody knows (R13).
        unsure = earlier is not None and not tool.repeatable
        if judged.permission == "deny":
            self._carrier.start(item, self._reject(item, f"{call.name} may not be called."))
        elif judged.permission == "allow" and not unsure:
            self._carrier.start(item, self._free(item, tool, args))
        else:
            ask = self._gate(call, tool, args, judged.evaluation, unsure=unsure)
            return [(item, ask, self._gated)]
        return []

    def _gate(
        self, call: Waiting, tool: Local, args: dict[str, Any], evaluation: Any, *, unsure: bool
    ) -> SessionAsk:
        again = "It was started before and nobody knows how it ended. Run it again?"
        return SessionAsk(
            name=call.name,
            args=args,
            agent_path=self._history.agent_path(call.event, self._run.title),
            provider_id=call.id,
            allowed=("approve", "decline", "respond"),
            effect=tool.effect,
            message=again if unsure else None,
            input_schema=tool.shape.json_schema,
            secrets=tool.declared_secrets,
            check=tool.check,
            evaluation=evaluation,
            thread=call.event.get("session_thread_id"),
            rules=not unsure and call.id not in self._carrier.refused,
        )

    async def _gated(self, item: Item, request: Request) -> None:
        """Run a local tool that a human decided on."""
        assert item.call_id is not None
        tool = self.tools[request.tool_name]
        assert isinstance(tool, Local)
        if request.state == "approved":
            args = (await self._run.row(item.call_id)).args
            token = await self._run.claim(request, args, tool.shape.json_schema)
            if token is None:
                await self._reject(item, BLOCKED.format(request.tool_name))
                return
            with self._carrier.or_unknown(item, token):
                await self._run_local(item, tool, args, token, request)
        elif request.state == "responded":
            value = (request.decision or {}).get("result")
            fate = await self._carrier.give(result_event(item.key, value))
            await self._run.answer(item.call_id, "responded", value)
            if fate.how != "sent":
                self._run.tell(f"\n{request.tool_name}: the response did not count: {fate.why}\n")
        elif request.state in ("declined", "expired"):
            await self._no_result(item, request)

    async def _free(self, item: Item, tool: Local, args: dict[str, Any]) -> None:
        row = await self._run.begin_free(tool.name, args, item.key)
        item.call_id, item.decided = row.id, True
        path = (self._run.title,)
        about = {"tool_call_id": row.id, "tool_name": tool.name, "args": args}
        self._run.say("tool-call", path, **about, evaluated_permission="allow", evaluation=None)
        assert row.token is not None
        with self._carrier.or_unknown(item, row.token):
            await self._run_local(item, tool, args, row.token, None)

    async def _run_local(
        self, item: Item, tool: Local, args: dict[str, Any], token: str, request: Request | None
    ) -> None:
        """Run it, keep its result, then tell the service.

        In this order a result is told once more after a crash, and the tool does not run again.
        """
        assert item.call_id is not None
        error = False
        try:
            value = await tool.run(args)
        except Exception as e:  # noqa: BLE001  # the model is told what its tool said
            value, error = f"{type(e).__name__}: {e}", True
        told = value if request is None else edited(request, value)
        event = result_event(item.key, told, error=error)
        kind = "error" if error else "result"
        await self._run.finish(item.call_id, token, kind, event["content"][0]["text"])
        done: Any = {"tool_call_id": item.call_id}
        ended: Any = {"error": value} if error else {"result": value}
        end = "tool-error" if error else "tool-result"
        self._run.say(end, (self._run.title,), **done, **ended)
        self._told(await self._carrier.give(event), tool.name)

    def _told(self, fate: Fate, name: str) -> None:
        if fate.how != "sent":
            why = fate.why or "another client answered first"
            self._run.tell(f"\n{name} ran, and its result did not count: {why}\n")

    async def _tell_again(self, item: Item, earlier: Call) -> None:
        result = earlier.result or {}
        event = result_event(item.key, result.get("value"), error=result.get("type") == "error")
        self._told(await self._carrier.give(event), earlier.tool_name)

    async def _reject(self, item: Item, why: str) -> None:
        fate = await self._carrier.give(result_event(item.key, why, error=True))
        if fate.how == "refused":
            self._run.tell(f"\n{why} The service did not take that: {fate.why}\n")

    async def _earlier(self, event_id: str) -> Call | None:
        """The same call in an earlier life of this session here, if it was ever started."""
        store, read = self._run.store, self._run.desk.read
        for run in reversed(await read(store.runs, thread_id=self._carrier.session_id)):
            for call in await read(store.calls, run.id):
                ran = (call.result or {}).get("type") in ("result", "error")
                started = call.state in ("executing", "outcome_unknown") or ran
                if call.provider_id == event_id and started:
                    return call
        return None
