"""Which store is meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hitl_widgets.errors import StoreReadOnly
from hitl_widgets.store import open_store, opening
from hitl_widgets.store.sqlite import SqliteStore

ROOT = Path(__file__).parents[2]


def _python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **env},
        check=False,
    )


def test_one_object_per_file_whatever_its_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = path.with_name("link.sqlite")
    link.symlink_to(path)
    monkeypatch.chdir(path.parent)
    first = open_store(path)
    assert open_store(str(path)) is first
    assert open_store(link) is first
    assert open_store(path.name) is first
    assert open_store(path.with_name("other.sqlite")) is not first
    assert first.location == str(path)


def test_an_object_is_taken_as_it_is(path: Path) -> None:
    store = SqliteStore(path)
    assert open_store(store) is store
    with pytest.raises(TypeError, match="int"):
        open_store(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="path"):
        open_store("")


def test_nothing_said_means_the_configured_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HITL_STORE", str(path))
    assert open_store(None).location == str(path)


def test_nothing_configured_means_the_users_own_folder(tmp_path: Path) -> None:
    code = (
        "from hitl_widgets.store import open_store; s = open_store(); s.runs(); print(s.location)"
    )
    done = _python(code, HITL_STORE="", XDG_DATA_HOME=str(tmp_path / "data"), HOME=str(tmp_path))
    place = Path(done.stdout.strip())
    assert place.is_file(), done.stderr
    assert tmp_path in place.parents
    assert place.parent.stat().st_mode & 0o777 == 0o700


def test_no_place_at_all_is_said_clearly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("HITL_STORE", raising=False)
    monkeypatch.setattr("platformdirs.user_data_dir", lambda *_, **__: str(tmp_path / "file" / "x"))
    with pytest.raises(StoreReadOnly, match="HITL_STORE"):
        open_store(None)


def test_memory_is_one_per_process_and_says_once_that_it_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(opening, "_stores", {})
    with pytest.warns(UserWarning, match="does not outlive the kernel") as said:
        first = open_store(":memory:")
    assert open_store(":memory:") is first
    assert len(said) == 1
    assert said[0].filename == __file__


def test_importing_the_store_loads_no_engine() -> None:
    code = (
        "import sys, hitl_widgets.store;"
        "print([m for m in ('sqlite3', 'sqlitedict', 'platformdirs') if m in sys.modules])"
    )
    assert _python(code).stdout == "[]\n"
