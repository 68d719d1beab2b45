"""R1, R2, R13, R14, R21: death at every named step, and a restart that reaches the right end.

A process drives one run and dies at the step; the next one settles, approves and drives on what
it finds. The line of a run: a free look; then, in one turn, a read, a gated delete and a gated
idempotent tag; a look again; the end.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hitl_widgets.store.sqlite import SqliteStore

from .line import Witness, drained, once
from .processes import ended, start

DEAD = 9

LOST, PENDING, UNKNOWN, DONE = "lost", "pending", "unknown", "done"

STEPS: list[tuple[str, int, str, tuple[int, int]]] = [
    # step, at which time; what is found of the delete, how often it happened and will have
    ("open_run:before", 1, "nothing", (0, 0)),
    ("open_run:inside", 1, "nothing", (0, 0)),
    ("open_run:after", 1, LOST, (0, 0)),
    ("save:before", 1, LOST, (0, 0)),  # the first look, free
    ("save:after", 1, LOST, (0, 0)),
    ("free body", 1, LOST, (0, 0)),
    ("free effect", 1, LOST, (0, 0)),
    ("finish:after", 1, LOST, (0, 0)),
    ("save:before", 2, LOST, (0, 0)),  # the calls that ask
    ("save:inside", 1, LOST, (0, 0)),
    ("save:after", 2, PENDING, (0, 1)),
    ("release:before", 1, PENDING, (0, 1)),
    ("release:inside", 1, PENDING, (0, 1)),
    ("release:after", 1, PENDING, (0, 1)),
    ("shown", 1, PENDING, (0, 1)),
    ("decide:before", 1, PENDING, (0, 1)),
    ("decide:inside", 1, PENDING, (0, 1)),
    ("decide:after", 1, "approved", (0, 1)),
    ("claim:before", 1, "approved", (0, 1)),
    ("claim:inside", 1, "approved", (0, 1)),
    ("claim:after", 1, UNKNOWN, (0, 0)),
    ("body", 1, UNKNOWN, (0, 0)),
    ("effect", 1, UNKNOWN, (1, 1)),
    ("finish:before", 3, UNKNOWN, (1, 1)),
    ("finish:inside", 2, UNKNOWN, (1, 1)),
    ("finish:after", 3, DONE, (1, 1)),
    ("claim:before", 2, DONE, (1, 1)),  # the tag, which may be done again
    ("claim:after", 2, DONE, (1, 1)),
    ("finish:before", 4, DONE, (1, 1)),
    ("finish:after", 4, DONE, (1, 1)),
    ("save:before", 3, DONE, (1, 1)),  # the second look
    ("save:after", 3, DONE, (1, 1)),
    ("free effect", 2, DONE, (1, 1)),
    ("finish:before", 5, DONE, (1, 1)),
    ("finish:after", 5, DONE, (1, 1)),
    ("end_run:before", 1, DONE, (1, 1)),
    ("end_run:inside", 1, DONE, (1, 1)),
    ("end_run:after", 1, DONE, (1, 1)),
]


def _found(store: SqliteStore) -> str:
    runs = store.runs()
    if not runs:
        return "nothing"
    if (runs[0].outcome or {}).get("finish_reason") == "lost":
        return LOST
    asked = [r for r in store.requests() if r.tool_name == "delete"]
    return {"outcome_unknown": UNKNOWN}.get(asked[-1].state, asked[-1].state)


ALIKE = {
    *("open_run:before-1", "open_run:inside-1", "save:before-1", "free body-1", "save:before-2"),
    *("release:before-1", "release:inside-1", "decide:before-1", "claim:before-1"),
    *("claim:before-2", "finish:before-4", "finish:after-4", "save:before-3"),
    *("finish:before-5", "finish:after-5"),
}
"""Next to another step that is always tested."""


def _cases() -> list[Any]:
    cases: list[Any] = []
    for case in STEPS:
        name = f"{case[0]}-{case[1]}"
        marks = [pytest.mark.extended] if name in ALIKE else []
        cases.append(pytest.param(*case, id=name, marks=marks))
    return cases


@pytest.mark.parametrize(("step", "time", "found", "happened"), _cases())
async def test_death_at_a_step(
    tmp_path: Path, step: str, time: int, found: str, happened: tuple[int, int]
) -> None:
    path, witness = tmp_path / "store.sqlite", Witness(tmp_path)
    assert ended(start(once, str(path), step, time)) == DEAD, "the step was not reached"
    store = SqliteStore(path)
    store.sweep()
    assert store.check() == []
    assert _found(store) == found
    assert witness.count("delete a") == happened[0]
    assert all(c.state != "executing" for run in store.runs() for c in store.calls(run.id))

    await drained(path)
    assert witness.count("delete a") == happened[1]
    assert store.check() == []
    if found in ("nothing", LOST):
        return
    (run,) = store.runs()
    assert (run.state, (run.outcome or {})["text"]) == ("completed", "done")
    ends = {c.tool_name: c.state for c in store.calls(run.id)}
    assert ends["delete"] == ("failed" if found == UNKNOWN else "done")
    assert ends["tag"] == "done"
    assert witness.count("tag a") in (1, 2)


def test_a_process_that_nobody_kills_reaches_the_end(tmp_path: Path) -> None:
    """So that a step which is never reached cannot pass for one that was survived."""
    path = tmp_path / "store.sqlite"
    assert ended(start(once, str(path), "run:before", 0)) == 0
    assert SqliteStore(path).runs()[0].state == "completed"
    assert Witness(tmp_path).count("delete a") == 1
