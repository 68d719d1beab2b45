"""The model layer: the only place of the agent that knows pydantic-ai.

Snapshots and memory get opaque `dump` and `load`; the engine gets plain calls and text. Facts
about provider streams (an unfinished one raises nothing) are answered in `_check_complete`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, TypeGuard, cast

from pydantic import ValidationError
from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai.tools import ToolDefinition

from ..errors import AgentDefinitionError, ModelFailed, SnapshotVersion
from ..live import filled
from ..schema import is_json

NUDGE = "Give the final answer by calling the tool final_result."
"""Said to a model that answers in words where an object is wanted; no word of the user's."""

LIBRARY = f"pydantic-ai-slim {version('pydantic-ai-slim')}"
Message = ModelMessage
Messages = list[ModelMessage]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What a model is told about a tool."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A tool call as the model wrote it; `args` is None for no JSON object, or a too deep one."""

    name: str
    args: dict[str, Any] | None
    provider_id: str
    raw: str


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole model turn.

    Attributes
    ----------
    usage
        ``{"input_tokens", "output_tokens", "requests"}``.
    """

    message: ModelResponse
    text: str
    calls: tuple[ProposedCall, ...]
    usage: dict[str, int]
    finish_reason: str | None


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a streamed turn: ``"text"`` or ``"reasoning"``."""

    kind: str
    text: str


def resolve(model: Any) -> Model:
    """A pydantic-ai `Model` from ``"provider:name"`` or a model object."""
    if isinstance(model, Model):
        return _strict(cast("Model", model))
    if isinstance(model, str):
        try:
            return _strict(infer_model(model))
        except (UserError, ImportError) as e:
            why = str(e).split(". ", maxsplit=1)[0]
            raise AgentDefinitionError(
                f"model={model!r} cannot be used: {why}. Give 'provider:name', such as "
                "'anthropic:claude-…', with its package (pip install 'hitl-widgets[anthropic]') "
                "and its key in the environment; without a network, hitl.ScriptedModel([...])."
            ) from e
    raise AgentDefinitionError(
        f"model={model!r}: give 'provider:name' (such as 'anthropic:claude-…'), a "
        "hitl.ScriptedModel([...]), or any pydantic-ai Model."
    )


def _strict(model: Model) -> Model:
    """Have a chat stream that just ends raise, as far as the caller's profile leaves that open.

    Otherwise the library takes it for a whole reply that stopped.
    """
    profile = cast("dict[str, Any]", model.profile)
    profile.setdefault("openai_chat_streaming_requires_finish_reason", True)
    return model


async def ask(
    model: Model,
    messages: Sequence[ModelMessage],
    tools: Sequence[ToolSpec],
    settings: Mapping[str, Any] | None = None,
) -> AsyncIterator[Delta | Reply]:
    """Stream one turn: deltas, then the whole `Reply`.

    Raises
    ------
    ModelFailed
        The provider broke off, or what it sent cannot be read.
    """
    parameters = ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=t.name, description=t.description, parameters_json_schema=filled(t.schema)
            )
            for t in tools
        ],
        allow_text_output=True,
    )
    async with model_request_stream(
        model,
        list(messages),
        model_request_parameters=parameters,
        model_settings=cast("Any", dict(settings) if settings else None),
    ) as stream:
        async for event in stream:
            delta = _delta(event)
            if delta is not None:
                yield delta
        message = stream.get()
    _check_complete(message)
    yield Reply(message, _text(message), _calls(message), _usage(message), message.finish_reason)


def _delta(event: Any) -> Delta | None:
    match event:
        case PartStartEvent(part=TextPart(content=text)) if text:
            return Delta("text", text)
        case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
            return Delta("text", text)
        case PartStartEvent(part=ThinkingPart(content=text)) if text:
            return Delta("reasoning", text)
        case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
            return Delta("reasoning", text)
        case _:
            return None


def _check_complete(message: ModelResponse) -> None:
    """Raise for a stream that ended early: the SDKs do not, but it leaves traces.

    That is no finish reason from a provider that always gives one, or a state that is not
    complete.
    """
    # pydantic-ai's own TestModel never gives a reason.
    provided = message.provider_name not in (None, "test")
    unfinished = provided and message.finish_reason is None
    if message.state != "complete" or unfinished:
        raise ModelFailed(
            f"The reply of {message.model_name or 'the model'} was broken off "
            f"(state {message.state}, finish reason {message.finish_reason}). Nothing of it was "
            "used; run it again."
        )


def _text(message: ModelResponse) -> str:
    return "".join(p.content for p in message.parts if isinstance(p, TextPart))


def _calls(message: ModelResponse) -> tuple[ProposedCall, ...]:
    return tuple(_proposed(p) for p in message.parts if isinstance(p, ToolCallPart))


def _proposed(part: ToolCallPart) -> ProposedCall:
    raw = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
    try:
        args: Any = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        args = None
    known = cast("dict[str, Any]", args) if isinstance(args, dict) and is_json(args) else None
    return ProposedCall(part.tool_name, known, part.tool_call_id, raw)


def _usage(message: ModelResponse) -> dict[str, int]:
    return {
        "input_tokens": message.usage.input_tokens,
        "output_tokens": message.usage.output_tokens,
        "requests": 1,
    }


def cost_of(message: ModelResponse) -> float:
    """What a turn cost, from the model library's price table.

    Raises
    ------
    ModelFailed
        The table has no price for this model.
    """
    try:
        return float(message.cost().total_price)
    except (LookupError, ValueError, AssertionError) as e:
        raise ModelFailed(
            f"Nobody here knows the price of {message.model_name or 'this model'}, so "
            "Budget(max_cost=) cannot be kept: limit max_tokens instead."
        ) from e


async def fill_in(model: Model, instructions: str, text: str, schema: Mapping[str, Any]) -> Any:
    """Have a model put a text into the form of a JSON Schema; None when it does not."""
    if isinstance(model, ScriptedModel):
        return None if model.extract is None else model.extract(text, schema)
    wrapped = schema.get("type") != "object"
    shape = _wrapped(schema) if wrapped else schema
    tool = ToolSpec("fill_in", "Give the data that the text holds.", shape)
    async for piece in ask(model, [user_message(text, instructions)], [tool]):
        if isinstance(piece, Reply):
            for proposed in piece.calls:
                if proposed.name == "fill_in" and proposed.args is not None:
                    return proposed.args.get("value") if wrapped else proposed.args
    return None


def _wrapped(schema: Mapping[str, Any]) -> dict[str, Any]:
    inner = {k: v for k, v in schema.items() if k != "$defs"}
    outer = {"type": "object", "properties": {"value": inner}, "required": ["value"]}
    return {**outer, "$defs": schema["$defs"]} if "$defs" in schema else outer


# -- histories ---------------------------------------------------------------------------------


def user_message(text: str, instructions: str | None = None) -> ModelRequest:
    """What the user said."""
    return ModelRequest(parts=[UserPromptPart(content=text)], instructions=instructions)


def tool_returns(
    results: Sequence[tuple[str, str, Any]], instructions: str | None = None
) -> ModelRequest:
    """Results of a turn's calls: ``(tool name, provider's call id, JSON value)`` each."""
    parts = [ToolReturnPart(tool_name=n, content=value, tool_call_id=i) for n, i, value in results]
    return ModelRequest(parts=parts, instructions=instructions)


def with_call_args(message: ModelResponse, args: Mapping[str, dict[str, Any]]) -> ModelResponse:
    """The message with other arguments in its tool calls, by provider's call id (R10, R17)."""
    parts = [
        replace(p, args=args[p.tool_call_id])
        if isinstance(p, ToolCallPart) and p.tool_call_id in args
        else p
        for p in message.parts
    ]
    return replace(message, parts=parts)


def with_own_ids(reply: Reply) -> Reply:
    """The reply with every tool call's id distinct: some providers give none, or one twice."""
    seen: set[str] = set()
    parts: list[Any] = []
    for index, part in enumerate(reply.message.parts):
        if isinstance(part, ToolCallPart):
            if not part.tool_call_id or part.tool_call_id in seen:
                part = replace(part, tool_call_id=f"{part.tool_call_id or 'call'}-{index}")  # noqa: PLW2901
            seen.add(part.tool_call_id)
        parts.append(part)
    message = replace(reply.message, parts=parts)
    return replace(reply, message=message, calls=_calls(message))


def is_reply(message: ModelMessage) -> TypeGuard[ModelResponse]:
    """Whether a message is a model's turn."""
    return isinstance(message, ModelResponse)


def answered(messages: Sequence[ModelMessage]) -> Messages:
    """The history without tool calls that have no result yet: what may be remembered (F31)."""
    if not messages or not isinstance(messages[-1], ModelResponse):
        return list(messages)
    last = messages[-1]
    kept = [p for p in last.parts if not isinstance(p, ToolCallPart)]
    if len(kept) == len(last.parts):
        return list(messages)
    return [*messages[:-1], replace(last, parts=kept)] if kept else list(messages[:-1])


def nudges(messages: Sequence[ModelMessage]) -> int:
    """How often the model was told to give its final answer, since the user last spoke."""
    count = 0
    for message in messages:
        if user_texts([message]):
            count = 0
        elif isinstance(message, ModelRequest):
            parts = (p for p in message.parts if isinstance(p, UserPromptPart))
            count += sum(p.content == NUDGE for p in parts)
    return count


def said(text: str) -> ModelResponse:
    """Words of ours in a conversation, in the model's place."""
    return ModelResponse(parts=[TextPart(content=text)], model_name="hitl-widgets")


def last_text(messages: Sequence[ModelMessage]) -> str:
    """The text of the last model turn that has any."""
    replies = (m for m in reversed(messages) if isinstance(m, ModelResponse))
    return next((text for m in replies if (text := _text(m))), "")


def user_texts(messages: Sequence[ModelMessage]) -> tuple[str, ...]:
    """The user's own words, oldest first."""
    return tuple(
        part.content if isinstance(part.content, str) else json.dumps(part.content, default=str)
        for m in messages
        if isinstance(m, ModelRequest)
        for part in m.parts
        if isinstance(part, UserPromptPart) and part.content != NUDGE
    )


def dump(messages: Sequence[ModelMessage]) -> list[Any]:
    """JSON of a history; lone surrogates survive."""
    return cast("list[Any]", ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"))


def load(data: Any) -> Messages:
    """A history from its JSON; nothing in it is fetched.

    Raises
    ------
    SnapshotVersion
        It holds something this version of the library does not know.
    """
    try:
        return ModelMessagesTypeAdapter.validate_python(data)
    except ValidationError as e:
        raise SnapshotVersion(
            f"This history cannot be read by {LIBRARY}: it was written by another version. "
            f"Install that one to go on; the snapshot is kept. ({e.error_count()} faults)"
        ) from e


# -- a model with a script ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call in a script: made by `call`."""

    tool: str
    args: dict[str, Any]


def call(tool: str, **args: Any) -> ScriptedCall:
    """A tool call in a `ScriptedModel`'s turn."""
    return ScriptedCall(tool, args)


Turn = str | ScriptedCall | Sequence["str | ScriptedCall"]


class ScriptedModel(FunctionModel):
    """A model that says what it was told to: for demos, teaching and tests, offline.

    Parameters
    ----------
    turns
        One per model turn: text, a call, a list of texts and calls, or a function of the
        messages so far (``list[ModelMessage]`` of pydantic-ai) returning one of these.
    extract
        For auto-resume: a function of (message, JSON Schema) returning the data, or None.
    chunk_size
        Characters per streamed piece; None: words.
    delay
        Seconds between pieces.

    Notes
    -----
    The position is the number of model turns since this run's user message, so a script needs
    no state of its own and goes on anywhere. Past its end it fails.
    """

    def __init__(
        self,
        turns: Sequence[Turn | Callable[[Messages], Turn]],
        extract: Callable[[str, Mapping[str, Any]], Any] | None = None,
        *,
        chunk_size: int | None = None,
        delay: float = 0.0,
    ) -> None:
        if isinstance(turns, str):
            raise AgentDefinitionError(
                f"ScriptedModel({turns!r}): give a list of turns, as in ScriptedModel([…])."
            )
        self.turns = list(turns)
        self.extract = extract
        self.chunk_size = chunk_size
        self.delay = delay
        super().__init__(stream_function=self._stream, model_name="scripted")

    def _turn(self, messages: Messages) -> list[str | ScriptedCall]:
        position = 0
        for message in messages:
            if isinstance(message, ModelResponse):
                position += 1
            elif user_texts([message]):
                position = 0
        if position >= len(self.turns):
            raise ModelFailed(
                f"The script has {len(self.turns)} turns and was asked for turn {position + 1}: "
                "add a turn to ScriptedModel([...])."
            )
        turn = self.turns[position]
        said = turn(messages) if callable(turn) else turn
        return [said] if isinstance(said, str | ScriptedCall) else list(said)

    async def _stream(
        self,
        messages: Messages,
        info: AgentInfo,  # noqa: ARG002  # pydantic-ai's signature
    ) -> AsyncIterator[str | DeltaToolCalls]:
        said = False
        number = sum(isinstance(m, ModelResponse) for m in messages)
        for index, part in enumerate(self._turn(messages)):
            if isinstance(part, ScriptedCall):
                args = json.dumps(part.args, ensure_ascii=True)
                yield {index: DeltaToolCall(part.tool, args, tool_call_id=f"call-{number}-{index}")}
                said = True
                continue
            for piece in _pieces(part, self.chunk_size):
                if self.delay:
                    await asyncio.sleep(self.delay)
                yield piece
                said = True
        if not said:
            yield ""


def _pieces(text: str, size: int | None) -> list[str]:
    if size:
        return [text[i : i + size] for i in range(0, len(text), size)]
    words = text.split(" ")
    return [w if i == 0 else f" {w}" for i, w in enumerate(words)]
