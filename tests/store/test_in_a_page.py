"""A store in a browser: no threads, no locks, no other process, and a folder that holds no file.

Here only the platform's name is changed, and what a browser lacks taken away; the lesson of the
static site (tests/lite) has the real thing.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hitl_widgets import deciders
from hitl_widgets.desk import desk_of
from hitl_widgets.errors import StoreError
from hitl_widgets.previews import look
from hitl_widgets.previews.parts import parts_of
from hitl_widgets.store import leases
from hitl_widgets.store.files import DRIVE
from hitl_widgets.store.sqlite import SqliteStore

from .making import waiting


@pytest.fixture(autouse=True)
def browser(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.setattr(threading.Thread, "start", none)
    monkeypatch.setattr(leases, "_take", none)


def test_a_store_names_its_owner_without_a_lock(tmp_path: Path) -> None:
    store, again = SqliteStore(tmp_path / "a.db"), SqliteStore(tmp_path / "a.db")
    waiting(store)
    assert again.owner == store.owner
    assert again.liveness(store.owner) == "alive"
    assert not Path(f"{tmp_path / 'a.db'}.owners").exists()


def test_a_desk_is_watched_without_a_thread(tmp_path: Path) -> None:
    desk = desk_of(SqliteStore(tmp_path / "a.db"))
    heard: list[Any] = []
    stop = desk.subscribe(heard.append)
    waiting(desk.store)
    desk.look()
    stop()
    assert [request.state for request in heard] == ["pending"]


def test_the_folder_of_notebooks_is_refused_before_a_file_is_made() -> None:
    with pytest.raises(StoreError, match="gone with the kernel"):
        SqliteStore(f"{DRIVE}a.db").last_seq()


def test_the_doctor_says_that_it_does_not_last(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    waiting(store)
    said = {line[1]: line[0::2] for line in store.describe()}
    assert said["file system"] == ("note", "the page's memory: what waits is lost with the kernel")


def test_what_waits_is_decided_there_and_not_from_a_shell() -> None:
    assert "hitl.inbox()" in deciders.how_to_decide([], "/home/pyodide/store.sqlite")
    assert "shell" not in deciders.how_to_decide([], "/home/pyodide/store.sqlite")


async def test_a_preview_is_made_without_a_thread() -> None:
    parts = await look._in_thread(lambda: parts_of({"would delete": "abc-123"}))
    assert parts != []
