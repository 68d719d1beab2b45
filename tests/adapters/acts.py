"""What other processes do in these tests: ``python -m tests.adapters.acts <act> …``."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import hitl_widgets as hitl
from hitl_widgets.desk import desk_of
from hitl_widgets.store import open_store


def say(*words: object) -> None:
    """A line for the test."""
    print(*words, flush=True)  # noqa: T201


def log(text: str) -> None:
    """What tools did, kept over the death of their process."""
    with Path(os.environ["HITL_STORE"] + ".log").open("a") as file:
        file.write(text + "\n")


def passes(request: hitl.Request) -> None:
    """A reviewer who is there and does not decide."""
    say("asked", request.id)


async def hang() -> None:
    """Run for ever, once a sibling's result is kept."""
    kept = asyncio.Event()
    loop = asyncio.get_running_loop()
    store = open_store(os.environ["HITL_STORE"])

    def look(request: hitl.Request) -> None:
        if request.state == "done":
            loop.call_soon_threadsafe(kept.set)

    desk_of(store).subscribe(look)
    if not any(r.state == "done" for r in store.requests()):
        await kept.wait()
    say("running")
    await asyncio.Event().wait()


async def pydantic_ai(key: str | None, *, hangs: bool = False) -> Any:
    """Run a pydantic-ai agent that deletes two files."""
    from pydantic_ai import Agent

    from .pyd import scripted

    wants = [("delete_file", {"path": "a.csv"}), ("delete_file", {"path": "b.csv"})]
    agent: Agent[None, Any] = Agent(scripted(wants, "finished"), name="boss")

    @agent.tool_plain(requires_approval=True)
    async def delete_file(path: str) -> str:
        """Delete a file."""
        log(path)
        if hangs and path == "b.csv":
            await hang()
        return f"deleted {path}"

    return await hitl.run(agent, "clean up", key=key)


async def langchain(thread: str, *, mode: Any = "per_call", hangs: bool = False) -> Any:
    """Run a LangChain agent that deletes two files, kept in a file beside the store."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    from .graphs import delete_graph

    async def delete(path: str) -> str:
        log(path)
        if hangs and path == "b.csv":
            await hang()
        return f"deleted {path}"

    async with AsyncSqliteSaver.from_conn_string(os.environ["HITL_STORE"] + ".graph") as saver:
        graph = delete_graph(saver, "a.csv", "b.csv", mode=mode, delete=delete)
        # "sync": what a killed process has checkpointed is no matter of luck.
        config = {"configurable": {"thread_id": thread}}
        return await hitl.run(graph, "clean up", config=config, durability="sync")


async def langchain_thread(thread: str) -> Any:
    """The same with a checkpointer that cannot be awaited."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    from .graphs import delete_graph

    async def delete(path: str) -> str:
        log(path)
        return f"deleted {path}"

    file = os.environ["HITL_STORE"] + ".graph"
    saver = SqliteSaver(sqlite3.connect(file, check_same_thread=False))
    graph = delete_graph(saver, "a.csv", "b.csv", mode="per_call", delete=delete)
    return await hitl.run(graph, "clean up", config={"configurable": {"thread_id": thread}})


async def main(act: str, name: str, how: str) -> None:
    """Run an agent whose reviewer passes, unless `how` is ``headless`` (``race``: on a line)."""
    hangs = how == "hangs"
    acts: dict[str, Any] = {
        "pydantic_ai": lambda: pydantic_ai(None if name == "-" else name, hangs=hangs),
        "langchain": lambda: langchain(name, hangs=hangs),
        "batched": lambda: langchain(name, mode="batched", hangs=hangs),
        "thread": lambda: langchain_thread(name),
    }
    if how == "race":
        say("ready")
        sys.stdin.readline()
    try:
        if how in ("headless", "race"):
            result = await acts[act]()
        else:
            with hitl.reviewer(passes):
                result = await acts[act]()
    except hitl.HitlError as e:
        say("error", type(e).__name__, " ".join(str(e).split()))
    else:
        output = result.output if hasattr(result, "output") else result["messages"][-1].content
        say("result", output)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
