"""R10, F21: edits are told truthfully, judged again, and change arguments only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl

from .making import Witness, agent_on, last_told, store_at

GO = [[hitl.call("delete_record", id="abc")], lambda m: str(last_told(m))]


async def test_history_holds_what_ran_and_the_model_is_told_of_the_change(tmp_path: Path) -> None:
    """R10."""
    saw, told = Witness(), []

    def end(messages: Any) -> str:
        told.append(last_told(messages))
        return "end"

    agent = agent_on(store_at(tmp_path), [GO[0], end], [saw.deleting()])
    run = await agent.generate("go")
    done = await agent.approve_tool_call_generate(
        run_id=run.run_id, args={"id": "xyz"}, note="wrong one"
    )
    assert saw.did == ["xyz"]
    assert told == [
        {
            "result": {"deleted": "xyz"},
            "human_changed_arguments": {
                "from": {"id": "abc", "force": False},
                "to": {"id": "xyz", "force": False},
            },
            "note_from_human": "wrong one",
        }
    ]
    assert done.messages[1].parts[0].args == {"id": "xyz", "force": False}
    kept = agent.store.request(run.requests[0].id)
    assert kept.args["id"] == "abc"
    assert kept.decision["edited"]["fingerprint"] not in (kept.fingerprint, None)


async def test_a_failed_edited_call_is_told_with_what_it_was_called_with(tmp_path: Path) -> None:
    @hitl.tool(require_approval=True)
    async def fail(n: int) -> None:
        "Fail."
        raise RuntimeError(f"bad {n}")

    agent = agent_on(store_at(tmp_path), [[hitl.call("fail", n=1)], GO[1]], [fail])
    run = await agent.generate("go")
    done = await agent.approve_tool_call_generate(run_id=run.run_id, args={"n": 2})
    assert done.messages[1].parts[0].args == {"n": 2}
    assert "bad 2" in done.text


async def test_an_invalid_edit_is_refused_and_the_request_waits_on(tmp_path: Path) -> None:
    """R4, R10."""
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    run = await agent.generate("go")
    for wrong in ({}, {"id": 7}, {"id": "x", "more": 1}, {"id": "x", "force": "perhaps"}):
        with pytest.raises(hitl.InvalidAnswer):
            await agent.approve_tool_call(run_id=run.run_id, args=wrong)
    assert saw.did == []
    assert (await hitl.pending(agent.store))[0].state == "pending"


async def test_an_edit_that_the_policy_denies_is_not_permitted(tmp_path: Path) -> None:
    """R10, F21: the whole policy again; an ask is answered by this very decision."""

    def judge(context: hitl.ApprovalContext) -> hitl.Verdict:
        return hitl.Verdict("deny" if context.args["id"] == "root" else "ask")

    saw = Witness()
    tool = saw.deleting(require_approval=None)
    agent = agent_on(store_at(tmp_path), GO, [hitl.Toolset([tool], policy=hitl.auto(judge))])
    run = await agent.generate("go")
    with pytest.raises(hitl.NotPermitted):
        await agent.approve_tool_call(run_id=run.run_id, args={"id": "root"})
    assert (await hitl.pending(agent.store))[0].id == run.requests[0].id
    await agent.approve_tool_call_generate(run_id=run.run_id, args={"id": "ok"})
    assert saw.did == ["ok"]


async def test_an_edit_in_a_nested_agent_is_judged_by_that_agents_rules(tmp_path: Path) -> None:
    saw, store = Witness(), store_at(tmp_path)
    child = agent_on(store, GO, [saw.deleting()], id="child", description="d")
    boss = agent_on(
        store, [[hitl.call("agent-child", prompt="do")], "end"], agents=[child], id="boss"
    )
    run = await boss.generate("go")
    done = await boss.approve_tool_call_generate(run_id=run.run_id, args={"id": "new"})
    assert done.text == "end"
    assert saw.did == ["new"]


async def test_an_edit_after_a_restart_goes_by_the_tools_own_model(tmp_path: Path) -> None:
    saw = Witness()
    run = await agent_on(store_at(tmp_path), GO, [saw.deleting()]).generate("go")
    later = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    receipt = await hitl.decide(
        later.store.request(run.requests[0].id), hitl.Approve(args={"id": "n"})
    )
    assert receipt.validated_by == "model"
    done = await later.attach(run.run_id)
    assert done.finish_reason == "stop"
    assert saw.did == ["n"]


async def test_respond_gives_a_result_in_place_of_running(tmp_path: Path) -> None:
    """R10: the model gets it; the tool does not run; only its reviewers may."""
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting(reviewers=["ada"])])
    run = await agent.generate("go")
    for wrong in (object(), {1: 2}, float):
        with pytest.raises(hitl.InvalidAnswer):
            await hitl.decide(run.requests[0], hitl.Respond(wrong), reviewer="ada")
    with pytest.raises(hitl.NotPermitted, match="ada"):
        await hitl.decide(run.requests[0], hitl.Respond({"deleted": "no"}), reviewer="bob")
    await hitl.decide(run.requests[0], hitl.Respond({"simulated": True}), reviewer="ada")
    done = await agent.attach(run.run_id)
    assert done.text == "{'simulated': True}"
    assert saw.did == []
    assert agent.store.request(run.requests[0].id).state == "responded"
    assert done.usage["tool_calls"] == 0


async def test_quorum_needs_two_for_a_yes_and_one_for_a_no(tmp_path: Path) -> None:
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting(quorum=2)])
    run = await agent.generate("go")
    first = await agent.approve_tool_call_generate(run_id=run.run_id, reviewer="ada")
    assert first.finish_reason == "suspended"
    assert saw.did == []
    with pytest.raises(hitl.AlreadyDecided):
        await agent.approve_tool_call(run_id=run.run_id, reviewer="ada")
    done = await agent.approve_tool_call_generate(run_id=run.run_id, reviewer="bob")
    assert done.finish_reason == "stop"
    assert saw.did == ["abc"]
