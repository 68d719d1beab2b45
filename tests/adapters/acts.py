"""What other processes do in these tests, and what they say of it to the test."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic_ai import Agent

import hitl_widgets as hitl
from hitl_widgets.desk import desk_of
from hitl_widgets.store import open_store

from .graphs import delete_graph
from .pyd import scripted

Paths = tuple[str, ...]
BOTH = ("a.csv", "b.csv")

LOADED = (hitl.run, hitl.reviewer, hitl.Approve)
"""Public names load what they need when first used: here, once, for all processes."""

tests: list[Connection] = []
"""Whom this process talks to."""


def say(*words: object) -> None:
    """A line for the test."""
    tests[0].send(" ".join(map(str, words)))


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


def die() -> None:
    """As a crash would."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_when_decided() -> None:
    """Between the decision and whatever acts on it."""

    def look(request: hitl.Request) -> None:
        if request.state == "approved":
            die()

    desk_of(open_store(os.environ["HITL_STORE"])).subscribe(look)


def is_kept() -> bool:
    """Whether a tool's result is."""
    return any(r.state == "done" for r in open_store(os.environ["HITL_STORE"]).requests())


async def pydantic_ai(
    key: str | None, *, hangs: bool = False, dies: str = "", paths: Paths = BOTH
) -> Any:
    """Run a pydantic-ai agent that deletes files."""
    wants = [("delete_file", {"path": path}) for path in paths]
    model = scripted(wants, "finished")
    answer: Any = model.function

    def answer_or_die(messages: Any, info: Any) -> Any:
        if dies == "before the checkpoint" and is_kept():
            die()
        return answer(messages, info)

    model.function = answer_or_die
    agent: Agent[None, Any] = Agent(model, name="boss")

    @agent.tool_plain(requires_approval=True)
    async def delete_file(path: str) -> str:
        """Delete a file."""
        log(path)
        if hangs and path == "b.csv":
            await hang()
        if dies == "in the tool":
            die()
        return f"deleted {path}"

    return await hitl.run(agent, "clean up", key=key)


async def langchain(
    thread: str,
    *,
    mode: Any = "per_call",
    hangs: bool = False,
    dies: str = "",
    paths: Paths = BOTH,
) -> Any:
    """Run a LangChain agent that deletes files, kept in a file beside the store."""

    async def delete(path: str) -> str:
        log(path)
        if hangs and path == "b.csv":
            await hang()
        if dies == "in the tool":
            die()
        return f"deleted {path}"

    class Saver(AsyncSqliteSaver):
        async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
            if dies == "before the checkpoint" and is_kept():
                die()
            await super().aput_writes(*args, **kwargs)

    async with Saver.from_conn_string(os.environ["HITL_STORE"] + ".graph") as saver:
        graph = delete_graph(saver, *paths, mode=mode, delete=delete)
        # "sync": what a killed process has checkpointed is no matter of luck.
        config = {"configurable": {"thread_id": thread}}
        return await hitl.run(graph, "clean up", config=config, durability="sync")


async def langchain_thread(thread: str) -> Any:
    """The same with a checkpointer that cannot be awaited."""

    async def delete(path: str) -> str:
        log(path)
        return f"deleted {path}"

    file = os.environ["HITL_STORE"] + ".graph"
    saver = SqliteSaver(sqlite3.connect(file, check_same_thread=False))
    graph = delete_graph(saver, "a.csv", "b.csv", mode="per_call", delete=delete)
    return await hitl.run(graph, "clean up", config={"configurable": {"thread_id": thread}})


def do(test: Connection, environment: dict[str, str], act: str, name: str, how: str) -> None:
    """One act, in a process of its own."""
    tests[:] = [test]
    os.environ.clear()
    os.environ.update(environment)
    asyncio.run(main(act, name, how))


async def main(act: str, name: str, how: str) -> None:
    """Run an agent whose reviewer passes, unless `how` is ``headless`` (``race``: on a line).

    ``one``: with one call, and nobody there; ``dies …``: with one call, approved at once, and a
    death where it says.
    """
    options: dict[str, Any] = {"hangs": how == "hangs", "dies": how.removeprefix("dies ")}
    if how == "one" or how.startswith("dies "):
        options["paths"] = ("a.csv",)
    acts: dict[str, Any] = {
        "pydantic_ai": lambda: pydantic_ai(None if name == "-" else name, **options),
        "langchain": lambda: langchain(name, **options),
        "batched": lambda: langchain(name, mode="batched", **options),
        "thread": lambda: langchain_thread(name),
    }
    if how == "dies when decided":
        die_when_decided()
    if how == "race":
        say("ready")
        tests[0].recv()
    try:
        if how in ("headless", "race", "one"):
            result = await acts[act]()
        elif how.startswith("dies "):
            with hitl.reviewer(lambda _: hitl.Approve()):
                result = await acts[act]()
        else:
            with hitl.reviewer(passes):
                result = await acts[act]()
    except hitl.HitlError as e:
        say("error", type(e).__name__, " ".join(str(e).split()))
    else:
        output = result.output if hasattr(result, "output") else result["messages"][-1].content
        say("result", output)
