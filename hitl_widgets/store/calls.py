"""Tool calls: what happens to their rows inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, cast

from hitl_widgets.errors import AlreadyDecided, LeaseLost, NotPermitted, RequestNotFound
from hitl_widgets.fingerprint import mask
from hitl_widgets.request import Call, Request, State, from_row, new_id

from . import arrows, audit, runs
from .base import NewCall
from .connection import Tx
from .rows import REQUEST_COLUMNS, Row, call_doc, dumps, loads, reading, to_call

ENDED = ("done", "failed")


def row_of(tx: Tx, call_id: str) -> sqlite3.Row:
    """A call's row."""
    rows = tx.rows("SELECT * FROM calls WHERE id = ?", (call_id,))
    if not rows:
        raise RequestNotFound(f"There is no tool call {call_id} in {tx.database.path}.")
    return rows[0]


def exists(tx: Tx, call_id: str) -> bool:
    """Whether the store has a call of that id."""
    return bool(tx.rows("SELECT 1 FROM calls WHERE id = ?", (call_id,)))


def values(owner: str, new: NewCall) -> dict[str, Any]:
    """The row of a new call."""
    call = new.call
    return {
        "id": call.id,
        "run_id": call.run_id,
        "frame": call.frame,
        "turn": call.turn,
        "place": call.index,
        "tool_name": call.tool_name,
        "state": call.state,
        "owner": owner if call.state == "executing" else None,
        "token": call.token,
        "args": dumps(_shown(call.args, new.template) if call.state in ENDED else call.args),
        "result": None if call.result is None else dumps(call.result),
        "template": dumps(new.template),
        "doc": call_doc(call),
    }


def insert(tx: Tx, owner: str, new: NewCall) -> None:
    """Keep a new call and its first question."""
    insert_row(tx, values(owner, new))
    if new.request is not None:
        arrows.insert(tx, new.request)


def insert_row(tx: Tx, row: Mapping[str, Any]) -> None:
    """Keep a new call's row."""
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    tx.rows(f"INSERT INTO calls({names}) VALUES({marks})", tuple(row.values()))
    call = to_call(row)
    if call.state == "executing":
        _event(tx, "call-started", call, owner=call.owner, evaluation=call.evaluation)
    elif call.state in ENDED:
        _event(tx, "call-finished", call, state=call.state, evaluation=call.evaluation)


def finish(tx: Tx, call_id: str, token: str, state: str, result: Mapping[str, Any]) -> None:
    """``executing``/``parked`` → `state`, by token."""
    row = row_of(tx, call_id)
    if may_finish(row, token, state):
        end(tx, row, state, result)


def may_finish(row: Row, token: str, state: str) -> bool:
    """False when that was said before: a caller that was interrupted may say it again.

    Raises
    ------
    LeaseLost
        It is no longer in these hands.
    """
    if row["token"] == token and row["state"] == state:
        return False
    if row["token"] != token or row["state"] not in ("executing", "parked"):
        raise _lost(row)
    return True


def answer(tx: Tx, call_id: str, run_token: str, state: str, result: Mapping[str, Any]) -> None:
    """End a call whose body does not run (any more)."""
    row = row_of(tx, call_id)
    runs.moving(tx, runs.held(tx, row["run_id"], run_token))
    answer_row(tx, row, state, result)


def answer_row(tx: Tx, row: sqlite3.Row, state: str, result: Mapping[str, Any]) -> None:
    """`answer` without a lease, for those who decide."""
    if row["state"] not in ("waiting", "parked"):
        raise _lost(row)
    end(tx, row, state, result)


def end(
    tx: Tx, row: sqlite3.Row, state: str, result: Mapping[str, Any], kind: str = "call-finished"
) -> None:
    """Write a call's end.

    Its claimed requests end with it, those that still wait are taken back, its secrets are
    erased.
    """
    tx.rows(
        "UPDATE calls SET state = ?, result = ?, owner = NULL WHERE id = ?",
        (state, dumps(dict(result)), row["id"]),
    )
    erase(tx, row)
    target = cast("State", "done" if state == "done" else "failed")
    for request in arrows.of_call(tx, row["id"], "executing", "parked"):
        arrows.shift(tx, request, "finish", target)
    for request in arrows.of_call(tx, row["id"], *arrows.OPEN):
        arrows.shift(tx, request, "withdraw", "withdrawn", detail={"why": "its call ended"})
    _event(tx, kind, to_call(row), state=state, result=result.get("type"))


def erase(tx: Tx, row: sqlite3.Row) -> None:
    """Erase what only a running call may know: secret arguments and answers (R17)."""
    template = _template(row)
    args = loads(row["args"], f"call {row['id']}")
    tx.rows(
        "UPDATE calls SET args = ?, data = NULL WHERE id = ?",
        (dumps(_shown(args, template)), row["id"]),
    )


def legible(row: sqlite3.Row) -> None:
    """Refuse a row that this package did not write like that."""
    to_call(row)
    _template(row)
    loads(row["data"] or "{}", f"call {row['id']}")


def _template(row: Row) -> dict[str, Any]:
    what = f"call {row['id']}"
    with reading(what):
        return dict(loads(row["template"], what))


def _shown(args: dict[str, Any], template: Mapping[str, Any]) -> Any:
    return mask(args, template.get("secrets") or ())


def park(tx: Tx, call_id: str, token: str, opens: Request | None) -> str:
    """``executing`` → ``parked``, with the question that it waits for; its run's id."""
    row = row_of(tx, call_id)
    if row["token"] != token or row["state"] != "executing":
        raise _lost(row)
    _park(tx, row, "it asks something itself")
    if opens is not None:
        arrows.insert(tx, opens)
    return row["run_id"]


def _park(tx: Tx, row: sqlite3.Row, why: str) -> None:
    tx.rows("UPDATE calls SET state = 'parked', owner = NULL WHERE id = ?", (row["id"],))
    for request in arrows.of_call(tx, row["id"], "executing"):
        arrows.shift(tx, request, "park", "parked", detail={"why": why})


def start(tx: Tx, row: sqlite3.Row, owner: str, token: str) -> Call:
    """``waiting``/``parked`` → ``executing`` under a new token; its parked requests go along."""
    if row["state"] not in ("waiting", "parked"):
        raise AlreadyDecided(
            f"The call {row['id']} ({row['tool_name']}) is {row['state']}: it cannot start.",
            state=row["state"],
        )
    tx.rows(
        "UPDATE calls SET state = 'executing', owner = ?, token = ? WHERE id = ?",
        (owner, token, row["id"]),
    )
    for request in arrows.of_call(tx, row["id"], "parked"):
        arrows.shift(tx, request, "unpark", "executing")
    return to_call(row_of(tx, row["id"]))


def resume(tx: Tx, owner: str, call_id: str, run_token: str, token: str) -> Call:
    """Start a call that has no question of its own to wait for."""
    row = row_of(tx, call_id)
    runs.moving(tx, runs.held(tx, row["run_id"], run_token))
    _no_gate_left(tx, row)
    call = start(tx, row, owner, token)
    _event(tx, "call-started", call, owner=owner, evaluation=call.evaluation)
    return call


def _no_gate_left(tx: Tx, row: sqlite3.Row) -> None:
    """Refuse to start a call around its gate (F5).

    What it asked last must be what it was claimed by, and one that never asked must be free.
    """
    asked = tx.rows(
        "SELECT id FROM requests WHERE tool_call_id = ? ORDER BY seq DESC LIMIT 1", (row["id"],)
    )
    if asked:
        last = arrows.get(tx, asked[0]["id"])
        # A "no" to what a running body asked (`ctx.confirm`) is an answer, not a gate.
        answered_no = last.scope.get("how") == "confirm" and last.state in ("declined", "expired")
        if last.state != "parked" and not (answered_no and row["state"] == "parked"):
            raise arrows.standing(last)
    elif to_call(row).permission != "allow":
        raise NotPermitted(
            f"The call {row['id']} ({row['tool_name']}) must be asked for before it may run."
        )


def lose(tx: Tx, call_id: str, token: str, why: str) -> None:
    """``executing`` → ``outcome_unknown``; nothing, when it ended or runs under another token."""
    row = row_of(tx, call_id)
    if row["token"] == token and row["state"] == "executing":
        lose_row(tx, row, why)


def lose_row(tx: Tx, row: sqlite3.Row, why: str) -> None:
    """Say that nobody knows how a call ended; a free one gets a request, to be settled by."""
    tx.rows(
        "UPDATE calls SET state = 'outcome_unknown', owner = NULL, token = NULL WHERE id = ?",
        (row["id"],),
    )
    claimed = arrows.of_call(tx, row["id"], "executing")
    for request in claimed:
        arrows.shift(tx, request, "lose", "outcome_unknown", detail={"why": why})
    if not claimed:
        arrows.insert(tx, from_template(tx, row, "outcome_unknown"), "lose", why)
    if runs.get(tx, row["run_id"]).outcome is not None:
        erase(tx, row)


def orphan(tx: Tx, row: sqlite3.Row, why: str) -> None:
    """The owner of an executing call is dead (R13).

    What may run twice waits to run again (parked, `resume` starts it), the rest is
    ``outcome_unknown``.
    """
    template = _template(row)
    again = template.get("effect") == "read" or template.get("idempotent") is True
    if again and runs.get(tx, row["run_id"]).outcome is None:
        _park(tx, row, f"{why}; it may safely run again")
    else:
        lose_row(tx, row, why)


def from_template(tx: Tx, row: sqlite3.Row, state: State) -> Request:
    """A request about a call that never had one."""
    template = _template(row)
    run = runs.get(tx, row["run_id"])
    highest = tx.rows(
        "SELECT coalesce(max(ordinal), -1) FROM requests WHERE tool_call_id = ?", (row["id"],)
    )[0][0]
    known = {n: v for n, v in template.items() if n in Request.__slots__}
    columns = {name: known.get(name) for name in REQUEST_COLUMNS}
    columns.update(
        id=new_id("req"),
        run_id=row["run_id"],
        tool_call_id=row["id"],
        ordinal=highest + 1,
        kind=known.get("kind") or "approval",
        tool_name=row["tool_name"],
        fingerprint=known.get("fingerprint") or "",
        state=state,
        agent_id=known.get("agent_id") or run.agent_id,
        thread_id=run.thread_id,
        resource_id=run.resource_id,
        created_at=tx.now,
        expires_at=None,
        decided_at=None,
    )
    args = _shown(loads(row["args"], f"call {row['id']}"), template)
    doc = {"agent_path": [columns["agent_id"]], "origin": run.origin, **known, "args": args}
    with reading(f"call {row['id']}"):
        return from_row(columns, doc)


def answers(tx: Tx, call_id: str) -> list[dict[str, Any]]:
    """Answers to a call's ``input`` requests that still stand, by ordinal."""
    what = f"call {call_id}"
    standing = arrows.of_call(tx, call_id, "answered", "executing", "parked")
    with reading(what):
        kept = dict(loads(row_of(tx, call_id)["data"] or "{}", what))
        found = [
            {"request_id": r.id, "ordinal": r.ordinal, **kept[r.id]}
            for r in standing
            if r.id in kept
        ]
    return sorted(found, key=lambda a: a["ordinal"])


def of_run(
    tx: Tx, run_id: str, frame: str | None, turn: str | None = None, *, unsaved: Sequence[Row] = ()
) -> list[Call]:
    """Calls in the model's order: turns as they came, in each the model's own order.

    `unsaved` are rows that are not in the store yet; where it has them, it knows better.
    """
    wanted = {n: v for n, v in (("frame", frame), ("turn", turn)) if v is not None}
    where = "".join(f" AND {name} = ?" for name in wanted)
    found_here = tx.rows(
        f"SELECT * FROM calls WHERE run_id = ?{where} ORDER BY seq", (run_id, *wanted.values())
    )
    rows: list[Row] = [*found_here]
    known = {row["id"] for row in rows}
    rows += [
        r
        for r in unsaved
        if r["id"] not in known and all(r[name] == value for name, value in wanted.items())
    ]
    found = [to_call(row) for row in rows]
    turns = {turn: n for n, turn in enumerate(dict.fromkeys((c.frame, c.turn) for c in found))}
    return sorted(found, key=lambda c: (turns[c.frame, c.turn], c.index))


_BEGAN = """token IS NOT NULL OR state IN ('executing', 'parked', 'outcome_unknown')
    OR json_extract(result, '$.type') IN ('result', 'error')"""


def begun(tx: Tx, run_id: str, *, unsaved: Sequence[Row] = ()) -> list[str]:
    """Ids of a run's calls that began; what they were given and gave is not read."""
    rows = tx.rows(f"SELECT id, {_BEGAN} AS began FROM calls WHERE run_id = ?", (run_id,))
    known = {row["id"] for row in rows}
    found = [row["id"] for row in rows if row["began"]]
    new = [row for row in unsaved if row["id"] not in known]
    return found + [row["id"] for row in new if row["token"] or row["state"] == "parked"]


def _lost(row: Row) -> LeaseLost:
    return LeaseLost(
        f"The call {row['id']} ({row['tool_name']}) is {row['state']} and no longer in these "
        "hands: somebody settled it, or it runs elsewhere. Its result was not kept."
    )


def _event(tx: Tx, kind: str, call: Call, **doc: Any) -> None:
    audit.append(
        tx,
        kind,
        run_id=call.run_id,
        call_id=call.id,
        doc={"tool_name": call.tool_name, **{k: v for k, v in doc.items() if v is not None}},
    )
