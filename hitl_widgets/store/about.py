"""What a person should know of the place where a store is: lines for ``hitl.doctor()``."""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from . import files
from .connection import Tx
from .leases import Owner, host
from .rows import loads, reading

Line = tuple[Literal["ok", "note", "problem"], str, str, str]
"""Verdict, what was looked at, what was found, what to do."""

_RECENT = 1000

_LOCAL = "set HITL_STORE to a file on a disk of this machine"


def owners(tx: Tx) -> list[str]:
    """Processes that hold something now, and those that began the newest runs."""
    rows = tx.rows(
        "SELECT DISTINCT owner FROM runs WHERE owner > '' UNION "
        "SELECT DISTINCT owner FROM calls WHERE state = 'executing' AND owner > ''"
    )
    recent = tx.rows(
        "SELECT doc FROM events WHERE kind = 'run-started' ORDER BY seq DESC LIMIT ?", (_RECENT,)
    )
    with reading("an event"):
        began = [loads(row[0], "an event").get("owner") for row in recent]
    found = dict.fromkeys([*(row[0] for row in rows), *began])
    return [name for name in found if name and isinstance(name, str)]


def describe(
    path: str, journal: str, known: Iterable[str], liveness: Callable[[str], str]
) -> list[Line]:
    """Lines about a store's file system, its journal, SQLite, and who uses it."""
    if path == files.MEMORY:
        lost = "in memory: what waits in it is lost at a restart"
        return [("note", "store", lost, "give it a path (store=, HITL_STORE)")]
    names = list(known)
    return [
        _file_system(path),
        _journal(path, journal),
        *_hosts(names, local=files.is_local(path)),
        _processes(names, liveness),
    ]


def _file_system(path: str) -> Line:
    if sys.platform == "emscripten":
        return ("note", "file system", "the page's memory: what waits is lost with the kernel", "")
    kind = files.file_system(path) or "unknown"
    if files.is_local(path):
        return ("ok", "file system", f"{kind}, local", "")
    home = path.startswith(str(Path.home()) + "/")
    where = f"{kind}, not known to be local" + (" (your home is on a network)" if home else "")
    why = f"{_LOCAL}: here nobody can tell whether a process died, and you will be asked"
    return ("note", "file system", where, why)


def _journal(path: str, journal: str) -> Line:
    wanted, why = files.journal_for(path)
    found = f"{journal}, every decision synced; SQLite {sqlite3.sqlite_version}"
    if journal == wanted:
        return ("ok", "journal", f"{found} ({why})", "")
    if journal == "WAL":
        todo = "close every program that uses this store; the next one changes it to TRUNCATE"
        return ("problem", "journal", f"{found} ({why})", todo)
    return ("note", "journal", f"{found}, in use by others; {wanted} would be faster", "")


def _hosts(names: Iterable[str], *, local: bool) -> list[Line]:
    others = sorted({o.host for n in names if (o := Owner.parse(n)) and o.host != host()})
    if not others:
        return []
    found = f"also used from {', '.join(others)}"
    if local:  # a copied file, or a machine that was renamed
        return [("note", "hosts", found, "nothing, unless that machine has its own copy of it")]
    todo = f"one store is for one machine: {_LOCAL} on each"
    return [("problem", "hosts", found, todo)]


def _processes(names: Iterable[str], liveness: Callable[[str], str]) -> Line:
    counted = Counter({name: liveness(name) for name in names}.values())
    said = ", ".join(f"{counted[s]} {w}" for s, w in _WORDS.items() if counted[s])
    found = said or "none holds anything"
    if counted["unknown"]:
        todo = "if those are gone, say so: store.declare_dead(owner, reviewer=…, via=…)"
        return ("note", "processes", found, todo)
    return ("ok", "processes", found, "")


_WORDS = {"alive": "living", "dead": "ended", "unknown": "of which nobody can tell"}
