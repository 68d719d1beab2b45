"""The model layer: scripts, broken replies, histories, structured output."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel

import hitl_widgets as hitl
from hitl_widgets.agent import models


async def turn(model: Any, messages: Any = None) -> tuple[list[str], models.Reply]:
    pieces: list[str] = []
    reply: Any = None
    async for piece in models.ask(model, messages or [models.user_message("hi")], []):
        if isinstance(piece, models.Reply):
            reply = piece
        else:
            pieces.append(piece.text)
    return pieces, reply


async def test_a_script_streams_text_and_calls() -> None:
    model = hitl.ScriptedModel([["Hello dear you.", hitl.call("act", n=1)]])
    pieces, reply = await turn(model)
    assert pieces == ["Hello", " dear", " you."]
    assert [(c.name, c.args) for c in reply.calls] == [("act", {"n": 1})]
    small = hitl.ScriptedModel(["abcdef"], chunk_size=4)
    assert (await turn(small))[0] == ["abcd", "ef"]


async def test_its_position_is_read_from_the_history_so_it_goes_on_anywhere() -> None:
    model = hitl.ScriptedModel(["one", "two"])
    said = ModelResponse(parts=[TextPart("x")])
    hello = models.user_message("hi")
    assert (await turn(model, [hello]))[1].text == "one"
    assert (await turn(model, [hello, said, models.tool_returns([("t", "i", 1)])]))[1].text == "two"
    assert (await turn(model, [hello, said, hello]))[1].text == "one", "a new message begins anew"
    nudge = models.user_message(models.NUDGE)
    assert (await turn(model, [hello, said, nudge]))[1].text == "two"


async def test_past_the_end_of_a_script_is_an_error() -> None:
    with pytest.raises(hitl.ModelFailed, match="asked for turn 1"):
        await turn(hitl.ScriptedModel([]))
    with pytest.raises(hitl.AgentDefinitionError, match="list"):
        hitl.ScriptedModel("text")  # type: ignore[arg-type]


async def test_a_turn_may_be_a_function_of_the_messages() -> None:
    model = hitl.ScriptedModel([lambda m: [f"{len(m)}", hitl.call("act")]])
    _, reply = await turn(model)
    assert (reply.text, reply.calls[0].name) == ("1", "act")


@pytest.mark.parametrize(
    "raw", ['{"a": ', "[1]", '"text"', "7"], ids=["broken", "list", "text", "number"]
)
async def test_arguments_that_are_no_object_are_told_to_the_model(tmp_path: Path, raw: str) -> None:
    """Malformed arguments are never run, nor asked about."""
    ran: list[Any] = []

    async def model(messages: Any, info: AgentInfo) -> AsyncIterator[Any]:
        if len(messages) == 1:
            yield {0: DeltaToolCall("act", raw, tool_call_id="x")}
        else:
            yield str(messages[-1].parts[0].content)

    @hitl.tool(require_approval=True)
    async def act(a: int = 0) -> None:
        "Act."
        ran.append(a)

    agent = hitl.Agent(
        "a", model=FunctionModel(stream_function=model), tools=[act], store=tmp_path / "a.db"
    )
    result = await agent.generate("go")
    assert "not a JSON object" in result.text
    assert ran == []


def test_a_reply_that_was_broken_off_is_an_error() -> None:
    """A truncated provider stream raises nothing in the SDKs."""
    for broken in (
        ModelResponse(parts=[], state="interrupted"),
        ModelResponse(parts=[TextPart("x")], provider_name="p", finish_reason=None),
    ):
        with pytest.raises(hitl.ModelFailed, match="broken off"):
            models._check_complete(broken)
    models._check_complete(ModelResponse(parts=[], provider_name="p", finish_reason="stop"))


def test_unanswered_calls_are_not_remembered() -> None:
    """F31."""
    hello, call = models.user_message("hi"), ToolCallPart("t", {})
    text = ModelResponse(parts=[TextPart("so"), call])
    assert models.answered([hello, ModelResponse(parts=[call])]) == [hello]
    assert models.answered([hello, text])[1].parts == [TextPart("so")]
    answered = [hello, text, models.tool_returns([("t", call.tool_call_id, 1)])]
    assert models.answered(answered) == answered


def test_histories_survive_as_json_and_what_is_not_known_is_named() -> None:
    history = [models.user_message("hi \ud800", "be kind"), ModelResponse(parts=[TextPart("x")])]
    assert models.load(models.dump(history)) == history
    with pytest.raises(hitl.SnapshotVersion, match="another version"):
        models.load([{"kind": "hologram"}])


def test_ids_that_are_missing_or_given_twice_are_made_distinct() -> None:
    parts = [ToolCallPart("t", {}, tool_call_id=i) for i in ("same", "same", "other")]
    message = ModelResponse(parts=parts)
    reply = models.with_own_ids(models.Reply(message, "", (), {}, None))
    ids = [c.provider_id for c in reply.calls]
    assert len(set(ids)) == 3
    assert [p.tool_call_id for p in reply.message.parts] == ids


def test_user_texts_are_the_users_own_words() -> None:
    history = [
        models.user_message("one"),
        ModelResponse(parts=[TextPart("no")]),
        models.tool_returns([("t", "i", "no")]),
        models.user_message(models.NUDGE),
        ModelRequest(parts=[UserPromptPart(content=["two"])]),
    ]
    assert models.user_texts(history) == ("one", '["two"]')


async def test_pydantic_ai_s_test_model_is_no_broken_stream() -> None:
    """It names itself a provider and gives no finish reason."""
    agent = hitl.Agent("tried", model=TestModel(custom_output_text="hello"))
    result = await agent.run("hi")
    assert (result.text, result.finish_reason) == ("hello", "stop")


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("claude", "Unknown model: claude"),
        ("anthropic:claude-x", "Set the `ANTHROPIC_API_KEY` environment variable"),
        ("mistral:large", "Please install the `mistral` package"),
    ],
)
def test_a_model_that_cannot_be_made_says_what_to_give(
    monkeypatch: pytest.MonkeyPatch, model: str, why: str
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setitem(sys.modules, "mistralai", None)
    with pytest.raises(hitl.AgentDefinitionError) as refused:
        hitl.Agent("a", model=model, tools=[])
    assert why in str(refused.value)
    assert "Give 'provider:name'" in str(refused.value)
    assert "hitl.ScriptedModel([...])" in str(refused.value)
