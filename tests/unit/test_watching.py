"""Who hears of changes: from any thread, however it ends, and though a look fails."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hitl_widgets.desk import Desk
from hitl_widgets.store.sqlite import SqliteStore
from hitl_widgets.watching import Watch

LIMIT = 10
"""Seconds until something that has to happen has not."""


def returns(function: Callable[[], object]) -> bool:
    """Whether a call comes back, on a thread of its own."""
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    thread.join(LIMIT)
    return not thread.is_alive()


def watchers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hitl-watch"]


@pytest.mark.parametrize("kind", ["subscribe", "heed", "follow", "watch"])
def test_whoever_is_dropped_leaves_though_a_lock_is_held(kind: str) -> None:
    """A collector runs anywhere: in a thread that is being started by who holds the lock, too."""
    desk = Desk(SqliteStore(":memory:"))
    given = {"subscribe": [print], "heed": [print], "follow": ["run_1", print], "watch": []}
    stop = getattr(desk, kind)(*given[kind])
    with desk._lock, desk._watch._starting:  # pyright: ignore[reportPrivateUsage]
        assert returns(stop)
    assert returns(stop)


def test_the_thread_ends_after_the_last_and_comes_again() -> None:
    before = set(watchers())
    watch = Watch(lambda: 0, lambda: None)
    for _ in range(2):
        first, second = watch.add("a", print), watch.add("b", print)
        (thread,) = set(watchers()) - before
        first()
        assert watch.of("a") == []
        assert watch.of("b") == [print]
        second()
        thread.join(LIMIT)
        assert not thread.is_alive()


def test_a_look_that_fails_is_said_once_and_made_again(caplog: pytest.LogCaptureFixture) -> None:
    versions = iter([OSError("no disk"), OSError("no disk"), *[1] * 10_000])
    told = threading.Event()

    def version() -> int:
        value = next(versions)
        if isinstance(value, OSError):
            raise value
        return value

    stop = Watch(version, told.set).add("a", print)
    assert told.wait(LIMIT)
    stop()
    assert caplog.text.count("looking for changes failed") == 1


def test_a_change_that_could_not_be_told_is_told_at_the_next_look() -> None:
    versions = iter([0, *[1] * 10_000])
    told: list[int] = []
    done = threading.Event()

    def changed() -> None:
        told.append(1)
        if len(told) == 1:
            raise OSError("locked")
        done.set()

    stop = Watch(lambda: next(versions), changed).add("a", print)
    assert done.wait(LIMIT)
    stop()


class TestTheStoresFolderIsGone:
    """R12: whoever waits is told what happened, once; what was closed is nobody's concern."""

    def test_after_the_store_was_closed_the_looking_ends_quietly(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        before = set(watchers())
        store, looked, stop = watched(tmp_path / "kept")
        (thread,) = set(watchers()) - before
        assert looked.wait(LIMIT)
        store.close()
        shutil.rmtree(tmp_path / "kept")
        thread.join(LIMIT)
        assert not thread.is_alive()
        assert caplog.text == ""
        stop()

    def test_while_the_store_is_in_use_it_is_said_once_in_words(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store, looked, stop = watched(tmp_path / "kept")
        assert looked.wait(LIMIT)
        looks = threading.Semaphore(0)
        monkeypatch.setattr(store._db, "_open", counted(store._db._open, looks))
        shutil.rmtree(tmp_path / "kept")
        for _ in range(3):
            assert looks.acquire(timeout=LIMIT)
        looked.clear()
        (tmp_path / "kept").mkdir()
        assert looked.wait(LIMIT), "it looks again once the folder is back"
        (record,) = caplog.records
        assert f"The store {store.location} is gone: its folder was deleted" in record.getMessage()
        assert not record.exc_info
        stop()


def counted(function: Callable[[], None], calls: threading.Semaphore) -> Callable[[], None]:
    def call() -> None:
        calls.release()
        function()

    return call


def watched(folder: Path) -> tuple[SqliteStore, threading.Event, Callable[[], None]]:
    """A store that is looked at; what is set by a change; what ends the looking."""
    folder.mkdir()
    store, looked = SqliteStore(folder / "a.db"), threading.Event()
    return store, looked, Watch(store.version, looked.set).add("a", print)
