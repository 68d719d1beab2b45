"""sqlitedict's mapping for snapshots, on a guarded connection.

sqlitedict 2.1.0 hands every statement to a daemon thread and waits for it without limit; a
commit that fails kills that thread and the caller hangs for ever (its issue 108), and
``synchronous=OFF`` is wired in (issue 149). Its one seam, `SqliteDict._new_conn`, is replaced
here: statements run in the caller's thread, errors are raised where they happen, waits end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from sqlitedict import SqliteDict  # pyright: ignore[reportMissingTypeStubs]

from .rows import dumps, loads

Args = Sequence[object] | Mapping[str, object]


class Connection(Protocol):
    """Whatever runs statements."""

    path: str

    def ask(self, sql: str, args: Args = ()) -> list[sqlite3.Row]:
        """Run one statement; its rows."""
        ...


class Snapshots(SqliteDict):  # pyright: ignore[reportUntypedBaseClass]
    """sqlitedict's mapping on a guarded connection: frame key → JSON document."""

    def __init__(self, database: Connection) -> None:
        self._database = database
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            database.path,
            tablename="snapshots",
            autocommit=False,
            journal_mode="",
            encode=dumps,
            decode=lambda text: loads(text, "a snapshot"),  # pyright: ignore[reportUnknownLambdaType]
        )

    def __setitem__(self, key: str, value: object) -> None:
        """As sqlitedict's, but for the row's number: that stays, and its index is not written."""
        self.put(key, dumps(value))

    def put(self, key: str, text: str) -> None:
        """Keep a document that is JSON text already."""
        self._database.ask(
            "INSERT INTO snapshots(key, value) VALUES(?, ?) "
            "ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (key, text),
        )

    def _new_conn(self) -> Worker:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Worker(self._database)


class Worker:
    """What sqlitedict calls its connection: the same six methods, without the thread."""

    autocommit = False

    def __init__(self, database: Connection) -> None:
        self._database = database

    def execute(self, req: str, arg: Args | None = None, res: object = None) -> None:
        """Run a statement now. sqlitedict's result queue is never used."""
        del res
        self._database.ask(req, arg or ())

    def executemany(self, req: str, items: Iterable[Args]) -> None:
        """Run a statement for each item."""
        for item in items:
            self._database.ask(req, item)

    def select(self, req: str, arg: Args | None = None) -> Iterator[sqlite3.Row]:
        """All rows of a query."""
        return iter(self._database.ask(req, arg or ()))

    def select_one(self, req: str, arg: Args | None = None) -> sqlite3.Row | None:
        """The first row of a query, or None."""
        rows = self._database.ask(req, arg or ())
        return rows[0] if rows else None

    def commit(self, blocking: bool = True) -> None:  # noqa: FBT001, FBT002
        """Nothing: the transaction around this statement is committed by its owner."""

    def close(self, force: bool = False) -> None:  # noqa: FBT001, FBT002
        """Nothing: the connection belongs to the `Connection`."""
