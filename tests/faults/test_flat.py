"""R17, F21: a snapshot holds one copy of the history, whatever happened to the run, and its space
is given back."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import hitl_widgets as hitl
from hitl_widgets.store.sqlite import SqliteStore

from .processes import FULL

MESSAGES, SUSPENSIONS = (600, 50) if FULL else (120, 12)
WORDS = "All work and no play makes a long conversation. " * 8


def _agent(store: Any) -> hitl.Agent:
    @hitl.tool(require_approval=True)
    async def step(n: int) -> str:
        "Take a step."
        return f"step {n}"

    talk = [f"{n} {WORDS}" for n in range(MESSAGES // 2)]
    turns: list[Any] = [[text, hitl.call("step", n=n)] for n, text in enumerate(talk[:SUSPENSIONS])]
    return hitl.Agent(
        "walker", model=hitl.ScriptedModel([*turns, "done"]), tools=[step], store=store
    )


async def _history(folder: Path) -> list[Any]:
    """Messages of an earlier conversation."""
    talk = [f"{n} {WORDS}" for n in range(MESSAGES // 2)]
    model = hitl.ScriptedModel([lambda _: WORDS])
    agent = hitl.Agent("talker", model=model, store=SqliteStore(folder / "other.sqlite"))
    first = (await agent.generate(WORDS)).messages
    return [message for _ in talk for message in first]


def _snapshots(path: Path) -> list[int]:
    db = sqlite3.connect(path)
    sizes = [row[0] for row in db.execute("SELECT length(value) FROM snapshots")]
    db.close()
    return sizes


async def test_many_messages_and_suspensions_keep_one_copy(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = SqliteStore(path)
    agent = _agent(store)
    history = await _history(tmp_path)
    assert len(history) >= MESSAGES
    run = await agent.generate("walk", message_history=history, max_steps=1000)
    sizes, files = [], []
    for _ in range(SUSPENSIONS):
        (size,) = _snapshots(path)
        sizes.append(size)
        files.append(path.stat().st_size)
        run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert run.text == "done"
    # What one suspension adds is its own two messages and no copy of anything.
    added = (sizes[-1] - sizes[0]) / (len(sizes) - 1)
    assert added < 8 * len(WORDS)
    assert sizes[-1] < 1.1 * sizes[0] + SUSPENSIONS * 8 * len(WORDS)
    assert max(files) < 3 * sizes[-1] + SUSPENSIONS * 20_000
    assert _snapshots(path) == []
    largest = path.stat().st_size
    store.vacuum()
    assert path.stat().st_size < largest - 0.5 * sizes[-1]
    assert store.check() == []
    text = json.dumps({"first": sizes[0], "last": sizes[-1], "file": largest})
    print(f"{MESSAGES} messages, {SUSPENSIONS} suspensions: {text}")  # noqa: T201
    print(f"vacuumed: {path.stat().st_size}")  # noqa: T201
