"""LangGraph and LangChain: hostile values, stubborn tools, odd interrupts, changed graphs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import math
import operator
import sqlite3
import threading
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ToolRetryMiddleware,
)
from langchain.tools import ToolRuntime
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool
from langchain_core.tools import tool as as_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import AfterValidator, BaseModel, ValidationError

import hitl_widgets as hitl

from .desk import calls, nobody_decides, runs, states, store
from .graphs import Scripted, agent, delete_graph, returned, tool

MODES = pytest.mark.parametrize("mode", ["per_call", "batched"])
THREAD = {"configurable": {"thread_id": "t"}}


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    return value


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


class TestStubbornTools:
    @MODES
    async def test_one_that_swallows_a_cancellation_keeps_its_true_result(self, mode: str) -> None:
        """R8, R13."""
        begun = asyncio.Event()
        ran: list[str] = []

        async def act() -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            except BaseException:  # noqa: BLE001
                ran.append("act")
            return "done all the same"

        graph = agent(
            InMemorySaver(), [tool(act, "act")], [("act", {})], "?", gated={"act": True}, mode=mode
        )
        with hitl.reviewer(lambda _: hitl.Approve()):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            await begun.wait()
            running.cancel()
            await asyncio.wait([running])
        assert ran == ["act"]
        ((_, state, value),) = calls()
        assert (state, value) in (("done", "done all the same"), ("outcome_unknown", None))

    @MODES
    async def test_a_cancelled_one_has_an_unknown_outcome_until_settled(self, mode: str) -> None:
        begun = asyncio.Event()

        async def act() -> str:
            begun.set()
            await asyncio.Event().wait()
            return "never"

        graph = agent(
            InMemorySaver(), [tool(act, "act")], [("act", {})], "?", gated={"act": True}, mode=mode
        )
        with hitl.reviewer(lambda _: hitl.Approve()):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert states() == [("act", "outcome_unknown")]
            with pytest.raises(hitl.OutcomeUnknown):
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


def even(value: int) -> int:
    """Fail for an odd one: no JSON Schema says that."""
    if value % 2:
        raise ValueError("odd")
    return value


class Even(BaseModel):
    number: Annotated[int, AfterValidator(even)]


class State(TypedDict):
    out: Annotated[list[Any], operator.add]


def asking(value: Any, saver: Any, **options: Any) -> Any:
    """A graph of one node that asks `value`."""

    def ask(_: State) -> dict[str, Any]:
        return {"out": [interrupt(value, **options)]}

    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile(checkpointer=saver, name="asker")


ODD = {
    "text": "sure?",
    "nothing": None,
    "number": 7,
    "list": [1, {"a": 2}],
    "old agent inbox": [{"action_request": {"action": "x", "args": {}}, "config": {}}],
    "a call without arguments": {"type": "tool_approval", "name": "x", "args": "none"},
    "a call without a name": {"type": "tool_approval", "name": None, "args": {}},
    "an empty batch": {"action_requests": [], "review_configs": []},
    "a broken batch": {"action_requests": "x", "review_configs": 3},
    "a batch of nothing known": {"action_requests": [{}], "review_configs": [{}]},
    "surrogate": {"q": "\ud800"},
    "deep": nested(100),
    "not a number": math.nan,
}


class TestOddInterrupts:
    @pytest.mark.parametrize("value", ODD.values(), ids=ODD)
    async def test_whatever_is_asked_is_a_question(self, value: Any) -> None:
        with hitl.reviewer(lambda _: hitl.Answer({"x": 1})):
            result = await hitl.run(asking(value, InMemorySaver()), {"out": []}, config=THREAD)
        assert result["out"] == [{"x": 1}]
        assert states() == [("interrupt", "done")]

    async def test_a_call_with_an_odd_response_schema_is_a_question(self) -> None:
        graph = asking(
            {"type": "tool_approval", "name": "x", "args": {}},
            InMemorySaver(),
            response_schema=bool,
        )
        with hitl.reviewer(lambda _: hitl.Answer(True)):
            result = await hitl.run(graph, {"out": []}, config=THREAD)
        assert result["out"] == [True]

    async def test_an_answer_that_only_the_model_refuses_is_asked_for_again(self) -> None:
        """R4: LangGraph keeps nothing of it."""

        answers = iter([{"number": 3}, {"number": 4}])
        graph = asking("which?", InMemorySaver(), response_schema=Even)
        reviewer = hitl.testing.scripted(lambda _: hitl.Answer(next(answers)))
        with hitl.reviewer(reviewer):
            result = await hitl.run(graph, {"out": []}, config=THREAD)
        assert result["out"] == [Even(number=4)]
        assert states() == [("interrupt", "failed"), ("interrupt", "done")]
        said = reviewer.seen[1].message
        assert said == "which?\nThe last answer was not taken: number: Value error, odd"

    async def test_an_edit_that_only_the_tools_model_refuses_is_asked_for_again(self) -> None:
        ran: list[int] = []

        def take(number: Annotated[int, AfterValidator(even)]) -> str:
            ran.append(number)
            return "taken"

        graph = agent(
            InMemorySaver(),
            [tool(take, "take")],
            [("take", {"number": 2})],
            "finished",
            gated={"take": True},
        )
        edits = iter([hitl.Approve(args={"number": 3}), hitl.Approve(args={"number": 4})])
        reviewer = hitl.testing.scripted(lambda _: next(edits))
        with hitl.reviewer(reviewer):
            result = await hitl.run(graph, "go", config=THREAD)
        assert ran == [4]
        assert "taken" in returned(result)[0]
        assert states() == [("take", "failed"), ("take", "done")]
        assert "odd" in reviewer.seen[1].message

    async def test_answers_that_are_always_refused_end_the_run(self) -> None:
        graph = asking("which?", InMemorySaver(), response_schema=Even)
        reviewer = hitl.testing.scripted(lambda _: hitl.Answer({"number": 3}))
        with hitl.reviewer(reviewer), pytest.raises(hitl.InvalidAnswer, match="odd"):
            await hitl.run(graph, {"out": []}, config=THREAD)
        assert len(reviewer.seen) == 3

    async def test_of_two_answers_only_the_refused_one_is_asked_for_again(self) -> None:
        """The other's node went on, once."""
        ran: list[str] = []

        def node(name: str, **options: Any) -> Any:
            def ask(_: State) -> dict[str, Any]:
                said = interrupt(f"{name}?", **options)
                ran.append(name)
                return {"out": [(name, said)]}

            return ask

        graph = StateGraph(State)
        graph.add_node("a", node("a"))
        graph.add_node("b", node("b", response_schema=Even))
        graph.add_edge(START, "a")
        graph.add_edge(START, "b")
        made = graph.compile(checkpointer=InMemorySaver(), name="asker")
        numbers = iter([3, 4])
        reviewer = hitl.testing.scripted(
            lambda r: hitl.Answer("yes" if r.message == "a?" else {"number": next(numbers)})
        )
        with hitl.reviewer(reviewer):
            result = await hitl.run(made, {"out": []}, config=THREAD)
        assert sorted(map(list, result["out"]), key=str) == [["a", "yes"], ["b", Even(number=4)]]
        assert ran == ["a", "b"]
        assert [r.message.partition("\n")[0] for r in reviewer.seen] == ["a?", "b?", "b?"]

    async def test_a_node_that_fails_after_its_answer_has_an_unknown_outcome(self) -> None:
        """R13: its own ValidationError is none of an answer's."""

        def ask(_: State) -> dict[str, Any]:
            interrupt("sure?")
            return {"out": [Even(number=5)]}

        graph = StateGraph(State)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        made = graph.compile(checkpointer=InMemorySaver(), name="asker")
        with hitl.reviewer(lambda _: hitl.Answer("yes")), pytest.raises(ValidationError):
            await hitl.run(made, {"out": []}, config=THREAD)
        assert states() == [("interrupt", "outcome_unknown")]

    async def test_parallel_nodes_ask_at_once(self) -> None:
        def node(name: str) -> Any:
            return lambda _: {"out": [(name, interrupt(f"{name}?"))]}

        graph = StateGraph(State)
        for name in ("a", "b", "c"):
            graph.add_node(name, node(name))
            graph.add_edge(START, name)
        made = graph.compile(checkpointer=InMemorySaver(), name="asker")
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(made, {"out": []}, config=THREAD))
            asked = {r.message: r for r in [await seen.get() for _ in range(3)]}
            for name in ("c?", "a?", "b?"):
                await hitl.decide(asked[name], hitl.Answer(name.upper()))
            result = await running
        assert sorted(result["out"]) == [("a", "A?"), ("b", "B?"), ("c", "C?")]

    async def test_a_subgraph_asks(self) -> None:
        outer = StateGraph(State)
        outer.add_node("inner", asking("sure?", None))
        outer.add_edge(START, "inner")
        graph = outer.compile(checkpointer=InMemorySaver(), name="outer")
        with hitl.reviewer(lambda _: hitl.Answer("yes")):
            result = await hitl.run(graph, {"out": []}, config=THREAD)
        assert result["out"] == ["yes"]
        assert states() == [("interrupt", "done")]

    async def test_a_function_with_an_entrypoint_asks(self) -> None:
        @entrypoint(checkpointer=InMemorySaver())
        def flow(given: str) -> str:
            return f"{given}: {interrupt('sure?')}"

        with hitl.reviewer(lambda _: hitl.Answer("yes")):
            assert await hitl.run(flow, "go", config=THREAD) == "go: yes"

    async def test_an_approved_tool_that_asks_itself(self) -> None:
        ran: list[str] = []

        def act() -> str:
            answer = interrupt("how?")
            ran.append(answer)
            return f"done {answer}"

        graph = agent(InMemorySaver(), [tool(act, "act")], [("act", {})], "?", gated={"act": True})
        with hitl.reviewer(
            lambda r: hitl.Approve() if r.kind == "approval" else hitl.Answer("gently")
        ):
            result = await hitl.run(graph, "go", config=THREAD)
        assert ran == ["gently"]
        assert returned(result) == ["done gently"]
        assert sorted(calls()) == [("act", "done", "done gently"), ("interrupt", "done", None)]


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


class TestOptions:
    def graph(self, ran: list[str]) -> Any:
        def delete(path: str) -> str:
            ran.append(path)
            return "deleted"

        return delete_graph(InMemorySaver(), "a", delete=delete)

    async def test_a_thread_bound_to_the_graph_is_its_thread(self) -> None:
        ran: list[str] = []
        graph = self.graph(ran).with_config({"configurable": {"thread_id": "bound"}})
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(graph, "go")
        assert ran == ["a"]
        assert [r.key for r in store().runs()] == ["thread bound"]

    async def test_a_thread_beside_configurable_is_the_thread(self) -> None:
        """As LangGraph takes it."""
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(self.graph(ran), "go", config={"thread_id": "t"})
        assert [r.key for r in store().runs()] == ["thread t"]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"config": "t"}, "config"),
            ({"thread_id": "t"}, "thread_id"),
            (
                {"config": {"configurable": {"thread_id": "t", "checkpoint_id": "1"}}},
                "checkpoint_id",
            ),
        ],
        ids=["config", "thread", "checkpoint"],
    )
    async def test_a_wrong_option_is_named(self, options: dict[str, Any], said: str) -> None:
        ran: list[str] = []
        with (
            hitl.reviewer(lambda _: hitl.Approve()),
            pytest.raises((TypeError, hitl.AgentDefinitionError), match=said),
        ):
            await hitl.run(self.graph(ran), "go", **options)
        assert ran == []

    async def test_a_bound_listener_goes_on_hearing(self) -> None:
        heard: list[str] = []

        class Listener(BaseCallbackHandler):
            def on_tool_end(self, output: Any, **_: Any) -> None:
                heard.append(output.content)

        ran: list[str] = []
        graph = self.graph(ran).with_config({"callbacks": [Listener()]})
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(graph, "go", config=THREAD)
        assert sorted(heard) == ["contents of r.csv", "deleted"]

    async def test_a_key_without_a_thread_goes_on_in_the_runs_own_thread(self) -> None:
        """R22."""
        ran: list[str] = []
        graph = self.graph(ran)
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(graph, "go", key="k"))
            request = await seen.get()
            running.cancel()
            await asyncio.wait([running])
            await hitl.decide(request, hitl.Approve())
            await hitl.run(graph, "go", key="k")
        assert ran == ["a"]
        assert states() == [("delete_file", "done")]

    async def test_two_keys_in_one_thread_would_be_two_runs_of_it(self) -> None:
        """R1: the thread alone names the run."""
        ran: list[str] = []
        with pytest.raises(hitl.AgentDefinitionError, match="both name the run"):
            await hitl.run(self.graph(ran), "go", config=THREAD, key="k")

    async def test_an_interrupt_of_an_older_version_is_said(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from hitl_widgets.adapters.langchain import checkpoints

        @dataclasses.dataclass
        class Interrupt:
            value: Any
            id: str

        monkeypatch.setattr(checkpoints, "Interrupt", Interrupt)
        with pytest.raises(hitl.AgentDefinitionError, match="too old"):
            await hitl.run(self.graph([]), "go", config=THREAD)

    async def test_a_command_as_the_prompt_does_not_pass_by_the_desk(self) -> None:
        ran: list[str] = []
        graph = self.graph(ran)
        graph.invoke({"messages": [("user", "go")]}, THREAD)
        command = Command(resume={"type": "approve"})
        with pytest.raises(hitl.RunSuspended):
            await hitl.run(graph, command, config=THREAD)
        assert ran == []

    async def test_a_breakpoint_is_no_end(self) -> None:
        """`interrupt_before` stops a graph without asking: what was approved did not run."""
        ran: list[str] = []

        def delete(path: str) -> str:
            ran.append(path)
            return "deleted"

        graph = delete_graph(InMemorySaver(), "a", delete=delete, mode="batched")
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(graph, "go", config=THREAD, interrupt_before=["tools"])
        assert calls() == [
            ("delete_file", "failed", "The graph went on without it: it was not seen to run.")
        ]
        with pytest.raises(hitl.NotPermitted, match="update_state"):
            await hitl.run(graph, None, config=THREAD)
        assert ran == []

    @pytest.mark.parametrize("mode", ["values", "updates", ["values", "messages"]])
    async def test_a_stream_mode_is_the_frameworks_own(self, mode: Any) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(self.graph(ran), "go", config=THREAD, stream_mode=mode)
        assert ran == ["a"]
        assert runs() == ["completed"]
