"""What SQLite's errors mean to the user, and what to do about them."""

from __future__ import annotations

import errno
import os
import sqlite3

from hitl_widgets.errors import StoreBusy, StoreCorrupt, StoreError, StoreFull, StoreReadOnly

_FULL = ("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_TRUNCATE", "SQLITE_IOERR_FSYNC")
_READ_ONLY = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")
_CORRUPT = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or ""


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else holds the file right now."""
    return _name(error).startswith(_BUSY)


def translated(error: sqlite3.Error, path: str, busy: float) -> StoreError:
    """What an SQLite error means to the user, and what to do."""
    name, said = _name(error), f"({error})"
    if name.startswith(_BUSY):
        return StoreBusy(
            f"The store {path} was held by another process for more than {busy:g} s {said}. "
            "Nothing was changed: close the program that holds it and try again."
        )
    if name.startswith(_FULL):
        # A quota and a file size limit come as a write error, not as "full".
        return StoreFull(
            f"The store {path} cannot grow: the disk is full, or a quota or size limit is "
            f"reached {said}. Nothing was changed: free some space and try again."
        )
    if name.startswith(_READ_ONLY):
        return StoreReadOnly(
            f"The store {path} cannot be written {said}: the file or its folder is read-only. "
            "Nothing was changed: make both writable, or give another path (HITL_STORE)."
        )
    if name.startswith(_CORRUPT) or "decode to UTF-8" in str(error):
        return StoreCorrupt(
            f"{path} is not a store file, or it is damaged {said}. It was left as it is: restore "
            "a backup, or move it away to begin anew."
        )
    return StoreError(f"The store {path} failed: {name or type(error).__name__} {said}.")


_OS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OS_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


def translated_os(error: OSError, path: str) -> StoreError:
    """What an error of the operating system on a file beside the store means, and what to do."""
    said = error.strerror or os.strerror(error.errno or 0)
    if error.errno in _OS_FULL:
        return StoreFull(
            f"{path} cannot grow: the disk is full, or a quota or size limit is reached ({said}). "
            "Nothing was changed: free some space and try again."
        )
    if error.errno in _OS_READ_ONLY:
        return StoreReadOnly(
            f"{path} cannot be written ({said}). Nothing was changed: make it and its folder "
            "writable, or give the store another path (HITL_STORE)."
        )
    return StoreError(f"{path} failed: {said}.")
