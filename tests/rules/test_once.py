"""R1, F1, F2: of two decisions exactly one counts, and the tool runs at most once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl

from .making import Witness, agent_on, store_at, tell_back


def two_agents(tmp_path: Path, saw: Witness) -> tuple[hitl.Agent, hitl.Agent]:
    """The same agent twice, each on a store object of its own, as two processes have."""
    turns = [[hitl.call("delete_record", id="abc-123")], tell_back]
    one, other = (agent_on(store_at(tmp_path), turns, [saw.deleting()]) for _ in range(2))
    return one, other


async def outcome(work: Any) -> Any:
    try:
        stream = await work
        return await stream.result()
    except hitl.HitlError as e:
        return e


@pytest.mark.parametrize("apart", [True, False], ids=["two stores", "one store"])
async def test_two_approvals_at_once_run_the_tool_once(tmp_path: Path, apart: bool) -> None:
    """R1, F1."""
    saw = Witness()
    one, other = two_agents(tmp_path, saw)
    other = other if apart else one
    run = await one.generate("go")
    answers = await asyncio.gather(
        outcome(one.approve_tool_call(run_id=run.run_id, reviewer="ada")),
        outcome(other.approve_tool_call(run_id=run.run_id, reviewer="bob")),
    )
    lost = [a for a in answers if isinstance(a, hitl.AlreadyDecided)]
    won = [a for a in answers if isinstance(a, hitl.RunResult)]
    assert len(lost) == len(won) == 1
    assert lost[0].by in ("ada", "bob")
    assert lost[0].at is not None
    assert lost[0].state in ("approved", "executing", "done")
    assert won[0].text == "told: {'deleted': 'abc-123'}"
    assert saw.did == ["abc-123"]


async def test_approve_and_decline_at_once_tell_one_story(tmp_path: Path) -> None:
    """R1, F1: the tool ran exactly when the approval was the one that counted."""
    saw = Witness()
    one, other = two_agents(tmp_path, saw)
    run = await one.generate("go")
    answers = await asyncio.gather(
        outcome(one.approve_tool_call(run_id=run.run_id, reviewer="ada")),
        outcome(other.decline_tool_call(run_id=run.run_id, reviewer="bob", reason="no")),
    )
    assert sum(isinstance(a, hitl.AlreadyDecided) for a in answers) == 1
    (request,) = await hitl.pending(one.store, state=("done", "declined"))
    assert saw.did == (["abc-123"] if request.reviewer == "ada" else [])
    result = await one.attach(run.run_id)
    assert ("deleted" in result.text) is (request.reviewer == "ada")


async def test_the_second_approval_says_who_was_first_and_when(tmp_path: Path) -> None:
    """R1: one after the other, with the call named and without."""
    saw = Witness()
    agent, _ = two_agents(tmp_path, saw)
    run = await agent.generate("go")
    call_id = run.requests[0].tool_call_id
    await agent.approve_tool_call_generate(run_id=run.run_id, reviewer="ada")
    for named in ({}, {"tool_call_id": call_id}):
        with pytest.raises(hitl.AlreadyDecided, match="ada") as caught:
            await agent.approve_tool_call(run_id=run.run_id, **named)
        assert caught.value.by == "ada"
        assert caught.value.at is not None
    assert saw.did == ["abc-123"]


async def test_a_decision_about_another_call_or_run_changes_nothing(tmp_path: Path) -> None:
    """F2: unknown call, never asked call, unknown run, foreign agent."""
    saw = Witness()
    turns = [[hitl.call("look", id="a"), hitl.call("delete_record", id="b")], tell_back]
    agent = agent_on(store_at(tmp_path), turns, [saw.deleting(), saw.looking()])
    stranger = agent_on(agent.store, turns, id="stranger")
    run = await agent.generate("go")
    free = next(c for c in agent.store.calls(run.run_id) if c.tool_name == "look")
    with pytest.raises(hitl.RequestNotFound):
        await agent.approve_tool_call(run_id=run.run_id, tool_call_id="c_nothere")
    with pytest.raises(hitl.NotAsked):
        await agent.approve_tool_call(run_id=run.run_id, tool_call_id=free.id)
    with pytest.raises(hitl.SnapshotNotFound):
        await agent.approve_tool_call(run_id="run_nothere")
    with pytest.raises(hitl.UnknownAgent, match="clerk"):
        await stranger.approve_tool_call(run_id=run.run_id)
    with pytest.raises(hitl.NotAsked):
        await agent.resume_stream({}, run_id=run.run_id, tool_call_id=run.requests[0].tool_call_id)
    assert saw.did == ["look a"]
    assert [r.state for r in await hitl.pending(agent.store)] == ["pending"]


async def test_what_is_no_decision_is_an_error_and_never_a_yes(tmp_path: Path) -> None:
    """R4, F7, F8."""
    saw = Witness()
    agent, _ = two_agents(tmp_path, saw)
    run = await agent.generate("go")
    for nonsense in (None, "no", 0, 1, True, {"approved": True}):
        with pytest.raises(hitl.InvalidAnswer):
            await hitl.decide(run.requests[0], nonsense)  # type: ignore[arg-type]
    for truthy in (1, "yes", None):
        with pytest.raises(hitl.NotAsked):
            await agent.send_tool_approval(thread_id="t", approved=truthy)  # type: ignore[arg-type]
    assert saw.did == []
    assert (await hitl.pending(agent.store))[0].state == "pending"


async def test_all_or_nothing_of_several_decisions(tmp_path: Path) -> None:
    """R1: `decide_all` with one that was decided already changes none."""
    saw = Witness()
    turns = [[hitl.call("delete_record", id="a"), hitl.call("delete_record", id="b")], tell_back]
    agent = agent_on(store_at(tmp_path), turns, [saw.deleting()])
    first, second = (await agent.generate("go")).requests
    await hitl.decide(first, hitl.Decline("no"))
    with pytest.raises(hitl.AlreadyDecided):
        await hitl.decide_all([(second, hitl.Approve()), (first, hitl.Approve())])
    assert [r.id for r in await hitl.pending(agent.store)] == [second.id]
    assert saw.did == []
