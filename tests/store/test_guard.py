"""The guarded connection: threads, forks, interrupts, locks held by others."""

from __future__ import annotations

import linecache
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from hitl_widgets.errors import StoreBusy, StoreError
from hitl_widgets.store.connection import Database, Tx
from hitl_widgets.store.sqlite import SqliteStore

from .making import a_run, a_vote, waiting


@contextmanager
def locked(path: Path, how: str = "EXCLUSIVE") -> Iterator[sqlite3.Connection]:
    """Another connection holds the file."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"BEGIN {how}")
    try:
        yield db
    finally:
        db.close()


class TestThreads:
    def test_many_threads_share_one_store(self, store: SqliteStore) -> None:
        errors: list[BaseException] = []

        def work(n: int) -> None:
            try:
                for i in range(10):
                    run = f"run_{n}_{i}"
                    store.open_run(a_run(run), frames={run: n})
                    assert store.frame(run) == n
                    store.release(run, "lease", "suspended")
            except BaseException as error:  # noqa: BLE001  # handed to the main thread
                errors.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(store.runs(states=["suspended"])) == 60
        assert store.check() == []

    def test_of_many_threads_one_decides(self, store: SqliteStore) -> None:
        """R1, F1."""
        waiting(store)
        won: list[str] = []
        start = threading.Barrier(8)

        def decide(name: str) -> None:
            start.wait()
            try:
                won.append(store.decide([a_vote(reviewer=name)])[0].reviewer)
            except StoreError as error:
                won.append(f"broken: {error}")
            except Exception:  # noqa: BLE001, S110  # the losers
                pass

        threads = [threading.Thread(target=decide, args=(f"r{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert won == [store.request("req_1").reviewer]

    def test_a_store_is_not_used_inside_its_own_transaction(self, store: SqliteStore) -> None:
        with pytest.raises(StoreError, match="inside one of its own"):
            store._db.write(lambda _: store.runs())
        assert store.runs() == []


class TestLocks:
    def test_a_locked_file_is_waited_for_within_limits(self, path: Path) -> None:
        store = SqliteStore(path, busy=0.3)
        waiting(store)
        with locked(path):
            for use in (store.runs, lambda: store.decide([a_vote()]), store.version):
                start = time.monotonic()
                with pytest.raises(StoreBusy, match="Nothing was changed"):
                    use()
                assert 0.25 < time.monotonic() - start < 2
        assert store.decide([a_vote()])[0].state == "approved"

    def test_a_reader_delays_a_commit_but_does_not_break_it(self, path: Path) -> None:
        store = SqliteStore(path, busy=20)
        waiting(store)
        reading = locked(path, "DEFERRED")
        db = reading.__enter__()
        db.execute("SELECT * FROM runs").fetchone()
        decided = threading.Thread(target=lambda: store.decide([a_vote()]))
        decided.start()
        while store._db._db is None or not store._db._db.in_transaction:
            time.sleep(0.001)
        assert decided.is_alive()
        reading.__exit__(None, None, None)
        decided.join(10)
        assert store.request("req_1").state == "approved"

    def test_a_commit_that_stays_blocked_is_rolled_back(self, path: Path) -> None:
        store = SqliteStore(path, busy=0.3)
        waiting(store)
        with locked(path, "DEFERRED") as db:
            db.execute("SELECT * FROM runs").fetchone()
            with pytest.raises(StoreBusy):
                store.decide([a_vote()])
            assert store.request("req_1").state == "pending"
        assert store.decide([a_vote()])[0].state == "approved"

    def test_waiting_threads_do_not_wait_one_after_another(self, path: Path) -> None:
        store = SqliteStore(path, busy=0.5)
        waiting(store)
        said: list[str] = []

        def use() -> None:
            try:
                store.runs()
            except StoreBusy:
                said.append("busy")

        with locked(path):
            start = time.monotonic()
            threads = [threading.Thread(target=use) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert said == ["busy"] * 6
            assert time.monotonic() - start < 2


def _interrupted(database: Database, step: Callable[[Tx], object]) -> None:
    with pytest.raises(KeyboardInterrupt):
        database.write(step)


UNDO = "UPDATE requests SET state = 'pending', doc = json_set(doc, '$.votes', json('[]'))"


class TestInterrupts:
    """The notebook's stop button at any point leaves the store whole and free for others."""

    def test_in_a_transaction(self, path: Path) -> None:
        store = SqliteStore(path)
        waiting(store)

        def step(tx: Tx) -> None:
            tx.rows("UPDATE requests SET state = 'approved'")
            signal.raise_signal(signal.SIGINT)

        _interrupted(store._db, step)
        assert SqliteStore(path, busy=0.2).decide([a_vote()])[0].state == "approved"

    def test_at_every_line(self, path: Path) -> None:
        """Stops `decide` at each line it passes, once, and looks whether all or nothing of it
        happened and another process could go on."""
        store, other = SqliteStore(path), SqliteStore(path, busy=0.2)
        waiting(store)
        stops = 0
        while not _stopped_at(stops + 1, lambda: store.decide([a_vote()])):
            stops += 1
            if other.request("req_1").state == "approved":  # it was committed before the stop
                other._db.write(lambda tx: tx.rows(UNDO))
        assert stops > 100
        assert other.check() == []
        assert store.request("req_1").state == "approved"

    def test_while_waiting_for_a_lock(self, path: Path) -> None:
        store = SqliteStore(path, busy=30)
        waiting(store)
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        with locked(path):
            timer.start()
            start = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                store.decide([a_vote()])
            assert time.monotonic() - start < 5
        assert store.decide([a_vote()])[0].state == "approved"


def _stopped_at(line: int, act: Callable[[], object]) -> bool:
    """Interrupt `act` at the n-th line of the store; True when it ended before."""
    seen = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal seen
        name = frame.f_code.co_filename
        if "/hitl_widgets/store/" not in name:
            return None
        # CPython takes no signal between the end of a with-block and the lock's release.
        leaving = linecache.getline(name, frame.f_lineno).strip() == "with self._lock:"
        if event == "line" and not leaving:
            seen += 1
            if seen == line:
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        act()
    except KeyboardInterrupt:
        return False
    finally:
        sys.settrace(None)
    return True


FORKING = """
import os, sys, threading
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import *
store = SqliteStore(sys.argv[1])
waiting(store)
def child(act):
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except BaseException as error:
            print(type(error).__name__, error, flush=True)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
"""


def _forking(path: Path, code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", FORKING + code, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    return done.stdout.splitlines()


class TestForks:
    def test_parent_and_child_both_go_on(self, path: Path) -> None:
        said = _forking(
            path,
            "child(lambda: print(store.decide([a_vote(reviewer='child')])[0].reviewer))\n"
            "print(store.request('req_1').reviewer, store.check())\n",
        )
        assert said == ["child", "child []"]

    def test_no_connection_is_inherited(self, path: Path) -> None:
        said = _forking(
            path,
            "import pathlib\n"
            "def files():\n"
            "    fds = pathlib.Path('/proc/self/fd').iterdir()\n"
            "    print([l for l in map(os.path.realpath, fds) if l.startswith(sys.argv[1])])\n"
            "child(files)\n",
        )
        assert said == ["[]"]

    def test_a_child_of_a_busy_thread_waits_for_whole_transactions(self, path: Path) -> None:
        said = _forking(
            path,
            "go = True\n"
            "def write():\n"
            "    while go: store.put_document('n', 1)\n"
            "thread = threading.Thread(target=write)\n"
            "thread.start()\n"
            "for n in range(10): child(lambda: store.put_document(f'd{n}', n))\n"
            "go = False\n"
            "thread.join()\n"
            "print([store.document(f'd{n}') for n in range(10)], store.check())\n",
        )
        assert said == [f"{list(range(10))} []"]

    def test_a_fork_inside_a_transaction_is_refused_in_the_child(self, path: Path) -> None:
        said = _forking(
            path,
            "def step(tx):\n"
            "    tx.rows(\"UPDATE requests SET state = 'declined'\")\n"
            "    child(lambda: store.runs())\n"
            "store._db.write(step)\n"
            "print(store.request('req_1').state)\n",
        )
        assert said[0].startswith("StoreError This process was forked while the store")
        assert said[1:] == ["declined"]

    def test_what_fails_in_a_fork_leaves_no_lock_of_others_behind(self, path: Path) -> None:
        said = _forking(
            path,
            "from hitl_widgets.store import forks\n"
            "class Broken:\n"
            "    def __init__(self, fails): self.fails = fails\n"
            "    def before_fork(self): return self.fails == 'before' and 1 / 0\n"
            "    def after_fork(self, *, child, held): self.fails == 'after' and 1 / 0\n"
            "broken = [Broken(('before', 'after')[n % 2]) for n in range(20)]\n"
            "for thing in broken: forks.watch(thing)\n"
            "child(lambda: print(store.decide([a_vote(reviewer='child')])[0].reviewer))\n"
            "print(store.request('req_1').reviewer)\n",
        )
        assert said == ["child", "child"]

    def test_a_memory_store_is_the_childs_own_copy(self, path: Path) -> None:
        said = _forking(
            path,
            "store = SqliteStore(':memory:')\n"
            "waiting(store)\n"
            "child(lambda: print(store.decide([a_vote()])[0].state))\n"
            "print(store.request('req_1').state)\n",
        )
        assert said == ["approved", "pending"]

    def test_a_subprocess_leaves_the_connection_open(self, path: Path) -> None:
        store = SqliteStore(path)
        waiting(store)
        before = store._db._db
        subprocess.run(["true"], check=True)
        assert store._db._db is before
