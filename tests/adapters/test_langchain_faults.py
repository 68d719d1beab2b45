"""LangGraph: changed graphs, failing checkpointers, two who resume at once."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import sqlite3
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

import hitl_widgets as hitl

from .desk import calls, nobody_decides, states
from .graphs import MODES, THREAD, Scripted, agent, delete_graph, returned, tool


class TestChangedGraphs:
    """Between pause and resume the code changed."""

    async def paused(self, saver: Any, decision: Any, mode: str) -> None:
        graph = delete_graph(saver, "a", delete=lambda path: path, mode=mode)
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            request = await seen.get()
            running.cancel()
            await asyncio.wait([running])
            await hitl.decide(request, decision)

    @MODES
    async def test_a_tool_that_is_gone_did_not_run(self, mode: str) -> None:
        saver = InMemorySaver()
        await self.paused(saver, hitl.Approve(), mode)
        graph = agent(saver, [tool(lambda: "x", "other")], [("x", {})], "finished", mode=mode)
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(graph, "go", config=THREAD)
        ((_, state, value),) = calls()
        assert state == "failed", value

    @MODES
    async def test_a_gate_that_is_gone_lets_no_declined_call_through(self, mode: str) -> None:
        """F5."""
        saver = InMemorySaver()
        await self.paused(saver, hitl.Decline("no"), mode)
        ran: list[str] = []

        def delete_file(path: str) -> str:
            """Delete."""
            ran.append(path)
            return path

        graph = create_agent(
            Scripted(turns=[[("delete_file", {"path": "a"})], "finished"]),
            [delete_file, tool(lambda path: path, "read_file")],
            checkpointer=saver,
            name="boss",
        )
        with hitl.reviewer(lambda _: hitl.Approve()), contextlib.suppress(Exception):
            await hitl.run(graph, "go", config=THREAD)
        assert ran == []

    async def test_a_tool_with_another_signature_is_asked_about_or_told(self) -> None:
        saver = InMemorySaver()
        await self.paused(saver, hitl.Approve(), "per_call")
        ran: list[Any] = []

        def delete_file(folder: str) -> str:
            ran.append(folder)
            return folder

        graph = delete_graph(saver, "a", delete=delete_file)
        with hitl.reviewer(lambda _: hitl.Approve()), contextlib.suppress(Exception):
            await hitl.run(graph, "go", config=THREAD)
        assert ran == []
        assert calls()[0][1] != "executing"


class Failing(AsyncSqliteSaver):
    """Fails at a chosen write."""

    where = "put"
    failing = False

    async def aput(self, *args: Any) -> Any:
        if self.failing and self.where in ("put", "both"):
            raise OSError("disk full")
        return await super().aput(*args)

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        if self.failing and self.where in ("put_writes", "both"):
            raise OSError("disk full")
        await super().aput_writes(*args, **kwargs)


@pytest.fixture
async def failing() -> Any:
    async with Failing.from_conn_string(":memory:") as saver:
        yield saver


class TestGoingOnAfterAFailure:
    @MODES
    async def test_a_call_that_failed_beside_one_that_did_not_needs_a_new_approval(
        self, mode: str
    ) -> None:
        """R1: LangGraph alone runs the failed one again. In memory, where the run has ended."""
        ran: list[str] = []

        def delete(path: str) -> str:
            ran.append(path)
            if path == "b" and ran.count("b") == 1:
                raise ZeroDivisionError(path)
            return "deleted"

        graph = delete_graph(InMemorySaver(), "a", "b", delete=delete, mode=mode)
        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(ZeroDivisionError):
            await hitl.run(graph, "go", config=THREAD)
        before = sorted(ran)
        again = hitl.testing.scripted(lambda _: hitl.Decline("leave it"))
        with hitl.reviewer(again):
            if mode == "batched":
                with pytest.raises(hitl.NotPermitted):
                    await hitl.run(graph, None, config=THREAD)
            else:
                await hitl.run(graph, None, config=THREAD)
                assert again.seen
        assert sorted(ran) == before


class TestFailingCheckpointer:
    @MODES
    @pytest.mark.parametrize("where", ["put", "put_writes"])
    async def test_after_the_tool_it_does_not_run_again(
        self, failing: Failing, mode: str, where: str
    ) -> None:
        """R1: between the tool's end and its checkpoint."""
        failing.where = where
        ran: list[str] = []

        def delete(path: str) -> str:
            ran.append(path)
            failing.failing = True
            return "deleted"

        graph = delete_graph(failing, "a", delete=delete, mode=mode)
        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(OSError, match="disk full"):
            await hitl.run(graph, "go", config=THREAD, durability="sync")
        assert calls() == [("delete_file", "done", "deleted")]
        failing.failing = False
        again = hitl.testing.scripted(lambda _: hitl.Decline())
        with hitl.reviewer(again):
            going_on = hitl.run(graph, "go", config=THREAD)
            (result,) = await asyncio.gather(going_on, return_exceptions=True)
        if isinstance(result, hitl.NotPermitted):
            assert mode == "batched"
            assert "update_state" in str(result)
        else:
            assert "deleted" in returned(result)[0]
        assert ran == ["a"]
        assert again.seen == []

    async def test_before_the_question_is_kept_nothing_is_asked(self, failing: Failing) -> None:
        failing.failing = True
        graph = delete_graph(failing, "a", delete=lambda path: path)
        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(OSError, match="disk full"):
            await hitl.run(graph, "go", config=THREAD)
        assert states() == []

    async def test_a_result_that_could_be_only_rejected_is_told_truthfully(
        self, failing: Failing
    ) -> None:
        """An agent that allows no `respond`: the words say that it ran."""
        failing.where = "both"

        def delete(path: str) -> str:
            failing.failing = True
            return f"deleted {path}"

        gated = {"delete_file": {"allowed_decisions": ["approve", "reject"]}}
        graph = delete_graph(failing, "a", delete=delete, gated=gated)
        with hitl.reviewer(lambda _: hitl.Approve()):
            with pytest.raises(OSError, match="disk full"):
                await hitl.run(graph, "go", config=THREAD, durability="sync")
            failing.failing = False
            result = await hitl.run(graph, "go", config=THREAD)
        assert "did run" in returned(result)[0]
        assert "deleted a" in returned(result)[0]


class TestTwoAtOnce:
    async def test_two_loops_in_two_threads_resume_one_thread_and_the_tool_runs_once(self) -> None:
        """R1, R21."""
        ran: list[str] = []

        def delete(path: str) -> str:
            ran.append(path)
            return "deleted"

        saver = InMemorySaver()
        graph = delete_graph(saver, "a", delete=delete)
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            request = await seen.get()
            running.cancel()
            await asyncio.wait([running])
            await hitl.decide(request, hitl.Approve())
        start = threading.Barrier(2)

        def resume() -> Any:
            start.wait()
            try:
                return asyncio.run(hitl.run(graph, "go", config=THREAD))
            except hitl.RunSuspended as e:
                return e
            except hitl.NoReviewer as e:
                return e

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(resume) for _ in range(2)]
            outcomes = await asyncio.gather(*map(asyncio.wrap_future, jobs))
        assert ran == ["a"]
        assert any(isinstance(o, dict) for o in outcomes), outcomes

    def test_a_graph_left_in_a_thread_is_waited_for_in_the_next_loop(self) -> None:
        """R16: `asyncio.run` was interrupted; the next one goes on from there."""
        ran: list[str] = []
        begun, free = threading.Event(), threading.Event()

        def delete(path: str) -> str:
            ran.append(path)
            begun.set()
            free.wait()
            return "deleted"

        saver = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))
        graph = delete_graph(saver, "a", delete=delete)

        async def interrupted() -> None:
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            await asyncio.to_thread(begun.wait)
            running.cancel()
            await asyncio.wait([running])
            free.set()

        with hitl.reviewer(lambda _: hitl.Approve()):
            asyncio.run(interrupted())
            result = asyncio.run(hitl.run(graph, "go", config=THREAD))
        assert ran == ["a"]
        assert returned(result)[0] == "deleted"
