"""R17: a secret's value stands in the stored call and the snapshot, and after the end nowhere."""

from __future__ import annotations

from pathlib import Path

from hitl_widgets.request import MASK
from hitl_widgets.store.sqlite import SqliteStore

from .making import OUTCOME, a_call, a_request, a_vote, claim, running

SECRETS = (b"hunter2-argument", b"hunter2-answer", b"hunter2-snapshot")


def _found(folder: Path) -> list[bytes]:
    """Which secrets stand in any file of a folder."""
    text = b"".join(p.read_bytes() for p in folder.rglob("*") if p.is_file())
    return [s for s in SECRETS if s in text]


def _live(store: SqliteStore) -> None:
    call = a_call(args={"id": "x", "password": "hunter2-argument"})
    running(store, call=call, secrets=("/password",), args={"id": "x", "password": MASK})
    store.save("run_1", "lease", frames={"run_1": {"args": "hunter2-snapshot" * 1000}})
    store.park("call_1", "call", a_request("req_2", call, ordinal=1, kind="input", args={}))
    masked = {"verdict": "answer", "data": {"pin": MASK}}
    answer = {"answer": {"pin": "hunter2-answer"}}
    store.decide([a_vote("req_2", "answered", decision=masked, data=answer)])
    claim(store, "req_2", "call2")


def test_they_are_there_to_run_with(path: Path) -> None:
    store = SqliteStore(path)
    _live(store)
    assert store.calls("run_1")[0].args["password"] == "hunter2-argument"
    assert store.answers("call_1")[0]["answer"] == {"pin": "hunter2-answer"}
    assert _found(path.parent) == list(SECRETS)


def test_nobody_who_reads_requests_or_the_trail_sees_them(path: Path) -> None:
    store = SqliteStore(path)
    _live(store)
    seen = repr((store.requests(), store.events())).encode()
    assert [s for s in SECRETS if s in seen] == []


def test_they_are_wiped_from_the_file_when_the_run_ends(path: Path) -> None:
    store = SqliteStore(path)
    _live(store)
    store.finish("call_1", "call2", "done", {"type": "result", "value": 1})
    assert _found(path.parent) == [SECRETS[2]]
    store.end_run("run_1", "lease", "completed", OUTCOME)
    assert _found(path.parent) == []
