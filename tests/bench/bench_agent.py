"""The engine against pydantic-ai's own agent and LangGraph, on the same scripted model.

``python -m tests.bench.bench_agent``: milliseconds that an ungated tool call and an approval cost
beyond nothing (the model answers at once), in one run, rounds interleaved. LangGraph is measured
with its checkpointer in memory and in SQLite; ours always keeps calls and requests in its store.
Bare pydantic-ai keeps nothing: the ratio says what durability, one decision, and a record cost.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import hitl_widgets as hitl
from hitl_widgets.store.sqlite import SqliteStore

CALLS = 30
Measure = Callable[[Path], Awaitable[float]]


async def timed(work: Awaitable[Any]) -> float:
    """Milliseconds per call of `CALLS`."""
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000 / CALLS


# -- ours ------------------------------------------------------------------------------------------


def ours(folder: Path, *, gated: bool) -> hitl.Agent:
    """Our agent, which calls `act` once per turn."""

    @hitl.tool(require_approval=gated)
    async def act(n: int) -> int:
        "Act."
        return n

    turns = [[hitl.call("act", n=i)] for i in range(CALLS)]
    return hitl.Agent(
        "bench",
        model=hitl.ScriptedModel([*turns, "end"]),
        tools=[act],
        store=SqliteStore(folder / "ours.db"),
        defaults=hitl.RunOptions(max_steps=CALLS + 1),
    )


async def ours_free(folder: Path) -> float:
    """Our agent, nothing gated."""
    return await timed(ours(folder, gated=False).generate("go"))


async def ours_gated(folder: Path) -> float:
    """Our agent, every call approved after the run was let go."""
    agent = ours(folder, gated=True)

    async def all_of_them() -> None:
        run = await agent.generate("go")
        while run.finish_reason == "suspended":
            run = await agent.approve_tool_call_generate(run_id=run.run_id)

    return await timed(all_of_them())


# -- pydantic-ai -----------------------------------------------------------------------------------


def bare(*, gated: bool) -> Any:
    """pydantic-ai's own agent, on the same script."""
    from pydantic_ai import Agent, DeferredToolRequests  # noqa: PLC0415
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: PLC0415
    from pydantic_ai.models.function import FunctionModel  # noqa: PLC0415

    def script(messages: Any, _: Any) -> ModelResponse:
        done = sum(isinstance(m, ModelResponse) for m in messages)
        part = TextPart("end") if done >= CALLS else ToolCallPart("act", {"n": done})
        return ModelResponse(parts=[part])

    agent: Any = Agent(FunctionModel(script), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=gated)
    async def act(n: int) -> int:
        return n

    return agent


async def bare_free(_: Path) -> float:
    """pydantic-ai, nothing gated."""
    return await timed(bare(gated=False).run("go"))


async def bare_gated(_: Path) -> float:
    """pydantic-ai, every call approved; nothing is kept anywhere."""
    from pydantic_ai import DeferredToolRequests, DeferredToolResults  # noqa: PLC0415

    agent = bare(gated=True)

    async def all_of_them() -> None:
        run = await agent.run("go")
        while isinstance(run.output, DeferredToolRequests):
            answers = DeferredToolResults()
            answers.approvals = {c.tool_call_id: True for c in run.output.approvals}
            run = await agent.run(message_history=run.all_messages(), deferred_tool_results=answers)

    return await timed(all_of_them())


# -- LangGraph -------------------------------------------------------------------------------------


def graph(saver: Any, *, gated: bool) -> Any:
    """A LangGraph of a scripted model node and a tool node."""
    from langchain_core.messages import AIMessage  # noqa: PLC0415
    from langchain_core.tools import tool  # noqa: PLC0415
    from langgraph.graph import END, START, MessagesState, StateGraph  # noqa: PLC0415
    from langgraph.prebuilt import ToolNode, tools_condition  # noqa: PLC0415
    from langgraph.types import interrupt  # noqa: PLC0415

    @tool
    async def act(n: int) -> int:
        "Act."
        if gated:
            assert interrupt({"act": n}) is True
        return n

    async def model(state: MessagesState) -> Any:
        done = sum(isinstance(m, AIMessage) for m in state["messages"])
        calls = [] if done >= CALLS else [{"name": "act", "args": {"n": done}, "id": f"c{done}"}]
        return {"messages": [AIMessage("" if calls else "end", tool_calls=calls)]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", model)
    builder.add_node("tools", ToolNode([act]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition, ["tools", END])
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=saver)


async def graph_run(saver: Any, *, gated: bool) -> float:
    """Run it, approving as often as it asks."""
    from langgraph.types import Command  # noqa: PLC0415

    compiled = graph(saver, gated=gated)
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 10 * CALLS}

    async def all_of_them() -> None:
        state = await compiled.ainvoke({"messages": [("user", "go")]}, config)
        while "__interrupt__" in state:
            state = await compiled.ainvoke(Command(resume=True), config)

    return await timed(all_of_them())


def in_memory(*, gated: bool) -> Measure:
    """LangGraph with its checkpointer in memory."""

    async def measure(_: Path) -> float:
        from langgraph.checkpoint.memory import InMemorySaver  # noqa: PLC0415

        return await graph_run(InMemorySaver(), gated=gated)

    return measure


def in_sqlite(*, gated: bool) -> Measure:
    """LangGraph with its checkpointer in SQLite."""

    async def measure(folder: Path) -> float:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415

        async with AsyncSqliteSaver.from_conn_string(str(folder / "graph.db")) as saver:
            return await graph_run(saver, gated=gated)

    return measure


TABLE: dict[str, dict[str, Measure]] = {
    "ungated call": {
        "hitl-widgets": ours_free,
        "pydantic-ai": bare_free,
        "LangGraph, memory": in_memory(gated=False),
        "LangGraph, SQLite": in_sqlite(gated=False),
    },
    "approval": {
        "hitl-widgets": ours_gated,
        "pydantic-ai": bare_gated,
        "LangGraph, memory": in_memory(gated=True),
        "LangGraph, SQLite": in_sqlite(gated=True),
    },
}


async def measured(rounds: int) -> dict[str, dict[str, float]]:
    """Medians over interleaved rounds, after one that warms up; milliseconds."""
    found: dict[str, dict[str, list[float]]] = {k: {n: [] for n in t} for k, t in TABLE.items()}
    for number in range(rounds + 1):
        for kind, table in TABLE.items():
            for name, measure in table.items():
                with tempfile.TemporaryDirectory() as folder:
                    taken = await measure(Path(folder))
                if number:
                    found[kind][name].append(taken)
    return {k: {n: statistics.median(v) for n, v in t.items()} for k, t in found.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    medians = asyncio.run(measured(parser.parse_args().rounds))
    for kind, table in medians.items():
        print(kind)  # noqa: T201
        for name, taken in table.items():
            ratio = table["hitl-widgets"] / taken
            print(f"  {name:<20} {taken:8.2f} ms   ours is {ratio:.2f} of it")  # noqa: T201


if __name__ == "__main__":
    main()
