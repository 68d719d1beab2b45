"""R13: rows of free calls cost no fsync, survive the death of the process, and end in the file."""

from __future__ import annotations

import os
import random
import stat
from pathlib import Path
from typing import Any

import pytest

from hitl_widgets.errors import LeaseLost, StoreError
from hitl_widgets.request import MASK
from hitl_widgets.store import free as free_calls
from hitl_widgets.store.calls import values
from hitl_widgets.store.sqlite import SqliteStore

from .acts import dead, other
from .making import OUTCOME, RESULT, a_run, a_vote, claim, free, gated
from .test_guard import _stopped_at


def _folder(path: Path) -> Path:
    return path.with_name(path.name + ".free")


def _waiting(path: Path) -> list[Path]:
    """Files of rows that are not in the store yet."""
    return sorted(_folder(path).iterdir()) if _folder(path).exists() else []


def _run(store: SqliteStore, *call_ids: str, **more: Any) -> None:
    """A run with free calls, of which all but the last have finished."""
    store.open_run(a_run(), frames={"run_1": "first"})
    for call_id in call_ids:
        store.save(
            "run_1",
            "lease",
            frames={"run_1": call_id},
            calls=[free(call_id, **more)],
            durable=False,
        )
        if call_id != call_ids[-1]:
            store.finish(call_id, "call", "done", RESULT, durable=False)


def _states(store: SqliteStore) -> dict[str, str]:
    return {call.id: call.state for call in store.calls("run_1")}


class TestBeside:
    def test_nothing_is_written_to_the_store_itself(self, path: Path) -> None:
        store = SqliteStore(path)
        _run(store)
        store.owner  # noqa: B018  # registers
        before = (path.read_bytes(), path.stat().st_mtime_ns)
        for n in range(3):
            store.save("run_1", "lease", calls=[free(f"c{n}")], durable=False)
            store.finish(f"c{n}", "call", "done", RESULT, durable=False)
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        assert set(_states(store).values()) == {"done"}

    def test_the_files_are_private(self, path: Path) -> None:
        """R17."""
        old = os.umask(0)
        try:
            _run(SqliteStore(path), "c1")
        finally:
            os.umask(old)
        modes = [stat.S_IMODE(p.stat().st_mode) for p in (_folder(path), *_waiting(path))]
        assert modes == [0o700, 0o600]

    def test_they_read_like_any_other_row(self, path: Path) -> None:
        beside, inside = SqliteStore(path), SqliteStore(path.with_name("other.sqlite"))
        for store, durable in ((beside, False), (inside, True)):
            store.open_run(a_run(), frames={"run_1": "first"})
            store.save("run_1", "lease", calls=[free("c0", turn="t0")])
            store.finish("c0", "call", "done", RESULT)
            news = [free("c2", index=1), free("c1"), free("c3", frame="inner")]
            frames = {"run_1": ["\ud800"], "inner": float("inf")}
            store.save("run_1", "lease", frames=frames, calls=news, durable=durable)
            store.finish("c2", "call", "failed", {"type": "error", "value": 1}, durable=durable)
        assert _waiting(path)
        shown = [
            [
                (c.id, c.state, c.args, c.result, c.token, c.owner is None)
                for c in store.calls("run_1", frame)
            ]
            for store in (beside, inside)
            for frame in (None, "run_1", "inner")
        ]
        assert shown[:3] == shown[3:]
        assert beside.frame("run_1") == inside.frame("run_1") == ["\ud800"]
        assert beside.frame("inner") == float("inf")

    def test_the_next_durable_change_takes_them_into_the_store(self, path: Path) -> None:
        store = SqliteStore(path)
        _run(store, "c1", "c2")
        seen = store.last_seq()
        before = store.calls("run_1"), store.frame("run_1")
        store.save("run_1", "lease", calls=[gated()])
        assert _waiting(path) == []
        assert (store.calls("run_1")[:2], store.frame("run_1")) == before
        assert [(e.kind, e.call_id) for e in store.events(seen)][:5] == [
            ("run-saved", None),
            ("call-started", "c1"),
            ("call-finished", "c1"),
            ("run-saved", None),
            ("call-started", "c2"),
        ]
        assert store.check() == []

    def test_their_events_tell_when_it_happened(self, path: Path) -> None:
        """R18."""
        store = SqliteStore(path)
        _run(store, "c1", "c2")
        later = free_calls.Logs(str(path)).all()[0].entries
        store.release("run_1", "lease", "suspended")
        finished = next(e for e in store.events() if e.kind == "call-finished")
        assert finished.at.timestamp() == pytest.approx(later[1]["at"], abs=1e-5)

    def test_a_call_that_asks_is_never_kept_beside(self, path: Path) -> None:
        """R2: durable before visible."""
        store = SqliteStore(path)
        _run(store)
        store.save("run_1", "lease", calls=[free("c1"), gated()], durable=False)
        store.decide([a_vote()])
        claim(store)
        store.finish("call_1", "call", "done", RESULT, durable=False)
        assert _waiting(path) == []

    def test_a_call_with_a_secret_is_never_kept_beside(self, path: Path) -> None:
        """R17: its value is erased when the call ends."""
        store = SqliteStore(path)
        template = {"secrets": ["/pin"], "args": {"pin": MASK}}
        secret = {"args": {"pin": "hunter2"}, "template": template}
        _run(store, "c1", **secret)
        assert _waiting(path) == []
        assert b"hunter2" in path.read_bytes()
        store.finish("c1", "call", "done", RESULT, durable=False)
        assert b"hunter2" not in path.read_bytes()

    def test_a_long_run_goes_into_the_store_from_time_to_time(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(free_calls, "LIMIT", 5_000)
        store = SqliteStore(path)
        _run(store)
        sizes: list[int] = []
        for n in range(40):
            store.save("run_1", "lease", calls=[free(f"c{n}")], durable=False)
            sizes.append(sum(p.stat().st_size for p in _waiting(path)))
        assert 5_000 < max(sizes) < 10_000
        assert len(store.calls("run_1")) == 40

    def test_the_end_of_a_run_leaves_no_file(self, path: Path) -> None:
        store = SqliteStore(path)
        _run(store, "c1", "c2")
        store.finish("c2", "call", "done", RESULT, durable=False)
        store.end_run("run_1", "lease", "completed", OUTCOME)
        assert _waiting(path) == []
        assert _states(store) == {"c1": "done", "c2": "done"}


class TestRefusal:
    def test_one_id_is_one_call(self, path: Path) -> None:
        """F11."""
        store = SqliteStore(path)
        _run(store, "c1", "c2")
        for _ in range(2):  # beside, then inside
            with pytest.raises(StoreError):
                store.save("run_1", "lease", calls=[free("c1")], durable=False)
            store.release("run_9", "none", "suspended")

    def test_an_end_is_said_by_the_same_hands_only(self, path: Path) -> None:
        store = SqliteStore(path)
        _run(store, "c1", "c2")
        store.finish("c1", "call", "done", RESULT, durable=False)
        for token, state in (("other", "done"), ("call", "failed")):
            with pytest.raises(LeaseLost):
                store.finish("c1", token, state, RESULT, durable=False)
        assert _states(store) == {"c1": "done", "c2": "executing"}

    def test_whoever_lost_the_lease_keeps_nothing(self, path: Path) -> None:
        """R21."""
        store = SqliteStore(path)
        _run(store, "c1")
        with pytest.raises(LeaseLost):
            store.save("run_1", "another", calls=[free("c2")], durable=False)
        store.release("run_1", "lease", "suspended")
        with pytest.raises(LeaseLost):
            store.save("run_1", "lease", calls=[free("c2")], durable=False)
        assert _waiting(path) == []

    def test_a_driver_declared_dead_that_lives_is_fenced(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """R21: what it does after that reaches nobody."""
        zombie, person = SqliteStore(path), SqliteStore(path)
        _run(zombie, "c1")
        monkeypatch.setattr(person, "liveness", lambda _: "unknown")
        person.declare_dead(zombie.owner, reviewer="ada", via="test")
        assert [r.state for r in person.requests()] == ["outcome_unknown"]
        with pytest.raises(LeaseLost):
            zombie.finish("c1", "call", "done", RESULT, durable=False)
        with pytest.raises(LeaseLost):
            zombie.save("run_1", "lease", calls=[free("c2")], durable=False)
        assert _waiting(path) == []

    def test_rows_written_under_a_lost_lease_do_not_count(self, path: Path) -> None:
        """The last microsecond: a driver that looked, lost the lease, and only then wrote."""
        store = SqliteStore(path)
        _run(store, "c1")
        store.release("run_1", "lease", "suspended")
        store.adopt("run_1", "next")
        entry = {"at": 1.0, "calls": [values(store.owner, free("c9"))], "frames": {}}
        free_calls.logs_of(store.location).begin("run_1", store.owner, "lease", entry)
        assert _waiting(path)
        store.release("run_1", "next", "suspended")
        assert _states(store) == {"c1": "executing"}
        assert _waiting(path) == []


class TestDeath:
    def test_what_finished_is_done_and_what_ran_is_unknown(self, path: Path) -> None:
        """R13: process death loses nothing."""
        dead("free_calls", path)
        store = SqliteStore(path)
        assert _states(store) == {"c0": "done", "c1": "done", "c2": "executing"}
        assert store.frame("run_1") == 2
        store.sweep()
        assert _states(store) == {"c0": "done", "c1": "done", "c2": "outcome_unknown"}
        assert [r.tool_call_id for r in store.requests(states=["outcome_unknown"])] == ["c2"]
        assert _waiting(path) == []
        assert store.check() == []

    def test_whoever_adopts_the_run_finds_them(self, path: Path) -> None:
        dead("free_calls", path)
        store = SqliteStore(path)
        store.adopt("run_1", "next")
        assert _states(store)["c2"] == "outcome_unknown"
        assert store.frame("run_1") == 2

    def test_others_see_what_a_living_process_runs(self, path: Path) -> None:
        with other("free_calls", path) as process:
            process.said()
            store = SqliteStore(path)
            store.sweep()
            store.put_document("a", 1)
            assert _states(store)["c2"] == "executing"
            assert len(_waiting(path)) == 1

    def test_a_new_file_in_the_place_of_one_that_was_read_is_another(self, path: Path) -> None:
        """Its inode may have the same number; found by kill -9 through the whole line."""
        mine, others = SqliteStore(path), free_calls.Logs(str(path))
        _run(mine, "c1")
        assert others.of("run_1") is not None
        mine.put_document("a", 1)
        new = [free(f"c{n}", args={"id": "x" * 100}) for n in range(2, 9)]
        mine.save("run_1", "lease", calls=new, durable=False)
        after = others.of("run_1")
        assert after is not None
        assert (list(after.rows), after.damaged) == ([n.call.id for n in new], False)

    def test_a_crash_after_the_commit_doubles_nothing(self, path: Path) -> None:
        """The rows are in the store, the file is still there."""
        dead("free_calls", path)
        left = {p: p.read_bytes() for p in _waiting(path)}
        store = SqliteStore(path)
        store.sweep()
        before = _states(store), store.last_seq(), store.frame("run_1")
        for file, data in left.items():
            file.write_bytes(data)
        fresh = SqliteStore(path)
        assert (_states(fresh), fresh.last_seq(), fresh.frame("run_1")) == before
        fresh.sweep()
        assert (_states(fresh), fresh.last_seq(), fresh.frame("run_1")) == before
        assert _waiting(path) == []


class TestPowerLoss:
    """No fsync: what is left of a file is a beginning of it, and the store itself is whole."""

    @pytest.fixture
    def left(self, path: Path) -> Path:
        dead("free_calls", path)
        return _waiting(path)[0]

    def _swept(self, path: Path) -> SqliteStore:
        store = SqliteStore(path)
        for file in _waiting(path):
            os.utime(file, (0, 0))
        store.sweep()
        assert _waiting(path) == []
        assert store.check() == []
        return store

    def test_cut_off_anywhere(self, path: Path, left: Path, tmp_path: Path) -> None:
        data, whole = left.read_bytes(), path.read_bytes()
        seen: list[int] = []
        for n, size in enumerate([0, 20, *random.Random(7).sample(range(len(data)), 12)]):  # noqa: S311
            place = tmp_path / f"{n}.sqlite"
            place.write_bytes(whole)
            _folder(place).mkdir()
            (_folder(place) / left.name).write_bytes(data[:size])
            store = self._swept(place)
            lines = data[:size].count(b"\n")
            done = sum(state == "done" for state in _states(store).values())
            assert done == max(0, (lines - 1) // 2)
            seen.append(done)
        assert len(set(seen)) > 1

    @pytest.mark.parametrize("how", ["zeros", "flipped", "first line", "another file's"])
    def test_damage_is_said(self, path: Path, left: Path, how: str) -> None:
        data = bytearray(left.read_bytes())
        lines = data.splitlines(keepends=True)
        match how:
            case "zeros":
                data[len(data) - 30 :] = bytes(30)
            case "flipped":
                data[len(data) - 30] ^= 1
            case "first line":
                data[12] ^= 1
            case _:
                data = bytearray(b"".join([*lines[:3], lines[1], *lines[3:]]))
        left.write_bytes(data)
        store = SqliteStore(path)
        assert "damaged" in store.check()[0]
        told = [e.doc for e in self._swept(path).events() if e.kind == "free-calls-damaged"]
        assert [doc["file"] for doc in told] == [left.name]
        assert all(state != "executing" for state in _states(store).values())


class TestInterrupts:
    """The stop button at any line: all of a step is kept, or nothing, and the next one works."""

    # Between opening a file and its with-block: the garbage collector closes it.
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    @pytest.mark.parametrize("what", ["begin", "save", "finish", "fold"])
    def test_at_every_line(self, path: Path, what: str) -> None:
        stops, stride = 0, 29 if what == "fold" else 7
        while True:
            place = path.with_name(f"{stops}.sqlite")
            store = SqliteStore(place)
            _run(store, *() if what == "begin" else ("c1", "c2"))
            acts = {
                "begin": lambda: _save(store),  # noqa: B023
                "save": lambda: _save(store),  # noqa: B023
                "finish": lambda: _finish(store),  # noqa: B023
                "fold": lambda: store.put_document("a", 1),  # noqa: B023
            }
            over = _stopped_at(stride * stops + 1, acts[what])
            again = SqliteStore(place)
            states = _states(again)
            if what in ("begin", "save") and "c3" not in states:
                _save(store)
            if what == "finish":
                _finish(store)
                assert _states(store)["c2"] == "done"
            store.put_document("a", 2)
            assert _states(store).keys() >= states.keys()
            assert _waiting(place) == []
            assert store.check() == []
            store.close()
            if over:
                break
            stops += 1
        assert stops > 5


def _save(store: SqliteStore) -> None:
    store.save("run_1", "lease", calls=[free("c3")], durable=False)


def _finish(store: SqliteStore) -> None:
    store.finish("c2", "call", "done", RESULT, durable=False)


def test_a_store_in_memory_has_no_files() -> None:
    store = SqliteStore(":memory:")
    _run(store, "c1", "c2")
    assert _states(store) == {"c1": "done", "c2": "executing"}
    assert [e.kind for e in store.events()][-1] == "call-started"
