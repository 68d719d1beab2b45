"""The file beneath a store: private from its first byte, on a disk that can hold it."""

from __future__ import annotations

import ctypes
import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

from hitl_widgets.errors import StoreError, StoreReadOnly

from .migrations import APPLICATION_ID

MEMORY = ":memory:"

DRIVE = "/drive/"
"""Where JupyterLite shows a notebook's folder: SQLite's files are soon malformed there."""

LOCAL = frozenset(
    [
        "apfs",
        "bcachefs",
        "btrfs",
        "ext2",
        "ext3",
        "ext4",
        "f2fs",
        "hfs",
        "jfs",
        "ntfs",
        "overlay",
        "tmpfs",
        "xfs",
        "zfs",
    ]
)
"""File systems known to be local: locks and shared memory maps work as SQLite expects."""


def make_private(path: str) -> None:
    """Create the file with mode 0600 before SQLite sees it; narrow the mode of an older one.

    SQLite gives its -journal, -wal and -shm files the mode of the main file.

    Raises
    ------
    StoreError
        The folder is missing or no place for a store, or the path is not a regular file.
    StoreReadOnly
        The file cannot be created there, or not be read.
    """
    if sys.platform == "emscripten" and path.startswith(DRIVE):
        raise StoreError(
            f"The store {path} cannot be kept in JupyterLite's folder of notebooks: SQLite does "
            "not work there. Leave store= out, or name a file such as /tmp/store.sqlite; either "
            "way it is gone with the kernel."
        )
    folder = Path(path).parent
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        _narrow(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise StoreError(
            f"The store {path} cannot be created: there is no folder {folder}. "
            "Create it, or give another path (store=, HITL_STORE)."
        ) from error
    except OSError as error:
        raise StoreReadOnly(
            f"The store {path} cannot be created: {error.strerror}. "
            "Give a path in a folder that you can write (store=, HITL_STORE)."
        ) from error


def _narrow(path: str) -> None:
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(f"The store {path} is not a file. Give the path of a file.")
    if not os.access(path, os.R_OK):
        raise StoreReadOnly(f"The store {path} belongs to somebody else: it cannot be read.")
    if status.st_mode & 0o077 and status.st_uid == _user(status.st_uid) and _may_be_ours(path):
        try:
            Path(path).chmod(0o600)
        except OSError as error:
            if not _read_only(path):
                raise StoreReadOnly(
                    f"The store {path} is open to others (mode {status.st_mode & 0o777:o}) and "
                    f"its mode cannot be changed: {error.strerror}. Move it to another disk."
                ) from error


def _may_be_ours(path: str) -> bool:
    """Whether it is empty or a store: anything else is left exactly as it is."""
    with Path(path).open("rb") as file:
        head = file.read(72)
    # Bytes 68 to 71 of an SQLite file are its application id (sqlite.org/fileformat2.html).
    return not head or head[68:72] == APPLICATION_ID.to_bytes(4, "big")


def _read_only(path: str) -> bool:
    """Whether the file system is mounted read-only: then its mode stays as it is."""
    return hasattr(os, "statvfs") and bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _user(default: int) -> int:
    return os.geteuid() if hasattr(os, "geteuid") else default


def file_system(path: str) -> str:
    """Type of the file system that holds `path` ("ext4", "nfs4"); "" when it is not known."""
    place = os.path.realpath(path)
    if sys.platform == "linux":
        return _mounted(place)
    if sys.platform == "darwin":
        return _mounted_on_mac(place)
    if sys.platform == "win32":
        return "ntfs" if _fixed_drive(place) else ""
    return ""


def is_local(path: str) -> bool:
    """Whether `path` is on a file system known to be local."""
    return file_system(path) in LOCAL


def _mounted(place: str) -> str:
    try:
        lines = Path("/proc/self/mounts").read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    mounts = [line.split() for line in lines]
    return _longest(place, [(_unescape(point), kind) for _, point, kind, *_ in mounts])


def _unescape(text: str) -> str:
    """/proc/mounts writes space, tab, newline and backslash in octal."""
    for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, char)
    return text


def _mounted_on_mac(place: str) -> str:
    # A line: /dev/disk3s1 on /System/Volumes/Data (apfs, local, journaled)
    found = subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=5, check=False)
    mounts: list[tuple[str, str]] = []
    for line in found.stdout.splitlines():
        where, _, options = line.partition(" on ")[2].rpartition(" (")
        kind, *flags = options.rstrip(")").split(", ")
        mounts.append((where, kind if "local" in flags else ""))
    return _longest(place, mounts)


def _longest(place: str, mounts: list[tuple[str, str]]) -> str:
    best = ("", "")
    for point, kind in mounts:
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def _fixed_drive(place: str) -> bool:
    fixed = 3  # DRIVE_FIXED
    windll: Any = getattr(ctypes, "windll")  # noqa: B009  # there on Windows only  # there on Windows only
    return windll.kernel32.GetDriveTypeW(os.path.splitdrive(place)[0] + "\\") == fixed


def journal_for(
    path: str, version: tuple[int, int, int] = sqlite3.sqlite_version_info
) -> tuple[str, str]:
    """Journal mode for a file, and why.

    WAL needs shared memory maps, so a local file system, and an SQLite without the WAL-reset
    bug (3.7.0-3.51.2 but for backports: two connections that write and checkpoint at once can
    lose a commit; sqlite.org/wal.html#walresetbug). TRUNCATE is right everywhere.
    """
    if not _wal_is_sound(version):
        number = ".".join(map(str, version))
        return "TRUNCATE", f"SQLite {number} has the WAL-reset bug (fixed in 3.51.3)"
    kind = file_system(path)
    if kind not in LOCAL:
        return "TRUNCATE", f"the file system ({kind or 'unknown'}) is not known to be local"
    return "WAL", f"SQLite without the WAL-reset bug on {kind}"


def _wal_is_sound(version: tuple[int, int, int]) -> bool:
    return version >= (3, 51, 3) or (version[:2] == (3, 50) and version >= (3, 50, 7))
