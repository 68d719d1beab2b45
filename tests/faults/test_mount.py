"""A mount without shared memory maps, as network homes may be: the store is right there, too.

Where none can be made (no root, no /dev/fuse) there is nothing to test: `tests/store` tests the
choice of the journal by the name of the file system.
"""

from __future__ import annotations

import mmap
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import hitl_widgets as hitl
from hitl_widgets.store import files
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.acts import dead
from tests.store.making import a_vote, claim

from . import fuse
from .line import Witness, clerk, drained
from .processes import race
from .test_hammer import _opened, hammer

if fuse.POSSIBLE:

    @pytest.fixture
    def place(tmp_path: Path) -> Iterator[Path]:
        with fuse.mounted(tmp_path / "behind", tmp_path / "mount") as made:
            yield made

    def test_it_has_no_shared_maps_and_wal_would_break(place: Path) -> None:
        """Facts: `PRAGMA journal_mode=WAL` answers "wal" there, and the first use fails."""
        file = place / "file"
        file.write_bytes(bytes(4096))
        with file.open("r+b") as opened, pytest.raises(OSError, match="No such device"):
            mmap.mmap(opened.fileno(), 4096)
        db = sqlite3.connect(place / "wal.sqlite")
        with pytest.raises(sqlite3.OperationalError):
            db.executescript("PRAGMA journal_mode = WAL; CREATE TABLE a (b)")
        db.close()

    async def test_the_whole_line_works_there(place: Path) -> None:
        path = place / "store.sqlite"
        store = SqliteStore(path)
        agent = clerk(store, place)
        run = await agent.generate("a")
        assert (store.journal, files.is_local(str(path))) == ("TRUNCATE", False)
        assert run.requests
        await drained(path)
        assert Witness(place).count("delete a") == 1
        assert store.check() == []
        assert "HITL_STORE" in str(hitl.doctor(store=store))
        store.close()

    def test_each_approval_is_claimed_once_there(place: Path) -> None:
        """R1."""
        path, count = place / "store.sqlite", 12
        _opened(path, count).close()
        said = race(hammer, [(str(path), "TRUNCATE", f"p{n}", count) for n in range(4)])
        assert [s for s in said if isinstance(s, str)] == []
        assert Counter(Witness(place).lines()) == {f"call_{n}": 1 for n in range(count)}

    def test_a_dead_owner_is_known_by_its_process_not_by_a_lock(place: Path) -> None:
        """R13, R21: locks are not believed there."""
        path = place / "store.sqlite"
        dead("claim", path)
        store = SqliteStore(path)
        store.sweep()
        assert store.request("req_1").state == "outcome_unknown"
        dead("open", place / "other.sqlite")
        other = SqliteStore(place / "other.sqlite")
        other.adopt("run_1", "lease")
        other.decide([a_vote()])
        assert claim(other).state == "executing"
