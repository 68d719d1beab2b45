"""Telling the truth about the dead, checking, and making room: inside a transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from hitl_widgets.errors import StoreCorrupt, StoreError
from hitl_widgets.request import ARROWS, TERMINAL, Run

from . import arrows, audit, calls, grants, requests, runs
from .connection import Tx
from .rows import dumps, loads, to_request, to_run

Liveness = Callable[[str], str]

_DUE = next(a.sources for a in ARROWS if a.verb == "expire")

_EXPIRED = "SELECT id FROM requests WHERE state = ? AND expires_at <= ?"


# -- sweeping --------------------------------------------------------------------------------


def needed(tx: Tx, liveness: Liveness) -> bool:
    """Whether `sweep` has anything to do: found without a write lock."""
    return bool(_due(tx) or _dead_owners(tx, liveness))


def _due(tx: Tx) -> list[str]:
    return [r["id"] for state in _DUE for r in tx.rows(_EXPIRED, (state, tx.now))]


def _dead_owners(tx: Tx, liveness: Liveness) -> list[str]:
    owners = tx.rows(
        "SELECT DISTINCT owner FROM runs WHERE owner > '' UNION "
        "SELECT DISTINCT owner FROM calls WHERE state = 'executing' AND owner > ''"
    )
    names = [row[0] for row in owners if isinstance(row[0], str)]
    return [name for name in names if liveness(name) == "dead"]


def sweep(tx: Tx, liveness: Liveness) -> None:
    """Write down who died and what is over."""
    for request_id in _due(tx):
        requests.expire(tx, arrows.get(tx, request_id))
    for owner in _dead_owners(tx, liveness):
        bury(tx, owner, "its process died")


def bury(tx: Tx, owner: str, why: str) -> None:
    """Write down what the death of `owner` means for its calls and runs."""
    for row in _owned_calls(tx, owner):
        calls.orphan(tx, row, why)
    for row in tx.rows("SELECT * FROM runs WHERE owner = ? ORDER BY seq", (owner,)):
        _orphan_run(tx, to_run(row), why)


def _owned_calls(tx: Tx, owner: str) -> list[sqlite3.Row]:
    return tx.rows(
        "SELECT * FROM calls WHERE state = 'executing' AND owner = ? ORDER BY seq", (owner,)
    )


def _orphan_run(tx: Tx, run: Run, why: str) -> None:
    """A run whose driver died: it waits for another one, or is lost with its process (R14)."""
    saved = run.kind == "verb" or tx.rows("SELECT 1 FROM frames WHERE run_id = ?", (run.id,))
    if not run.resumable or not saved:
        runs.end(tx, run.id, "failed", {"finish_reason": "lost", "text": None, "output": None})
        return
    for request in runs.requests_waiting(tx, run.id):
        if not request.resumable:
            arrows.shift(tx, request, "withdraw", "withdrawn", detail={"why": why})
    state = "suspended" if run.state == "running" else run.state
    tx.rows(
        "UPDATE runs SET owner = NULL, token = NULL, state = ?, updated_at = ? WHERE id = ?",
        (state, tx.now, run.id),
    )
    audit.append(tx, "run-released", run_id=run.id, doc={"state": state, "why": why})


# -- documents -------------------------------------------------------------------------------


def document(tx: Tx, name: str) -> Any:
    """A named document, or None."""
    rows = tx.rows("SELECT value FROM documents WHERE name = ?", (name,))
    return loads(rows[0][0], f"document {name}") if rows else None


def put_document(tx: Tx, name: str, value: Any) -> None:
    """Keep a named document; None deletes it."""
    if value is None:
        tx.rows("DELETE FROM documents WHERE name = ?", (name,))
    else:
        tx.rows("REPLACE INTO documents(name, value) VALUES(?, ?)", (name, dumps(value)))


# -- checking and making room ----------------------------------------------------------------


def check(tx: Tx) -> list[str]:
    """Faults in the file, in the audit trail, and in what the tables say together."""
    said = [row[0] for row in tx.rows("PRAGMA integrity_check")]
    faults = [f"file: {line}" for line in said if line != "ok"]
    return faults or [*audit.verify(tx), *_not_text(tx), *_illegible(tx), *_disagreeing(tx)]


def _not_text(tx: Tx) -> list[str]:
    return [
        f"{table} {row[0]}: value is not JSON text"
        for table, key in (("snapshots", "key"), ("documents", "name"))
        for row in tx.rows(f"SELECT {key} FROM {table} WHERE typeof(value) <> 'text'")
    ]


_READERS: dict[str, Callable[[sqlite3.Row], object]] = {
    "runs": to_run,
    "calls": calls.legible,
    "requests": to_request,
    "grants": grants.to_grant,
}


def _illegible(tx: Tx) -> Iterator[str]:
    """Rows that this package did not write like that."""
    for table, read in _READERS.items():
        for row in _every(tx, table):
            try:
                read(row)
            except StoreCorrupt as error:
                yield str(error)


def _every(tx: Tx, table: str) -> Iterator[sqlite3.Row]:
    after = 0
    while rows := tx.rows(f"SELECT * FROM {table} WHERE seq > ? ORDER BY seq LIMIT 1000", (after,)):
        yield from rows
        after = rows[-1]["seq"]


def _disagreeing(tx: Tx) -> list[str]:
    """Requests and calls that contradict each other or the table of states."""
    known = {s for a in ARROWS for s in (*a.sources, *a.targets)}
    marks = ", ".join(f"'{state}'" for state in sorted(known))
    faults = [
        f"request {row[0]}: there is no state {row[1]}"
        for row in tx.rows(f"SELECT id, state FROM requests WHERE state NOT IN ({marks})")
    ]
    pairs = tx.rows(
        """SELECT r.id, r.state, c.state AS call FROM requests r
           LEFT JOIN calls c ON c.id = r.tool_call_id
           WHERE r.state IN ('executing', 'parked', 'outcome_unknown')
             AND (c.state IS NULL OR c.state <> r.state)"""
    )
    return faults + [
        f"request {row['id']} is {row['state']}, but its call is {row['call'] or 'missing'}"
        for row in pairs
    ]


def prune(tx: Tx, before: float, limit: int) -> int:
    """Forget ended runs that did not change since `before`; the audit trail stays whole.

    A `limit` below 0 is none.
    """
    marks = ", ".join(f"'{state}'" for state in sorted(TERMINAL))
    doomed = tx.rows(
        f"""SELECT id FROM runs WHERE outcome IS NOT NULL AND updated_at < ?
            AND id NOT IN (SELECT run_id FROM calls WHERE state IN ('executing', 'outcome_unknown'))
            AND id NOT IN (SELECT run_id FROM requests WHERE state NOT IN ({marks}))
            ORDER BY updated_at LIMIT ?""",
        (before, limit),
    )
    for row in doomed:
        tx.rows("DELETE FROM requests WHERE run_id = ?", (row["id"],))
        tx.rows("DELETE FROM calls WHERE run_id = ?", (row["id"],))
        tx.rows("DELETE FROM runs WHERE id = ?", (row["id"],))
    if doomed:
        audit.append(tx, "pruned", doc={"runs": len(doomed), "before": before})
    return len(doomed)


def known_owner(tx: Tx, owner: str) -> None:
    """Refuse a name that no run and no executing call carries."""
    found = _owned_calls(tx, owner) or tx.rows("SELECT 1 FROM runs WHERE owner = ?", (owner,))
    if not found:
        raise StoreError(f"Nothing in {tx.database.path} belongs to {owner!r}.")
