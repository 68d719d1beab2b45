"""The capability that asks, and that lets every approved call run once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai import (
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    SkipToolExecution,
    ToolReturn,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from ...external import BLOCKED, External
from ...request import Request
from ..results import USED_UP
from .place import Calls, Place, RunningCall, current, external_of, within
from .words import answers, asks_of, leave_word, schemas, told, validators, with_notes


@dataclass
class HumanApproval(AbstractCapability[Any]):
    """Has people decide an agent's deferred tool calls, wherever the agent is run.

    `hitl.run` brings it along. Give it to nested agents, so that their requests show up in the
    same panel; and to an agent whose own ``run``, ``iter`` or ``run_stream_events`` is called
    directly. (pydantic-ai's ``run_stream`` takes a deferred call for its end: it raises, and
    nothing runs.)

    Parameters
    ----------
    store
        Path or store object for an agent that is run directly; None: the configured default.
    """

    store: Any = None

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Not part of an agent's spec."""
        return None

    async def for_run(self, ctx: RunContext[Any]) -> AbstractCapability[Any]:
        """See `AbstractCapability.for_run`: what one run knows is kept apart."""
        return _OfRun(self.store, current(), ctx)


class _OfRun(AbstractCapability[Any]):
    """`HumanApproval` in one run of one agent."""

    def __init__(self, store: Any, place: Place | None, ctx: RunContext[Any]) -> None:
        super().__init__()
        self._store = store
        self._agent = ctx.agent
        self._prompt = ctx.prompt
        self._external = None if place is None else place.external
        name = (ctx.agent.name if ctx.agent is not None else None) or "agent"
        self._path = (*(place.path if place is not None else ()), name)
        root = place is not None and not place.path
        self._bubbles = place is not None and place.bubbles and root
        self._calls = place.known if place is not None and root else Calls()

    def get_ordering(self) -> CapabilityOrdering:
        """Ask last, and claim last: whatever can answer or change a call goes first."""
        return CapabilityOrdering(position="innermost")

    @property
    def external(self) -> External:
        """The run at the desk."""
        assert self._external is not None
        return self._external

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Callable[[], Any]) -> Any:
        """See `AbstractCapability.wrap_run`: an agent run directly is a run of its own."""
        del ctx
        if self._external is not None:
            return await handler()
        agent = cast("AbstractAgent[Any, Any]", self._agent)
        self._external = external = external_of(agent, self._prompt, store=self._store)
        await external.begin()
        async with external.in_view():
            result = await handler()
            await external.end("completed", {"text": str(result.output)})
        return result

    # -- asking

    async def after_tool_validate(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        """See `AbstractCapability.after_tool_validate`: what a person will be shown."""
        del ctx
        self._calls.told[call.tool_call_id] = told(tool_def.name, args)
        self._calls.spent.discard(call.tool_call_id)  # the id of an earlier turn, used again
        return args

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """See `AbstractCapability.handle_deferred_tool_calls`: park until all are decided."""
        self._calls.validators = validators(ctx)
        if self._bubbles:
            leave_word(ctx, requests, self._path)
            return None
        asks = asks_of(requests, self._calls, schemas(ctx), self._path)
        call_ids = await self.external.ask(asks)
        return await answers(self.external, self._calls, requests, call_ids)

    # -- running

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Any],
    ) -> Any:
        """See `AbstractCapability.wrap_tool_execute`: one run of the body for one approval."""
        del ctx
        calls, theirs = self._calls, call.tool_call_id
        if theirs in calls.running:
            return await handler(args)
        if theirs in calls.spent:
            return USED_UP.format(tool_def.name)
        if theirs in calls.stored:
            calls.spent.add(theirs)
            return calls.stored.pop(theirs)
        request = calls.approved.pop(theirs, None)
        with within(Place(self.external, self._path)):
            if request is None:
                return await handler(args)
            calls.spent.add(theirs)
            calls.running[theirs] = running = RunningCall(request, self)
            try:
                return await self._kept(running, handler, args)
            finally:
                del calls.running[theirs]

    async def before_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        """See `AbstractCapability.before_tool_execute`: claim what now runs (R3)."""
        running = self._calls.running.get(call.tool_call_id)
        if running is None or running.owner is not self:
            return args
        if running.token is not None:
            raise SkipToolExecution(USED_UP.format(tool_def.name))
        running.token = await self._claim(ctx, running.request, tool_def, args)
        if running.token is None:
            raise SkipToolExecution(BLOCKED.format(tool_def.name))
        return args

    async def _claim(
        self,
        ctx: RunContext[Any],
        request: Request,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> str | None:
        now = told(tool_def.name, args).args
        approved = (await self.external.row(request.tool_call_id)).args
        validate = validators(ctx).get(tool_def.name)
        if validate is not None and approved != now and validate(approved) == now:
            now = approved  # the framework's reading of exactly what was approved
        return await self.external.claim(request, now, tool_def.parameters_json_schema)

    async def _kept(self, running: RunningCall, handler: Callable[..., Any], args: Any) -> Any:
        """Run the body; what it really did is kept (R13)."""
        try:
            value = await handler(args)
        except asyncio.CancelledError:
            if running.token is not None:
                self.external.lose(running.request.tool_call_id, running.token)
            raise
        except (ApprovalRequired, CallDeferred):  # it did its part, and asks for more
            await self._finish(running, "result", None)
            raise
        except BaseException as e:
            await self._finish(running, "error", f"{type(e).__name__}: {e}")
            raise
        result = cast("Any", value).return_value if isinstance(value, ToolReturn) else value
        await self._finish(running, "result", result)
        return with_notes(value, running.request)

    async def _finish(self, running: RunningCall, kind: str, value: Any) -> None:
        call_id = running.request.tool_call_id
        if running.token is not None:
            await self.external.finish(call_id, running.token, kind, value)
