"""R9, F10, F28: several calls in one turn, each with a state of its own."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

import hitl_widgets as hitl

from .making import Witness, agent_on, chunks_of, kinds, last_told, store_at, until


@pytest.mark.parametrize("order", list(itertools.permutations([0, 1, 2])), ids=str)
async def test_gated_calls_of_one_turn_are_decided_in_any_order(
    tmp_path: Path, order: tuple[int, ...]
) -> None:
    """R9, F10: the same tool three times; each keeps its own arguments and its own answer."""
    told: list[Any] = []

    def end(messages: Any) -> str:
        told.append(last_told(messages))
        return "end"

    saw = Witness()
    calls = [hitl.call("delete_record", id=str(i)) for i in range(3)]
    agent = agent_on(store_at(tmp_path), [calls, end], [saw.deleting()])
    run = await agent.generate("go")
    assert [r.args["id"] for r in run.requests] == ["0", "1", "2"]
    for i in order:
        call_id = run.requests[i].tool_call_id
        if i == 1:
            await agent.decline_tool_call_generate(
                run_id=run.run_id, tool_call_id=call_id, reason=f"not {i}"
            )
        else:
            await agent.approve_tool_call_generate(run_id=run.run_id, tool_call_id=call_id)
            assert saw.did[-1] == str(i), "an approved one starts at once"
    assert told[0][0] == {"deleted": "0"}
    assert "not 1" in told[0][1]
    assert told[0][2] == {"deleted": "2"}
    assert sorted(saw.did) == ["0", "2"]


async def test_without_a_call_id_the_latest_in_the_models_order_is_meant(tmp_path: Path) -> None:
    saw = Witness()
    calls = [hitl.call("delete_record", id=str(i)) for i in range(3)]
    agent = agent_on(store_at(tmp_path), [calls, "end"], [saw.deleting()])
    run = await agent.generate("go")
    assert run.suspend_payload.args["id"] == "2"
    for _ in range(3):
        await agent.approve_tool_call_generate(run_id=run.run_id)
    assert saw.did == ["2", "1", "0"]


async def test_free_calls_run_at_once_together_and_are_not_asked(tmp_path: Path) -> None:
    """F28: ten of them, waiting for one another, beside a gated one."""
    everybody = asyncio.Barrier(10)

    @hitl.tool
    async def meet(n: int) -> int:
        "Wait until all are there."
        async with asyncio.timeout(10):
            await everybody.wait()
        return n

    saw = Witness()
    turn = [hitl.call("delete_record", id="x"), *(hitl.call("meet", n=i) for i in range(10))]
    agent = agent_on(store_at(tmp_path), [turn, "end"], [saw.deleting(), meet])
    stream = await agent.stream("go")
    heard = await chunks_of(stream)
    results = [c.payload.result for c in heard if c.type == "tool-result"]
    assert sorted(results) == list(range(10))
    assert len((await stream.result()).requests) == 1


async def test_sync_free_calls_run_in_threads_together(tmp_path: Path) -> None:
    everybody = threading.Barrier(10, timeout=10)

    @hitl.tool
    def meet(n: int) -> int:
        "Wait until all are there."
        everybody.wait()
        return n

    turn = [hitl.call("meet", n=i) for i in range(10)]
    result = await agent_on(store_at(tmp_path), [turn, "end"], [meet]).generate("go")
    assert result.text == "end"


async def test_a_slow_rule_of_one_call_is_asked_beside_the_others(tmp_path: Path) -> None:
    """F28: rules of one turn run side by side."""
    both = asyncio.Barrier(2)

    async def rule(_: Any) -> bool:
        async with asyncio.timeout(10):
            await both.wait()
        return False

    saw = Witness()
    turn = [hitl.call("delete_record", id=i) for i in "ab"]
    agent = agent_on(store_at(tmp_path), [turn, "end"], [saw.deleting(require_approval=rule)])
    assert (await agent.generate("go")).text == "end"
    assert sorted(saw.did) == ["a", "b"]


async def test_an_approved_call_runs_while_its_sibling_still_waits(tmp_path: Path) -> None:
    """R9: decided on the desk while `run` waits."""
    saw, store = Witness(), store_at(tmp_path)
    calls = [hitl.call("delete_record", id=i) for i in "ab"]
    agent = agent_on(store, [calls, "end"], [saw.deleting()])
    with hitl.reviewer(lambda _: None):
        handle = agent.start("go")
        await until(lambda: len(store.requests(states=("pending",))) == 2)
        first, second = store.requests(states=("pending",))
        await hitl.decide(first, hitl.Approve())
        await until(lambda: saw.did == ["a"])
        assert store.request(second.id).state == "pending"
        await hitl.decide(second, hitl.Approve())
        assert (await handle).text == "end"


async def test_mixed_siblings_gated_suspending_and_free(tmp_path: Path) -> None:
    @hitl.tool(resume_schema=str)
    async def name_it(ctx: hitl.ToolContext) -> str:
        "Ask."
        return ctx.resume_data or await ctx.suspend({"what": "name"})

    saw, told = Witness(), []

    def end(messages: Any) -> str:
        told.append(last_told(messages))
        return "end"

    turn = [
        hitl.call("name_it"),
        hitl.call("look", id="1"),
        hitl.call("delete_record", id="2"),
        hitl.call("name_it"),
    ]
    agent = agent_on(store_at(tmp_path), [turn, end], [name_it, saw.looking(), saw.deleting()])
    stream = await agent.stream("go")
    heard = await chunks_of(stream)
    assert sorted(kinds(heard)) == sorted(
        ["start", *["tool-call"] * 4, "tool-call-approval", "tool-result"]
        + ["tool-call-suspended"] * 2
        + ["finish"]
    )
    (run,) = await agent.list_suspended_runs()
    by_kind = [(r.kind, r.tool_name) for r in run.tool_calls]
    assert by_kind == [("input", "name_it"), ("approval", "delete_record"), ("input", "name_it")]
    first, gate, last = run.tool_calls
    await agent.resume_generate("last", run_id=run.run_id, tool_call_id=last.tool_call_id)
    await agent.approve_tool_call_generate(run_id=run.run_id)
    done = await agent.resume_generate("first", run_id=run.run_id)
    assert done.finish_reason == "stop"
    assert told == [["first", "seen 1", {"deleted": "2"}, "last"]]
    assert {first.id, gate.id, last.id} == {r.id for r in run.tool_calls}


async def test_ids_that_a_provider_repeats_or_leaves_out_are_kept_apart(tmp_path: Path) -> None:
    """F11: `tool_call_id` is ours, unique in the store."""

    async def same_ids(messages: Any, info: AgentInfo) -> AsyncIterator[Any]:
        if any(isinstance(m, ModelResponse) for m in messages):
            yield "end"
            return
        for i in range(2):
            yield {i: DeltaToolCall("delete_record", f'{{"id": "{i}"}}', tool_call_id="same")}

    saw = Witness()
    agent = hitl.Agent(
        "clerk",
        model=FunctionModel(stream_function=same_ids),
        tools=[saw.deleting()],
        store=store_at(tmp_path),
    )
    run, other = await agent.generate("go"), await agent.generate("go")
    ids = [r.tool_call_id for r in (*run.requests, *other.requests)]
    assert len(set(ids)) == 4
    for _ in range(2):
        done = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert done.text == "end"
    assert sorted(saw.did) == ["0", "1"]
    answered = [p.tool_call_id for p in done.messages[2].parts]
    assert len(set(answered)) == 2
