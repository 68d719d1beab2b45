"""The whole line: an agent on a scripted model, the desk, the store, and a witness on disk.

Imported by the process that all others of these tests are forked from.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
from pathlib import Path
from typing import Any

import hitl_widgets as hitl
from hitl_widgets.errors import HitlError
from hitl_widgets.store import open_store
from hitl_widgets.store.sqlite import SqliteStore

LOADED = (hitl.Agent, hitl.ScriptedModel, hitl.tool, hitl.decide, hitl.pending)
"""Public names load what they need when first used: here, once, for all processes."""


class Witness:
    """What really happened: lines in a file, on the disk before they count.

    Parameters
    ----------
    folder
        Where the file is; every process of a test writes to the same one.
    """

    def __init__(self, folder: Path, name: str = "witness") -> None:
        self.file = folder / name

    def saw(self, what: str) -> None:
        descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(descriptor, f"{what}\n".encode())
        os.close(descriptor)

    def lines(self) -> list[str]:
        return self.file.read_text().splitlines() if self.file.exists() else []

    def count(self, what: str) -> int:
        return self.lines().count(what)


def clerk(store: Any, folder: Path, *, pause: float = 0.0, marks: Any = None) -> hitl.Agent:
    """An agent that looks (free), deletes (asks first), and reads (may run again), then ends."""
    witness, reached = Witness(folder), marks or (lambda _: None)

    @hitl.tool(require_approval=True)
    async def delete(name: str) -> str:
        "Delete a record."
        reached("body")
        await asyncio.sleep(random.random() * pause)  # noqa: S311
        witness.saw(f"delete {name}")
        reached("effect")
        await asyncio.sleep(random.random() * pause)  # noqa: S311
        return f"deleted {name}"

    @hitl.tool
    async def look(name: str) -> str:
        "Look at a record; this leaves a trace."
        reached("free body")
        await asyncio.sleep(random.random() * pause)  # noqa: S311
        witness.saw(f"look {name}")
        reached("free effect")
        return f"saw {name}"

    @hitl.tool(effect="read")
    async def peek(name: str) -> str:
        "Read a record."
        witness.saw(f"peek {name}")
        return f"read {name}"

    @hitl.tool(idempotent=True, require_approval=True)
    async def tag(name: str) -> str:
        "Tag a record, which may be done again."
        await asyncio.sleep(random.random() * pause)  # noqa: S311
        witness.saw(f"tag {name}")
        await asyncio.sleep(random.random() * pause)  # noqa: S311
        return f"tagged {name}"

    def named(tool: str) -> Any:
        return lambda messages: [hitl.call(tool, name=_prompt(messages))]

    def asking(messages: Any) -> Any:
        name = _prompt(messages)
        return [
            hitl.call("peek", name=name),
            hitl.call("delete", name=name),
            hitl.call("tag", name=name),
        ]

    model = hitl.ScriptedModel([named("look"), asking, named("look"), "done"])
    return hitl.Agent("clerk", model=model, tools=[delete, look, peek, tag], store=store)


def _prompt(messages: Any) -> str:
    """The last thing the user said: the name of the record."""
    said = [p.content for m in messages for p in m.parts if p.part_kind == "user-prompt"]
    return str(said[-1])


def failing_store(path: Path, where: str, how_often: int = 1) -> SqliteStore:
    """A real store whose process dies at a named step.

    Parameters
    ----------
    where
        ``"claim:before"``, ``"claim:inside"`` (all statements made, none committed) or
        ``"claim:after"``, for any method.
    how_often
        At the how manieth time.
    """
    method, _, when = where.partition(":")
    store, left = SqliteStore(path), [how_often]

    def reached(step: str) -> None:
        if step == where:
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)

    if not when:
        store.reached = reached  # type: ignore[attr-defined]
        return store
    original, ask = getattr(store, method), store._db.ask
    inside, begun = [False], [""]

    def asked(sql: str, args: Any = ()) -> Any:
        begun[0] = sql if sql.startswith("BEGIN") else begun[0]
        # A step that leaves the store alone (a free call) only reads, and has no inside.
        if inside[0] and sql == "COMMIT" and begun[0] == "BEGIN IMMEDIATE":
            reached(f"{method}:inside")
        return ask(sql, args)

    def watched(*args: Any, **kwargs: Any) -> Any:
        reached(f"{method}:before")
        inside[0] = True
        try:
            result = original(*args, **kwargs)
        finally:
            inside[0] = False
        reached(f"{method}:after")
        return result

    setattr(store, method, watched)
    store._db.ask = asked  # type: ignore[method-assign]
    store.reached = reached  # type: ignore[attr-defined]
    return store


# -- acts of processes -------------------------------------------------------------------------


def once(path: str, where: str, how_often: int) -> None:
    """One run from its prompt to its end, dying at `where`; 0 when that was never reached."""
    asyncio.run(_once(failing_store(Path(path), where, how_often), Path(path).parent))


async def _once(store: Any, folder: Path) -> None:
    agent = clerk(store, folder, marks=store.reached)
    run = await agent.generate("a")
    store.reached("shown")
    while run.requests:
        asked = run.requests[0]
        run = await agent.approve_tool_call_generate(
            run_id=run.run_id, tool_call_id=asked.tool_call_id, fingerprint=asked.fingerprint
        )


async def approve(request: hitl.Request) -> None:
    """A click on what is shown."""
    await hitl.decide(request, hitl.Approve(), fingerprint=request.fingerprint, reviewer="ada")


def work(path: str, name: str) -> None:
    """Runs, one after the other, until killed; what was acknowledged is written down."""
    asyncio.run(_work(Path(path), name))


async def _work(path: Path, name: str) -> None:
    store, told = open_store(path), Witness(path.parent, "told")
    agent = clerk(store, path.parent, pause=0.01)
    await agent.resume_decided()
    told.saw("ready")
    for n in range(10_000):
        run = await agent.generate(f"{name}-{n}")
        told.saw(f"opened {run.run_id}")
        while store.run(run.run_id).state in ("running", "suspended"):
            await _decide_some(store, told)
            with contextlib.suppress(hitl.RunSuspended):
                done = await agent.attach(run.run_id)
                told.saw(f"{done.finish_reason} {done.run_id}")


async def _decide_some(store: Any, told: Witness) -> None:
    """Approve what waits, whoever opened it: two of these processes want the same."""
    for request in await hitl.pending(store, state="pending"):
        try:
            await approve(request)
        except hitl.AlreadyDecided:
            continue
        told.saw(f"approved {request.id}")


def drain(path: str) -> None:
    """Bring everything that was left to its end."""
    asyncio.run(drained(Path(path)))


async def drained(path: Path) -> list[hitl.RunResult]:
    """Settle what nobody knows, approve what waits, drive what can move, until all is still."""
    store = open_store(path)
    agent = clerk(store, path.parent)
    done: list[hitl.RunResult] = []
    for _ in range(20):
        for request in await hitl.pending(store):
            if request.state == "outcome_unknown":
                await hitl.settle(request, "give_up")
            else:
                await approve(request)
        done += await agent.resume_decided()
        for run in store.runs(states=["running", "suspended"]):
            try:
                done.append(await agent.attach(run.id))
            except HitlError:
                continue
        if not await hitl.pending(store) and not store.runs(states=["running", "suspended"]):
            return done
    raise AssertionError(f"it does not come to rest: {json.dumps([r.state for r in store.runs()])}")
