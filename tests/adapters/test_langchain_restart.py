"""LangGraph: nobody there, interrupts, dead processes, races: over a checkpointer in a file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

import hitl_widgets as hitl

from .desk import Process, calls, nobody_decides, race, runs, states, store
from .graphs import THREAD, delete_graph

MODES = pytest.mark.parametrize("mode", ["langchain", "batched"])


def did() -> list[str]:
    """What tools did in other processes, sorted."""
    file = Path(os.environ["HITL_STORE"] + ".log")
    return sorted(file.read_text().split()) if file.exists() else []


def never(path: str) -> str:
    """Fail: what was settled must not run again."""
    raise AssertionError(path)


def memory(ran: list[str]) -> object:
    def delete(path: str) -> str:
        ran.append(path)
        return f"deleted {path}"

    return delete_graph(InMemorySaver(), "a.csv", delete=delete)


async def decide(*decisions: hitl.Approve | hitl.Decline) -> None:
    """Decide what waits, in order."""
    for request, decision in zip(await hitl.pending(), decisions, strict=True):
        await hitl.decide(request, decision)


class TestNobodyThere:
    @pytest.mark.parametrize("act", ["langchain", "batched", "thread"])
    async def test_it_waits_is_decided_and_resumed_by_the_same_call(self, act: str) -> None:
        """R5: and the error names the command that decides."""
        with Process(act, "t", "headless") as process:
            said = process.said("error")
        assert said.startswith("RunSuspended")
        assert "hitl-widgets inbox approve r_" in said
        assert runs() == ["suspended"]
        await decide(hitl.Approve(), hitl.Decline("keep it"))
        with Process(act, "t", "headless") as process:
            assert process.said("result") == "finished"
        assert did() == ["a.csv"]
        assert states() == [("delete_file", "done"), ("delete_file", "declined")]
        assert runs() == ["completed"]

    async def test_a_checkpointer_in_memory_keeps_nothing_so_the_request_is_withdrawn(self) -> None:
        """R14, F15."""
        ran: list[str] = []
        with pytest.raises(hitl.NoReviewer):
            await hitl.run(memory(ran), "go", config=THREAD)
        assert states() == [("delete_file", "withdrawn")]
        assert ran == []


class TestInterrupted:
    async def test_it_stays_decidable_here_and_the_cell_goes_on_with_it(self) -> None:
        """R16, in one kernel even with a checkpointer in memory."""
        ran: list[str] = []
        graph = memory(ran)
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            request = await seen.get()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await hitl.decide(request, hitl.Approve())
            await hitl.run(graph, "go", config=THREAD)
        assert ran == ["a.csv"]
        assert len(store().requests()) == 1
        assert states() == [("delete_file", "done")]

    async def test_a_graph_in_a_thread_ends_its_tool_and_starts_no_other(self) -> None:
        """R16: a thread cannot be stopped; what it did is kept, and the cell goes on from there."""
        ran: list[str] = []
        begun, free = threading.Event(), threading.Event()

        def delete(path: str) -> str:
            ran.append(path)
            if path == "a.csv" and len(ran) == 1:
                begun.set()
                free.wait()
            return f"deleted {path}"

        saver = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))
        graph = delete_graph(saver, "a.csv", delete=delete)
        with hitl.reviewer(lambda _: hitl.Approve()):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            await asyncio.to_thread(begun.wait)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert states() == [("delete_file", "executing")]
            again = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            free.set()
            result = await again
        assert ran == ["a.csv"]
        assert calls() == [("delete_file", "done", "deleted a.csv")]
        assert result["messages"][-1].content == "finished"


class TestKilled:
    @MODES
    async def test_what_waited_is_decided_afterwards_and_resumed_by_the_same_call(
        self, mode: str
    ) -> None:
        """R14: asked once, each call as decided, edits too."""
        with Process(mode, "t", "passes") as process:
            process.said("asked")
            process.said("asked")
            process.kill()
        assert states() == [("delete_file", "pending")] * 2
        await decide(hitl.Approve(args={"path": "a2.csv"}), hitl.Approve())
        with Process(mode, "t", "headless") as process:
            assert process.said("result") == "finished"
        assert did() == ["a2.csv", "b.csv"]
        assert states() == [("delete_file", "done")] * 2

    @pytest.mark.parametrize("how", ["happened", "give_up"])
    async def test_a_call_that_was_running_is_settled_and_not_run_again(self, how: str) -> None:
        """R13: LangGraph alone would run it again, under the approval in its checkpoint."""
        unknown = await self.killed_while_running("langchain")
        await hitl.settle(unknown, how, result="it is gone")
        with Process("langchain", "t", "headless") as process:
            assert process.said("result") == "finished"
        assert did() == ["a.csv", "b.csv"]
        last = "it is gone" if how == "happened" else "a human gave it up"
        assert last in calls()[1][2]

    async def test_in_batched_mode_nothing_runs_until_the_graph_is_told(self) -> None:
        """R13: it is past its interrupt, so it cannot be answered any more."""
        unknown = await self.killed_while_running("batched")
        await hitl.settle(unknown, "happened", result="it is gone")
        with Process("batched", "t", "headless") as process:
            said = process.said("error")
        assert said.startswith("NotPermitted")
        assert "graph.update_state" in said
        assert did() == ["a.csv", "b.csv"]
        file = os.environ["HITL_STORE"] + ".graph"
        saver = SqliteSaver(sqlite3.connect(file, check_same_thread=False))
        graph = delete_graph(saver, "a.csv", "b.csv", delete=never, mode="batched")
        results = [ToolMessage("done", tool_call_id=f"c0-{i}") for i in range(3)]
        graph.update_state(THREAD, {"messages": results}, as_node="tools")
        result = await hitl.run(graph, None, config=THREAD)
        assert result["messages"][-1].content == "finished"
        assert did() == ["a.csv", "b.csv"]

    async def killed_while_running(self, act: str) -> hitl.Request:
        with Process(act, "t", "hangs") as process:
            process.said("asked")
            process.said("asked")
            await decide(hitl.Approve(), hitl.Approve())
            process.said("running")
            process.kill()
        store().sweep()
        assert states() == [("delete_file", "done"), ("delete_file", "outcome_unknown")]
        with Process(act, "t", "headless") as process:
            assert process.said("error").startswith("OutcomeUnknown")
        return next(r for r in store().requests() if r.state == "outcome_unknown")

    async def test_running_it_again_takes_a_new_approval(self) -> None:
        await hitl.settle(await self.killed_while_running("langchain"), "run_again")
        await decide(hitl.Approve(args={"path": "b2.csv"}))
        with Process("langchain", "t", "headless") as process:
            assert process.said("result") == "finished"
        assert did() == ["a.csv", "b.csv", "b2.csv"]


class TestRace:
    @MODES
    async def test_two_processes_resume_and_the_tools_run_once(self, mode: str) -> None:
        """R1, R21: LangGraph alone runs them twice."""
        with Process(mode, "t", "passes") as first:
            first.said("asked")
            first.said("asked")
            first.kill()
        await decide(hitl.Approve(), hitl.Approve())
        outcomes = race(mode, "t")
        assert did() == ["a.csv", "b.csv"]
        assert any("result finished" in o for o in outcomes), outcomes
        # A loser that comes when it is over already begins anew, and asks.
        assert states()[:2] == [("delete_file", "done")] * 2
        assert {s for _, s in states()[2:]} <= {"pending"}

    async def test_two_runs_of_one_thread_in_one_process(self) -> None:
        ran: list[str] = []
        graph = memory(ran)
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            request = await seen.get()
            with pytest.raises(hitl.RunSuspended, match="waited for elsewhere"):
                await hitl.run(graph, "go", config=THREAD)
            await hitl.decide(request, hitl.Approve())
            await running
        assert ran == ["a.csv"]
