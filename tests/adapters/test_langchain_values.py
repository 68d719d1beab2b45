"""LangChain: hostile arguments and results, call ids that collide."""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
)
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool
from langchain_core.tools import tool as as_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command
from pydantic import BaseModel

import hitl_widgets as hitl

from .desk import calls, nested, nobody_decides, states
from .graphs import MODES, THREAD, Scripted, agent, delete_graph, returned, tool

HOSTILE = {
    "lone surrogate": "a\ud800b",
    "not a number": math.nan,
    "infinity": math.inf,
    "deep": nested(100),
    "direction marks": "\u202egnp.exe",
    "null byte": "a\x00b",
    "nested": {"a": [{"b": {"c": [1, 2.5, None, True]}}]},
}


def taker(got: list[Any]) -> StructuredTool:
    def take(value: Any) -> str:
        got.append(value)
        return "taken"

    return tool(take, "take")


class TestHostileArguments:
    @MODES
    @pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
    async def test_they_are_asked_about_and_run_as_they_are(self, mode: str, value: Any) -> None:
        got: list[Any] = []
        graph = agent(
            InMemorySaver(),
            [taker(got)],
            [("take", {"value": value})],
            "finished",
            gated={"take": True},
            mode=mode,
        )
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(graph, "go", config=THREAD)
        kept = JsonPlusSerializer().loads_typed(JsonPlusSerializer().dumps_typed(value))
        assert repr(got) == repr([kept])  # LangGraph's checkpoints have no lone surrogates
        assert returned(result) == ["taken"]
        assert calls() == [("take", "done", "taken")]

    @MODES
    async def test_arguments_that_the_runtime_injects_are_no_arguments(self, mode: str) -> None:
        got: list[Any] = []

        @as_tool
        def take(path: str, runtime: ToolRuntime) -> str:
            """Take."""
            got.append((path, runtime.tool_call_id))
            return "taken"

        graph = agent(
            InMemorySaver(),
            [take],
            [("take", {"path": "a"})],
            "finished",
            gated={"take": True},
            mode=mode,
        )
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(graph, "go", config=THREAD)
        assert got == [("a", "c0-0")]
        assert returned(result) == ["taken"]
        assert states() == [("take", "done")]

    @MODES
    async def test_an_edit_of_nested_arguments(self, mode: str) -> None:
        got: list[Any] = []

        def take(rows: list[Row]) -> str:
            got.append(rows)
            return "taken"

        graph = agent(
            InMemorySaver(),
            [tool(take, "take")],
            [("take", {"rows": [{"name": "a", "ids": [1]}]})],
            "finished",
            gated={"take": True},
            mode=mode,
        )
        edited = {"rows": [{"name": "b", "ids": [2, 3]}]}
        with hitl.reviewer(lambda _: hitl.Approve(args=edited)):
            await hitl.run(graph, "go", config=THREAD)
        assert got == [[Row(name="b", ids=[2, 3])]]


class Row(BaseModel):
    name: str
    ids: list[int]


class Silent:
    def __repr__(self) -> str:
        raise ValueError("no words")


RESULTS = {
    "bytes": b"\xff\xfe",
    "lone surrogate": "\ud800",
    "deep": nested(300),
    "no repr": Silent(),
}


class TestHostileResults:
    @MODES
    @pytest.mark.parametrize("value", RESULTS.values(), ids=RESULTS)
    async def test_what_a_tool_did_is_kept_whatever_it_returns(self, mode: str, value: Any) -> None:
        ran: list[str] = []

        def act() -> Any:
            ran.append("act")
            return value

        graph = agent(
            InMemorySaver(), [tool(act, "act")], [("act", {})], "?", gated={"act": True}, mode=mode
        )
        may = contextlib.suppress(ValueError, TypeError)  # the framework may not take it
        with hitl.reviewer(lambda _: hitl.Approve()), may:
            await hitl.run(graph, "go", config=THREAD)
        assert ran == ["act"]
        ((_, state, _),) = calls()
        assert state in ("done", "failed", "outcome_unknown")


class TestCommands:
    @MODES
    async def test_a_tool_that_moves_the_graph_is_kept_as_done(self, mode: str) -> None:
        """It returns a `Command` in place of a result."""
        ran: list[str] = []

        @as_tool
        def act(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
            """Act."""
            ran.append("act")
            said = ToolMessage("acted", tool_call_id=tool_call_id)
            return Command(update={"messages": [said]})

        graph = agent(InMemorySaver(), [act], [("act", {})], "?", gated={"act": True}, mode=mode)
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(graph, "go", config=THREAD)
        assert ran == ["act"]
        assert returned(result) == ["acted"]
        ((_, state, value),) = calls()
        assert state == "done"
        assert "acted" in str(value)


class TestCallIds:
    @MODES
    async def test_one_call_id_in_two_turns_and_for_two_tools(self, mode: str) -> None:
        """F11: some providers count from zero in each turn."""
        from langchain_core.messages import AIMessage
        from langchain_core.outputs import ChatGeneration, ChatResult

        class Counting(Scripted):
            def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
                result = super()._generate(messages)
                said = result.generations[0].message
                assert isinstance(said, AIMessage)
                named = [{**c, "id": "call_0"} for c in said.tool_calls]
                said = AIMessage(said.content, tool_calls=named)
                return ChatResult(generations=[ChatGeneration(message=said)])

        ran: list[str] = []

        def delete(path: str) -> str:
            ran.append(path)
            return "deleted"

        def read(path: str) -> str:
            ran.append(f"read {path}")
            return "read"

        turns: list[Any] = [
            [("delete_file", {"path": "a"})],
            [("read_file", {"path": "a"})],
            [("delete_file", {"path": "b"})],
            "finished",
        ]
        graph = create_agent(
            Counting(turns=turns),
            [tool(delete, "delete_file"), tool(read, "read_file")],
            middleware=[HumanInTheLoopMiddleware({"delete_file": True}, interrupt_mode=mode)],
            checkpointer=InMemorySaver(),
        )
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(graph, "go", config=THREAD)
        assert ran == ["a", "read a", "b"]
        assert [s for _, s in states()] == ["done", "done"]

    @MODES
    async def test_equal_calls_in_one_turn_are_two(self, mode: str) -> None:
        """F10."""
        ran: list[str] = []

        def delete(path: str) -> str:
            ran.append(path)
            return "deleted"

        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            graph = delete_graph(InMemorySaver(), "a", "a", delete=delete, mode=mode)
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            first, second = await seen.get(), await seen.get()
            await hitl.decide(first, hitl.Decline("once is enough"))
            await hitl.decide(second, hitl.Approve())
            result = await running
        assert ran == ["a"]
        assert "once is enough" in returned(result)[0]
        assert returned(result)[1] == "deleted"

    async def test_two_threads_with_the_same_call_ids_do_not_meet(self) -> None:
        ran: list[str] = []

        def delete(path: str) -> str:
            ran.append(path)
            return "deleted"

        saver = InMemorySaver()
        graphs = {n: delete_graph(saver, n, delete=delete) for n in ("a", "b")}
        with hitl.reviewer(
            lambda r: hitl.Approve() if r.args["path"] == "a" else hitl.Decline("b stays")
        ):
            await asyncio.gather(
                *(
                    hitl.run(g, "go", config={"configurable": {"thread_id": n}})
                    for n, g in graphs.items()
                )
            )
        assert ran == ["a"]
        assert sorted(s for _, s in states()) == ["declined", "done"]
