"""LangChain: stubborn tools, retries, batches whose call ids are not known."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

import hitl_widgets as hitl

from .desk import Hanging, calls, nobody_decides, runs, states
from .graphs import MODES, THREAD, Scripted, agent, delete_graph, returned, tool


class TestMany:
    @MODES
    async def test_a_dozen_siblings_at_once_in_threads_run_once_each(self, mode: str) -> None:
        """R1, R9."""
        ran: list[str] = []
        paths = [f"{n:02}.csv" for n in range(12)]
        together = threading.Barrier(len(paths))

        def delete(path: str) -> str:
            if mode == "batched":
                together.wait(60)
            ran.append(path)
            return f"deleted {path}"

        saver = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))
        graph = delete_graph(saver, *paths, delete=delete, mode=mode)
        with hitl.reviewer(lambda _: hitl.Approve()):
            config = {**THREAD, "max_concurrency": 16}
            result = await hitl.run(graph, "go", config=config)
        assert sorted(ran) == paths
        assert returned(result)[:-1] == [f"deleted {path}" for path in paths]
        assert sorted(calls()) == [("delete_file", "done", f"deleted {path}") for path in paths]


class TestBatches:
    """In a batch nothing names the calls' ids: what cannot be found is told by its arguments."""

    def family(self, ran: list[str], saver: Any, *, names: Any = ("n.csv",)) -> Any:
        def delete(path: str) -> str:
            ran.append(path)
            if path == "fails once" and ran.count(path) == 1:
                raise ZeroDivisionError(path)
            return "deleted"

        child = agent(
            None,
            [tool(delete, "delete_file")],
            [("delete_file", {"path": n}) for n in names],
            "child done",
            name="child",
            mode="batched",
        )

        def delegate(task: str) -> str:
            return child.invoke({"messages": [("user", task)]})["messages"][-1].content

        return agent(
            saver, [tool(delegate, "delegate")], [("delegate", {"task": "clean"})], "finished"
        )

    async def test_a_nested_batch_runs_once_and_its_result_is_kept(self) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(self.family(ran, InMemorySaver()), "go", config=THREAD)
        assert ran == ["n.csv"]
        assert calls() == [("delete_file", "done", "deleted")]

    async def test_a_nested_batch_that_failed_does_not_run_again_unasked(self) -> None:
        """R1: the checkpoint holds the approval."""
        ran: list[str] = []
        graph = self.family(ran, InMemorySaver(), names=("fails once",))
        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(ZeroDivisionError):
            await hitl.run(graph, "go", config=THREAD)
        assert calls() == [("delete_file", "failed", "ZeroDivisionError: fails once")]
        with hitl.reviewer(lambda _: hitl.Decline("enough")), pytest.raises(hitl.NotPermitted):
            await hitl.run(graph, None, config=THREAD)
        assert ran == ["fails once"]

    @MODES
    async def test_siblings_and_a_stop_decided_before_the_run_is_there(self, mode: str) -> None:
        """What was approved beside a decline that stops the run is not left executing."""
        ran: list[str] = []

        def delete(path: str) -> str:
            ran.append(path)
            return "deleted"

        graph = delete_graph(InMemorySaver(), "a", "b", delete=delete, mode=mode)
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            first, second = await seen.get(), await seen.get()
            running.cancel()
            await asyncio.wait([running])
            await hitl.decide(first, hitl.Approve())
            await hitl.decide(second, hitl.Decline("all of it", stop=True))
            with pytest.raises(hitl.Declined):
                await hitl.run(graph, "go", config=THREAD)
        assert ran == []
        assert {state for _, state, _ in calls()} == {"failed"}
        assert runs() == ["declined"]


def one_that(hanging: Hanging, mode: str) -> Any:
    tools, gated = [tool(hanging.act, "act")], {"act": True}
    return agent(InMemorySaver(), tools, [("act", {})], "?", gated=gated, mode=mode)


class TestStubbornTools:
    @MODES
    async def test_one_that_swallows_a_cancellation_keeps_its_true_result(self, mode: str) -> None:
        """R8, R13."""
        hanging = Hanging(stubborn=True)
        await hanging.cancel(hitl.run(one_that(hanging, mode), "go", config=THREAD))
        assert hanging.ran == ["act"]
        ((_, state, value),) = calls()
        assert (state, value) in (("done", "done all the same"), ("outcome_unknown", None))

    @MODES
    async def test_a_cancelled_one_has_an_unknown_outcome_until_settled(self, mode: str) -> None:
        hanging = Hanging()
        graph = one_that(hanging, mode)
        await hanging.cancel(hitl.run(graph, "go", config=THREAD))
        assert states() == [("act", "outcome_unknown")]
        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(hitl.OutcomeUnknown):
            await hitl.run(graph, "go", config=THREAD)

    async def test_one_that_a_middleware_tries_again_runs_once(self) -> None:
        """R1: the approval is used up by the first try; the error says so."""
        ran: list[str] = []

        class Retry(AgentMiddleware):
            async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
                try:
                    return await handler(request)
                except ZeroDivisionError:
                    return await handler(request)

        def act() -> str:
            ran.append("act")
            raise ZeroDivisionError("boom")

        review = HumanInTheLoopMiddleware({"act": True}, interrupt_mode="per_call")
        graph = create_agent(
            Scripted(turns=[[("act", {})], "finished"]),
            [tool(act, "act")],
            middleware=[review, Retry()],
            checkpointer=InMemorySaver(),
        )
        with (
            hitl.reviewer(lambda _: hitl.Approve()),
            pytest.raises(hitl.NotPermitted, match="used up"),
        ):
            await hitl.run(graph, "go", config=THREAD)
        assert ran == ["act"]
        assert calls() == [("act", "failed", "ZeroDivisionError: boom")]

    async def test_langchains_own_retries_are_stopped_and_the_model_is_told(self) -> None:
        ran: list[str] = []

        def act() -> str:
            ran.append("act")
            raise ZeroDivisionError("boom")

        retry = ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
        graph = create_agent(
            Scripted(turns=[[("act", {})], "finished"]),
            [tool(act, "act")],
            middleware=[HumanInTheLoopMiddleware({"act": True}, interrupt_mode="per_call"), retry],
            checkpointer=InMemorySaver(),
        )
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(graph, "go", config=THREAD)
        assert ran == ["act"]
        assert "used up" in returned(result)[0]
        assert calls() == [("act", "failed", "ZeroDivisionError: boom")]

    async def test_one_that_a_middleware_calls_without_its_id_is_known_by_its_arguments(
        self,
    ) -> None:
        """R1, R3: what it did is kept, and it does not run twice."""
        ran: list[str] = []

        class Direct(AgentMiddleware):
            async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
                del handler
                call = request.tool_call
                for _ in range(2):
                    said = await request.tool.ainvoke(call["args"])
                return ToolMessage(said, tool_call_id=call["id"])

        def act(path: str) -> str:
            ran.append(path)
            return "done"

        graph = create_agent(
            Scripted(turns=[[("act", {"path": "a"})], "finished"]),
            [tool(act, "act")],
            middleware=[
                HumanInTheLoopMiddleware({"act": True}, interrupt_mode="per_call"),
                Direct(),
            ],
            checkpointer=InMemorySaver(),
        )
        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(hitl.NotPermitted):
            await hitl.run(graph, "go", config=THREAD)
        assert ran == ["a"]
        assert calls() == [("act", "done", "done")]

    async def test_one_that_is_answered_from_a_cache_is_told_as_it_was(self) -> None:
        class Cache(AgentMiddleware):
            async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
                del handler
                return ToolMessage("from the cache", tool_call_id=request.tool_call["id"])

        ran: list[str] = []
        graph = create_agent(
            Scripted(turns=[[("act", {})], "finished"]),
            [tool(lambda: ran.append("act"), "act")],
            middleware=[
                HumanInTheLoopMiddleware({"act": True}, interrupt_mode="per_call"),
                Cache(),
            ],
            checkpointer=InMemorySaver(),
        )
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(graph, "go", config=THREAD)
        assert returned(result) == ["from the cache"]
        assert calls() == [("act", "done", "from the cache")]

    async def test_an_async_tool_with_a_checkpointer_that_cannot_be_awaited(self) -> None:
        """The error says what to do."""

        async def act() -> str:
            return "done"

        only_async = StructuredTool.from_function(coroutine=act, name="act", description="Act.")
        saver = SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))
        graph = agent(saver, [only_async], [("act", {})], "?", gated={"act": True})
        with (
            hitl.reviewer(lambda _: hitl.Approve()),
            pytest.raises(NotImplementedError) as failed,
        ):
            await hitl.run(graph, "go", config=THREAD)
        assert any("AsyncSqliteSaver" in note for note in failed.value.__notes__)
