"""The engine against pydantic-ai's own agent and LangGraph, on the same scripted model.

``python -m tests.bench.bench_agent``: milliseconds that an ungated tool call and an approval cost
beyond nothing (the model answers at once), in one run, rounds interleaved: by the clock, and of
processor time, which means something on a busy machine too. Ours always keeps calls and requests in
its store.

What is compared with what:

- Bare pydantic-ai, and LangGraph with its checkpointer in memory, keep nothing: the ratio says
  what durability, one decision and a record cost.
- LangGraph's SQLite checkpointer as shipped: journal WAL, ``synchronous=FULL``, and each
  checkpoint written while the next step already runs (``durability="async"``): less than ours.
- ``equal``: the same with ``durability="sync"``, on the journal that our store uses on this
  machine (WAL where SQLite has the WAL-reset fix, else TRUNCATE). What a commit costs in the two
  differs by an order of magnitude, so only like is compared with like.
- ``WAL``: both on WAL, whatever this SQLite is fit for.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import hitl_widgets as hitl
from hitl_widgets.store import files
from hitl_widgets.store.sqlite import SqliteStore

CALLS = 30
Taken = tuple[float, float]
"""Milliseconds per call: by the clock, and of processor time (all threads)."""
Measure = Callable[[Path], Awaitable[Taken]]


async def timed(work: Awaitable[Any]) -> Taken:
    """What each of `CALLS` took."""
    began, used = time.perf_counter(), time.process_time()
    await work
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    return wall * 1000 / CALLS, cpu * 1000 / CALLS


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


async def ours_free(folder: Path) -> Taken:
    """Our agent, nothing gated."""
    return await timed(ours(folder, gated=False).generate("go"))


async def ours_gated(folder: Path) -> Taken:
    """Our agent, every call approved after the run was let go."""
    agent = ours(folder, gated=True)

    async def all_of_them() -> None:
        run = await agent.generate("go")
        while run.finish_reason == "suspended":
            run = await agent.approve_tool_call_generate(run_id=run.run_id)

    return await timed(all_of_them())


async def ours_waiting(folder: Path) -> Taken:
    """Our agent, every call approved by a reviewer while the run waits."""
    with hitl.reviewer(lambda _: hitl.Approve()):
        return await timed(ours(folder, gated=True).run("go"))


@contextlib.contextmanager
def on_wal() -> Iterator[None]:
    """Our stores use WAL, whatever SQLite this is."""
    with mock.patch.object(files, "journal_for", return_value=("WAL", "to compare")):
        yield


def ours_on_wal(measure: Measure) -> Measure:
    """The same on WAL."""

    async def measured(folder: Path) -> Taken:
        with on_wal():
            return await measure(folder)

    return measured


# -- pydantic-ai -----------------------------------------------------------------------------------


def bare(*, gated: bool) -> Any:
    """pydantic-ai's own agent, on the same script."""
    from pydantic_ai import Agent, DeferredToolRequests
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def script(messages: Any, _: Any) -> ModelResponse:
        done = sum(isinstance(m, ModelResponse) for m in messages)
        part = TextPart("end") if done >= CALLS else ToolCallPart("act", {"n": done})
        return ModelResponse(parts=[part])

    agent: Any = Agent(FunctionModel(script), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=gated)
    async def act(n: int) -> int:
        return n

    return agent


async def bare_free(_: Path) -> Taken:
    """pydantic-ai, nothing gated."""
    return await timed(bare(gated=False).run("go"))


async def bare_gated(_: Path) -> Taken:
    """pydantic-ai, every call approved; nothing is kept anywhere."""
    from pydantic_ai import DeferredToolRequests, DeferredToolResults

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
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition
    from langgraph.types import interrupt

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


async def graph_run(saver: Any, *, gated: bool, durability: str = "async") -> Taken:
    """Run it, approving as often as it asks."""
    from langgraph.types import Command

    compiled = graph(saver, gated=gated)
    config = {"configurable": {"thread_id": "t"}, "recursion_limit": 10 * CALLS}

    async def all_of_them() -> None:
        how: Any = {"config": config, "durability": durability}
        state = await compiled.ainvoke({"messages": [("user", "go")]}, **how)
        while "__interrupt__" in state:
            state = await compiled.ainvoke(Command(resume=True), **how)

    return await timed(all_of_them())


def in_memory(*, gated: bool) -> Measure:
    """LangGraph with its checkpointer in memory."""

    async def measure(_: Path) -> Taken:
        from langgraph.checkpoint.memory import InMemorySaver

        return await graph_run(InMemorySaver(), gated=gated)

    return measure


def in_sqlite(*, gated: bool, durability: str = "async", journal: str = "") -> Measure:
    """LangGraph with its checkpointer in SQLite; `journal` "ours": the one that we use here."""

    async def measure(folder: Path) -> Taken:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(str(folder / "graph.db")) as saver:
            await saver.setup()
            mode = files.journal_for(str(folder / "ours.db"))[0] if journal else "WAL"
            for pragma in (f"journal_mode = {mode}", "synchronous = FULL"):
                await (await saver.conn.execute(f"PRAGMA {pragma}")).fetchall()
            return await graph_run(saver, gated=gated, durability=durability)

    return measure


TABLE: dict[str, dict[str, Measure]] = {
    "ungated call": {
        "hitl-widgets": ours_free,
        "hitl-widgets, WAL": ours_on_wal(ours_free),
        "pydantic-ai": bare_free,
        "LangGraph, memory": in_memory(gated=False),
        "LangGraph, as shipped": in_sqlite(gated=False),
        "LangGraph, WAL, sync": in_sqlite(gated=False, durability="sync"),
        "LangGraph, equal": in_sqlite(gated=False, durability="sync", journal="ours"),
    },
    "approval": {
        "hitl-widgets": ours_gated,
        "hitl-widgets, waiting": ours_waiting,
        "hitl-widgets, WAL": ours_on_wal(ours_gated),
        "… waiting, WAL": ours_on_wal(ours_waiting),
        "pydantic-ai": bare_gated,
        "LangGraph, memory": in_memory(gated=True),
        "LangGraph, as shipped": in_sqlite(gated=True),
        "LangGraph, WAL, sync": in_sqlite(gated=True, durability="sync"),
        "LangGraph, equal": in_sqlite(gated=True, durability="sync", journal="ours"),
    },
}


async def measured(rounds: int) -> dict[str, dict[str, Taken]]:
    """Medians over interleaved rounds, after one that warms up; milliseconds."""
    found: dict[str, dict[str, list[Taken]]] = {k: {n: [] for n in t} for k, t in TABLE.items()}
    for number in range(rounds + 1):
        for kind, table in TABLE.items():
            for name, measure in table.items():
                with tempfile.TemporaryDirectory() as folder:
                    taken = await measure(Path(folder))
                if number:
                    found[kind][name].append(taken)
    return {k: {n: _medians(v) for n, v in t.items()} for k, t in found.items()}


def _medians(rounds: list[Taken]) -> Taken:
    wall, cpu = zip(*rounds, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    medians = asyncio.run(measured(parser.parse_args().rounds))
    with tempfile.TemporaryDirectory() as folder:
        journal, why = files.journal_for(str(Path(folder) / "ours.db"))
    print(f"our journal here: {journal} ({why})")  # noqa: T201
    for kind, table in medians.items():
        print(kind)  # noqa: T201
        for name, (wall, cpu) in table.items():
            ours = [table[n] for n in ("hitl-widgets", "hitl-widgets, WAL")]
            said = ", ".join(f"{o[0] / wall:.2f} ({o[1] / cpu:.2f})" for o in ours)
            print(  # noqa: T201
                f"  {name:<22} {wall:8.2f} ms, processor {cpu:6.2f} ms   ours, on WAL: {said}"
            )


if __name__ == "__main__":
    main()
