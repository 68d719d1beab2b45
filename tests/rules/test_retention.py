"""The administrator's file says how long what has ended is kept; what waits is never forgotten."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets import desk as desks
from hitl_widgets.desk import Desk
from hitl_widgets.store.base import NewCall
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import OUTCOME, a_call, a_run, a_vote, claim, free, gated

DAY = 86_400


@pytest.fixture
def limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def limit(text: str) -> None:
        (tmp_path / "policy.json").write_text(text)
        monkeypatch.setenv("HITL_POLICY", str(tmp_path / "policy.json"))

    return limit


def a_finished(store: SqliteStore, run_id: str, *calls: NewCall, days: float) -> None:
    """A run with `calls` that ended so long ago; one that is executing goes on."""
    store.open_run(a_run(run_id))
    store.save(run_id, "lease", calls=calls)
    store.end_run(run_id, "lease", "completed", OUTCOME)
    _aged(store, run_id, days)


def _aged(store: SqliteStore, run_id: str, days: float) -> None:
    then = time.time() - days * DAY
    store._db.write(
        lambda tx: tx.rows("UPDATE runs SET updated_at = ? WHERE id = ?", (then, run_id))
    )


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    """Runs that ended 40 days ago and yesterday, and old ones in which something is open."""
    store = SqliteStore(tmp_path / "a.db")
    a_finished(store, "old", gated(a_call("c_old", "old"), "r_old"), days=40)
    a_finished(store, "young", days=1)
    store.open_run(a_run("waiting"))
    store.save("waiting", "lease", calls=[gated(a_call("c_w", "waiting"), "r_waiting")])
    store.open_run(a_run("approved"))
    store.save("approved", "lease", calls=[gated(a_call("c_a", "approved"), "r_approved")])
    store.decide([a_vote("r_approved")])
    a_finished(store, "executing", free("c_e", "executing"), days=40)
    store.open_run(a_run("unknown"))
    store.save("unknown", "lease", calls=[gated(a_call("c_u", "unknown"), "r_unknown")])
    store.decide([a_vote("r_unknown")])
    claim(store, "r_unknown")
    store.lose("c_u", "call", "its process died")
    store.end_run("unknown", "lease", "failed", OUTCOME)
    for run_id in ("waiting", "approved", "unknown"):
        _aged(store, run_id, 40)
    return store


ALL = {"old", "young", "waiting", "approved", "executing", "unknown"}


def kept(store: SqliteStore) -> set[str]:
    return {run.id for run in store.runs()}


async def test_what_ended_longer_ago_than_it_says_is_forgotten_and_nothing_else(
    store: SqliteStore, limit: Any
) -> None:
    """R14, R17: with the first change that this process makes."""
    limit('{"retention_days": 30}')
    trail = [e.seq for e in store.events()]
    await hitl.pending(store)
    assert kept(store) == ALL - {"old"}
    assert store.calls("old") == []
    with pytest.raises(hitl.RequestNotFound):
        store.request("r_old")
    assert {r.id for r in await hitl.pending(store)} == {"r_waiting", "r_unknown"}
    assert store.request("r_approved").state == "approved"
    events = store.events()
    assert [e.seq for e in events[: len(trail)]] == trail, "the audit trail stays"
    assert (events[-1].kind, events[-1].doc["runs"]) == ("pruned", 1)
    assert store.check() == []


async def test_what_is_settled_at_last_may_go(store: SqliteStore, limit: Any) -> None:
    limit('{"retention_days": 30}')
    await hitl.pending(store)
    store.settle("r_unknown", "give_up", reviewer="ada", identity_source="os", via="test")
    _aged(store, "unknown", 40)
    await hitl.pending(SqliteStore(store.location))
    assert "unknown" not in kept(store)


@pytest.mark.parametrize("text", ["{}", '{"retention_days": 1e400}'])
async def test_without_a_limit_everything_is_kept(
    store: SqliteStore, limit: Any, text: str
) -> None:
    limit(text)
    await hitl.pending(store)
    assert kept(store) == ALL


async def test_many_are_forgotten_a_few_at_a_time(
    tmp_path: Path, limit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody waits long for it; those that ended first go first."""
    monkeypatch.setattr(desks, "FEW", 2)
    limit('{"retention_days": 30}')
    store = SqliteStore(tmp_path / "b.db")
    for n in range(5):
        a_finished(store, f"run_{n}", days=40 + n)
    desk = Desk(store)
    left = []
    for _ in range(4):
        await desk.write(store.sweep)
        left.append(sorted(kept(store)))
    assert left == [["run_0", "run_1", "run_2"], ["run_0"], [], []]


async def test_it_is_looked_at_again_after_an_hour(
    store: SqliteStore, limit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit("{}")
    desk = Desk(store)
    await desk.write(store.sweep)
    limit('{"retention_days": 30}')
    await desk.write(store.sweep)
    assert kept(store) == ALL
    later = time.monotonic() + 3_601
    monkeypatch.setattr(desks.time, "monotonic", lambda: later)
    await desk.write(store.sweep)
    assert kept(store) == ALL - {"old"}


async def test_that_it_cannot_be_done_now_does_not_undo_a_decision(
    store: SqliteStore, limit: Any, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(store)
    limit("{")
    with caplog.at_level(logging.ERROR):
        receipt = await desk.decide("r_waiting", hitl.Decline("no"), drive=False)
    assert receipt.state == "declined"
    assert "cannot be forgotten now" in caplog.text
    assert kept(store) == ALL
