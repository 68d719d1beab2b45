"""R7, R15, F9, F27, F31: conversations, and messages that come while something waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pydantic
import pytest
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

import hitl_widgets as hitl

from .making import Witness, agent_on, chunks_of, kinds, store_at


class City(pydantic.BaseModel):
    city: str


class Agreed(pydantic.BaseModel):
    approved: bool
    comment: str | None = None


def asking(schema: Any, **options: Any) -> hitl.Tool:
    @hitl.tool(resume_schema=schema, **options)
    async def ask(ctx: hitl.ToolContext) -> Any:
        "Ask."
        if not ctx.answers:
            return await ctx.suspend({"message": "Which city?"})
        data = ctx.resume_data
        return data.model_dump() if isinstance(data, pydantic.BaseModel) else data

    return ask


ASK = [[hitl.call("ask")], lambda m: f"told: {m[-1].parts[0].content}"]
AUTO = {"thread_id": "t", "resource_id": "u", "auto_resume_suspended_tools": True}


def talking(tmp_path: Path, tool: hitl.Tool, extract: Any = None, **options: Any) -> hitl.Agent:
    return hitl.Agent(
        "clerk",
        model=hitl.ScriptedModel(ASK, extract),
        tools=[tool],
        memory=hitl.Memory(),
        store=store_at(tmp_path),
        **options,
    )


def rome(message: str, schema: Any) -> Any:
    assert schema["properties"]["city"]["type"] == "string"
    return {"city": "Rome"} if "Rome" in message else None


@pytest.mark.parametrize(
    ("missing", "named"),
    [
        ({"memory": None}, "memory"),
        ({"thread_id": None}, "thread_id"),
        ({"resource_id": None}, "resource_id"),
    ],
    ids=["memory", "thread", "resource"],
)
async def test_auto_resume_says_at_the_start_what_it_lacks(
    tmp_path: Path, missing: Any, named: str
) -> None:
    options: dict[str, Any] = {**AUTO, **missing}
    memory = options.pop("memory", hitl.Memory())
    agent = agent_on(store_at(tmp_path), ASK, [asking(City)], memory=memory)
    for verb in (agent.generate, agent.stream, agent.run):
        with pytest.raises(hitl.AgentDefinitionError, match=named):
            await verb("go", **options)
    with pytest.raises(hitl.AgentDefinitionError, match=named):
        agent.start("go", **options)
    assert agent.store.runs() == []


@pytest.mark.parametrize("as_default", [True, False], ids=["agent default", "per call"])
@pytest.mark.parametrize("message", ['{"city": "Rome"}', "I am in Rome"], ids=["JSON", "words"])
async def test_a_message_fills_in_what_waits(
    tmp_path: Path, message: str, as_default: bool
) -> None:
    """First the message itself, then the model; recorded as extracted from it; after a restart."""
    options: dict[str, Any] = {}
    given: dict[str, Any] = dict(AUTO)
    if as_default:
        options["defaults"] = hitl.RunOptions(auto_resume_suspended_tools=True)
        del given["auto_resume_suspended_tools"]
    first = await talking(tmp_path, asking(City), rome, **options).generate("go", **given)
    assert first.finish_reason == "suspended"
    agent = talking(tmp_path, asking(City), rome, **options)
    stream = await agent.stream(message, **given)
    assert stream.run_id == first.run_id
    assert kinds(await chunks_of(stream)) == ["tool-result", "finish"]
    assert (await stream.result()).text == "told: {'city': 'Rome'}"
    (request,) = agent.store.requests(run_id=first.run_id)
    assert request.decision["extracted_from"] == message
    assert (request.reviewer, request.identity_source) == ("u", "claimed")
    events = [e for e in agent.store.events() if e.kind == "answered"]
    assert events[0].doc["decision"]["extracted_from"] == message


@pytest.mark.parametrize(
    "extract",
    [None, lambda *_: None, lambda *_: {"city": 7}, lambda *_: {}],
    ids=["no model", "model says nothing", "wrong type", "incomplete"],
)
async def test_a_message_that_fills_in_nothing_is_asked_back_in_the_conversation(
    tmp_path: Path, extract: Any
) -> None:
    """R4, F27: the request waits on; the exchange is remembered."""
    agent = talking(tmp_path, asking(City), extract)
    first = await agent.generate("go", **AUTO)
    again = await agent.run("what is it?", **AUTO)
    assert again.finish_reason == "suspended"
    assert again.run_id == first.run_id
    assert "Which city?" in again.text
    assert [r.id for r in again.requests] == [first.requests[0].id]
    assert (await hitl.pending(agent.store))[0].state == "pending"
    words = [p.content for m in await agent.memory.messages(agent.desk, "t", "u") for p in m.parts]
    assert words[-2:] == ["what is it?", again.text]
    stream = await agent.stream("hm", **AUTO)
    assert kinds(await chunks_of(stream)) == ["start", "finish"]
    assert stream.finish_reason == "suspended"


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        (bool, {}),
        (Agreed, {}),
        (City, {"consent": True}),
        ({"type": "object", "properties": {"ok": {"type": "boolean"}}}, {}),
        (None, {}),
    ],
    ids=["boolean", "all required boolean", "marked", "all optional boolean", "no schema"],
)
@pytest.mark.parametrize("message", ["true", '{"approved": true, "ok": true}', '{"city": "Rome"}'])
async def test_a_message_never_consents(
    tmp_path: Path, schema: Any, options: Any, message: str
) -> None:
    """R7, F9: neither by itself nor by a model."""
    asked: list[Any] = []

    def eager(text: str, schema: Any) -> Any:
        asked.append(text)
        return {"approved": True}

    agent = talking(tmp_path, asking(schema, **options), eager)
    first = await agent.generate("go", **AUTO)
    with pytest.raises(hitl.RunSuspended) as caught:
        await agent.generate(message, **AUTO)
    assert caught.value.requests[0].id == first.requests[0].id
    assert asked == []
    assert (await hitl.pending(agent.store))[0].state == "pending"


async def test_an_approval_is_never_granted_by_a_message(tmp_path: Path) -> None:
    """R7, F9."""
    saw = Witness()
    agent = hitl.Agent(
        "clerk",
        model=hitl.ScriptedModel([[hitl.call("delete_record", id="a")], "end"], lambda *_: True),
        tools=[saw.deleting()],
        memory=hitl.Memory(),
        store=store_at(tmp_path),
    )
    await agent.generate("go", **AUTO)
    with pytest.raises(hitl.RunSuspended, match="delete_record"):
        await agent.generate("yes, approve it", **AUTO)
    assert saw.did == []


async def test_the_latest_waiting_input_gets_the_message(tmp_path: Path) -> None:
    turns = [[hitl.call("ask"), hitl.call("ask")], lambda m: str([p.content for p in m[-1].parts])]
    agent = hitl.Agent(
        "clerk",
        model=hitl.ScriptedModel(turns, rome),
        tools=[asking(City)],
        memory=hitl.Memory(),
        store=store_at(tmp_path),
    )
    first = await agent.generate("go", **AUTO)
    again = await agent.generate('{"city": "B"}', **AUTO)
    assert [r.id for r in again.requests] == [first.requests[0].id]
    done = await agent.generate('{"city": "A"}', **AUTO)
    assert done.text == "[{'city': 'A'}, {'city': 'B'}]"


async def test_another_thread_or_resource_is_a_turn_of_its_own(tmp_path: Path) -> None:
    """R15."""
    agent = talking(tmp_path, asking(City), rome)
    first = await agent.generate("go", **AUTO)
    for other in ({"thread_id": "t2"}, {"resource_id": "v"}):
        result = await agent.generate("I am in Rome", **{**AUTO, **other})
        assert result.run_id != first.run_id
    assert agent.store.request(first.requests[0].id).state == "pending"


async def test_a_real_model_extracts_through_a_tool_call(tmp_path: Path) -> None:
    """Any pydantic-ai model: asked for structured output under the schema."""

    async def model(messages: Any, info: AgentInfo) -> AsyncIterator[Any]:
        names = [t.name for t in info.function_tools]
        if names == ["fill_in"]:
            assert info.function_tools[0].parameters_json_schema["required"] == ["city"]
            yield {0: DeltaToolCall("fill_in", '{"city": "Oslo"}', tool_call_id="x")}
        elif len(messages) == 1:
            yield {0: DeltaToolCall("ask", "{}", tool_call_id="y")}
        else:
            yield "end"

    agent = hitl.Agent(
        "clerk",
        model=FunctionModel(stream_function=model),
        tools=[asking(City)],
        memory=hitl.Memory(),
        store=store_at(tmp_path),
    )
    first = await agent.generate("go", **AUTO)
    done = await agent.generate("up north", **AUTO)
    assert (done.run_id, done.text) == (first.run_id, "end")


class TestNewMessages:
    """R15, F27: without auto-resume a new message drops nothing."""

    async def test_it_is_an_error_that_names_what_waits(self, tmp_path: Path) -> None:
        agent = talking(tmp_path, asking(City))
        first = await agent.generate("go", thread_id="t")
        with pytest.raises(hitl.RunSuspended, match=first.requests[0].id):
            await agent.generate("more", thread_id="t")
        assert len(agent.store.runs()) == 1

    async def test_declining_instead_must_be_asked_for(self, tmp_path: Path) -> None:
        agent = talking(tmp_path, asking(City))
        first = await agent.generate("go", thread_id="t")
        again = await agent.generate("more", thread_id="t", pending="decline")
        assert again.run_id != first.run_id
        assert agent.store.run(first.run_id).state == "declined"
        assert agent.store.request(first.requests[0].id).state == "declined"

    async def test_without_a_thread_runs_are_independent(self, tmp_path: Path) -> None:
        agent = talking(tmp_path, asking(City))
        await agent.generate("go")
        await agent.generate("go")
        assert len(await agent.list_suspended_runs()) == 2

    async def test_several_waiting_runs_of_a_thread_are_ambiguous(self, tmp_path: Path) -> None:
        saw = Witness()
        agent = agent_on(
            store_at(tmp_path), [[hitl.call("delete_record", id="a")], "end"], [saw.deleting()]
        )
        for resource in "uv":
            await agent.generate("go", thread_id="t", resource_id=resource)
        with pytest.raises(hitl.AmbiguousRequest) as caught:
            await agent.send_tool_approval(thread_id="t", approved=True)
        assert len(caught.value.candidates) == 2
        named = caught.value.candidates[0]
        stream = await agent.send_tool_approval(
            thread_id="t", approved=True, tool_call_id=named.tool_call_id,
            fingerprint=named.fingerprint,
        )  # fmt: skip
        assert (await stream.result()).finish_reason == "stop"
        await agent.send_tool_approval(thread_id="t", resource_id="v", approved=False)
        with pytest.raises(hitl.RequestNotFound):
            await agent.send_tool_approval(thread_id="t", approved=True)
        assert saw.did == ["a"]


class TestMemory:
    """F31: what was said before a pause is kept, without calls that nobody answered."""

    async def test_it_is_written_before_the_pause(self, tmp_path: Path) -> None:
        saw = Witness()
        turns = [
            ["First.", hitl.call("look", id="1")],
            ["Then.", hitl.call("delete_record", id="2")],
            "end",
        ]
        agent = agent_on(
            store_at(tmp_path), turns, [saw.looking(), saw.deleting()], memory=hitl.Memory()
        )
        run = await agent.generate("go", thread_id="t")

        async def kept() -> list[str]:
            messages = await agent.memory.messages(agent.desk, "t", None)
            return [p.part_kind for m in messages for p in m.parts]

        before = ["user-prompt", "text", "tool-call", "tool-return"]
        assert await kept() == [*before, "text"]
        await agent.approve_tool_call_generate(run_id=run.run_id)
        assert await kept() == [*before, "text", "tool-call", "tool-return", "text"]

    async def test_the_next_run_of_the_thread_goes_on_from_it(self, tmp_path: Path) -> None:
        agent = agent_on(store_at(tmp_path), [lambda m: f"{len(m)} messages"], memory=hitl.Memory())
        texts = [(await agent.generate("hi", thread_id="t")).text for _ in range(3)]
        other = (await agent.generate("hi", thread_id="t", resource_id="else")).text
        assert texts == ["1 messages", "3 messages", "5 messages"]
        assert other == "1 messages"
