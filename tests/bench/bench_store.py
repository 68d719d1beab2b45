"""The store against what there is, at equal durability: ``python -m tests.bench.bench_store``.

A cycle is what one approval costs: suspend (the run's state, its call and its request), decide,
claim, finish: four transactions, each on the disk before it returns, and one read in between.
The floor is the same four transactions written by hand on plain `sqlite3`: the same tables and
texts, no checks, no audit chain. LangGraph's `SqliteSaver` keeps a checkpoint and a pair of
writes; `diskcache` sets four values. Nothing of these decides once, or tells who is alive.

Cycles are interleaved, so that a disk that others use, too, is the same for all.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from hitl_widgets.store import files
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import FINGERPRINT, RESULT, a_call, a_run, a_vote, free, gated

STATE = {"messages": [{"role": "user", "parts": [f"message {n} " * 40]} for n in range(20)]}
"""About 9 KiB, a short conversation."""


class Engine(Protocol):
    """Something that keeps a run that waits for a human."""

    def suspend(self, n: int) -> None: ...
    def look(self, n: int) -> object: ...
    def decide(self, n: int) -> None: ...
    def claim(self, n: int) -> None: ...
    def finish(self, n: int) -> None: ...


class Ours:
    """`SqliteStore`; each run, call and request under its own names."""

    def __init__(self, folder: Path, journal: str) -> None:
        chosen = files.journal_for
        files.journal_for = lambda *_: (journal, "for this benchmark")  # type: ignore[assignment]
        try:
            self.store = SqliteStore(folder / "ours.sqlite")
            assert self.store.journal == journal
        finally:
            files.journal_for = chosen
        self.store.owner  # noqa: B018  # registers

    def suspend(self, n: int) -> None:
        name = f"run_{n}"
        call = gated(a_call(f"call_{n}", name), f"req_{n}")
        self.store.open_run(a_run(name), frames={name: STATE}, calls=[call])

    def look(self, n: int) -> object:
        return self.store.request(f"req_{n}")

    def decide(self, n: int) -> None:
        self.store.decide([a_vote(f"req_{n}", fingerprint=FINGERPRINT)])

    def claim(self, n: int) -> None:
        self.store.claim(f"req_{n}", "lease", "call", fingerprint=FINGERPRINT, schema_digest="sd")

    def finish(self, n: int) -> None:
        self.store.finish(f"call_{n}", "call", "done", RESULT)


class Floor:
    """Plain `sqlite3`, same tables, same texts, same pragmas."""

    def __init__(self, folder: Path, journal: str) -> None:
        path = folder / "floor.sqlite"
        Ours(folder, journal).store.close()
        (folder / "ours.sqlite").rename(path)  # the same tables and indexes
        self.db = sqlite3.connect(path, isolation_level=None)
        for pragma in (f"journal_mode={journal}", "synchronous=FULL", "secure_delete=ON"):
            self.db.execute(f"PRAGMA {pragma}")
        self._seq = 0

    def _write(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        for sql, args in statements:
            self.db.execute(sql, args)
        self.db.execute("COMMIT")

    def _event(self, kind: str, n: int) -> tuple[str, tuple[Any, ...]]:
        self._seq += 1
        doc = json.dumps({"tool_name": "delete_record", "kind": "approval", "by": "ada"})
        sql = "INSERT INTO events VALUES(?, ?, ?, ?, ?, ?, ?, ?)"
        names = (f"run_{n}", f"req_{n}", f"call_{n}", doc, "0" * 64)
        return sql, (self._seq, time.time(), kind, *names)

    def suspend(self, n: int) -> None:
        new = gated(a_call(f"call_{n}", f"run_{n}"), f"req_{n}")
        template, now = json.dumps(new.template), time.time()
        self._write(
            (
                """INSERT INTO runs(id, kind, agent_id, state, token, resumable, created_at,
                    updated_at, origin)
                VALUES(?, 'agent', 'agent', 'running', 'lease', 1, ?, ?, '{}')""",
                (f"run_{n}", now, now),
            ),
            ("INSERT INTO snapshots VALUES(?, ?)", (f"run_{n}", json.dumps(STATE))),
            ("INSERT INTO frames VALUES(?, ?)", (f"run_{n}", f"run_{n}")),
            (
                """INSERT INTO calls(id, run_id, frame, turn, place, tool_name, state, args,
                    template, doc)
                VALUES(?, ?, ?, 't', 0, 'delete_record', 'waiting', '{}', ?, '{}')""",
                (f"call_{n}", f"run_{n}", f"run_{n}", template),
            ),
            (
                """INSERT INTO requests(id, run_id, tool_call_id, ordinal, kind, tool_name,
                    fingerprint, state, agent_id, created_at, doc)
                VALUES(?, ?, ?, 0, 'approval', 'delete_record', 'hf1', 'pending', 'agent', ?, ?)""",
                (f"req_{n}", f"run_{n}", f"call_{n}", now, template),
            ),
            self._event("run-started", n),
            self._event("opened", n),
        )

    def look(self, n: int) -> object:
        return self.db.execute("SELECT * FROM requests WHERE id = ?", (f"req_{n}",)).fetchone()

    def _state(self, n: int, table: str, name: str, state: str) -> tuple[str, tuple[Any, ...]]:
        return f"UPDATE {table} SET state = ? WHERE id = ?", (state, f"{name}_{n}")  # noqa: S608

    def decide(self, n: int) -> None:
        self._write(self._state(n, "requests", "req", "approved"), self._event("approved", n))

    def claim(self, n: int) -> None:
        self._write(
            self._state(n, "requests", "req", "executing"),
            self._state(n, "calls", "call", "executing"),
            self._event("claim", n),
        )

    def finish(self, n: int) -> None:
        self._write(
            self._state(n, "requests", "req", "done"),
            self._state(n, "calls", "call", "done"),
            self._event("finish", n),
            self._event("call-finished", n),
        )


class Saver:
    """LangGraph's `SqliteSaver` (WAL, synchronous=FULL, as it comes)."""

    def __init__(self, folder: Path, journal: str) -> None:
        from langgraph.checkpoint.base import empty_checkpoint  # group "bench"
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._empty = empty_checkpoint
        self.state: dict[str, Any] = STATE
        db = sqlite3.connect(folder / "saver.sqlite", check_same_thread=False)
        self.saver = SqliteSaver(db)
        self.saver.setup()
        assert journal == "WAL"
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
        self._at: dict[int, Any] = {}

    def _put(self, n: int, step: int) -> None:
        checkpoint = {**self._empty(), "channel_values": self.state}
        config = {"configurable": {"thread_id": f"t{n // 20}", "checkpoint_ns": f"{n}"}}
        metadata = {"source": "loop", "step": step, "agent": "agent"}
        self._at[n] = self.saver.put(config, checkpoint, metadata, {})

    def suspend(self, n: int) -> None:
        self._put(n, 0)

    def look(self, n: int) -> object:
        return self.saver.get_tuple(self._at[n])

    def decide(self, n: int) -> None:
        self.saver.put_writes(self._at[n], [("__resume__", {"verdict": "approve"})], "decide")

    def claim(self, n: int) -> None:
        self.saver.put_writes(self._at[n], [("claim", {"owner": "me"})], "claim")

    def finish(self, n: int) -> None:
        self._put(n, 1)


class Cache:
    """`diskcache` with synchronous=FULL (its default is NORMAL, which a power loss undoes)."""

    def __init__(self, folder: Path, journal: str) -> None:
        import diskcache  # group "bench"

        self.cache = diskcache.Cache(
            folder / "cache", sqlite_synchronous=2, sqlite_journal_mode=journal.lower()
        )

    def suspend(self, n: int) -> None:
        self.cache.set(f"run_{n}", json.dumps({"state": "pending", "thread": n // 20, **STATE}))

    def look(self, n: int) -> object:
        return self.cache.get(f"run_{n}")

    def decide(self, n: int) -> None:
        self.cache.set(f"decision_{n}", "approved")

    def claim(self, n: int) -> None:
        self.cache.add(f"claim_{n}", "me")

    def finish(self, n: int) -> None:
        self.cache.set(f"result_{n}", json.dumps(RESULT))


ENGINES: dict[str, tuple[type, str]] = {
    "ours, TRUNCATE": (Ours, "TRUNCATE"),
    "sqlite3, TRUNCATE": (Floor, "TRUNCATE"),
    "ours, WAL": (Ours, "WAL"),
    "sqlite3, WAL": (Floor, "WAL"),
    "SqliteSaver, WAL": (Saver, "WAL"),
    "diskcache, WAL": (Cache, "WAL"),
}


SYNCS = {"TRUNCATE": 20, "WAL": 4}
"""fdatasync per cycle, ours and the floor's alike (counted with ``strace -c``)."""


@dataclass(frozen=True, slots=True)
class Cycles:
    """Cycles per second of each engine, and what a page and its fsync take on this disk.

    Attributes
    ----------
    best
        By the fastest tenth of the cycles: what neighbours on the machine disturb least.
    cpu_ms
        Processor time of a cycle, by the median.
    """

    per_second: dict[str, float]
    best: dict[str, float]
    cpu_ms: dict[str, float]
    fsync_ms: float

    def on_disk(self, one: str, other: str, fsync_ms: float = 3.0) -> float:
        """`ratio` on a disk whose fsyncs take that long, computed from `cpu_ms`.

        Virtual disks answer an fsync in microseconds; there the processor is all that is
        measured, and durability, which both sides pay alike, is not.
        """
        waits = fsync_ms * SYNCS[one.rpartition(", ")[2]]
        return (self.cpu_ms[other] + waits) / (self.cpu_ms[one] + waits)

    def ratio(self, one: str, other: str) -> float:
        """How fast one is beside the other, by the fastest tenth."""
        return self.best[one] / self.best[other]


def cycles(folder: Path, *, count: int = 100) -> Cycles:
    """Run `count` cycles of each engine, one after the other in turns."""
    engines: dict[str, Engine] = {}
    for name, (make, journal) in ENGINES.items():
        place = folder / name.replace(", ", "-")
        place.mkdir()
        engines[name] = make(place, journal)
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    cpu: dict[str, list[float]] = {name: [] for name in engines}
    syncs: list[float] = []
    for n in range(count + 5):
        for name, engine in engines.items():
            begun = time.process_time()
            took = _cycle(engine, n)
            if n >= 5:  # the first ones warm up
                seconds[name].append(took)
                cpu[name].append(time.process_time() - begun)
        syncs.append(_fsync(folder))
    best = {name: 1 / statistics.quantiles(found, n=10)[0] for name, found in seconds.items()}
    medians = {name: 1 / statistics.median(found) for name, found in seconds.items()}
    used = {name: statistics.median(found) * 1000 for name, found in cpu.items()}
    return Cycles(medians, best, used, statistics.median(syncs) * 1000)


def _cycle(engine: Engine, n: int) -> float:
    start = time.perf_counter()
    for step in (engine.suspend, engine.look, engine.decide, engine.claim, engine.finish):
        step(n)
    return time.perf_counter() - start


def _fsync(folder: Path) -> float:
    """Seconds for a write of one page and its fsync."""
    import os

    with (folder / "sync").open("ab", buffering=0) as file:
        start = time.perf_counter()
        file.write(bytes(4096))
        os.fsync(file.fileno())
        return time.perf_counter() - start


def listing(folder: Path, count: int, *, others: bool = True) -> dict[str, float]:
    """Milliseconds to list a thread's 20 waiting requests among `count`; medians."""
    found = {"ours": _ours_listing(folder, count)}
    found.update(_newest(folder))
    if others:
        found["SqliteSaver"] = _saver_listing(folder, count)
        found["diskcache"] = _cache_listing(folder, count)
    db = sqlite3.connect(folder / "ours.sqlite")
    sql = "SELECT * FROM requests WHERE thread_id = 't7' AND state = 'pending' ORDER BY seq"
    found["sqlite3"] = _median(lambda: db.execute(sql).fetchall(), 20)
    db.close()
    return found


def _ours_listing(folder: Path, count: int) -> float:
    store = SqliteStore(folder / "ours.sqlite")
    store.open_run(a_run(), frames={"run_1": 1})
    for start in range(0, count, 5000):
        store.save(
            "run_1",
            "lease",
            calls=[
                gated(a_call(f"c{n}", index=n), f"r{n}", thread_id=f"t{n // 20}")
                for n in range(start, min(start + 5000, count))
            ],
        )
    took = _median(lambda: store.requests(states=["pending"], thread_id="t7"), 20)
    store.close()
    return took


def _newest(folder: Path) -> dict[str, float]:
    store = SqliteStore(folder / "ours.sqlite")
    page = _median(lambda: store.requests(states=["pending"], newest_first=True, limit=50), 50)
    store.close()
    return {"ours, newest 50": page}


def _saver_listing(folder: Path, count: int) -> float:
    saver = Saver(folder, "WAL")
    saver.saver.conn.execute("PRAGMA synchronous = OFF")  # filling it is not what is measured
    saver.state = {}
    for n in range(count):
        saver.suspend(n)
    config = {"configurable": {"thread_id": "t7"}}
    return _median(lambda: list(saver.saver.list(config)), 20)


def _cache_listing(folder: Path, count: int) -> float:
    import diskcache

    cache = diskcache.Cache(folder / "cache", sqlite_synchronous=0)
    with cache.transact():
        for n in range(count):
            cache.set(f"run_{n}", json.dumps({"state": "pending", "thread": n // 20}))

    def scan() -> list[Any]:
        found = (json.loads(cache[key]) for key in cache.iterkeys())
        return [f for f in found if f["thread"] == 7 and f["state"] == "pending"]

    return _median(scan, 20)


def _median(act: Callable[[], Any], expected: int) -> float:
    took: list[float] = []
    begin = time.perf_counter()
    while len(took) < 50 and (len(took) < 3 or time.perf_counter() - begin < 2):
        start = time.perf_counter()
        assert len(act()) == expected
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1000


def free_call(folder: Path, count: int = 200) -> tuple[float, float]:
    """Milliseconds to write down the start and the end of a free call; medians."""
    store = SqliteStore(folder / "free.sqlite")
    store.open_run(a_run(), frames={"run_1": STATE})
    store.owner  # noqa: B018
    started, ended = [], []
    for n in range(count):
        new = free(f"c{n}")
        new = replace(new, template={**new.template, "secrets": ()})
        start = time.perf_counter()
        store.save("run_1", "lease", calls=[new], durable=False)
        middle = time.perf_counter()
        store.finish(f"c{n}", "call", "done", RESULT, durable=False)
        started.append(middle - start)
        ended.append(time.perf_counter() - middle)
    store.close()
    return statistics.median(started) * 1000, statistics.median(ended) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--cycles", type=int, default=100)
    parser.add_argument("--counts", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    args = parser.parse_args()
    say = print
    with tempfile.TemporaryDirectory() as folder:
        found = cycles(Path(folder), count=args.cycles)
    say(f"SQLite {sqlite3.sqlite_version}; a page and its fsync: {found.fsync_ms:.2f} ms")
    for name, per_second in found.per_second.items():
        floor = "sqlite3, " + name.rpartition(", ")[2]
        say(
            f"{name:20} {per_second:6.1f} cycles/s, {per_second / found.per_second[floor]:.2f} of "
            f"the floor; fastest tenth {found.best[name]:6.1f}, {found.ratio(name, floor):.2f}; "
            f"{found.cpu_ms[name]:.1f} ms of CPU, so {found.on_disk(name, floor):.2f} at 3 ms"
        )
    with tempfile.TemporaryDirectory() as folder:
        say("a free call: {:.3f} ms to start, {:.3f} ms to end".format(*free_call(Path(folder))))
    for count in args.counts:
        with tempfile.TemporaryDirectory() as folder:
            took = listing(Path(folder), count)
        say(f"{count:7} waiting: " + ", ".join(f"{n} {ms:.2f} ms" for n, ms in took.items()))


if __name__ == "__main__":
    main()
