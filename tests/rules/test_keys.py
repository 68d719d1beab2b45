"""R22: re-running a cell does not ask twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import hitl_widgets as hitl
from hitl_widgets.agent.following import stream_of, take

from .making import Witness, agent_on, store_at, tell_back, until

GO = [[hitl.call("delete_record", id="abc")], tell_back]


async def test_the_same_key_attaches_while_its_run_is_unfinished(tmp_path: Path) -> None:
    """In this process, after a restart, and at the same time."""
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    with pytest.raises(hitl.RunSuspended):
        await agent.run("go", key="k")
    later = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    with pytest.raises(hitl.RunSuspended) as caught:
        await later.run("go", key="k")
    (request,) = await hitl.pending(later.store)
    assert [r.id for r in caught.value.requests] == [request.id]
    with hitl.reviewer(lambda _: hitl.Approve()):
        handle = later.start("go", key="k")
        both = await asyncio.gather(handle, later.run("go", key="k"))
    assert {r.text for r in both} == {"told: {'deleted': 'abc'}"}
    assert len(later.store.runs()) == 1
    assert saw.did == ["abc"]


async def test_another_prompt_or_other_tools_under_the_key_are_an_error_naming_both(
    tmp_path: Path,
) -> None:
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    with pytest.raises(hitl.RunSuspended):
        await agent.run("first words", key="k")
    with pytest.raises(hitl.AgentDefinitionError, match=r"(?s)first words.*other words"):
        await agent.run("other words", key="k")

    @hitl.tool(require_approval=True)
    async def delete_record(id: str, hard: bool) -> None:  # noqa: A002
        "Delete."

    changed = agent_on(agent.store, GO, [delete_record])
    with pytest.raises(hitl.AgentDefinitionError, match="differs"):
        await changed.run("first words", key="k")
    assert len(agent.store.runs()) == 1


async def test_a_finished_run_starts_anew(tmp_path: Path) -> None:
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    with hitl.reviewer(lambda _: hitl.Approve()):
        one, two = await agent.run("go", key="k"), await agent.run("go", key="k")
    assert one.run_id != two.run_id
    assert saw.did == ["abc", "abc"]


async def test_keys_belong_to_an_agent_id(tmp_path: Path) -> None:
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    other = agent_on(agent.store, GO, [Witness().deleting()], id="other")
    for each in (agent, other):
        with pytest.raises(hitl.RunSuspended):
            await each.run("go", key="k")
    assert len(agent.store.runs()) == 2


async def test_a_key_on_a_thread_attaches_although_something_waits_there(tmp_path: Path) -> None:
    """R15 is about new messages; this is the same one."""
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    for _ in range(2):
        with pytest.raises(hitl.RunSuspended, match="attach"):
            await agent.run("go", key="k", thread_id="t")
    assert len(agent.store.runs()) == 1


async def test_cancelling_a_handle_that_attached_cancels_the_run(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    agent = agent_on(store, GO, [Witness().deleting()])
    with pytest.raises(hitl.RunSuspended):
        await agent.run("go", key="k")
    (run,) = store.runs()
    with hitl.reviewer(lambda _: None):
        handle = agent.start("go", key="k")
        await until(lambda: store.run(run.id).owner is not None)
        handle.cancel()
        assert (await handle).finish_reason == "aborted"
    assert handle.run_id == run.id


async def test_cancelling_a_run_that_was_only_just_taken_cancels_it(tmp_path: Path) -> None:
    """Its driver's task has not made a step yet: cancelled there, it would never say so."""
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    run = await agent.generate("go")
    driver, mine = await take(agent, run.run_id, waits=True)
    driver.cancel()
    assert mine
    assert (await stream_of(driver).result()).finish_reason == "aborted"
    assert [r.state for r in agent.store.requests()] == ["withdrawn"]
