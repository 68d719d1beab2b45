"""One guarded SQLite connection: whole transactions, bounded waits, clear errors.

Statements run in the caller's thread, so errors are raised where they happen; an interrupt rolls
back; a fork inherits nothing.
"""

from __future__ import annotations

import os
import random
import sqlite3
import sys
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hitl_widgets.errors import (
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreReadOnly,
    StoreTooNew,
)

from . import files, forks
from .base import Event
from .faults import is_busy, translated
from .migrations import APPLICATION_ID, NEWEST, migrate
from .snapshots import Args, Snapshots

T = TypeVar("T")

_opening = threading.Lock()
"""Held while a file is made: closing its descriptor would drop the locks of a connection that
another thread opened meanwhile (a property of POSIX locks)."""


_locks: dict[str, threading.RLock] = {}  # type: ignore[valid-type]


def _lock_of(path: str) -> threading.RLock:  # type: ignore[valid-type]
    """One lock per file and process: several store objects on a file take turns."""
    return _locks.setdefault(path, threading.RLock())


@dataclass(slots=True)
class Tx:
    """An open transaction.

    Attributes
    ----------
    now
        POSIX seconds, taken after the lock was got: times are in the order of commits.
    events
        What was written to the audit trail.
    end
        Its end, number and hash, once this transaction has added to it.
    """

    database: Database
    now: float
    events: list[Event] = field(default_factory=list[Event])
    end: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])

    def rows(self, sql: str, args: Args = ()) -> list[sqlite3.Row]:
        """Run a statement; its rows."""
        return self.database.ask(sql, args)

    def change(self, sql: str, args: Args = ()) -> int:
        """Run a statement; how many rows it changed."""
        return self.database.change(sql, args)

    @property
    def snapshots(self) -> Snapshots:
        """Frames by key."""
        return self.database.snapshots


def _close_here(db: sqlite3.Connection, pid: int) -> None:
    if os.getpid() == pid:
        db.close()


class Database:
    """A store file: opened when first used, one connection, one user at a time.

    Parameters
    ----------
    path
        Absolute path, or ``:memory:``.
    busy
        Seconds to wait for other processes before `StoreBusy`.
    """

    def __init__(self, path: str, *, busy: float = 30.0) -> None:
        self.path = path
        self.journal = ""
        self._busy = busy
        self._lock = threading.RLock() if path == files.MEMORY else _lock_of(path)
        self._db: sqlite3.Connection | None = None
        self._snapshots: Snapshots | None = None
        self._inode: tuple[int, int] | None = None
        self._deadline = 0.0
        self._commits = 0
        self._changed = 0
        self._closed = False
        self._inherited = False
        forks.watch(self)

    # -- transactions ------------------------------------------------------------------------
    #
    # A step is a function, not a with-block: an interrupt (the notebook's stop button) between
    # a context manager's start and its block would leave the transaction open.

    def write(self, step: Callable[[Tx], T], *, then: Callable[[], None] | None = None) -> T:
        """Run `step` in one transaction: all of it is kept, safe from power loss, or nothing.

        `then` is run after the commit, before anyone else here uses the file.
        """

        def whole() -> T:
            self._closed = False
            self.ask("BEGIN IMMEDIATE")
            result = step(Tx(self, time.time()))
            self.ask("COMMIT")
            self._commits += 1
            if then is not None:
                then()
            return result

        return self._alone(whole)

    def read(self, step: Callable[[Tx], T]) -> T:
        """Run `step`, which changes nothing, on one state of the file."""

        def whole() -> T:
            self.ask("BEGIN")
            result = step(Tx(self, time.time()))
            self.ask("COMMIT")
            return result

        return self._alone(whole)

    def read_one(self, step: Callable[[Tx], T]) -> T:
        """`read` for a `step` of one statement, which sees one state of the file by itself."""
        return self._alone(lambda: step(Tx(self, time.time())))

    def version(self) -> int | None:
        """A number that changes with every commit, whoever made it.

        None: the file was closed, nothing was changed here since, and its folder is gone.
        """
        if self._closed and self._folder_is_gone():
            return None
        # data_version counts the commits of other connections only.
        others: int = self.outside("PRAGMA data_version")[0][0]
        return (self._commits << 40) + others

    def outside(self, sql: str) -> list[sqlite3.Row]:
        """Run a statement that must not be in a transaction (VACUUM, a checkpoint)."""
        return self._alone(lambda: self.ask(sql))

    def _alone(self, use: Callable[[], T]) -> T:
        if self._inherited:
            raise StoreError(
                f"This process was forked while the store {self.path} was in use: it cannot be "
                "used here. Start processes with the 'spawn' method, or fork between uses."
            )
        if self._in_use_here():
            raise StoreError("The store was used inside one of its own transactions.")
        # Waiting for another thread counts: it may itself have waited for a locked file.
        deadline = time.monotonic() + self._busy
        with self._lock:
            return self._until(deadline, use)

    def _until(self, deadline: float, use: Callable[[], T]) -> T:
        self._deadline = deadline
        try:
            self._enter()
            return use()
        except BaseException:
            self._roll_back()
            raise

    def _in_use_here(self) -> bool:
        # A flag could be left standing by an interrupt; the lock itself cannot.
        return self._lock._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001

    def close(self) -> None:
        """Close the file; it is opened again when used."""
        with self._lock:
            self._closed = True
            self._drop()

    def _folder_is_gone(self) -> bool:
        return self._inode is not None and not Path(self.path).parent.is_dir()

    @property
    def snapshots(self) -> Snapshots:
        """Frames by key, inside a transaction."""
        if self._snapshots is None:
            self._snapshots = Snapshots(self)
        return self._snapshots

    # -- statements --------------------------------------------------------------------------

    def ask(self, sql: str, args: Args = ()) -> list[sqlite3.Row]:
        """Run one statement; waits, within limits, while another process holds the file."""
        assert self._db is not None
        return self._patiently(self._db, sql, args)

    def change(self, sql: str, args: Args = ()) -> int:
        """Run one UPDATE or DELETE inside a transaction; how many rows it changed."""
        assert self._db is not None
        self._patiently(self._db, sql, args)
        return self._changed

    def _patiently(self, db: sqlite3.Connection, sql: str, args: Args = ()) -> list[sqlite3.Row]:
        while True:
            try:
                cursor = db.execute(sql, args)
                self._changed = cursor.rowcount
                return cursor.fetchall()
            except sqlite3.Error as error:
                if not is_busy(error) or time.monotonic() >= self._deadline:
                    raise translated(error, self.path, self._busy) from error
            except UnicodeEncodeError as error:
                raise StoreError(
                    f"The store {self.path} cannot keep {error.object!r} as a name: it is not "
                    "valid Unicode text (a lone surrogate). Nothing was changed."
                ) from error
            # SQLite's own handler sleeps up to 100 ms between tries and starved a waiter for
            # 22 s beside eight writers; short random sleeps: 2.5 s at most.
            time.sleep(random.uniform(0.0005, 0.004))  # noqa: S311  # not a secret

    def _enter(self) -> None:
        if self._db is not None and not self._same_file():
            self._drop()
        if self._db is None:
            self._open()
        elif self._db.in_transaction:  # a second interrupt broke a rollback off
            self._roll_back()

    def _roll_back(self) -> None:
        db = self._db
        if db is None or not db.in_transaction:
            return
        try:
            db.execute("ROLLBACK")
        except sqlite3.Error:
            self._drop()  # closing rolls back, too; the error that led here is on its way

    def _same_file(self) -> bool:
        """Whether the path still leads to the file that is open.

        A deleted or replaced store would take decisions that nobody else ever sees.
        """
        if self._inode is None:
            return True
        try:
            return _inode(self.path) == self._inode
        except FileNotFoundError:
            return False

    def _drop(self) -> None:
        db, self._db, self._snapshots = self._db, None, None
        if db is not None:
            db.close()

    # -- opening -----------------------------------------------------------------------------

    def _open(self) -> None:
        memory = self.path == files.MEMORY
        with _opening:
            if self._folder_is_gone():
                raise StoreError(
                    f"The store {self.path} is gone: its folder was deleted or moved while it was "
                    "in use. What waits there can be decided once the folder is back."
                )
            if not memory:
                files.make_private(self.path)
            try:
                db = sqlite3.connect(
                    self.path, timeout=0, isolation_level=None, check_same_thread=False
                )
            except sqlite3.Error as error:
                raise translated(error, self.path, self._busy) from error
        try:
            db.row_factory = sqlite3.Row
            self._prepare(db, memory=memory)
        except BaseException:
            db.close()
            raise
        if not memory:
            self._inode = _inode(self.path)
        self._commits += 1  # data_version starts anew with each connection
        self._db = db
        # A store that is dropped without `close` gives its file back; a forked child's copy of the
        # connection is not its own to close.
        weakref.finalize(self, _close_here, db, os.getpid()).atexit = False

    def _prepare(self, db: sqlite3.Connection, *, memory: bool) -> None:
        version = self._recognised(db)
        if not memory:
            self._choose_journal(db)
        for pragma in ("synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY"):
            self._patiently(db, f"PRAGMA {pragma}")
        if sys.platform == "darwin":  # fsync alone leaves data in the drive's cache there
            self._patiently(db, "PRAGMA fullfsync = ON")
        if version < NEWEST:
            self._migrate(db)

    def _recognised(self, db: sqlite3.Connection) -> int:
        """The file's version; refuses what is not ours before anything is changed."""
        application = self._patiently(db, "PRAGMA application_id")[0][0]
        version: int = self._patiently(db, "PRAGMA user_version")[0][0]
        if application == APPLICATION_ID:
            if version > NEWEST:
                raise StoreTooNew(
                    f"The store {self.path} was written by a newer version (its format is "
                    f"{version}, this version knows {NEWEST}). It was left as it is: update "
                    "hitl-widgets, or give another path."
                )
            return version
        if application or version or self._patiently(db, "SELECT 1 FROM sqlite_master LIMIT 1"):
            raise StoreCorrupt(
                f"{self.path} is an SQLite file, but not a store of this package. It was left as "
                "it is: give another path (store=, HITL_STORE)."
            )
        return 0

    def _choose_journal(self, db: sqlite3.Connection) -> None:
        wanted, _ = files.journal_for(self.path)
        found: str = self._patiently(db, "PRAGMA journal_mode")[0][0]
        if found.upper() != wanted:
            found = self._switch_journal(db, wanted, found)
        self.journal = found.upper()

    def _switch_journal(self, db: sqlite3.Connection, wanted: str, found: str) -> str:
        try:
            return db.execute(f"PRAGMA journal_mode = {wanted}").fetchone()[0]
        except sqlite3.Error as error:
            # In use in the other mode, or read-only: both modes are safe together with their
            # users, so it stays.
            known = translated(error, self.path, self._busy)
            if isinstance(known, StoreBusy | StoreReadOnly):
                return found
            raise known from error

    def _migrate(self, db: sqlite3.Connection) -> None:
        self._patiently(db, "BEGIN IMMEDIATE")
        try:
            migrate(lambda sql, args: self._patiently(db, sql, args))
            self._patiently(db, "COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    # -- forks (see forks.py) ----------------------------------------------------------------

    def before_fork(self) -> bool:
        """Close the file, so that no connection and none of its locks are inherited."""
        if self._in_use_here() or not self._lock.acquire(timeout=self._busy):
            return False
        try:
            if self.path != files.MEMORY:
                self._drop()
        except BaseException:
            self._lock.release()
            raise
        return True

    def after_fork(self, *, child: bool, held: bool) -> None:
        """Go on, in the parent or in the child."""
        if held:
            self._lock.release()
        elif child:
            self._inherited = True


def _inode(path: str) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116  # a third of the time, at each use
    return status.st_dev, status.st_ino
