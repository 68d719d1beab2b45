"""LangGraph: whatever `interrupt` asks, and answers that are refused."""

from __future__ import annotations

import asyncio
import math
import operator
import threading
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import AfterValidator, BaseModel, ValidationError

import hitl_widgets as hitl

from .desk import calls, nested, nobody_decides, states
from .graphs import THREAD, agent, returned, tool


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
        entered: list[str] = []

        kept = threading.Event()

        class Saver(InMemorySaver):
            def put_writes(self, config: Any, writes: Any, *args: Any, **kwargs: Any) -> None:
                super().put_writes(config, writes, *args, **kwargs)
                if any(channel == "out" for channel, _ in writes):
                    kept.set()

        def ask_a(_: State) -> dict[str, Any]:
            said = interrupt("a?")
            ran.append("a")
            return {"out": [("a", said)]}

        def ask_b(_: State) -> dict[str, Any]:
            entered.append("b")
            if len(entered) == 2:
                kept.wait(60)
            said = interrupt("b?", response_schema=Even)
            ran.append("b")
            return {"out": [("b", said)]}

        graph = StateGraph(State)
        graph.add_node("a", ask_a)
        graph.add_node("b", ask_b)
        graph.add_edge(START, "a")
        graph.add_edge(START, "b")
        made = graph.compile(checkpointer=Saver(), name="asker")
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
