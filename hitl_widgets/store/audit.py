"""The audit trail: one event per change, each hashed with the hash of the one before.

The hash of an event is SHA-256 over the hash before it and the canonical JSON of the row, so a
change, a gap or a missing end is found by reading the chain again.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hitl_widgets.errors import StoreCorrupt
from hitl_widgets.request import utc

from .base import Event
from .connection import Tx
from .rows import canonical, dumps, loads, reading

START = "0" * 64
"""What stands before the first event."""

_COLUMNS = "seq, at, kind, run_id, request_id, call_id, doc"


def append(
    tx: Tx,
    kind: str,
    *,
    run_id: str | None = None,
    request_id: str | None = None,
    call_id: str | None = None,
    doc: Mapping[str, Any] | None = None,
) -> None:
    """Write an event inside the transaction that it tells about."""
    seq, before = _end(tx)
    text = dumps(dict(doc or {}))
    row = (seq + 1, tx.now, kind, run_id, request_id, call_id, text)
    digest = _link(before, row)
    tx.rows(
        f"INSERT INTO events({_COLUMNS}, hash) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, digest),
    )
    tx.end["audit"] = (seq + 1, digest)
    tx.events.append(Event(seq + 1, utc(tx.now), kind, run_id, request_id, call_id, loads(text)))


def close(tx: Tx) -> None:
    """Write down where the trail ends, once per transaction.

    It is kept apart, so that events cut off the end are missed.
    """
    if tx.events:
        seq, digest = tx.end["audit"]
        tx.rows("REPLACE INTO meta(name, value) VALUES('audit_end', ?)", (f"{seq} {digest}",))


def _end(tx: Tx) -> tuple[int, str]:
    if "audit" in tx.end:
        return tx.end["audit"]
    rows = tx.rows("SELECT value FROM meta WHERE name = 'audit_end'")
    if not rows:
        return 0, START
    with reading("the end of the audit trail"):
        seq, digest = rows[0][0].split()
        return int(seq), digest


def _link(before: str, row: Sequence[Any]) -> str:
    return hashlib.sha256((before + canonical(list(row))).encode()).hexdigest()


def last_seq(tx: Tx) -> int:
    """Number of the newest event."""
    return _end(tx)[0]


def read(tx: Tx, after: int, run_id: str | None, limit: int) -> list[Event]:
    """Events after `after`, oldest first."""
    where, args = ("AND run_id = ?", (run_id,)) if run_id is not None else ("", ())
    rows = tx.rows(
        f"SELECT {_COLUMNS} FROM events WHERE seq > ? {where} ORDER BY seq LIMIT ?",
        (after, *args, limit),
    )
    return [_event(row) for row in rows]


def _event(row: sqlite3.Row) -> Event:
    what = f"event {row['seq']}"
    with reading(what):
        return Event(
            seq=row["seq"],
            at=utc(row["at"]),
            kind=row["kind"],
            run_id=row["run_id"],
            request_id=row["request_id"],
            call_id=row["call_id"],
            doc=dict(loads(row["doc"], what)),
        )


def verify(tx: Tx) -> list[str]:
    """Faults in the chain, the first of each sort; empty when it is whole."""
    seq, digest = 0, START
    for row in _all(tx):
        if row[0] != seq + 1:
            return [f"audit trail: events {seq + 1} to {row[0] - 1} are missing"]
        before, digest = digest, row[-1]
        if not _follows(before, row):
            return [f"audit trail: event {row[0]} was changed after it was written"]
        seq = row[0]
    try:
        end = _end(tx)
    except StoreCorrupt as error:
        return [f"audit trail: {error}"]
    if (seq, digest) != end:
        return [f"audit trail: the end is missing (event {end[0]} was the last, not {seq})"]
    return []


def _follows(before: str, row: Sequence[Any]) -> bool:
    try:
        return _link(before, row[:-1]) == row[-1]
    except TypeError:  # a BLOB, which nobody writes here
        return False


def _all(tx: Tx) -> Iterator[tuple[Any, ...]]:
    after = 0
    while rows := tx.rows(
        f"SELECT {_COLUMNS}, hash FROM events WHERE seq > ? ORDER BY seq LIMIT 1000",
        (after,),
    ):
        yield from (tuple(row) for row in rows)
        after = rows[-1]["seq"]
