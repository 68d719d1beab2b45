"""pydantic-ai's agents: nobody there, interrupts, dead processes, races."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

import hitl_widgets as hitl
from hitl_widgets.request import Reviewer

from .desk import Process, calls, nobody_decides, race, runs, states, store
from .pyd import delete_agent, returned


def did() -> list[str]:
    """What tools did in other processes, sorted."""
    file = Path(os.environ["HITL_STORE"] + ".log")
    return sorted(file.read_text().split()) if file.exists() else []


async def decide(*decisions: hitl.Approve | hitl.Decline) -> None:
    """Decide what waits, in order."""
    for request, decision in zip(await hitl.pending(), decisions, strict=True):
        await hitl.decide(request, decision)


class TestNobodyThere:
    async def test_without_a_key_nothing_runs_and_the_request_is_withdrawn(self) -> None:
        """R5, F25."""
        ran: list[str] = []
        with pytest.raises(hitl.NoReviewer, match="delete_file"):
            await hitl.run(delete_agent(ran, "a.csv"), "go")
        assert "a.csv" not in ran
        assert states() == [("delete_file", "withdrawn")]
        assert runs() == ["cancelled"]

    async def test_with_a_key_it_waits_and_names_the_command_that_decides(self) -> None:
        ran: list[str] = []
        with pytest.raises(hitl.RunSuspended) as suspended:
            await hitl.run(delete_agent(ran, "a.csv"), "go", key="k")
        (request,) = suspended.value.requests
        assert f"hitl-widgets inbox approve {request.id}" in str(suspended.value)
        assert runs() == ["suspended"]
        await decide(hitl.Approve())
        result = await hitl.run(delete_agent(ran, "a.csv"), "go", key="k")
        assert result.output == "finished"
        assert ran.count("a.csv") == 1

    async def test_headless_decline_declines(self) -> None:
        ran: list[str] = []
        hitl.configure(headless="decline")
        try:
            result = await hitl.run(delete_agent(ran, "a.csv"), "go")
        finally:
            hitl.configure(headless="suspend")
        assert any("Nobody could be asked" in told for told in returned(result))
        assert "a.csv" not in ran

    async def test_another_prompt_does_not_drop_what_waits(self) -> None:
        """R15, R22: the error names both."""
        ran: list[str] = []
        with pytest.raises(hitl.RunSuspended):
            await hitl.run(delete_agent(ran, "a.csv"), "the first", key="k")
        with pytest.raises(hitl.RunSuspended) as refused:
            await hitl.run(delete_agent(ran, "b.csv"), "another", key="k")
        assert "the first" in str(refused.value)
        assert "another" in str(refused.value)
        assert states() == [("delete_file", "pending")]


class TestInterrupted:
    async def test_a_parked_run_has_nobody_to_return_to(self) -> None:
        """R16."""
        ran: list[str] = []
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(delete_agent(ran, "a.csv"), "go"))
            request = await seen.get()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        assert states() == [("delete_file", "withdrawn")]
        with pytest.raises(hitl.AlreadyDecided):
            await hitl.decide(request, hitl.Approve())
        assert "a.csv" not in ran

    async def test_under_a_key_it_stays_decidable_and_the_cell_goes_on_with_it(self) -> None:
        """R16, F29."""
        ran: list[str] = []
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(delete_agent(ran, "a.csv"), "go", key="k"))
            request = await seen.get()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await hitl.decide(request, hitl.Approve())
            result = await hitl.run(delete_agent(ran, "a.csv"), "go", key="k")
        assert result.output == "finished"
        assert len(store().requests()) == 1
        assert ran.count("a.csv") == 1


class TestKilled:
    async def test_what_a_parked_run_asked_is_withdrawn(self) -> None:
        """R14, F15: listed as lost, never approvable."""
        with Process("pydantic_ai", "-", "passes") as process:
            request_id = process.said("asked")
            process.kill()
        assert await hitl.pending() == []
        assert states() == [("delete_file", "withdrawn")] * 2
        assert runs() == ["failed"]
        with pytest.raises(hitl.AlreadyDecided):
            await hitl.decide(request_id, hitl.Approve())
        assert did() == []

    async def test_under_a_key_it_is_decided_afterwards_and_resumed_by_the_same_call(self) -> None:
        """R14: each call as decided, none twice."""
        with Process("pydantic_ai", "k", "passes") as process:
            process.said("asked")
            process.said("asked")
            process.kill()
        assert states() == [("delete_file", "pending")] * 2
        await decide(hitl.Approve(args={"path": "a2.csv"}), hitl.Decline("keep it"))
        with Process("pydantic_ai", "k", "headless") as process:
            assert process.said("result") == "finished"
        assert did() == ["a2.csv"]
        assert states() == [("delete_file", "done"), ("delete_file", "declined")]
        assert runs() == ["completed"]

    async def test_a_call_that_was_running_has_an_unknown_outcome_until_settled(self) -> None:
        """R13: its finished sibling keeps its result, and neither runs again."""
        with Process("pydantic_ai", "k", "hangs") as process:
            process.said("asked")
            process.said("asked")
            await decide(hitl.Approve(), hitl.Approve())
            process.said("running")
            process.kill()
        store().sweep()
        assert sorted(states()) == [("delete_file", "done"), ("delete_file", "outcome_unknown")]
        with Process("pydantic_ai", "k", "headless") as process:
            assert "OutcomeUnknown" in process.said("error")
        unknown = next(r for r in store().requests() if r.state == "outcome_unknown")
        await hitl.settle(unknown, "happened", result="it is gone")
        with Process("pydantic_ai", "k", "headless") as process:
            assert process.said("result") == "finished"
        assert did() == ["a.csv", "b.csv"]
        assert [c[2] for c in calls()] == ["deleted a.csv", "it is gone"]


class TestRace:
    async def test_two_processes_resume_and_the_tools_run_once(self) -> None:
        """R1, R21: pydantic-ai runs them again on a second resume of one history."""
        with Process("pydantic_ai", "k", "passes") as first:
            first.said("asked")
            first.said("asked")
            first.kill()
        for request in await hitl.pending():
            await hitl.decide(request, hitl.Approve(), reviewer=Reviewer("ann"))
        outcomes = race("pydantic_ai", "k")
        assert did() == ["a.csv", "b.csv"]
        assert any("result finished" in o for o in outcomes), outcomes
        # A loser that comes when it is over already begins anew, and asks.
        assert states()[:2] == [("delete_file", "done")] * 2
        assert {s for _, s in states()[2:]} <= {"pending"}

    async def test_a_second_caller_of_a_living_run_is_told_that_it_is_waited_for(self) -> None:
        ran: list[str] = []
        with Process("pydantic_ai", "k", "passes") as process:
            process.said("asked")
            with pytest.raises(hitl.RunSuspended, match="waited for elsewhere"):
                await hitl.run(delete_agent(ran, "a.csv"), "clean up", key="k")
        assert ran == []
