"""The file: private, whole, recognised, and refused when it is not what it should be."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest
import sqlitedict

from hitl_widgets.errors import (
    StoreCorrupt,
    StoreError,
    StoreTooNew,
)
from hitl_widgets.store import files, migrations
from hitl_widgets.store.sqlite import SqliteStore

from .making import OUTCOME, RESULT, a_call, a_run, a_vote, free, running, waiting


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


class TestPrivacy:
    """R17: mode 0600."""

    def test_the_file_is_private_before_sqlite_sees_it(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[int] = []
        connect = sqlite3.connect

        def spy(*args: object, **kwargs: object) -> object:
            seen.append(_mode(path))
            return connect(*args, **kwargs)  # type: ignore[call-overload]

        monkeypatch.setattr(sqlite3, "connect", spy)
        old = os.umask(0)
        try:
            waiting(SqliteStore(path))
        finally:
            os.umask(old)
        assert seen == [0o600]
        assert {_mode(p) for p in path.parent.iterdir() if p.is_file()} == {0o600}

    def test_a_file_that_others_can_read_is_narrowed(self, path: Path) -> None:
        waiting(SqliteStore(path))
        path.chmod(0o644)
        SqliteStore(path).runs()
        assert _mode(path) == 0o600


class TestDurability:
    def test_commits_are_synced_and_what_is_deleted_is_wiped(self, path: Path) -> None:
        store = SqliteStore(path)
        pragma = lambda name: store._db.outside(f"PRAGMA {name}")[0][0]  # noqa: E731
        waiting(store)
        assert (pragma("synchronous"), pragma("secure_delete")) == (2, 1)
        assert pragma("temp_store") == 2
        store.save("run_1", "lease", durable=False)
        store.save("run_1", "lease")
        assert pragma("synchronous") == 2

    def test_what_is_not_durable_never_risks_the_file(self, path: Path) -> None:
        """synchronous=OFF can tear the whole file at a power loss, decisions with it."""
        store = SqliteStore(path)
        waiting(store)
        store.save("run_1", "lease", calls=[free()], durable=False)
        store.finish("call_free", "call", "done", RESULT, durable=False)
        levels: list[int] = []
        store._db.write(lambda _: levels.append(store._db.ask("PRAGMA synchronous")[0][0]))
        assert levels == [2]

    @pytest.mark.parametrize(
        ("version", "sound"),
        [
            ((3, 40, 1), False),
            ((3, 51, 2), False),
            ((3, 51, 3), True),
            ((3, 50, 7), True),
            ((3, 50, 6), False),
            ((3, 52, 0), True),
        ],
    )
    def test_wal_only_where_it_is_sound(
        self, path: Path, version: tuple[int, int, int], *, sound: bool
    ) -> None:
        local = files.is_local(str(path))
        assert files.journal_for(str(path), version)[0] == (
            "WAL" if sound and local else "TRUNCATE"
        )

    def test_no_wal_on_a_foreign_file_system(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "file_system", lambda _: "nfs4")
        mode, why = files.journal_for(str(path), (3, 60, 0))
        assert mode == "TRUNCATE"
        assert "nfs4" in why

    def test_it_works_in_wal_mode_and_leaves_no_secret_in_the_log(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "journal_for", lambda _: ("WAL", "for this test"))
        store = SqliteStore(path)
        call = a_call(args={"password": "hunter2-wal"})
        running(store, call=call, secrets=("/password",), args={"password": "••••"})
        assert store.journal == "WAL"
        wal = path.with_name(path.name + "-wal")
        assert b"hunter2-wal" in wal.read_bytes() + path.read_bytes()
        store.finish("call_1", "call", "done", RESULT)
        store.end_run("run_1", "lease", "completed", OUTCOME)
        assert b"hunter2-wal" not in wal.read_bytes() + path.read_bytes()
        assert store.check() == []

    def test_a_wal_file_in_use_stays_what_it_is(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "journal_for", lambda _: ("WAL", "for this test"))
        first = SqliteStore(path)
        waiting(first)
        monkeypatch.undo()
        second = SqliteStore(path)
        assert second.request("req_1").state == "pending"
        assert second.journal == "WAL"


class TestRefusal:
    """What is not a store of ours is refused and left byte for byte as it was."""

    @pytest.fixture
    def refused(self, path: Path):  # noqa: ANN201
        def check(error: type[StoreError], words: str) -> None:
            before = path.read_bytes()
            for _ in range(2):
                with pytest.raises(error, match=words):
                    SqliteStore(path).runs()
            assert path.read_bytes() == before

        return check

    def test_a_newer_file(self, path: Path, refused) -> None:  # noqa: ANN001
        waiting(SqliteStore(path))
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("PRAGMA user_version = 999")
        db.close()
        refused(StoreTooNew, "999")

    def test_garbage(self, path: Path, refused) -> None:  # noqa: ANN001
        path.write_bytes(os.urandom(8192))
        refused(StoreCorrupt, "not a store")

    def test_somebody_elses_database(self, path: Path, refused) -> None:  # noqa: ANN001
        with sqlitedict.SqliteDict(str(path), autocommit=True) as other:
            other["a"] = 1
        refused(StoreCorrupt, "not a store of this package")

    def test_another_applications_database(self, path: Path, refused) -> None:  # noqa: ANN001
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("PRAGMA application_id = 42")
        db.close()
        refused(StoreCorrupt, "not a store of this package")

    def test_a_damaged_file(self, path: Path) -> None:
        waiting(SqliteStore(path))
        damaged = bytearray(path.read_bytes())
        damaged[4096:] = os.urandom(len(damaged) - 4096)
        path.write_bytes(damaged)
        with pytest.raises(StoreCorrupt):
            SqliteStore(path).requests()

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match="not a file"):
            SqliteStore(tmp_path).runs()

    def test_a_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(StoreError, match=r"no folder .*nowhere"):
            SqliteStore(tmp_path / "nowhere" / "store.sqlite").runs()

    def test_a_pickle_is_not_read(self, path: Path) -> None:
        """CVE-2024-35515: reading a pickled row runs its code."""

        class Bomb:
            def __reduce__(self) -> tuple[object, tuple[str]]:
                return os.system, (f"touch {path}.exploded",)

        store = SqliteStore(path)
        waiting(store)
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE snapshots SET value = ?", (pickle.dumps(Bomb()),))
        db.close()
        with pytest.raises(StoreCorrupt, match="not JSON text"):
            store.frame("run_1")
        assert not Path(f"{path}.exploded").exists()
        assert store.check() == ["snapshots run_1: value is not JSON text"]

    @pytest.mark.parametrize("value", [b'{"a": 1}', "{'a': 1}"])
    def test_what_is_not_json_text_is_not_read(self, path: Path, value: object) -> None:
        store = SqliteStore(path)
        waiting(store)
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE requests SET doc = ?", (value,))
        db.close()
        with pytest.raises(StoreCorrupt, match="request req_1"):
            store.request("req_1")

    def test_text_that_is_not_unicode_is_damage(self, path: Path) -> None:
        store = SqliteStore(path)
        waiting(store)
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE requests SET doc = CAST(X'7BFF7D' AS TEXT)")
        db.close()
        with pytest.raises(StoreCorrupt):
            store.request("req_1")


class TestNames:
    def test_a_name_that_is_no_unicode_text_is_refused(self, store: SqliteStore) -> None:
        with pytest.raises(StoreError, match="surrogate"):
            store.open_run(a_run(thread_id="\ud800"))
        assert store.runs() == []


class TestMigrations:
    def test_a_file_of_each_earlier_version_still_opens(self, tmp_path: Path) -> None:
        for version in range(1, migrations.NEWEST + 1):
            path = tmp_path / f"v{version}.sqlite"
            db = sqlite3.connect(path)
            db.executescript((Path(__file__).parent / "files" / f"v{version}.sql").read_text())
            db.close()
            store = SqliteStore(path)
            assert store.check() == []
            assert store.request("req_1").state == "pending"
            assert store.frame("run_1") == {"messages": ["hello"]}
            store.decide([a_vote()])
            assert store.request("req_1").reviewer == "ada"

    def test_a_migration_that_breaks_off_leaves_the_old_file(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waiting(SqliteStore(path))
        steps = ("CREATE TABLE more (a)", "CREATE TABLE nonsense (")
        monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, steps))
        for module in ("migrations", "connection"):
            monkeypatch.setattr(f"hitl_widgets.store.{module}.NEWEST", migrations.NEWEST + 1)
        with pytest.raises(StoreError):
            SqliteStore(path).runs()
        monkeypatch.undo()
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            assert not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'more'").fetchall()
        db.close()
        assert SqliteStore(path).request("req_1").state == "pending"


class TestChanges:
    def test_a_stock_sqlitedict_reads_the_snapshots(self, path: Path) -> None:
        store = SqliteStore(path)
        waiting(store)
        reader = sqlitedict.SqliteDict(
            str(path), "snapshots", journal_mode="TRUNCATE", decode=json.loads
        )
        assert dict(reader) == {"run_1": {"messages": ["hello"]}}
        reader.close()
        store.decide([a_vote()])

    def test_a_deleted_store_is_not_written_on_in_the_dark(self, path: Path) -> None:
        store = SqliteStore(path)
        waiting(store)
        path.unlink()
        assert store.runs() == []  # a new one, which everybody sees
        waiting(store)
        assert SqliteStore(path).request("req_1").state == "pending"

    def test_a_replaced_store_is_opened_anew(self, path: Path, tmp_path: Path) -> None:
        store = SqliteStore(path)
        waiting(store)
        backup = tmp_path / "backup"
        shutil.copy(path, backup)
        store.decide([a_vote()])
        backup.replace(path)
        assert store.request("req_1").state == "pending"

    def test_a_closed_store_opens_again(self, path: Path) -> None:
        store = SqliteStore(path)
        waiting(store)
        version = store.version()
        store.close()
        assert store.request("req_1").state == "pending"
        assert store.version() != version

    def test_vacuum_gives_space_back(self, path: Path) -> None:
        store = SqliteStore(path)
        store.open_run(a_run(), frames={"run_1": "x" * 500_000})
        store.end_run("run_1", "lease", "completed", OUTCOME)
        large = path.stat().st_size
        store.vacuum()
        assert path.stat().st_size < large - 400_000
        assert store.check() == []
