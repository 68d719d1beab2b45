"""Who is alive: each process that acts on a store can be told dead or alive by the others.

An owner is named by host, boot, process and a random token, and holds an operating-system lock
on a file of its own beside the store (``<store>.owners/``). The lock goes with the process,
however it ends; it is not inherited by a forked child, and a process number used again does not
confuse it (`fcntl.lockf`, not `flock`: a forked child would keep that one).

A lock is believed only on a file system known to be local and on the machine it was taken on.
Elsewhere an owner is called dead only where its process can be looked at; else nobody knows,
and a human says so.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import secrets
import socket
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from hitl_widgets.errors import StoreReadOnly

from . import files, forks
from .base import Liveness

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_CLEANED = 64
"""Files of dead owners looked at when a process starts; the rest another time."""


_TRIES = 10
"""Attempts to get the lock on a new file, each spoiled only by somebody who cleans up."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process, as it is named in the store: ``host/boot/space/pid/started/token``.

    Attributes
    ----------
    boot
        Names one run of one machine's kernel; "" where that cannot be told.
    space
        The process number space (containers have their own); "" where there is none.
    started
        When the process started, in the kernel's ticks; "" where that cannot be told.
    """

    host: str
    boot: str
    space: str
    pid: int
    started: str
    token: str

    def __str__(self) -> str:
        return "/".join((self.host, self.boot, self.space, str(self.pid), self.started, self.token))

    @property
    def file_name(self) -> str:
        """Name of its lock file."""
        return f"{self.pid}-{self.token}"

    @classmethod
    def parse(cls, text: str) -> Owner | None:
        """An owner from its name; None if it is no such name."""
        parts = text.split("/")
        try:
            host, boot, space, pid, started, token = parts
        except ValueError:
            return None
        if not pid.isdigit() or not re.fullmatch("[0-9a-f]+", token):
            return None
        return cls(host, boot, space, int(pid), started, token)

    @classmethod
    def here(cls) -> Owner:
        """Name this process under a new token."""
        pid = os.getpid()
        return cls(
            host=host(),
            boot=_boot(),
            space=_space(),
            pid=pid,
            started=_started(pid) or "",
            token=secrets.token_hex(16),
        )


class Leases:
    """The owners of one store.

    Parameters
    ----------
    folder
        Where the lock files are; None for a store in memory, whose only user is this process.
    """

    def __init__(self, folder: str | None) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._mine: Owner | None = None
        self._descriptor: int | None = None
        forks.watch(self)

    @property
    def owner(self) -> str:
        """The name of this process; its lock is held from the first use on.

        Raises
        ------
        StoreReadOnly
            The folder cannot be written.
        """
        with self._lock:
            if self._mine is None:
                self._mine = self._register()
            return str(self._mine)

    @property
    def known(self) -> str | None:
        """The name of this process, if it ever acted."""
        return None if self._mine is None else str(self._mine)

    def liveness(self, owner: str) -> Liveness:
        """Whether the process named `owner` lives, as far as that can be told from here."""
        if self._mine is not None and owner == str(self._mine):
            return "alive"
        other = Owner.parse(owner)
        if other is not None and other.file_name in _own_files:
            return "alive"
        if self.folder is None:
            return "dead"
        return "unknown" if other is None else self._judge(other)

    def _judge(self, other: Owner) -> Liveness:
        seen = _process(other)
        local = files.is_local(self.folder or "")
        same_machine = _same_machine(other)
        lock = _try(self._path(other)) if local and same_machine else "unknown"
        if "alive" in (seen, lock):
            return "alive"
        if "dead" in (seen, lock):
            return "dead"
        if local and not same_machine and other.host == host() and other.boot:
            return "dead"  # this machine was started again since
        return "unknown"

    # -- lock files --------------------------------------------------------------------------

    def _register(self) -> Owner:
        owner = Owner.here()
        if self.folder is None:
            return owner
        try:
            Path(self.folder).mkdir(mode=0o700, exist_ok=True)
            self._clean()
            self._descriptor = self._hold(owner)
        except OSError as error:
            raise StoreReadOnly(
                f"This process cannot register in {self.folder} ({error.strerror}): make the "
                "folder writable, or give the store another path (HITL_STORE)."
            ) from error
        return owner

    def _path(self, owner: Owner) -> str:
        return str(Path(self.folder or "") / owner.file_name)

    def _hold(self, owner: Owner) -> int:
        path = self._path(owner)
        _own_files.add(owner.file_name)
        for _ in range(_TRIES):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                _take(descriptor)
            except OSError:
                # Somebody cleaning up looks at it right now - or locks do not work here: then
                # they are not believed either.
                if not files.is_local(self.folder or ""):
                    return descriptor
                os.close(descriptor)
                continue
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(Path(path).stat(), os.fstat(descriptor)):
                    return descriptor
            os.close(descriptor)  # it was cleaned away before it was locked
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    def _clean(self) -> None:
        """Remove files that nobody holds.

        Ours are never opened again: a POSIX lock is lost as soon as its process closes any
        descriptor of the file.
        """
        if not files.is_local(self.folder or ""):
            return
        for path in itertools.islice(Path(self.folder or "").iterdir(), _CLEANED):
            if path.name not in _own_files:
                _try(str(path), remove=True)

    # -- forks: a lock is not inherited, so a child is another owner --------------------------

    def before_fork(self) -> bool:
        """Nobody registers while the process is doubled."""
        return self._lock.acquire(timeout=5)

    def after_fork(self, *, child: bool, held: bool) -> None:
        """A child registers anew when it first acts."""
        if child:
            if self._mine is not None:
                _own_files.discard(self._mine.file_name)
            if self._descriptor is not None:
                os.close(self._descriptor)  # the parent's lock stays: locks belong to processes
            self._mine = self._descriptor = None
            self._lock = threading.Lock()
        elif held:
            self._lock.release()


_own_files: set[str] = set()
"""Names of this process's lock files, wherever they are: closing one again drops its lock."""

_by_folder: dict[str, Leases] = {}


def leases_of(path: str) -> Leases:
    """The leases of a store; one object per store and process."""
    folder = os.path.realpath(path) + ".owners"
    # In a browser there are no locks, and a file is its one process's own.
    alone = sys.platform == "emscripten"
    return _by_folder.setdefault(folder, Leases(None if alone else folder))


def _take(descriptor: int) -> None:
    if sys.platform == "win32":
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _try(path: str, *, remove: bool = False) -> Liveness:
    """Whether somebody holds the lock on `path`; a missing file is held by nobody."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return "dead"
    except OSError:
        return "unknown"
    try:
        _take(descriptor)
    except OSError:
        return "alive"
    else:
        if remove:
            with contextlib.suppress(OSError):  # Windows keeps open files; another time
                Path(path).unlink()
        return "dead"
    finally:
        os.close(descriptor)


# -- looking at processes (Linux) ---------------------------------------------------------------


def _same_machine(other: Owner) -> bool:
    boot = _boot()
    if boot and other.boot:
        return boot == other.boot
    return other.host == host()


def host() -> str:
    """Name of this machine, as owners carry it."""
    return re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())


def _process(other: Owner) -> Liveness:
    """What the kernel says of a process in this number space."""
    if not other.started or not other.boot or other.boot != _boot():
        return "unknown"
    if other.space != _space():
        return "unknown"
    return "alive" if _started(other.pid) == other.started else "dead"


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    except OSError:
        return ""


def _space() -> str:
    try:
        return re.sub(r"\D", "", str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    """Start time of a living process; None when there is none (a zombie is none)."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    # The name, in parentheses, may hold anything: count from the last parenthesis.
    state, *rest = text.rpartition(")")[2].split()
    return None if state in ("Z", "X", "x") else rest[18]
