"""R18: a copy of the trail goes to a logger, a file or a function, of every store at once."""

from __future__ import annotations

import json
import logging
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.request import MASK
from hitl_widgets.store.sqlite import SqliteStore

from .making import a_call, a_vote, running, waiting


@pytest.fixture(autouse=True)
def _none_afterwards() -> Iterator[None]:
    yield
    hitl.configure(audit=None)


def test_a_file_of_json_lines(path: Path) -> None:
    copy = path.with_name("audit.jsonl")
    hitl.configure(audit=str(copy))
    for store in (SqliteStore(path), SqliteStore(":memory:")):
        waiting(store)
        store.decide([a_vote()])
    lines = [json.loads(line) for line in copy.read_text().splitlines()]
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [n["kind"] for n in lines] == ["run-started", "run-saved", "opened", "approved"] * 2
    assert {n["store"] for n in lines} == {str(path), ":memory:"}
    assert (lines[3]["doc.reviewer"], lines[3]["seq"]) == ("ada", 4)
    assert lines[3]["at"].endswith("+00:00")


def test_a_logger(store: SqliteStore, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    hitl.configure(audit=logging.getLogger("audit"))
    waiting(store)
    store.decide([a_vote()])
    records = [r for r in caplog.records if r.name == "audit"]
    assert [r.getMessage() for r in records][-1] == "approved req_1"
    assert records[-1].event["doc.reviewer"] == "ada"  # type: ignore[attr-defined]


def test_only_the_last_one_set_hears_and_none_ends_it(store: SqliteStore) -> None:
    first: list[Any] = []
    second: list[Any] = []
    hitl.configure(audit=lambda _, event: first.append(event.kind))
    hitl.configure(audit=lambda _, event: second.append(event.kind))
    waiting(store)
    hitl.configure(audit=None)
    store.decide([a_vote()])
    assert (first, second) == ([], ["run-started", "run-saved", "opened"])


def test_what_is_no_place_for_it_is_refused(store: SqliteStore) -> None:
    heard: list[Any] = []
    hitl.configure(audit=lambda _, event: heard.append(event.kind))
    with pytest.raises(ValueError, match="audit=42"):
        hitl.configure(audit=42)
    waiting(store)
    assert heard


def test_no_secret_goes_out(path: Path) -> None:
    """R17."""
    copy = path.with_name("audit.jsonl")
    hitl.configure(audit=copy)
    call = a_call(args={"password": "hunter2"})
    running(SqliteStore(path), call=call, secrets=("/password",), args={"password": MASK})
    assert "hunter2" not in copy.read_text()


def test_a_full_disk_for_the_copy_does_not_undo_a_decision(
    store: SqliteStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hitl.configure(audit=tmp_path / "nowhere" / "audit.jsonl")
    waiting(store)
    assert store.decide([a_vote()])[0].state == "approved"
    assert "was not copied" in caplog.text
    assert store.check() == []


def test_setting_it_loads_no_database() -> None:
    code = (
        "import sys, hitl_widgets as hitl\n"
        "hitl.configure(audit='x.jsonl')\n"
        "print('sqlite3' in sys.modules, 'sqlitedict' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["False", "False"]
