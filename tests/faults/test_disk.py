"""R2, F12, F13: full, read-only, locked, damaged: a clear error in bounded time, nothing lost, and
it works again when the cause is gone."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlitedict import SqliteDict

import hitl_widgets as hitl
from hitl_widgets import cli
from hitl_widgets.store import files
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import RESULT, a_call, a_run, a_vote, claim, free, gated, waiting

from .line import Witness, clerk, drained
from .places import SmallDisk, small_disk, without_privileges
from .processes import context, started


@pytest.fixture(params=["disk", "limit"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "small", mount=request.param == "disk") as made:
        yield made


@pytest.fixture(params=["TRUNCATE", "WAL"])
def journal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(files, "journal_for", lambda _: (request.param, "for this test"))
    return request.param


class TestFull:
    def test_nothing_is_lost_and_it_goes_on_when_there_is_room(
        self, disk: SmallDisk, journal: str
    ) -> None:
        store = SqliteStore(disk.folder / "store.sqlite")
        waiting(store)
        assert store.journal == journal
        large = "x" * 200_000
        acts: list[Callable[[], object]] = [
            lambda: store.save("run_1", "lease", frames={"run_1": large}),
            lambda: store.save("run_1", "lease", calls=[gated(a_call("call_2"), "req_2")]),
            lambda: store.decide([a_vote()]),
            lambda: store.save("run_1", "lease", calls=[free(args={"id": large})], durable=False),
        ]
        before = (store.last_seq(), store.frame("run_1"))
        disk.fill()
        for act in acts:
            start = time.monotonic()
            with pytest.raises(hitl.StoreFull, match="free some space"):
                act()
            assert time.monotonic() - start < 5
            assert store.request("req_1").state == "pending"  # reading goes on
            assert (store.last_seq(), store.frame("run_1")) == before
        disk.free()
        for act in acts:
            act()
        assert claim(store).state == "executing"
        store.finish("call_free", "call", "done", RESULT, durable=False)
        disk.fill()
        with pytest.raises(hitl.StoreFull):
            store.finish("call_1", "call", "done", RESULT)
        disk.free()
        store.finish("call_1", "call", "done", RESULT)
        assert store.check() == []
        assert [c.state for c in store.calls("run_1")] == ["done", "waiting", "done"]
        store.close()

    def test_half_a_line_of_a_free_call_is_no_line(self, disk: SmallDisk) -> None:
        store = SqliteStore(disk.folder / "store.sqlite")
        waiting(store)
        store.save("run_1", "lease", calls=[free("c1")], durable=False)
        disk.fill()
        big = free("c2", args={"id": "x" * 100_000})
        with pytest.raises(hitl.StoreFull):
            store.save("run_1", "lease", calls=[big], durable=False)
        disk.free()
        store.save("run_1", "lease", calls=[big], durable=False)
        store.finish("c1", "call", "done", RESULT, durable=False)
        assert store.check() == []
        store.decide([a_vote()])
        assert {c.id: c.state for c in store.calls("run_1")} == {
            "call_1": "waiting",
            "c1": "done",
            "c2": "executing",
        }
        store.close()

    async def test_an_agent_shows_and_runs_nothing_that_could_not_be_kept(
        self, disk: SmallDisk
    ) -> None:
        store = SqliteStore(disk.folder / "store.sqlite")
        store.runs()
        agent, witness = clerk(store, disk.folder), Witness(disk.folder)
        disk.fill()
        with pytest.raises(hitl.StoreFull):
            await agent.generate("a")
        disk.free()
        run = await agent.generate("b")
        disk.fill()
        with pytest.raises(hitl.StoreFull):
            await agent.approve_tool_call_generate(run_id=run.run_id)
        assert witness.count("delete b") + witness.count("tag b") == 0
        disk.free()
        await drained(disk.folder / "store.sqlite")
        assert store.run(run.run_id).state == "completed"
        assert (witness.count("delete b"), witness.count("delete a")) == (1, 0)
        store.close()


READ_ONLY = """
import sys
from hitl_widgets.errors import StoreReadOnly
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import *
store = SqliteStore(sys.argv[1])
def tries(act):
    try: act(); print("went through")
    except StoreReadOnly as error: print("writable" in str(error))
for act in (
    lambda: store.decide([a_vote()]),
    lambda: store.put_document("a", 1),
    lambda: store.open_run(a_run("run_2")),
): tries(act)
print(store.request("req_1").state)
"""


class TestReadOnly:
    @pytest.mark.parametrize("what", ["file", "folder", "both"])
    def test_it_says_so_and_can_be_read(self, tmp_path: Path, what: str) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        path = folder / "store.sqlite"
        store = SqliteStore(path)
        waiting(store)
        store.close()
        path.with_name(path.name + "-journal").unlink()  # there is none to be used again
        if what != "folder":
            path.chmod(0o400)
        if what != "file":
            folder.chmod(0o500)
        try:
            done = subprocess.run(
                without_privileges("-c", READ_ONLY, str(path)),
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
                cwd=Path(__file__).parents[2],
            )
        finally:
            folder.chmod(0o700)
            path.chmod(0o600)
        assert done.stdout.split() == ["True", "True", "True", "pending"]
        assert store.decide([a_vote()])[0].state == "approved"
        assert store.check() == []


def hold(path: str, how: str, held: Any, release: Any) -> None:
    """Keep a file locked, as a program that hangs does."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(f"BEGIN {how}")
    db.execute("SELECT * FROM runs").fetchone()
    held.set()
    release.wait(60)


def write_like_a_stranger(path: str, held: Any, release: Any) -> None:
    """A stock sqlitedict that wrote and did not commit: it keeps the write lock."""
    strange = SqliteDict(path, "snapshots", journal_mode="TRUNCATE", encode=json.dumps)
    strange["f0"] = "overwritten"
    len(strange)  # its thread has come to it
    held.set()
    release.wait(60)
    os._exit(0)


class TestLocked:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "store.sqlite"
        store = SqliteStore(path)
        store.open_run(a_run("run_0"), frames={f"f{n}": "x" * 5000 for n in range(300)})
        waiting(store)
        store.close()
        return path

    @pytest.mark.parametrize("who", ["a writer", "a reader", "a stock sqlitedict"])
    def test_a_wait_ends_and_nothing_is_lost(self, path: Path, who: str) -> None:
        here = context()
        held, release = here.Event(), here.Event()
        act, arguments = {
            "a writer": (hold, ("EXCLUSIVE",)),
            "a reader": (hold, ("DEFERRED",)),
            "a stock sqlitedict": (write_like_a_stranger, ()),
        }[who]
        with started(act, str(path), *arguments, held, release) as process:
            assert held.wait(30)
            store = SqliteStore(path, busy=0.3)
            start = time.monotonic()
            with pytest.raises(hitl.StoreBusy, match="Nothing was changed"):
                store.decide([a_vote()])
            assert time.monotonic() - start < 5
            release.set()
            process.join(30)
            assert store.decide([a_vote()])[0].state == "approved"
            assert store.frame("f0") == "x" * 5000
            assert store.check() == []

    async def test_an_agent_waits_and_the_loop_goes_on(self, tmp_path: Path) -> None:
        """Facts: sqlitedict alone stalls the loop for 5 s."""
        path = tmp_path / "store.sqlite"
        agent = clerk(SqliteStore(path), tmp_path)
        run = await agent.generate("a")
        here = context()
        held, release = here.Event(), here.Event()
        with started(hold, str(path), "EXCLUSIVE", held, release):
            assert held.wait(30)
            deciding = asyncio.ensure_future(
                agent.approve_tool_call(
                    run_id=run.run_id, tool_call_id=run.requests[0].tool_call_id
                )
            )
            longest, last = 0.0, time.monotonic()
            for _ in range(50):
                await asyncio.sleep(0.01)
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
            assert not deciding.done()
            release.set()
            await deciding
        assert longest < 0.4
        await drained(path)
        assert Witness(tmp_path).count("delete a") == 1


def _garbage(path: Path) -> type[hitl.HitlError]:
    path.write_bytes(random.Random(1).randbytes(20_000))  # noqa: S311
    return hitl.StoreCorrupt


def _torn(path: Path) -> type[hitl.HitlError]:
    data = bytearray(path.read_bytes())
    data[4096:] = random.Random(2).randbytes(len(data) - 4096)  # noqa: S311
    path.write_bytes(data)
    return hitl.StoreCorrupt


def _strange(path: Path) -> type[hitl.HitlError]:
    path.unlink()
    with SqliteDict(str(path), autocommit=True) as other:
        other["a"] = 1
    return hitl.StoreCorrupt


def _newer(path: Path) -> type[hitl.HitlError]:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 999")
    db.close()
    return hitl.StoreError


class TestDamaged:
    @pytest.mark.parametrize("damage", [_garbage, _torn, _strange, _newer])
    async def test_everybody_says_so_and_the_file_stays_as_it_is(
        self, tmp_path: Path, damage: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = tmp_path / "store.sqlite"
        store = SqliteStore(path)
        agent = clerk(store, tmp_path)
        run = await agent.generate("a")
        store.close()
        whole = path.read_bytes()
        error = damage(path)
        damaged = path.read_bytes()
        store.close()
        with pytest.raises(error):
            await hitl.pending(store)
        with pytest.raises(error):
            await agent.generate("b")
        assert await asyncio.to_thread(cli.main, ["inbox", "list", "--store", str(path)]) == 1
        assert str(path) in capsys.readouterr().err
        assert not hitl.doctor(store=store).ok
        assert path.read_bytes() == damaged
        store.close()
        path.write_bytes(whole)
        os.utime(path)
        done = await drained(path)
        assert [r.run_id for r in done if r.finish_reason == "stop"] == [run.run_id]
        assert Witness(tmp_path).count("delete a") == 1
