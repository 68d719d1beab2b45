"""The desk: what is checked before a decision is spent, and who hears of changes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.desk import Desk, as_json, check_kind, default_reviewer, desk_of
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import a_call, a_request, a_vote, waiting


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    store = SqliteStore(tmp_path / "a.db")
    waiting(
        store, input_schema={"type": "object", "required": ["id"]}, allowed=("approve", "decline")
    )
    return Desk(store)


async def test_without_an_expert_edits_are_judged_by_the_stored_schema(desk: Desk) -> None:
    """R4: the receipt says which."""
    with pytest.raises(hitl.InvalidAnswer):
        await desk.decide("req_1", hitl.Approve(args={"x": 1}))
    receipt = await desk.decide("req_1", hitl.Approve(args={"id": "new"}))
    assert (receipt.state, receipt.validated_by) == ("approved", "schema")
    assert desk.store.calls("run_1")[0].args == {"id": "new"}


async def test_what_a_request_does_not_take_is_not_asked(desk: Desk) -> None:
    for decision in (hitl.Answer(1), hitl.Respond(1)):
        with pytest.raises(hitl.NotAsked, match="approve, decline"):
            await desk.decide("req_1", decision)
    with pytest.raises(hitl.RequestNotFound):
        await desk.decide("req_2", hitl.Approve())


async def test_a_decision_made_elsewhere_is_heard_here(desk: Desk, tmp_path: Path) -> None:
    """Cross-process: another store object on the same file."""
    heard: asyncio.Queue[Any] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    stop = desk.subscribe(lambda r: loop.call_soon_threadsafe(heard.put_nowait, r))
    other = SqliteStore(tmp_path / "a.db")
    other.decide([a_vote()])
    request = await asyncio.wait_for(heard.get(), 5)
    assert (request.id, request.state, request.reviewer) == ("req_1", "approved", "ada")
    stop()
    stop()


async def test_a_failing_listener_stops_nobody(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    for listener in (lambda _: 1 / 0, lambda r: heard.append(r.state)):
        desk.subscribe(listener)
    await desk.decide("req_1", hitl.Decline())
    assert heard == ["declined"]
    assert "a listener failed" in caplog.text


async def test_followers_hear_of_their_run_only(desk: Desk) -> None:
    woken: list[str] = []
    desk.follow("run_1", lambda: woken.append("run_1"))
    desk.follow("run_2", lambda: woken.append("run_2"))
    stop = desk.follow("run_1", lambda: woken.append("run_1, stopped"))
    stop()
    await desk.decide("req_1", hitl.Decline())
    assert woken == ["run_1"]


async def test_a_write_is_waited_for_though_its_caller_is_cancelled(desk: Desk) -> None:
    """Nobody is left guessing whether it happened."""
    deciding = asyncio.ensure_future(desk.write(desk.store.decide, [a_vote()]))
    await asyncio.sleep(0)
    deciding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await deciding
    assert desk.store.request("req_1").state in ("approved", "pending")
    state = desk.store.request("req_1").state
    await asyncio.sleep(0.05)
    assert desk.store.request("req_1").state == state


def test_one_desk_per_store(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "b.db")
    assert desk_of(store) is desk_of(store)


def test_decisions_as_json_say_only_what_was_given() -> None:
    assert as_json(hitl.Approve()) == {"verdict": "approve"}
    assert as_json(hitl.Decline("no", stop=True)) == {
        "verdict": "decline",
        "reason": "no",
        "stop": True,
    }
    assert as_json(hitl.Respond(None)) == {"verdict": "respond", "result": None}


@pytest.mark.parametrize("nonsense", [None, "no", 0, 1, True, hitl.Approve, {}], ids=repr)
def test_only_the_four_kinds_are_decisions(nonsense: Any) -> None:
    """F7, F8."""
    with pytest.raises(hitl.InvalidAnswer):
        check_kind(a_request(call=a_call()), nonsense)


def test_the_reviewer_is_the_hub_user_else_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_USER", "grace")
    assert default_reviewer() == hitl.Reviewer("grace", "jupyterhub")
    monkeypatch.delenv("JUPYTERHUB_USER")
    assert default_reviewer().identity_source == "os"
