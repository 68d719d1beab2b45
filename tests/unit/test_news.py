"""Who waits at a store hears of what changes in it, whatever goes wrong meanwhile (R12, R21)."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hitl_widgets import news
from hitl_widgets.news import News
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import a_call, a_vote, gated, waiting

ROOT = Path(__file__).parents[2]


class Heard:
    """What a listener was told, to be waited for."""

    def __init__(self) -> None:
        self.states: list[tuple[str, str]] = []
        self._more = threading.Condition()

    def __call__(self, request: Any) -> None:
        with self._more:
            self.states.append((request.id, request.state))
            self._more.notify_all()

    def wait_for(self, *states: tuple[str, str]) -> None:
        with self._more:
            assert self._more.wait_for(lambda: set(states) <= set(self.states), 10), self.states


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def store(path: Path) -> SqliteStore:
    store = SqliteStore(path, busy=0.1)
    waiting(store)
    for n in (2, 3):
        store.save("run_1", "lease", calls=[gated(a_call(f"call_{n}", index=n), f"req_{n}")])
    return store


@pytest.fixture
def other(store: SqliteStore, path: Path) -> SqliteStore:
    """Another process's store object on the same file."""
    return SqliteStore(path)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        db.close()


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class TestHearing:
    def test_what_others_did_before_the_first_look_is_heard(
        self, store: SqliteStore, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A decision that comes between the wish to watch and the watcher's start is not lost."""
        look, decided = store.version, threading.Event()

        def version() -> int:
            if not decided.is_set():
                other.decide([a_vote()])
                decided.set()
            return look()

        monkeypatch.setattr(store, "version", version)
        desk, heard = News(store), Heard()
        stop = desk.subscribe(heard)
        heard.wait_for(("req_1", "approved"))
        stop()

    def test_a_store_that_cannot_be_read_for_a_while_ends_no_wait(
        self,
        store: SqliteStore,
        other: SqliteStore,
        path: Path,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        looks, look = list[int](), store.version
        store.version = lambda: looks.append(1) or look()  # type: ignore[method-assign]
        desk, heard = News(store), Heard()
        stop = desk.subscribe(heard)
        with locked(path):
            failed = len(looks) + 3
            until(lambda: len(looks) > failed)
        other.decide([a_vote()])
        heard.wait_for(("req_1", "approved"))
        assert caplog.text.count("looking for changes failed") == 1, "it is said once"
        stop()

    def test_more_news_than_are_read_at_once(
        self, store: SqliteStore, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(news, "PAGE", 2)
        desk, heard = News(store), Heard()
        stop = desk.subscribe(heard)
        other.decide([a_vote(f"req_{n}") for n in (1, 2, 3)])
        heard.wait_for(*((f"req_{n}", "approved") for n in (1, 2, 3)))
        stop()

    def test_one_damaged_row_keeps_nobody_else_waiting(
        self, store: SqliteStore, other: SqliteStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        desk, heard, woken = News(store), Heard(), threading.Event()
        desk.drivers["run_1"] = woken.set
        other.decide([a_vote("req_1"), a_vote("req_2")])
        other._db.write(lambda tx: tx.rows("UPDATE requests SET doc = '[' WHERE id = 'req_1'"))
        stop = desk.subscribe(heard)
        heard.wait_for(("req_2", "approved"))
        assert woken.is_set()
        assert "request req_1 cannot be read" in caplog.text
        stop()

    def test_a_store_that_was_replaced_by_an_older_one_wakes_everybody(
        self, store: SqliteStore, other: SqliteStore, path: Path
    ) -> None:
        """Its news are numbered from where the older one stopped."""
        older = path.with_name("older")
        shutil.copy(path, older)
        desk, driver, follower = News(store), threading.Event(), threading.Event()
        other.decide([a_vote("req_1")])
        desk.look()
        desk.drivers["run_1"] = driver.set
        stop, heard = desk.follow("run_1", follower.set), Heard()
        desk.subscribe(heard, "run_1")
        older.replace(path)
        assert driver.wait(10)
        assert follower.wait(10)
        heard.wait_for(("req_1", "pending"))
        driver.clear()
        other.decide([a_vote("req_1")])
        assert driver.wait(10)
        stop()

    def test_a_waker_that_fails_stops_no_other(
        self, store: SqliteStore, other: SqliteStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The loop of a driver may be closed by now."""
        desk, woken, loop = News(store), threading.Event(), asyncio.new_event_loop()
        loop.close()
        desk.drivers["run_1"] = lambda: loop.call_soon_threadsafe(print)  # type: ignore[assignment]
        stops = [desk.follow("run_1", lambda: 1 / 0), desk.follow("run_1", woken.set)]  # type: ignore[arg-type,return-value]
        for request_id in ("req_1", "req_2"):
            other.decide([a_vote(request_id)])
            assert woken.wait(10)
            woken.clear()
        assert caplog.text.count("a listener failed") >= 2
        for stop in stops:
            stop()


class TestWaiting:
    def test_a_locked_file_keeps_nobody_from_beginning_or_ending_a_wait(self, path: Path) -> None:
        """Those are called on event loops."""
        store = SqliteStore(path, busy=3)
        waiting(store)
        desk, asked = News(store), threading.Event()
        events = store.events
        store.events = lambda *a, **k: asked.set() or events(*a, **k)  # type: ignore[method-assign]
        with locked(path):
            looking = threading.Thread(target=desk.tell)
            looking.start()
            assert asked.wait(10)
            start = time.monotonic()
            for stop in (desk.follow("run_1", print), desk.subscribe(print), desk.watch()):  # type: ignore[arg-type]
                stop()
            assert time.monotonic() - start < 1
        looking.join()


def test_a_change_between_two_readings_of_a_look_is_still_news(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A driver that is not told of a decision sleeps for ever, with its approval in the store."""
    told = News(store)
    woken: list[str] = []
    told.drivers["run_1"] = lambda: woken.append("run_1")
    last_seq, decided = store.last_seq, False

    def decided_meanwhile() -> int:
        nonlocal decided
        if not decided:
            decided = True
            store.decide([a_vote("req_1")])  # another thread, which tells of it a moment later
        return last_seq()

    monkeypatch.setattr(store, "last_seq", decided_meanwhile)
    told.look()
    assert decided
    told.tell()
    assert woken == ["run_1"]


FORKED = """
import asyncio, os, signal, sys, threading
import hitl_widgets as hitl
from hitl_widgets.desk import desk_of
from hitl_widgets.news import News
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import *
store = SqliteStore(sys.argv[1])
waiting(store)
desk = desk_of(store)
desk.drivers['run_1'] = lambda: print('woken')
stop = desk.subscribe(lambda r: print('heard', r.state, os.getpid() == parent, flush=True))
parent = os.getpid()
asyncio.run(desk.look_up('req_1'))
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    heard = threading.Event()
    asyncio.run(desk.decide('req_1', hitl.Approve(), reviewer='child'))
    other = SqliteStore(sys.argv[1])
    again = desk.subscribe(lambda r: heard.set())
    other.move('req_1', 'withdraw', 'withdrawn')
    print('child heard', heard.wait(10), flush=True)
    stop()
    again()
    os._exit(0)
print('child ended', os.waitpid(pid, 0)[1], flush=True)
desk.look()
stop()
print(store.request('req_1').reviewer, store.check(), flush=True)
"""


def test_a_forked_child_decides_and_watches_for_itself(path: Path) -> None:
    """Its parent's threads are not in it: waiting for them would never end."""
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=ROOT,
    )
    said = done.stdout.splitlines()
    assert "child heard True" in said, done.stdout + done.stderr
    assert "child ended 0" in said
    assert said[-1] == "child []"
    assert not [line for line in said if line.endswith("False")]
