"""Who is alive: processes as others see them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hitl_widgets.errors import StoreReadOnly
from hitl_widgets.store import leases
from hitl_widgets.store.leases import Leases, Owner, leases_of
from hitl_widgets.store.sqlite import SqliteStore

from .acts import dead, other


@pytest.fixture
def mine(path: Path) -> Leases:
    found = leases_of(str(path))
    assert found.owner
    return found


def _owner(text: str) -> Owner:
    owner = Owner.parse(text)
    assert owner is not None
    return owner


class TestOwners:
    def test_a_name_is_read_back(self) -> None:
        here = Owner.here()
        assert Owner.parse(str(here)) == here

    @pytest.mark.parametrize("text", ["", "me", "a/b/c/d/e/f", "a/b/c/1/e/../../etc"])
    def test_what_is_no_name_belongs_to_nobody_known(self, mine: Leases, text: str) -> None:
        assert Owner.parse(text) is None
        assert mine.liveness(text) == "unknown"

    def test_this_process_is_alive_under_every_path_to_the_store(
        self, path: Path, tmp_path: Path
    ) -> None:
        link = tmp_path / "link"
        link.symlink_to(tmp_path, target_is_directory=True)
        first, second = SqliteStore(path), SqliteStore(link / path.name)
        assert first.owner == second.owner
        assert first.liveness(second.owner) == "alive"

    def test_a_memory_store_knows_its_own_process_only(self) -> None:
        store = SqliteStore(":memory:")
        assert store.liveness(store.owner) == "alive"
        assert store.liveness("elsewhere/b/1/2/3/abc") == "dead"


class TestOtherProcesses:
    def test_alive_while_it_runs_dead_when_killed(self, path: Path, mine: Leases) -> None:
        with other("owner", path) as process:
            owner = process.said()
            assert mine.liveness(owner) == "alive"
            process.kill()
            assert mine.liveness(owner) == "dead"

    def test_asking_about_oneself_does_not_drop_the_lock(self, path: Path, mine: Leases) -> None:
        """A POSIX lock goes when its process closes any descriptor of the file."""
        renamed = Leases(mine.folder)
        assert renamed.liveness(mine.owner) == "alive"
        assert dead("owner", path)
        ask = (
            "import sys; from hitl_widgets.store.leases import leases_of;"
            "print(leases_of(sys.argv[1]).liveness(sys.argv[2]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", ask, str(path), mine.owner],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
        )
        assert done.stdout == "alive\n"

    def test_a_number_used_again_is_another_process(self, mine: Leases) -> None:
        impostor = replace(_owner(mine.owner), started="1", token="abc123")
        assert mine.liveness(str(impostor)) == "dead"

    def test_the_files_of_the_dead_are_cleaned_away(self, path: Path) -> None:
        for _ in range(3):
            dead("owner", path)
        owner = leases_of(str(path)).owner
        folder = Path(f"{path}.owners")
        assert [p.name for p in folder.iterdir()] == [_owner(owner).file_name]

    def test_only_the_user_may_look_into_the_folder(self, mine: Leases) -> None:
        assert mine.folder is not None
        assert Path(mine.folder).stat().st_mode & 0o777 == 0o700
        assert {p.stat().st_mode & 0o777 for p in Path(mine.folder).iterdir()} == {0o600}

    def test_a_forked_child_is_another_owner(self, mine: Leases) -> None:
        parent = mine.owner
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, f"{mine.owner} {mine.liveness(parent)}".encode())
            os._exit(0)
        os.waitpid(pid, 0)
        child, said = os.read(read, 1000).decode().split()
        assert child != parent == mine.owner
        assert said == "alive"
        assert mine.liveness(child) == "dead"


class TestWhatIsBelieved:
    """A lock alone convinces on a local file system and on its own machine only."""

    def _gone(self, path: Path) -> Owner:
        return _owner(dead("owner", path))

    def test_a_free_lock_seen_from_another_container(self, path: Path, mine: Leases) -> None:
        gone = replace(self._gone(path), space="1")
        assert mine.liveness(str(gone)) == "dead"

    def test_a_held_lock_seen_from_another_container(self, path: Path, mine: Leases) -> None:
        with other("owner", path) as process:
            elsewhere = replace(_owner(process.said()), space="1")
            assert mine.liveness(str(elsewhere)) == "alive"

    def test_no_lock_is_believed_on_a_foreign_file_system(
        self, path: Path, mine: Leases, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gone = self._gone(path)
        monkeypatch.setattr(leases.files, "is_local", lambda _: False)
        assert mine.liveness(str(replace(gone, space="1"))) == "unknown"
        assert mine.liveness(str(gone)) == "dead"  # its process can be looked at

    def test_another_host_is_unknown(self, path: Path, mine: Leases) -> None:
        gone = replace(self._gone(path), host="elsewhere", boot="0ff1ce")
        assert mine.liveness(str(gone)) == "unknown"

    def test_this_host_was_started_again(self, path: Path, mine: Leases) -> None:
        gone = replace(self._gone(path), boot="0ff1ce")
        assert mine.liveness(str(gone)) == "dead"

    def test_a_lost_lock_file_does_not_kill_a_living_process(
        self, path: Path, mine: Leases
    ) -> None:
        with other("owner", path) as process:
            owner = _owner(process.said())
            (Path(f"{path}.owners") / owner.file_name).unlink()
            assert mine.liveness(str(owner)) == "alive"


def test_a_folder_that_cannot_be_written_is_named(path: Path) -> None:
    Path(f"{path}.owners").write_text("in the way")
    store = SqliteStore(path)
    assert store.runs() == []
    with pytest.raises(StoreReadOnly, match="owners"):
        _ = store.owner
