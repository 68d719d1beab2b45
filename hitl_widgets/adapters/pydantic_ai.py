"""pydantic-ai's agents at the desk.

Two forms. Without ``key=`` the live run is parked in place while people decide (pydantic-ai's
inline handler): nothing of it outlives the process. With ``key=`` the run ends at each pause and
is resumed from what the store keeps (`DeferredToolRequests`): it survives a restart, by running
the cell again.

In both, the claim is made just before the tool's body runs and its true result is kept just
after, by the `HumanApproval` capability. pydantic-ai wants all answers of a turn at once: an
approved call starts when its siblings are decided too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import PurePath
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDenied,
    ToolFailed,
    ToolReturn,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolCallPart
from pydantic_ai.tools import ToolDefinition

from ..describe import Description, describe_arguments
from ..errors import InvalidAnswer, SnapshotVersion
from ..external import BLOCKED, Ask, Check, External, notes_for_model, plain
from ..request import Request, Verdict

__all__ = ["HumanApproval", "run"]

LIBRARY = f"pydantic-ai-slim {version('pydantic-ai-slim')}"

_REQUESTS = TypeAdapter(DeferredToolRequests)

_NESTED = (
    "A nested agent asks through its parent when it has the capability too: "
    "Agent(…, capabilities=[hitl.adapters.pydantic_ai.HumanApproval()])."
)

APPROVAL: tuple[Verdict, ...] = ("approve", "decline", "respond")
INPUT: tuple[Verdict, ...] = ("answer", "decline")


async def run(
    agent: AbstractAgent[Any, Any],
    prompt: Any = None,
    *,
    key: str | None = None,
    store: Any = None,
    **kwargs: Any,
) -> Any:
    """Run a pydantic-ai agent; people decide its deferred tool calls.

    Parameters
    ----------
    prompt
        The user prompt, as for ``agent.run``.
    key
        Names the run, so that it survives a restart: the same cell run again goes on with it.
    store
        Path or store object; None: the configured default.
    **kwargs
        Given to ``agent.run``: ``deps``, ``message_history``, ``usage_limits``…

    Returns
    -------
    pydantic_ai.run.AgentRunResult

    Raises
    ------
    RunSuspended
        With a key: nobody can be asked here.
    NoReviewer
        Without one: nobody can be asked, and nothing ran.
    Declined
        A person declined and stopped the run, or declined the same call three times.
    OutcomeUnknown
        With a key: a tool had started when its process died.
    """
    if key is not None:
        return await _Resumable(agent, prompt, key, store, kwargs).run()
    external = _external(agent, prompt, store=store)
    await external.begin()
    async with external.in_view():
        with _within(_Place(external)):
            result = await _run_once(agent, prompt, kwargs)
        await external.end("completed", {"text": str(result.output)})
    return result


def _external(agent: AbstractAgent[Any, Any], prompt: Any, **options: Any) -> External:
    name = agent.name or "agent"
    return External(agent_id=f"pydantic-ai:{name}", title=name, prompt=prompt, **options)


async def _run_once(agent: AbstractAgent[Any, Any], prompt: Any, kwargs: dict[str, Any]) -> Any:
    more = dict(kwargs)
    capabilities = [*(more.pop("capabilities", None) or ()), HumanApproval()]
    try:
        return await agent.run(prompt, capabilities=capabilities, **more)
    except UserError as e:
        if "deferred tool call" in str(e):
            e.add_note(_NESTED)
        raise


# -- where a run is ------------------------------------------------------------------------------


@dataclass
class _Calls:
    """Calls of one agent's turn, by pydantic-ai's call id."""

    told: dict[str, Description] = field(default_factory=dict[str, Description])
    validators: dict[str, Check] = field(default_factory=dict[str, Check])
    approved: dict[str, Request] = field(default_factory=dict[str, Request])
    stored: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class _Place:
    """The run at the desk that what happens here belongs to.

    Attributes
    ----------
    path
        Names of the agents from the root down to here.
    bubbles
        Whether the root's requests end its run (`_Resumable`) instead of parking it.
    known
        What is known of the root's calls of this turn, by pydantic-ai's call id.
    """

    external: External
    path: tuple[str, ...] = ()
    bubbles: bool = False
    known: _Calls = field(default_factory=_Calls)


_place: ContextVar[_Place | None] = ContextVar("hitl_pydantic_ai_place", default=None)


@contextmanager
def _within(place: _Place) -> Generator[None]:
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


# -- the capability ------------------------------------------------------------------------------


@dataclass
class HumanApproval(AbstractCapability[Any]):
    """Has people decide an agent's deferred tool calls, wherever the agent is run.

    `hitl.run` brings it along. Give it to nested agents, so that their requests show up in the
    same panel; and to an agent whose own ``run``, ``iter`` or ``run_stream`` is called directly.

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
        return _OfRun(self.store, _place.get(), ctx)


class _OfRun(AbstractCapability[Any]):
    """`HumanApproval` in one run of one agent."""

    def __init__(self, store: Any, place: _Place | None, ctx: RunContext[Any]) -> None:
        super().__init__()
        self._store = store
        self._agent = ctx.agent
        self._prompt = ctx.prompt
        self._outer = place
        self._external = None if place is None else place.external
        name = (ctx.agent.name if ctx.agent is not None else None) or "agent"
        self._path = (*(place.path if place is not None else ()), name)
        root = place is not None and not place.path
        self._bubbles = place is not None and place.bubbles and root
        self._calls = place.known if place is not None and root else _Calls()

    def get_ordering(self) -> CapabilityOrdering:
        """Ask last: whatever can answer without a person goes first."""
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
        self._external = external = _external(agent, self._prompt, store=self._store)
        await external.begin()
        async with external.in_view():
            result = await handler()
            await external.end("completed", {"text": str(result.output)})
        return result

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
        self._calls.told[call.tool_call_id] = _told(tool_def.name, args)
        return args

    async def handle_deferred_tool_calls(
        self, ctx: RunContext[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """See `AbstractCapability.handle_deferred_tool_calls`: park until all are decided."""
        if self._bubbles:
            self._describe_schemas(ctx, requests)
            return None
        self._calls.validators = _validators(ctx)
        asks = _asks(requests, self._calls, _schemas(ctx), self._path)
        call_ids = await self.external.ask(asks)
        return await _answers(self.external, self._calls, requests, call_ids)

    def _describe_schemas(self, ctx: RunContext[Any], requests: DeferredToolRequests) -> None:
        """Leave the schemas to whoever resumes, for this run is over then."""
        self._calls.validators = _validators(ctx)
        schemas = _schemas(ctx)
        for part in (*requests.approvals, *requests.calls):
            about = requests.metadata.setdefault(part.tool_call_id, {})
            about["hitl"] = {"schema": schemas.get(part.tool_name), "path": list(self._path)}

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Any],
    ) -> Any:
        """See `AbstractCapability.wrap_tool_execute`: claim, run, keep the result (R3, R13)."""
        inside = _Place(self.external, self._path)
        stored = self._calls.stored
        if call.tool_call_id in stored:
            return stored.pop(call.tool_call_id)
        request = self._calls.approved.pop(call.tool_call_id, None)
        with _within(inside):
            if request is None:
                return await handler(args)
            return await self._claimed(ctx, request, tool_def, args, handler)

    async def _claimed(
        self,
        ctx: RunContext[Any],
        request: Request,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: Callable[[dict[str, Any]], Any],
    ) -> Any:
        external = self.external
        now = _told(tool_def.name, args).args
        approved = (await external.row(request.tool_call_id)).args
        validate = _validators(ctx).get(tool_def.name)
        if validate is not None and approved != now and validate(approved) == now:
            now = approved  # the framework's reading of exactly what was approved
        token = await external.claim(request, now, tool_def.parameters_json_schema)
        if token is None:
            return BLOCKED.format(tool_def.name)
        try:
            value = await handler(args)
        except asyncio.CancelledError:
            external.lose(request.tool_call_id, token)
            raise
        except BaseException as e:
            error = f"{type(e).__name__}: {e}"
            await external.finish(request.tool_call_id, token, "error", error)
            raise
        result = cast("Any", value).return_value if isinstance(value, ToolReturn) else value
        await external.finish(request.tool_call_id, token, "result", result)
        return _with_notes(value, request)


# -- between its words and ours --------------------------------------------------------------------


def _told(name: str, args: dict[str, Any]) -> Description:
    """Validated arguments as JSON, secrets in clear and named."""
    texts = {k: str(v) if isinstance(v, PurePath) else v for k, v in args.items()}
    return describe_arguments(texts, where=name)


def _schemas(ctx: RunContext[Any]) -> dict[str, dict[str, Any]]:
    return {name: d.parameters_json_schema for name, d in (ctx.tools or {}).items()}


def _validators(ctx: RunContext[Any]) -> dict[str, Check]:
    """Tool name → the framework's own reading of arguments."""
    manager = ctx.tool_manager
    tools = (manager.tools or {}) if manager is not None else {}

    def reading(name: str, validator: Any) -> Check:
        def read(args: dict[str, Any]) -> dict[str, Any]:
            try:
                found = validator.validate_python(args, context=ctx.validation_context)
            except ValidationError as e:
                errors = [
                    {"path": list(x["loc"]), "message": x["msg"], "type": x["type"]}
                    for x in e.errors(include_url=False, include_input=False)
                ]
                raise InvalidAnswer(errors, f"{name} does not take these arguments") from e
            return _told(name, found).args

        return read

    return {name: reading(name, tool.args_validator) for name, tool in tools.items()}


def _asks(
    requests: DeferredToolRequests,
    calls: _Calls,
    schemas: dict[str, dict[str, Any]],
    path: tuple[str, ...],
) -> list[Ask]:
    asks: list[Ask] = []
    for part in (*requests.approvals, *requests.calls):
        told = calls.told.get(part.tool_call_id)
        if told is None:
            told = Description(part.args_as_dict(raise_if_invalid=True))
        about = requests.metadata.get(part.tool_call_id, {})
        kept = about.get("hitl", {})
        shown = {k: v for k, v in about.items() if k != "hitl"}
        approval = requests.kind(part.tool_call_id) == "approval"
        asks.append(
            Ask(
                name=part.tool_name,
                args=told.args,
                secrets=tuple(told.secrets),
                agent_path=tuple(kept.get("path", path)),
                provider_id=part.tool_call_id,
                kind="approval" if approval else "input",
                allowed=APPROVAL if approval else INPUT,
                payload=plain(shown) if shown else None,
                input_schema=kept.get("schema", schemas.get(part.tool_name)),
                resume_schema=None if approval else shown.get("resume_schema"),
                parked="hitl" not in about,
                check=calls.validators.get(part.tool_name) if approval else None,
            )
        )
    return asks


def _ids(requests: DeferredToolRequests) -> list[str]:
    return [part.tool_call_id for part in (*requests.approvals, *requests.calls)]


async def _answers(
    external: External, calls: _Calls, requests: DeferredToolRequests, call_ids: Sequence[str]
) -> DeferredToolResults:
    """Wait for every decision; in pydantic-ai's words."""
    decided = await external.decided(call_ids)
    await external.going_on()
    results = DeferredToolResults()
    for theirs, ours in zip(_ids(requests), call_ids, strict=True):
        request = decided[ours]
        if request.reviewer is not None:
            results.answered_by[theirs] = request.reviewer
        if requests.kind(theirs) == "approval":
            results.approvals[theirs] = await _approval(external, calls, theirs, request)
        else:
            results.calls[theirs] = await _input(external, request)
    return results


async def _approval(
    external: External, calls: _Calls, theirs: str, request: Request
) -> ToolApproved | ToolDenied:
    row = await external.row(request.tool_call_id)
    match request.state:
        case "approved":
            calls.approved[theirs] = request
            edited = (request.decision or {}).get("args") is not None
            return ToolApproved(override_args=row.args if edited else None)
        case "responded":
            value = (request.decision or {}).get("result")
            await external.answer(request.tool_call_id, "responded", value)
            calls.stored[theirs] = value
            return ToolApproved()
        case "done" | "failed" if row.result is not None:
            # Made before a restart, or settled by a human: it must not be made again.
            calls.stored[theirs] = _with_notes(row.result.get("value"), request)
            return ToolApproved()
        case _:
            return ToolDenied(await external.no(request))


async def _input(external: External, request: Request) -> Any:
    row = await external.row(request.tool_call_id)
    if request.state == "answered":
        token = await external.claim(request, row.args, request.input_schema)
        if token is None:
            return ToolFailed(BLOCKED.format(request.tool_name))
        value = await external.given(request.tool_call_id)
        await external.finish(request.tool_call_id, token, "result", value)
        return value
    if request.state in ("done", "failed") and row.result is not None:
        return row.result.get("value")
    return ToolFailed(await external.no(request))


def _with_notes(value: Any, request: Request) -> Any:
    """The result with what a human changed or said.

    pydantic-ai's history keeps the model's own arguments: here it learns the truth (R10).
    """
    notes = notes_for_model(request)
    if not notes:
        return value
    if isinstance(value, ToolReturn):
        returned = cast("Any", value)
        returned.return_value = {"result": returned.return_value, **notes}
        return returned
    return {"result": value, **notes}


# -- stop and resume -------------------------------------------------------------------------------


class _Resumable:
    """A run that ends at each pause and goes on from the store, here or after a restart."""

    def __init__(
        self,
        agent: AbstractAgent[Any, Any],
        prompt: Any,
        key: str,
        store: Any,
        kwargs: dict[str, Any],
    ) -> None:
        self.agent = agent
        self.prompt = prompt
        self.kwargs = {**kwargs, "output_type": _deferring(agent, kwargs.get("output_type"))}
        self.external = _external(agent, prompt, store=store, key=key, resumable=True)
        self.calls = _Calls()

    async def run(self) -> Any:
        """Until it ends; see `run`."""
        frame = await self.external.begin({"library": LIBRARY})
        async with self.external.in_view():
            if frame is None or "messages" not in frame:
                result = await self._go(self.prompt, self.kwargs)
            else:
                result = await self._go_on(*_loaded(frame), shown=False)
            while isinstance(result.output, DeferredToolRequests):
                result = await self._ask(result)
            await self.external.end("completed", {"text": str(result.output)})
        return result

    async def _go(self, prompt: Any, kwargs: dict[str, Any]) -> Any:
        with _within(_Place(self.external, bubbles=True, known=self.calls)):
            return await _run_once(self.agent, prompt, kwargs)

    async def _ask(self, result: Any) -> Any:
        requests: DeferredToolRequests = result.output
        messages: list[Any] = result.all_messages()
        asks = _asks(requests, self.calls, {}, ())

        def frame(call_ids: list[str]) -> dict[str, Any]:
            return {
                "library": LIBRARY,
                "messages": ModelMessagesTypeAdapter.dump_python(messages, mode="json"),
                "requests": _REQUESTS.dump_python(requests, mode="json"),
                "calls": call_ids,
            }

        call_ids = await self.external.ask(asks, frame)
        return await self._go_on(messages, requests, call_ids, shown=True)

    async def _go_on(
        self,
        messages: list[Any],
        requests: DeferredToolRequests,
        call_ids: list[str],
        *,
        shown: bool,
    ) -> Any:
        if not shown:
            await self.external.show_again(call_ids)
        results = await _answers(self.external, self.calls, requests, call_ids)
        kwargs = {**self.kwargs, "message_history": messages, "deferred_tool_results": results}
        return await self._go(None, kwargs)


def _deferring(agent: AbstractAgent[Any, Any], given: Any) -> list[Any]:
    """The output type, and `DeferredToolRequests` beside it."""
    wanted = agent.output_type if given is None else given
    types = list(cast("Sequence[Any]", wanted)) if isinstance(wanted, list | tuple) else [wanted]
    return types if DeferredToolRequests in types else [*types, DeferredToolRequests]


def _loaded(frame: dict[str, Any]) -> tuple[list[Any], DeferredToolRequests, list[str]]:
    try:
        messages = ModelMessagesTypeAdapter.validate_python(frame["messages"])
        requests = _REQUESTS.validate_python(frame["requests"])
    except ValidationError as e:
        raise SnapshotVersion(
            f"This run was kept by {frame.get('library')} and cannot be read by {LIBRARY}: "
            f"install that one to go on; the run is kept. ({e.error_count()} faults)"
        ) from e
    return list(messages), requests, list(frame["calls"])
