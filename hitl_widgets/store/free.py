"""Rows of free calls: kept without an fsync, in small files beside the store.

A free call is nobody's consent: its rows must survive the death of this process, not a power
loss (R13). SQLite without fsyncs could tear the whole file, decisions with it, so they wait
elsewhere: in ``<store>.free/``, one append-only file per run, written by the one process that
drives it. The next durable transaction of that process takes them into the store, events and
all, by the same code that would have written them there at once (`fold`); so does whoever adopts
the run or buries its driver. The file is deleted after that commit; one left by a crash in between
is known by its first call, which is in the store already.

Each line carries a checksum that continues the one before, so what a power loss left of a file is
a beginning of it, never a mixture. Calls with secrets never come here (R17).
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import secrets
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import audit, calls, runs
from .base import NewCall
from .connection import Tx
from .faults import translated_os
from .rows import dumps, loads

LIMIT = 1 << 20
"""Bytes after which a run's rows go into the store although nothing else asks for it."""

_STALE = 60
"""Seconds after which a file without a first line is nobody's beginning any more."""

_log = logging.getLogger("hitl_widgets")


def fits(state: object, drop_frames: Sequence[str], new_calls: Sequence[NewCall]) -> bool:
    """Whether a save may come here: free calls without secrets, and nothing but them."""
    free = all(new.request is None and not new.template.get("secrets") for new in new_calls)
    return state is None and not drop_frames and bool(new_calls) and free


@dataclass(slots=True)
class Log:
    """What a run's file says.

    Attributes
    ----------
    owner, token
        Whose lease it was written under; "" when the first line cannot be read.
    rows
        Calls by id, as their rows in the store would be now.
    frames
        Snapshots by key, as JSON text.
    head
        The first line, which no other file has: the number of a deleted file's inode is soon
        that of another one.
    size, crc
        Bytes that were read and the checksum so far.
    damaged
        Whether bytes follow that nobody wrote like this.
    """

    path: str
    head: bytes = b""
    run_id: str = ""
    owner: str = ""
    token: str = ""
    entries: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    rows: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    frames: dict[str, str] = field(default_factory=dict[str, str])
    size: int = 0
    crc: int = 0
    damaged: bool = False

    def take(self, entry: dict[str, Any]) -> None:
        """Go on by one entry."""
        if "run" in entry:
            self.run_id, self.owner, self.token = entry["run"], entry["owner"], entry["token"]
            return
        self.entries.append(entry)
        if "ends" in entry:
            row = self.rows[entry["ends"]]
            row.update(state=entry["state"], result=entry["result"], owner=None)
        else:
            self.rows.update({row["id"]: dict(row) for row in entry["calls"]})
            self.frames.update(entry["frames"])

    def read(self, data: bytes) -> None:
        """Go on by what was appended; a last line that is not whole was never acknowledged."""
        while not self.damaged and (end := data.find(b"\n")) >= 0:
            line, data = data[: end + 1], data[end + 1 :]
            crc = zlib.crc32(line[9:], self.crc)
            if line[:9] != b"%08x " % crc or (self.size and not self.owner):
                self.damaged = True
                return
            self.head = self.head or line
            self.size, self.crc = self.size + len(line), crc
            self.take(loads(line[9:].decode("ascii"), self.path))
        # Zeros: blocks that were given to the file and never written before the power went.
        self.damaged = self.damaged or b"\0" in data


class Logs:
    """The files of one store. To be used by one thread at a time: under the database's lock.

    Parameters
    ----------
    store
        The store's path; None for one in memory, which has no use for them.
    """

    def __init__(self, store: str | None) -> None:
        self.folder = None if store is None else store + ".free"
        self._known: dict[str, Log] = {}
        self._mine: dict[str, str] = {}

    def of(self, run_id: str) -> Log | None:
        """What waits of a run."""
        return None if self.folder is None else self._read(self._path(run_id))

    def all(self) -> list[Log]:
        """What waits of all runs, whoever drives them."""
        if self.folder is None:
            return []
        try:
            names = sorted(os.listdir(self.folder))  # noqa: PTH208  # a third of the time
        except FileNotFoundError:
            return []
        found = [self._read(f"{self.folder}/{name}") for name in names]
        return [log for log in found if log is not None]

    def made_by(self, owner: str | None) -> list[Log]:
        """What waits of the runs that this process drives, being `owner`."""
        found = [self._read(path) for path, by in list(self._mine.items()) if by == owner]
        return [log for log in found if log is not None]

    def holding(self, call_id: str) -> Log | None:
        """The file in which a call waits."""
        for path, log in self._known.items():
            if call_id in log.rows:
                return self._read(path)
        return next((log for log in self.all() if call_id in log.rows), None)

    def _path(self, run_id: str) -> str:
        # A run's id may be any text; a file's name may not.
        return f"{self.folder}/{hashlib.sha256(run_id.encode(errors='replace')).hexdigest()[:32]}"

    def _read(self, path: str) -> Log | None:
        try:
            with open(path, "rb") as file:  # noqa: PTH123  # half the time
                size = os.fstat(file.fileno()).st_size
                log = self._known.get(path)
                if log is None or log.size > size or file.read(len(log.head)) != log.head:
                    log = Log(path)
                if log.size < size:
                    self._known.pop(path, None)  # an interrupt leaves nothing half read
                    file.seek(log.size)
                    log.read(file.read())
        except FileNotFoundError:
            self._known.pop(path, None)
            self._mine.pop(path, None)
            return None
        except OSError as error:
            raise translated_os(error, path) from error
        self._known[path] = log
        return log

    # -- writing -----------------------------------------------------------------------------

    def begin(self, run_id: str, owner: str, token: str, entry: Mapping[str, Any]) -> bool:
        """Make a run's file, with its first entry; False when there is one."""
        path = self._path(run_id)
        Path(self.folder or "").mkdir(mode=0o700, exist_ok=True)
        head = {"run": run_id, "owner": owner, "token": token, "file": secrets.token_hex(8)}
        first, crc = _line(head, 0)
        second, _ = _line(entry, crc)
        self._mine[path] = owner
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except FileExistsError:
            return False
        try:
            _write(descriptor, first + second)
        except BaseException:
            os.unlink(path)  # noqa: PTH108
            raise
        finally:
            os.close(descriptor)
        return True

    def append(self, log: Log, entry: dict[str, Any]) -> bool:
        """Add an entry; False when the file is gone: somebody took the run's lease."""
        data, crc = _line(entry, log.crc)
        self._known.pop(log.path, None)  # an interrupt leaves nothing half known
        try:
            descriptor = os.open(log.path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            return False
        try:
            if os.read(descriptor, len(log.head)) != log.head:
                return False
            if os.fstat(descriptor).st_size != log.size:  # what an earlier write, broken off, left
                os.ftruncate(descriptor, log.size)
            _write(descriptor, data)
            kept = os.fstat(descriptor).st_nlink > 0
        except BaseException:
            with contextlib.suppress(OSError):  # the next write does it again
                os.ftruncate(descriptor, log.size)
            raise
        finally:
            os.close(descriptor)
        log.size, log.crc = log.size + len(data), crc
        log.take(entry)
        self._known[log.path] = log
        return kept

    def drop(self, logs: Sequence[Log]) -> None:
        """Delete files whose rows are in the store, or are nobody's."""
        for log in logs:
            self._known.pop(log.path, None)
            try:
                os.unlink(log.path)  # noqa: PTH108
            except FileNotFoundError:
                pass
            except OSError:
                # What it tells is in the store, and the next commit tries again.
                _log.warning("%s cannot be deleted", log.path, exc_info=True)
                continue
            self._mine.pop(log.path, None)


_by_store: dict[str, Logs] = {}


def logs_of(store: str) -> Logs:
    """The files of a store; one object per store and process."""
    return _by_store.setdefault(store, Logs(store))


def _line(entry: Mapping[str, Any], crc: int) -> tuple[bytes, int]:
    """The line of an entry, and the checksum that the next one continues."""
    text = dumps(entry).encode("ascii") + b"\n"
    crc = zlib.crc32(text, crc)
    return b"%08x " % crc + text, crc


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


# -- what is kept there ------------------------------------------------------------------------


def started(
    logs: Logs,
    tx: Tx,
    owner: str,
    run_id: str,
    token: str,
    *,
    frames: Mapping[str, Any],
    new_calls: Sequence[NewCall],
) -> bool:
    """Keep a save here; False when it must go into the store."""
    runs.held(tx, run_id, token)
    log = logs.of(run_id)
    if log is not None and (log.size > LIMIT or log.damaged or _taken(tx, log, token)):
        return False
    known = set(log.rows) if log is not None else set[str]()
    if any(new.call.id in known or calls.exists(tx, new.call.id) for new in new_calls):
        return False  # where it is refused
    entry = {
        "at": tx.now,
        "calls": [calls.values(owner, new) for new in new_calls],
        "frames": {key: dumps(value) for key, value in frames.items()},
    }
    try:
        if log is not None:
            return logs.append(log, entry)
        return logs.begin(run_id, owner, token, entry)
    except OSError as error:
        raise translated_os(error, logs.folder or "") from error


def finished(
    logs: Logs, tx: Tx, call_id: str, token: str, *, state: str, result: Mapping[str, Any]
) -> bool:
    """Keep a call's end here; False when its row is in the store."""
    log = logs.holding(call_id)
    if log is None or log.damaged or calls.exists(tx, call_id):
        return False
    row = log.rows[call_id]
    if not calls.may_finish(row, token, state):
        return True
    entry = {"at": tx.now, "ends": call_id, "state": state, "result": dumps(dict(result))}
    try:
        return logs.append(log, entry)
    except OSError as error:
        raise translated_os(error, logs.folder or "") from error


def _taken(tx: Tx, log: Log, token: str | None) -> bool:
    """Whether the store has it already, or nobody may write it there any more."""
    first = next(iter(log.rows), None)
    return log.token != token or first is None or calls.exists(tx, first)


def frame(logs: Logs, tx: Tx, key: str) -> Any:
    """A snapshot, which may wait here."""
    for log in logs.all():
        if key in log.frames and not _taken(tx, log, log.token):
            return loads(log.frames[key], f"snapshot {key}")
    return runs.frame(tx, key)


def fold(tx: Tx, log: Log) -> None:
    """Take what waits of a run into the store."""
    found = tx.rows("SELECT token FROM runs WHERE id = ?", (log.run_id,))
    if log.damaged:
        doc = {"file": Path(log.path).name, "kept": len(log.entries)}
        audit.append(tx, "free-calls-damaged", run_id=log.run_id or None, doc=doc)
    if not found or _taken(tx, log, found[0]["token"]):
        return
    for entry in log.entries:
        # At the time it happened, which is before that of the transaction.
        then = replace(tx, now=entry["at"])
        if "ends" in entry:
            row = calls.row_of(then, entry["ends"])
            calls.end(then, row, entry["state"], loads(entry["result"], log.path))
            continue
        runs.saved(then, log.run_id, list(entry["frames"]))
        for row in entry["calls"]:
            calls.insert_row(then, row)
    for key, text in log.frames.items():
        runs.keep_text(tx, log.run_id, key, text)


def nobodys(log: Log) -> bool:
    """Whether it has no first line, and nobody is just writing one."""
    with contextlib.suppress(FileNotFoundError):
        return not log.owner and Path(log.path).stat().st_mtime < time.time() - _STALE
    return False


def faults(logs: Logs) -> Iterator[str]:
    """What `check` says of the files."""
    for log in logs.all():
        if log.damaged:
            yield f"free calls of {log.run_id or log.path}: the file is damaged"
