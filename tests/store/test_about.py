"""What `hitl.doctor` says of the place where a store is."""

from __future__ import annotations

from pathlib import Path

import pytest

import hitl_widgets as hitl
from hitl_widgets.store import about, files, leases
from hitl_widgets.store.sqlite import SqliteStore

from .acts import dead, other
from .making import OUTCOME, waiting


def _said(store: SqliteStore) -> dict[str, tuple[str, str, str]]:
    return {what: (verdict, found, do) for verdict, what, found, do in store.describe()}


def test_a_local_store_is_well(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "file_system", lambda _: "ext4")
    store = SqliteStore(path)
    waiting(store)
    said = _said(store)
    assert said["file system"] == ("ok", "ext4, local", "")
    assert said["journal"][0] == "ok"
    assert said["journal"][1].startswith(f"{store.journal}, every decision synced; SQLite 3.")
    assert said["processes"] == ("ok", "1 living", "")
    assert "hosts" not in said


def test_the_bug_in_sqlite_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    buggy = files.journal_for(str(path), (3, 40, 1))
    monkeypatch.setattr(files, "journal_for", lambda _: buggy)
    assert "WAL-reset bug" in _said(SqliteStore(path))["journal"][1]
    line = about._journal(str(path), "WAL")
    assert (line[0], "close every program" in line[3]) == ("problem", True)


def test_a_home_on_a_network_is_told_where_to_go(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "file_system", lambda _: "nfs4")
    monkeypatch.setattr(Path, "home", lambda: path.parent)
    verdict, found, do = _said(SqliteStore(path))["file system"]
    assert (verdict, found) == (
        "note",
        "nfs4, not known to be local (your home is on a network)",
    )
    assert "HITL_STORE" in do


@pytest.mark.parametrize(("kind", "verdict"), [("nfs4", "problem"), ("ext4", "note")])
def test_a_second_host_is_warned_of(
    path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, verdict: str
) -> None:
    store = SqliteStore(path)
    waiting(store)
    store.end_run("run_1", "lease", "completed", OUTCOME)
    here = leases.host()
    monkeypatch.setattr(files, "file_system", lambda _: kind)
    monkeypatch.setattr(about, "host", lambda: "another-machine")
    said = _said(store)["hosts"]
    assert said[:2] == (verdict, f"also used from {here}")


def test_the_living_and_the_dead_are_counted(path: Path) -> None:
    dead("unsaved", path)
    with other("owner", path) as process:
        process.said()
        assert _said(SqliteStore(path))["processes"][1] == "1 ended"


def test_those_of_whom_nobody_can_tell_are_a_matter_for_a_human(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(path)
    waiting(store)
    monkeypatch.setattr(store, "liveness", lambda _: "unknown")
    verdict, found, do = _said(store)["processes"]
    assert (verdict, found) == ("note", "1 of which nobody can tell")
    assert "declare_dead" in do


def test_memory_is_lost_at_a_restart() -> None:
    ((verdict, _, found, do),) = SqliteStore(":memory:").describe()
    assert (verdict, "lost at a restart" in found, "HITL_STORE" in do) == ("note", True, True)


def test_the_doctor_says_it(path: Path) -> None:
    assert "file system" in str(hitl.doctor(store=SqliteStore(path)))
