"""The audit trail shows every change that was made to it afterwards (R18)."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hitl_widgets.store import audit, sinks
from hitl_widgets.store.base import Event
from hitl_widgets.store.sqlite import SqliteStore

from .making import a_vote, waiting


@pytest.fixture
def told(path: Path) -> SqliteStore:
    store = SqliteStore(path)
    waiting(store)
    store.decide([a_vote()])
    assert store.check() == []
    return store


def _tamper(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    db.execute("DROP TRIGGER events_stay")
    db.execute("DROP TRIGGER events_remain")
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    "statement", ["UPDATE events SET doc = '{}'", "DELETE FROM events WHERE seq = 1"]
)
def test_events_are_neither_changed_nor_deleted(
    told: SqliteStore, path: Path, statement: str
) -> None:
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute(statement)
    db.close()
    assert told.check() == []


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (
            "UPDATE events SET doc = replace(doc, 'ada', 'eve') WHERE kind = 'approved'",
            "audit trail: event 4 was changed after it was written",
        ),
        ("UPDATE events SET at = at + 1 WHERE seq = 2", "audit trail: event 2 was changed"),
        ("UPDATE events SET kind = 'declined' WHERE seq = 4", "audit trail: event 4 was changed"),
        ("DELETE FROM events WHERE seq = 2", "audit trail: events 2 to 2 are missing"),
        ("DELETE FROM events WHERE seq = 4", "audit trail: the end is missing"),
        ("DELETE FROM events", "audit trail: the end is missing"),
    ],
)
def test_a_change_is_found(told: SqliteStore, path: Path, statement: str, fault: str) -> None:
    _tamper(path, statement)
    assert [f.startswith(fault) for f in told.check()] == [True]


def test_a_changed_event_that_was_hashed_again_breaks_the_next(
    told: SqliteStore, path: Path
) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT * FROM events ORDER BY seq").fetchall()
    forged = ("forged", *rows[2][1:-1])
    digest = audit._link(rows[1][-1], (3, *forged[1:]))
    _tamper(path, f"UPDATE events SET kind = 'x', hash = '{digest}' WHERE seq = 3")  # noqa: S608
    assert told.check() != []


def test_a_sink_that_fails_fails_nothing_that_was_committed(
    told: SqliteStore, caplog: pytest.LogCaptureFixture
) -> None:
    """The others hear of it too."""
    heard: list[Event] = []

    def broken(_store: Any, _event: Event) -> None:
        raise ZeroDivisionError

    stops = [sinks.add_sink(broken), sinks.add_sink(lambda _, event: heard.append(event))]
    try:
        told.release("run_1", "lease", "suspended")
    finally:
        for stop in stops:
            stop()
    assert [event.kind for event in heard] == ["run-released"]
    assert "was not copied" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_sinks_hear_of_what_was_committed_and_of_nothing_else(told: SqliteStore) -> None:
    heard: list[Event] = []
    stop = sinks.add_sink(lambda _, event: heard.append(event))
    try:
        with pytest.raises(Exception, match="already"):
            told.decide([a_vote()])
        assert heard == []
        told.release("run_1", "lease", "suspended")
    finally:
        stop()
    told.adopt("run_1", "next")
    assert [e.kind for e in heard] == ["run-released"]
    assert heard == told.events(4, limit=1)
