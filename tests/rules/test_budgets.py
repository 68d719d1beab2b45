"""Budgets: totals since the run's start, over restarts; a pending request comes first."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import hitl_widgets as hitl

from .making import Witness, agent_on, last_told, store_at, tell_back


async def test_free_calls_are_held_back_at_the_cap_and_go_on_with_more(tmp_path: Path) -> None:
    saw = Witness()
    turn = [hitl.call("look", id=str(i)) for i in range(3)]

    def agent() -> hitl.Agent:
        return agent_on(store_at(tmp_path), [turn, lambda m: str(last_told(m))], [saw.looking()])

    run = await agent().generate("go", budget=hitl.Budget(max_tool_calls=2))
    assert run.finish_reason == "budget-reached"
    assert run.usage["tool_calls"] == 2
    assert len(saw.did) == 2
    clerk = agent()
    assert clerk.store.run(run.run_id).state == "budget-paused"
    still = await clerk.continue_run(run.run_id, budget=hitl.Budget(max_tool_calls=2))
    assert still.finish_reason == "budget-reached"
    done = await agent().continue_run(run.run_id, budget=hitl.Budget(max_tool_calls=3))
    assert done.text == "['seen 0', 'seen 1', 'seen 2']"
    assert sorted(saw.did) == ["look 0", "look 1", "look 2"]
    assert done.usage["tool_calls"] == 3


async def test_a_pending_request_outranks_a_spent_budget(tmp_path: Path) -> None:
    """Decisions are accepted at the cap; an approved call runs only when the budget allows it."""
    saw = Witness()
    turn = [hitl.call("look", id="1"), hitl.call("delete_record", id="2")]
    agent = agent_on(store_at(tmp_path), [turn, tell_back], [saw.looking(), saw.deleting()])
    run = await agent.generate("go", budget=hitl.Budget(max_tool_calls=1))
    assert run.finish_reason == "suspended"
    held = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert held.finish_reason == "budget-reached"
    assert agent.store.request(run.requests[0].id).state == "approved"
    assert saw.did == ["look 1"]
    attached = await agent.attach(run.run_id)
    assert attached.finish_reason == "budget-reached"
    done = await agent.continue_run(run.run_id, budget=None)
    assert done.finish_reason == "stop"
    assert saw.did == ["look 1", "2"]


async def test_declines_and_answers_cost_no_call(tmp_path: Path) -> None:
    saw = Witness()
    turns = [[hitl.call("delete_record", id="1")], [hitl.call("look", id="2")], "end"]
    agent = agent_on(store_at(tmp_path), turns, [saw.looking(), saw.deleting()])
    run = await agent.generate("go", budget=hitl.Budget(max_tool_calls=1))
    done = await agent.decline_tool_call_generate(run_id=run.run_id)
    assert (done.finish_reason, done.usage["tool_calls"]) == ("stop", 1)


async def test_tokens_are_checked_before_a_model_request(tmp_path: Path) -> None:
    saw = Witness()
    turns = [[hitl.call("look", id="1")], "end"]
    agent = agent_on(store_at(tmp_path), turns, [saw.looking()])
    run = await agent.generate("go", budget=hitl.Budget(max_tokens=1))
    assert run.finish_reason == "budget-reached"
    assert run.usage["requests"] == 1
    assert saw.did == ["look 1"]
    later = agent_on(store_at(tmp_path), turns, [saw.looking()])
    done = await later.continue_run(run.run_id, budget=hitl.Budget(max_tokens=10_000))
    assert (done.text, done.usage["requests"]) == ("end", 2)


async def test_seconds_of_driving_add_up_over_restarts_and_waiting_costs_none(
    tmp_path: Path,
) -> None:
    @hitl.tool
    async def work() -> None:
        "Take a while."
        await asyncio.sleep(0.3)

    saw = Witness()
    turns = [[hitl.call("delete_record", id="1")], [hitl.call("work")], [hitl.call("work")], "end"]

    def agent() -> hitl.Agent:
        return agent_on(store_at(tmp_path), turns, [work, saw.deleting()])

    run = await agent().generate("go", budget=hitl.Budget(max_seconds=0.3))
    assert run.finish_reason == "suspended"
    await asyncio.sleep(0.4)  # a human takes a while
    held = await agent().approve_tool_call_generate(run_id=run.run_id)
    assert held.finish_reason == "budget-reached"
    assert held.usage["requests"] == 2
    still = await agent().continue_run(run.run_id, budget=hitl.Budget(max_seconds=0.3))
    assert still.usage["requests"] == 2
    done = await agent().continue_run(run.run_id)
    assert done.text == "end"


async def test_a_limit_on_cost_without_a_price_is_an_error(tmp_path: Path) -> None:
    agent = agent_on(store_at(tmp_path), ["end"])
    with pytest.raises(hitl.ModelFailed, match="price"):
        await agent.generate("go", budget=hitl.Budget(max_cost=1.0))


async def test_a_nested_agents_calls_and_tokens_count(tmp_path: Path) -> None:
    saw, store = Witness(), store_at(tmp_path)
    clerk = agent_on(
        store, [[hitl.call("look", id=str(i)) for i in range(3)], "end"], [saw.looking()]
    )
    boss = agent_on(
        store, [[hitl.call("agent-clerk", prompt="p")], tell_back], agents=[clerk], id="boss"
    )
    run = await boss.generate("go", budget=hitl.Budget(max_tool_calls=3))
    assert run.finish_reason == "budget-reached"
    assert len(saw.did) == 2
    done = await boss.continue_run(run.run_id, budget=hitl.Budget(max_tool_calls=9))
    assert done.text == "told: end"
    assert done.usage == {**done.usage, "tool_calls": 4, "requests": 4}


async def test_run_with_a_human_waits_for_him_first(tmp_path: Path) -> None:
    saw = Witness()
    turn = [hitl.call("look", id="1"), hitl.call("delete_record", id="2")]
    agent = agent_on(
        store_at(tmp_path), [turn, "end"], [saw.looking(), saw.deleting()],
        budget=hitl.Budget(max_tool_calls=1),
    )  # fmt: skip
    with hitl.reviewer(lambda _: hitl.Approve()):
        result = await agent.run("go")
    assert result.finish_reason == "budget-reached"
    assert agent.store.requests()[0].state == "approved"


async def test_budgets_make_sense() -> None:
    for wrong in ({"max_tool_calls": -1}, {"max_seconds": float("nan")}):
        with pytest.raises(hitl.AgentDefinitionError):
            hitl.Budget(**wrong)  # type: ignore[arg-type]
