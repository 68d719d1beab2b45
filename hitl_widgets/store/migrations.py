"""The tables, version by version.

A file carries `APPLICATION_ID` and the number of its last migration (``PRAGMA user_version``).
A step that was released is never changed: add the next one.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable

APPLICATION_ID = 0x48495457
"""``HITW``."""

_V1 = (
    # sqlitedict's own layout: one JSON document per frame (agent of a run).
    'CREATE TABLE "snapshots" (key TEXT PRIMARY KEY, value BLOB)',
    "CREATE TABLE frames (key TEXT PRIMARY KEY NOT NULL, run_id TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX frames_run ON frames(run_id)",
    """CREATE TABLE runs (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        key TEXT,
        key_digest TEXT,
        thread_id TEXT,
        resource_id TEXT,
        notebook TEXT,
        state TEXT NOT NULL,
        owner TEXT,
        token TEXT,
        resumable INTEGER NOT NULL,
        delivered INTEGER NOT NULL DEFAULT 0,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        outcome TEXT,
        origin TEXT NOT NULL)""",
    # Full indexes: SQLite's planner passes over a partial one for a plain `state = ?`.
    # Each ends in the row number, which is the order of opening.
    "CREATE INDEX runs_state ON runs(state)",
    "CREATE INDEX runs_agent ON runs(agent_id, state)",
    "CREATE INDEX runs_thread ON runs(thread_id, state)",
    "CREATE INDEX runs_resource ON runs(resource_id, state)",
    "CREATE INDEX runs_notebook ON runs(notebook, state)",
    "CREATE INDEX runs_owner ON runs(owner)",
    "CREATE INDEX runs_key ON runs(agent_id, key)",
    """CREATE TABLE calls (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        run_id TEXT NOT NULL,
        frame TEXT NOT NULL,
        turn TEXT NOT NULL,
        place INTEGER NOT NULL,
        tool_name TEXT NOT NULL,
        state TEXT NOT NULL,
        owner TEXT,
        token TEXT,
        args TEXT NOT NULL,
        data TEXT,
        result TEXT,
        template TEXT NOT NULL,
        doc TEXT NOT NULL)""",
    "CREATE INDEX calls_run ON calls(run_id)",
    "CREATE INDEX calls_owner ON calls(state, owner)",
    """CREATE TABLE requests (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        run_id TEXT NOT NULL,
        tool_call_id TEXT NOT NULL,
        ordinal INTEGER NOT NULL,
        kind TEXT NOT NULL,
        tool_name TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        state TEXT NOT NULL,
        agent_id TEXT NOT NULL,
        thread_id TEXT,
        resource_id TEXT,
        created_at REAL NOT NULL,
        expires_at REAL,
        decided_at REAL,
        doc TEXT NOT NULL)""",
    # One living question per ordinal of a call, whatever a caller believes.
    """CREATE UNIQUE INDEX requests_living ON requests(tool_call_id, ordinal) WHERE state IN
        ('pending', 'approved', 'answered', 'executing', 'parked', 'outcome_unknown')""",
    "CREATE INDEX requests_state ON requests(state)",
    "CREATE INDEX requests_run ON requests(run_id, state)",
    "CREATE INDEX requests_call ON requests(tool_call_id, state)",
    "CREATE INDEX requests_agent ON requests(agent_id, state)",
    "CREATE INDEX requests_thread ON requests(thread_id, state)",
    "CREATE INDEX requests_resource ON requests(resource_id, state)",
    "CREATE INDEX requests_fingerprint ON requests(fingerprint, state)",
    "CREATE INDEX requests_due ON requests(state, expires_at)",
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        run_id TEXT,
        request_id TEXT,
        call_id TEXT,
        doc TEXT NOT NULL,
        hash TEXT NOT NULL)""",
    "CREATE INDEX events_run ON events(run_id)",
    """CREATE TRIGGER events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    """CREATE TRIGGER events_remain BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END""",
    """CREATE TABLE grants (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        tool_name TEXT NOT NULL,
        expires_at REAL,
        revoked_at REAL,
        doc TEXT NOT NULL)""",
    "CREATE INDEX grants_tool ON grants(tool_name)",
    "CREATE TABLE documents (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE meta (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) WITHOUT ROWID",
)

# A change of a request's state wrote to nine indexes, of a run's to seven. Left are those that
# listings by state need: columns that are empty in an ordinary run have none of it, and what few
# rows have in common (a run, a call, a fingerprint) is found without the state. See `listing`.
_V2 = (
    "DROP INDEX runs_thread",
    "DROP INDEX runs_resource",
    "DROP INDEX runs_notebook",
    "DROP INDEX runs_owner",
    "DROP INDEX runs_key",
    "CREATE INDEX runs_thread ON runs(thread_id, state) WHERE thread_id IS NOT NULL",
    "CREATE INDEX runs_resource ON runs(resource_id, state) WHERE resource_id IS NOT NULL",
    "CREATE INDEX runs_notebook ON runs(notebook, state) WHERE notebook IS NOT NULL",
    "CREATE INDEX runs_owner ON runs(owner) WHERE owner IS NOT NULL",
    "CREATE INDEX runs_key ON runs(agent_id, key) WHERE key IS NOT NULL",
    "DROP INDEX calls_owner",
    "CREATE INDEX calls_owner ON calls(owner) WHERE owner IS NOT NULL",
    "DROP INDEX requests_run",
    "DROP INDEX requests_call",
    "DROP INDEX requests_fingerprint",
    "DROP INDEX requests_thread",
    "DROP INDEX requests_resource",
    "DROP INDEX requests_due",
    "CREATE INDEX requests_run ON requests(run_id)",
    "CREATE INDEX requests_call ON requests(tool_call_id)",
    "CREATE INDEX requests_fingerprint ON requests(fingerprint)",
    "CREATE INDEX requests_thread ON requests(thread_id, state) WHERE thread_id IS NOT NULL",
    "CREATE INDEX requests_resource ON requests(resource_id, state) WHERE resource_id IS NOT NULL",
    "CREATE INDEX requests_due ON requests(state, expires_at) WHERE expires_at IS NOT NULL",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_V1, _V2)
"""Statements that lead from version n to n+1."""

NEWEST = len(MIGRATIONS)


def migrate(ask: Callable[[str, tuple[object, ...]], list[sqlite3.Row]]) -> None:
    """Bring a file to `NEWEST`, inside a transaction that the caller holds.

    `ask` runs one statement. Several processes may come here at once: the version is read
    again under the lock.
    """
    version: int = ask("PRAGMA user_version", ())[0][0]
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            ask(statement, ())
    if version == 0:
        ask("INSERT INTO meta(name, value) VALUES('secret_key', ?)", (secrets.token_hex(32),))
        ask(f"PRAGMA application_id = {APPLICATION_ID}", ())
    if version < NEWEST:
        ask(f"PRAGMA user_version = {NEWEST}", ())
