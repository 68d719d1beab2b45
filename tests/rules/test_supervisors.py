"""F17: agents as tools of agents: one run, decided at the top."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl

from .making import Witness, agent_on, chunks_of, last_told, store_at, tell_back, until


def asking() -> hitl.Tool:
    @hitl.tool(resume_schema=str)
    async def ask(ctx: hitl.ToolContext) -> Any:
        "Ask."
        return ctx.resume_data or await ctx.suspend("which?")

    return ask


def tower(tmp_path: Path, saw: Witness, leaf_turns: Any = None, **leaf: Any) -> hitl.Agent:
    """Three levels: boss > lead > clerk; the clerk has the tools."""
    store = store_at(tmp_path)
    turns = leaf_turns or [[hitl.call("delete_record", id="deep")], tell_back]
    clerk = agent_on(
        store, turns, [saw.deleting(), saw.looking(), asking()], description="deletes", **leaf
    )
    lead = agent_on(
        store, [[hitl.call("agent-clerk", prompt="delete it")], tell_back],
        agents=[clerk], id="lead", description="leads",
    )  # fmt: skip
    return agent_on(
        store, [[hitl.call("agent-lead", prompt="see to it")], tell_back], agents=[lead], id="boss"
    )


@pytest.mark.parametrize("gone", [False, True], ids=["live", "after a restart"])
@pytest.mark.parametrize("form", ["generate", "stream"])
async def test_an_approval_three_levels_down_is_decided_at_the_top(
    tmp_path: Path, form: str, gone: bool
) -> None:
    saw = Witness()
    boss = tower(tmp_path, saw)
    run = (
        await boss.generate("go")
        if form == "generate"
        else await (await boss.stream("go")).result()
    )
    (request,) = run.requests
    assert request.agent_path == ("boss", "lead", "clerk")
    assert (request.run_id, request.agent_id) == (run.run_id, "boss")
    assert request.tool_name == "delete_record"
    boss = tower(tmp_path, saw) if gone else boss
    (listed,) = await boss.list_suspended_runs()
    assert [r.state for r in listed.tool_calls] == ["pending"]
    if form == "generate":
        done = await boss.approve_tool_call_generate(run_id=run.run_id)
    else:
        stream = await boss.approve_tool_call(run_id=run.run_id, tool_call_id=request.tool_call_id)
        heard = await chunks_of(stream)
        paths = [c.agent_path for c in heard if c.type == "tool-result"]
        assert paths == [("boss", "lead", "clerk"), ("boss", "lead"), ("boss",)]
        done = await stream.result()
    assert done.text == "told: told: told: {'deleted': 'deep'}"
    assert saw.did == ["deep"]
    assert done.usage["requests"] == 6
    assert done.usage["tool_calls"] == 3


async def test_a_decline_three_levels_down_is_told_there(tmp_path: Path) -> None:
    saw = Witness()
    boss = tower(tmp_path, saw)
    run = await boss.generate("go")
    done = await boss.decline_tool_call_generate(run_id=run.run_id, reason="never")
    assert done.text.startswith("told: told: told: The human declined")
    assert saw.did == []


@pytest.mark.parametrize("gone", [False, True], ids=["live", "after a restart"])
async def test_a_suspension_three_levels_down(tmp_path: Path, gone: bool) -> None:
    """F17, F18: the nested run goes on where it was; its free calls are not made again."""
    saw = Witness()
    turns = [[hitl.call("look", id="1")], [hitl.call("ask")], tell_back]
    boss = tower(tmp_path, saw, turns)
    stream = await boss.stream("go")
    heard = await chunks_of(stream)
    (asked,) = [c for c in heard if c.type == "tool-call-suspended"]
    assert asked.agent_path == ("boss", "lead", "clerk")
    boss = tower(tmp_path, saw, turns) if gone else boss
    done = await boss.resume_generate("this", run_id=stream.run_id)
    assert done.text == "told: told: told: this"
    assert saw.did == ["look 1"]


async def test_several_branches_pending_at_once_with_the_same_provider_ids(tmp_path: Path) -> None:
    """F11, F17: decided in any order, with a restart in between."""

    def boss(saw: Witness) -> hitl.Agent:
        store = store_at(tmp_path)
        # Both branches' models name their calls alike.
        children = [
            agent_on(store, [[hitl.call("delete_record", id=n)], tell_back], [saw.deleting()], id=n)
            for n in ("left", "right")
        ]
        turn = [hitl.call("agent-left", prompt="a"), hitl.call("agent-right", prompt="b")]
        return agent_on(store, [turn, lambda m: str(last_told(m))], agents=children, id="boss")

    saw = Witness()
    run = await boss(saw).generate("go")
    assert [r.agent_path[-1] for r in run.requests] == ["left", "right"]
    left, right = run.requests
    again = await boss(saw).decline_tool_call_generate(
        run_id=run.run_id, tool_call_id=left.tool_call_id, reason="no"
    )
    assert [r.id for r in again.requests] == [right.id]
    done = await boss(saw).approve_tool_call_generate(run_id=run.run_id)
    assert saw.did == ["right"]
    first, second = done.text.split(", ", 1)
    assert "declined" in first
    assert "{'deleted': 'right'}" in second
    assert done.usage["requests"] == 6


async def test_a_branch_that_made_free_calls_only_does_not_make_them_again(tmp_path: Path) -> None:
    """R13, F18: its frame is saved with its sibling's first question."""
    saw = Witness()

    def boss() -> hitl.Agent:
        store = store_at(tmp_path)

        def looked(messages: Any) -> Any:
            return [hitl.call("ask")]

        quick = agent_on(
            store, [[hitl.call("delete_record", id="q")], "q"], [saw.deleting()], id="quick"
        )
        slow = agent_on(
            store,
            [[hitl.call("look", id="s")], looked, "s"],
            [saw.looking(), asking()],
            id="slow",
        )
        turn = [hitl.call("agent-quick", prompt="a"), hitl.call("agent-slow", prompt="b")]
        return agent_on(store, [turn, "end"], agents=[quick, slow], id="boss")

    run = await boss().generate("go")
    assert len(run.requests) == 2
    await boss().approve_tool_call_generate(run_id=run.run_id)
    done = await boss().resume_generate("x", run_id=run.run_id)
    assert done.text == "end"
    assert sorted(saw.did) == ["look s", "q"]


async def test_decline_and_stop_below_ends_the_whole_run(tmp_path: Path) -> None:
    saw = Witness()
    boss = tower(tmp_path, saw)
    run = await boss.generate("go")
    done = await boss.decline_tool_call_generate(run_id=run.run_id, stop=True)
    assert done.finish_reason == "declined"
    assert boss.store.run(run.run_id).state == "declined"
    with pytest.raises(hitl.SnapshotNotFound):
        boss.store.frame(run.run_id)


async def test_max_steps_holds_at_each_level(tmp_path: Path) -> None:
    saw = Witness()
    turns = [[hitl.call("look", id=str(i))] for i in range(9)]
    boss = tower(tmp_path, saw, turns, defaults=hitl.RunOptions(max_steps=3))
    result = await boss.generate("go", max_steps=2)
    assert result.finish_reason == "stop"
    assert len(saw.did) == 3
    again = await boss.generate("go", max_steps=1)
    assert again.finish_reason == "length"


async def test_descriptions_are_what_the_supervisor_is_told(tmp_path: Path) -> None:
    boss = tower(tmp_path, Witness())
    (spec,) = boss.specs
    assert (spec.name, spec.description) == ("agent-lead", "leads")
    assert list(spec.schema["properties"]) == ["prompt"]


async def test_a_supervisors_rule_reaches_down_and_a_nested_default_counts_too(
    tmp_path: Path,
) -> None:
    """Strictness wins: run-level True at the top, or the nested agent's own default."""
    turns = [[hitl.call("look", id="1")], tell_back]
    boss = tower(tmp_path, Witness(), turns)
    run = await boss.generate("go", require_tool_approval=True)
    assert [r.tool_name for r in run.requests] == ["agent-lead"]
    for tool in ("agent-clerk", "look"):
        run = await boss.approve_tool_call_generate(run_id=run.run_id)
        assert [r.tool_name for r in run.requests] == [tool]
    (tmp_path / "other").mkdir()
    strict = tower(
        tmp_path / "other", Witness(), turns, defaults=hitl.RunOptions(require_tool_approval=True)
    )
    run = await strict.generate("go")
    assert [r.tool_name for r in run.requests] == ["look"]


async def test_run_decides_nested_requests_through_its_reviewer(tmp_path: Path) -> None:
    saw = Witness()
    boss = tower(tmp_path, saw)
    with hitl.reviewer(lambda _: hitl.Approve()):
        done = await boss.run("go")
    assert done.finish_reason == "stop"
    assert saw.did == ["deep"]


async def test_a_nested_body_that_asks_waits_in_place(tmp_path: Path) -> None:
    entered: list[int] = []

    @hitl.tool
    async def ask(ctx: hitl.ToolContext) -> str:
        "Ask."
        entered.append(1)
        first = await ctx.ask(str, "One?")
        return first + await ctx.ask(str, "Two?")

    store = store_at(tmp_path)
    clerk = agent_on(store, [[hitl.call("ask")], tell_back], [ask])
    boss = agent_on(
        store, [[hitl.call("agent-clerk", prompt="p")], tell_back], agents=[clerk], id="boss"
    )
    run = await boss.generate("go")
    await boss.resume_generate("a", run_id=run.run_id)
    done = await boss.resume_generate("b", run_id=run.run_id)
    assert done.text == "told: told: ab"
    assert entered == [1]


async def test_a_nested_agent_that_is_gone_is_named(tmp_path: Path) -> None:
    """F16."""
    boss = tower(tmp_path, Witness())
    run = await boss.generate("go")
    alone = agent_on(boss.store, [], id="boss")
    with pytest.raises(hitl.UnknownAgent, match="boss > lead > clerk"):
        await alone.approve_tool_call(run_id=run.run_id)
    assert (await hitl.pending(boss.store))[0].state == "pending"


async def test_cancelling_reaches_every_level(tmp_path: Path) -> None:
    boss = tower(tmp_path, Witness())
    with hitl.reviewer(lambda _: None):
        handle = boss.start("go")
        (request,) = await until(lambda: boss.store.requests(states=("pending",)))
    handle.cancel()
    assert (await handle).finish_reason == "aborted"
    assert boss.store.request(request.id).state == "withdrawn"
