"""How rows are found, and what a change of state costs: by indexes, and by few of them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hitl_widgets.store import connection
from hitl_widgets.store.sqlite import SqliteStore

from .making import free, waiting

TABLES = ("requests", "runs", "calls")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def plans(path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[str]]:
    """What SQLite says of how it finds the rows of each statement that something runs."""
    asked: list[tuple[str, Any]] = []
    ask = connection.Database.ask

    def noted(self: connection.Database, sql: str, args: Any = ()) -> Any:
        asked.append((sql, args))
        return ask(self, sql, args)

    monkeypatch.setattr(connection.Database, "ask", noted)

    def plans_of(use: Callable[[], Any]) -> list[str]:
        asked.clear()
        use()
        found: list[str] = []
        with contextlib.closing(sqlite3.connect(path)) as db:
            for sql, args in asked:
                if sql.startswith("SELECT"):
                    found += [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", args)]
        return found

    return plans_of


LISTINGS: list[tuple[dict[str, Any], str]] = [
    ({}, "requests_state (state=?)"),
    ({"agent_id": "a"}, "requests_agent (agent_id=? AND state=?)"),
    ({"thread_id": "t"}, "requests_thread (thread_id=? AND state=?)"),
    ({"resource_id": "r"}, "requests_resource (resource_id=? AND state=?)"),
    ({"agent_id": "a", "thread_id": "t"}, "requests_thread (thread_id=? AND state=?)"),
    ({"run_id": "run_1"}, "requests_run (run_id=?)"),
    ({"run_id": "run_1", "agent_id": "a"}, "requests_run (run_id=?)"),
    ({"call_id": "call_1"}, "requests_call (tool_call_id=?)"),
    ({"run_id": "run_1", "call_id": "call_1"}, "requests_call (tool_call_id=?)"),
    ({"fingerprint": "hf1:x"}, "requests_fingerprint (fingerprint=?)"),
]


class TestListings:
    @pytest.mark.parametrize(
        ("given", "index"), LISTINGS, ids=[" and ".join(given) for given, _ in LISTINGS]
    )
    @pytest.mark.parametrize("newest_first", [False, True])
    def test_requests_come_out_of_an_index_in_order(
        self, path: Path, plans: Any, given: dict[str, Any], index: str, newest_first: bool
    ) -> None:
        store = SqliteStore(path)
        waiting(store)
        found = plans(
            lambda: store.requests(states=["pending"], newest_first=newest_first, **given)
        )
        assert found == [f"SEARCH requests USING INDEX {index}"]

    @pytest.mark.parametrize("name", ["thread_id", "resource_id", "notebook"])
    def test_so_do_runs(self, path: Path, plans: Any, name: str) -> None:
        store = SqliteStore(path)
        waiting(store)
        index = f"runs_{name.removesuffix('_id')} ({name}=? AND state=?)"
        found = plans(lambda: store.runs(states=["suspended"], **{name: "x", "agent_id": "a"}))
        assert found == [f"SEARCH runs USING INDEX {index}"]

    def test_what_every_step_asks_reads_no_whole_table(self, path: Path, plans: Any) -> None:
        store = SqliteStore(path)
        waiting(store)

        def work() -> None:
            store.sweep()
            store.calls("run_1")
            store.answers("call_1")
            store.end_run("run_1", "lease", "completed", {"finish_reason": "stop"})

        # `sweep` reads the names of all owners out of their indexes, which hold the living only.
        owners = [f"SCAN {t} USING COVERING INDEX {t}_owner" for t in TABLES]
        whole = [line for line in plans(work) if line.startswith("SCAN")]
        assert [line for line in whole if line not in owners] == []


class TestReads:
    def test_what_is_read_without_a_transaction_is_one_statement(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two would see the file in two states."""
        store = SqliteStore(path)
        waiting(store)
        store.save("run_1", "lease", calls=[free("more")], durable=False)
        asked, ask = list[str](), connection.Database.ask

        def noted(self: connection.Database, sql: str, args: Any = ()) -> Any:
            asked.append(sql)
            return ask(self, sql, args)

        monkeypatch.setattr(connection.Database, "ask", noted)
        reads: list[Callable[[], Any]] = [
            lambda: store.request("req_1"),
            lambda: store.run("run_1"),
            lambda: store.calls("run_1"),
            lambda: store.begun("run_1"),
            lambda: store.events(run_id="run_1"),
            lambda: store.document("any"),
            lambda: store.grants("any"),
            store.last_seq,
            store.secret_key,
        ]
        for read in reads:
            asked.clear()
            read()
            assert len(asked) == 1
            assert asked[0].startswith("SELECT")


class TestChanges:
    @pytest.mark.parametrize(
        ("table", "indexes"),
        [
            ("requests", {"requests_living", "requests_state", "requests_agent"}),
            ("runs", {"runs_state", "runs_agent"}),
            ("calls", set[str]()),
        ],
    )
    def test_a_change_of_state_writes_to_these_indexes_alone(
        self, path: Path, table: str, indexes: set[str]
    ) -> None:
        """Where a thread, a resource, a notebook and an end of time are not given."""
        SqliteStore(path).runs()
        with contextlib.closing(sqlite3.connect(path)) as db:
            found = db.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ?",
                (table,),
            ).fetchall()
        written = {n for n, sql in found if sql and "state" in sql and "IS NOT NULL" not in sql}
        assert written == indexes

    def test_a_snapshot_kept_again_writes_to_no_index(self, path: Path) -> None:
        store = SqliteStore(path)
        waiting(store)
        numbers = "SELECT rowid, key FROM snapshots"
        with contextlib.closing(sqlite3.connect(path)) as db:
            before = db.execute(numbers).fetchall()
        store.save("run_1", "lease", frames={"run_1": {"messages": ["other"]}})
        with contextlib.closing(sqlite3.connect(path)) as db:
            assert db.execute(numbers).fetchall() == before
        assert store.frame("run_1") == {"messages": ["other"]}
