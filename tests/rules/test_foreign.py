"""What users' functions raise, return and change: theirs alone (R2, R3, R5, R8)."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

import hitl_widgets as hitl

from .making import Witness, agent_on, store_at, tell_back

GO = [[hitl.call("delete_record", id="a")], tell_back]


class Speechless(Exception):
    """An exception whose words fail."""

    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


ODD = (SystemExit(3), asyncio.CancelledError(), GeneratorExit(), StopIteration(1), Speechless())
"""A parser's exit, a cancelled task of its own, two that asyncio cannot carry, and no words."""


def raising(error: BaseException, *, sync: bool) -> Callable[..., Any]:
    """A function that raises."""

    def raise_it(*_: Any, **__: Any) -> Any:
        raise error

    async def raise_it_later(*_: Any, **__: Any) -> Any:
        raise error

    return raise_it if sync else raise_it_later


def with_function(where: str, function: Any, saw: Witness) -> tuple[hitl.Tool, dict[str, Any]]:
    """A gated tool, and options of an agent, one of which is `function`."""
    gate: Any = function if where == "predicate" else True
    options: dict[str, Any] = {}
    if where in hitl.Hooks.__dataclass_fields__:
        options["hooks"] = hitl.Hooks(**{where: function})
    if where == "run rule":
        gate, options["defaults"] = None, hitl.RunOptions(require_tool_approval=function)
    return saw.deleting(require_approval=gate), options


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("error", ODD, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("where", ["predicate", "run rule", "after_tool_call", "on_request"])
async def test_a_function_that_raises_anything_asks_or_is_only_told(
    tmp_path: Path, where: str, error: BaseException, sync: bool
) -> None:
    """R5: a rule that breaks asks; a hook that is only told stops nothing."""
    saw = Witness()
    tool, options = with_function(where, raising(error, sync=sync), saw)
    agent = agent_on(store_at(tmp_path), GO, [tool], **options)
    async with asyncio.timeout(20):  # far below the time that a silent rule is waited for
        run = await agent.generate("go")
        assert run.finish_reason == "suspended"
        run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert (run.finish_reason, saw.did) == ("stop", ["a"])


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("error", ODD, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("where", ["prepare_tool_call", "before_tool_call"])
async def test_a_hook_that_raises_anything_blocks_the_call(
    tmp_path: Path, where: str, error: BaseException, sync: bool
) -> None:
    saw = Witness()
    tool, options = with_function(where, raising(error, sync=sync), saw)
    agent = agent_on(store_at(tmp_path), GO, [tool], **options)
    run = await agent.generate("go")
    if run.finish_reason == "suspended":
        run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert run.text == f"told: Tool call blocked: {where} failed."
    assert saw.did == []


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("error", ODD, ids=lambda e: type(e).__name__)
async def test_a_body_that_raises_anything_has_failed(
    tmp_path: Path, error: BaseException, sync: bool
) -> None:
    raise_it = raising(error, sync=sync)

    def delete_record(id: str) -> Any:  # noqa: A002
        return raise_it(id)

    async def delete_record_later(id: str) -> Any:  # noqa: A002
        return await raise_it(id)

    body = delete_record if sync else delete_record_later
    tool = hitl.tool(id="delete_record", require_approval=True)(body)
    agent = agent_on(store_at(tmp_path), GO, [tool])
    run = await agent.generate("go")
    run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert run.finish_reason == "stop"
    assert run.text.startswith("told: Error: ")
    assert [c.state for c in agent.store.calls(run.run_id)] == ["failed"]


@pytest.mark.parametrize("sync", [False, True], ids=["async", "sync"])
@pytest.mark.parametrize("error", ODD, ids=lambda e: type(e).__name__)
async def test_a_reviewer_that_raises_anything_has_not_decided_and_the_run_says_so(
    tmp_path: Path, error: BaseException, sync: bool
) -> None:
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    with hitl.reviewer(raising(error, sync=sync)):
        async with asyncio.timeout(20):
            with pytest.raises((RuntimeError, Speechless)):
                await agent.run("go")
    (request,) = await hitl.pending(agent.store)
    assert request.state == "pending"


async def test_a_rule_cannot_change_what_it_judges(tmp_path: Path) -> None:
    """R3: what a rule does to the arguments or the context is lost, whatever it says."""
    saw, context = Witness(), {"user": "ada"}

    def change(call: hitl.ApprovalContext) -> bool:
        call.args["id"] = "everything"  # type: ignore[index]
        call.request_context["user"] = "root"
        return False

    agent = agent_on(store_at(tmp_path), GO, [saw.deleting(require_approval=change)])
    await agent.generate("go", request_context=context)
    assert (saw.did, context) == (["a"], {"user": "ada"})


async def test_a_body_cannot_change_what_is_told_of_its_call(tmp_path: Path) -> None:
    """R10: history holds what really was called, though the body works on its arguments."""

    @hitl.tool(require_approval=True)
    async def order(items: Any) -> int:
        "Order."
        items["apples"].append("a truck")
        return len(items["apples"])

    agent = agent_on(
        store_at(tmp_path), [[hitl.call("order", items={"apples": ["one"]})], tell_back], [order]
    )
    run = await agent.generate("go")
    run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert run.text == "told: 2"
    (call,) = agent.store.calls(run.run_id)
    assert call.args == {"items": {"apples": ["one"]}}
    assert run.messages[1].parts[0].args == call.args


@pytest.mark.parametrize("depth", [150, 300, 3_000, 100_000])
@pytest.mark.parametrize("tool", ["delete_record", "nothing_of_that_name"])
async def test_arguments_too_deep_to_be_kept_are_told_to_the_model(
    tmp_path: Path, tool: str, depth: int
) -> None:
    """After a pause, when every turn is saved: a deep one must not break the run for good."""
    saw = Witness()
    raw = '{"id": ' + "[" * depth + "]" * depth + "}"
    turns = [("delete_record", '{"id": "a"}'), (tool, raw), ("delete_record", '{"id": "b"}')]

    async def say(messages: Any, _: Any) -> AsyncIterator[Any]:
        turn = sum(m.kind == "response" for m in messages)
        if turn == len(turns):
            yield "end"
        else:
            name, args = turns[turn]
            yield {0: DeltaToolCall(name, args, tool_call_id=f"c{turn}")}

    model = FunctionModel(stream_function=say)
    agent = hitl.Agent("clerk", model=model, tools=[saw.deleting()], store=store_at(tmp_path))
    run = await agent.generate("go")
    for _ in range(2):
        run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert (run.text, saw.did) == ("end", ["a", "b"])


def _deep(depth: int) -> Any:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [150, 240, 250, 252, 254, 300, 100_000])
async def test_a_result_too_deep_to_be_kept_is_an_error_of_its_tool(
    tmp_path: Path, depth: int
) -> None:
    saw = Witness()

    @hitl.tool
    async def dig() -> Any:
        "Dig."
        return _deep(depth)

    turns = [[hitl.call("delete_record", id="a")], [hitl.call("dig")], *GO]
    agent = agent_on(store_at(tmp_path), turns, [saw.deleting(), dig])
    run = await agent.generate("go")
    for _ in range(2):
        run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert run.finish_reason == "stop"


async def test_a_number_too_long_to_be_written_is_an_error_of_its_tool(tmp_path: Path) -> None:
    @hitl.tool
    async def count() -> int:
        "Count."
        return 10**5000

    agent = agent_on(store_at(tmp_path), [[hitl.call("count")], tell_back], [count])
    run = await agent.generate("go")
    assert run.text.startswith("told: Error: ValueError")


async def test_a_number_too_long_to_be_written_is_no_result_of_a_human(tmp_path: Path) -> None:
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    (request,) = (await agent.generate("go")).requests
    with pytest.raises(hitl.InvalidAnswer):
        await hitl.decide(request, hitl.Respond(10**5000))
    assert (await hitl.pending(agent.store))[0].state == "pending"


class City(BaseModel):
    """Where."""

    city: str


async def test_a_step_gives_the_same_at_the_first_pass_as_after_it(tmp_path: Path) -> None:
    """Whoever relies on a type learns at once, not after a restart; and nobody changes it."""
    seen: list[Any] = []

    @hitl.tool(resume_schema=City)
    async def visit(ctx: hitl.ToolContext) -> str:
        "Visit."
        got = await ctx.step("when", lambda: {"day": dt.date(2026, 1, 2)})
        seen.append(dict(got))
        got["day"] = "changed"
        await ctx.step("another", lambda: 1)
        if ctx.resume_data is None:
            await ctx.suspend({"message": "Which city?"})
            return ""
        return ctx.resume_data.city

    store = store_at(tmp_path)
    agent = agent_on(store, [[hitl.call("visit")], tell_back], [visit])
    run = await agent.generate("go")
    await agent_on(store_at(tmp_path), [[hitl.call("visit")], tell_back], [visit]).resume_generate(
        {"city": "Tokyo"}, run_id=run.run_id
    )
    assert seen == [{"day": "2026-01-02"}] * 2


async def test_a_message_that_is_a_wall_of_brackets_is_only_a_message(tmp_path: Path) -> None:
    @hitl.tool(resume_schema=City)
    async def visit(ctx: hitl.ToolContext) -> str:
        "Visit."
        await ctx.suspend({"message": "Which city?"})
        return ""

    agent = agent_on(
        store_at(tmp_path), [[hitl.call("visit")], tell_back], [visit], memory=hitl.Memory()
    )
    options: dict[str, Any] = {"thread_id": "t", "resource_id": "r"}
    await agent.generate("go", **options)
    run = await agent.generate("[" * 100_000, auto_resume_suspended_tools=True, **options)
    assert run.text == "To go on I still need an answer: Which city?"


async def test_a_tool_named_like_the_one_for_the_answer_is_refused(tmp_path: Path) -> None:
    """Its calls would be taken for the final answer, and its gate passed by."""

    @hitl.tool(require_approval=True)
    async def final_result(city: str) -> str:
        "Do."
        return city

    turns = [[hitl.call("final_result", city="Tokyo")], tell_back]
    agent = agent_on(store_at(tmp_path), turns, [final_result])
    with pytest.raises(hitl.AgentDefinitionError, match="final_result"):
        await agent.generate("go", output_type=City)
    assert (await agent.generate("go")).finish_reason == "suspended"


class Calls:
    """An object that is called like an async function."""

    async def __call__(self, id: str) -> str:  # noqa: A002
        """Do."""
        return f"did {id}"


async def test_an_object_with_an_async_call_runs(tmp_path: Path) -> None:
    tool = hitl.tool(id="delete_record", description="Do.")(Calls())
    run = await agent_on(store_at(tmp_path), GO, [tool]).generate("go")
    assert run.text == "told: did a"


async def test_a_coroutine_that_nobody_awaits_is_no_success(tmp_path: Path) -> None:
    """A wrapper around an async function that is none itself: nothing ran, and that is told."""
    saw = Witness()

    def delete_record(id: str) -> Any:  # noqa: A002
        return saw.deleting().function(id)  # type: ignore[misc]

    agent = agent_on(store_at(tmp_path), GO, [hitl.tool(description="Do.")(delete_record)])
    run = await agent.generate("go")
    assert "'async def'" in run.text
    assert saw.did == []
    assert [c.state for c in agent.store.calls(run.run_id)] == ["failed"]


async def test_an_async_generator_is_no_tool() -> None:
    async def stream(n: int) -> AsyncIterator[int]:
        yield n

    with pytest.raises(hitl.ToolDefinitionError, match="async generator"):
        hitl.tool(stream)
