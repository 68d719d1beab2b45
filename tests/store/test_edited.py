"""Rows that somebody edited by hand: refused in words, found by `check`, never guessed at."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hitl_widgets.errors import HitlError, StoreCorrupt, StoreError
from hitl_widgets.store.connection import Tx
from hitl_widgets.store.sqlite import SqliteStore

from .making import OUTCOME, RESULT, a_call, a_vote, claim, gated, waiting

VALUES: list[Any] = [None, "x", "[]", '{"a":1}', b"\x80\x04", 3.5, 1e300, "9" * 5000]
TABLES = ("runs", "calls", "requests", "events", "grants", "meta", "documents", "snapshots")


def _whole() -> SqliteStore:
    store = SqliteStore(":memory:")
    waiting(store)
    store.save("run_1", "lease", calls=[gated(a_call("call_2"), "req_2")])
    store.decide([a_vote("req_2")])
    store.add_grant({"id": "g", "tool_name": "t"}, reviewer="ada", via="test")
    store.put_document("doc", {"a": 1})
    return store


def _columns(table: str) -> list[str]:
    return [row[1] for row in _whole()._db.outside(f"PRAGMA table_info({table})")]


def _edit(store: SqliteStore, table: str, column: str, value: Any) -> bool:
    """Whether SQLite took it."""

    def step(tx: Tx) -> None:
        for trigger in ("events_stay", "events_remain"):
            tx.rows(f"DROP TRIGGER {trigger}")
        tx.rows(f"UPDATE {table} SET {column} = ?", (value,))  # noqa: S608

    try:
        store._db.write(step)
    except StoreError:  # a constraint
        return False
    return True


def _acts(store: SqliteStore) -> Iterator[Callable[[], object]]:
    yield store.requests
    yield store.runs
    yield lambda: store.calls("run_1")
    yield lambda: store.frame("run_1")
    yield store.events
    yield lambda: store.grants(revoked=True)
    yield store.secret_key
    yield lambda: store.document("doc")
    yield lambda: store.answers("call_1")
    yield store.describe
    yield store.sweep
    yield store.check
    yield lambda: store.decide([a_vote("req_1")])
    yield lambda: claim(store, "req_2")
    yield lambda: store.finish("call_2", "call", "done", RESULT)
    yield lambda: store.adopt("run_1", "next")
    yield lambda: store.end_run("run_1", "lease", "completed", OUTCOME)
    yield lambda: store.prune(1e12)


@pytest.mark.parametrize("table", TABLES)
def test_whatever_stands_in_a_column_is_an_error_in_words(table: str) -> None:
    """A crash in Python's words would look like a bug, and might come half way."""
    tried = 0
    for column in _columns(table):
        for value in VALUES:
            store = _whole()
            if _edit(store, table, column, value):
                tried += 1
                for act in _acts(store):
                    with contextlib.suppress(HitlError):
                        act()
    assert tried >= len(VALUES) - 1


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("runs", "origin", "[1]"),
        ("runs", "created_at", "yesterday"),
        ("calls", "doc", "{}"),
        ("calls", "template", "[1]"),
        ("calls", "args", b"{}"),
        ("requests", "doc", '{"colour": "red"}'),
        ("requests", "expires_at", 1e300),
        ("requests", "kind", b"approval"),
        ("grants", "doc", "[1]"),
        ("events", "doc", b"{}"),
        ("meta", "value", "nothing"),
    ],
)
def test_check_names_what_cannot_be_read(table: str, column: str, value: Any) -> None:
    store = _whole()
    assert store.check() == []
    assert _edit(store, table, column, value)
    faults = store.check()
    name = {"events": "audit trail", "meta": "audit trail"}.get(table, table.removesuffix("s"))
    assert any(name in fault for fault in faults), faults


def test_nothing_is_decided_on_a_row_that_cannot_be_read() -> None:
    store = _whole()
    assert _edit(store, "requests", "doc", "{}")
    before = store.last_seq()
    with pytest.raises(StoreCorrupt, match="request req_1 is not as this package writes it"):
        store.decide([a_vote("req_1")])
    assert store.last_seq() == before
