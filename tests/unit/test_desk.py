"""The desk: what is checked before a decision is spent, and who hears and drives on."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.decisions import as_json, check_kind, default_reviewer
from hitl_widgets.desk import Desk, desk_of
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import (
    FINGERPRINT,
    a_call,
    a_request,
    a_vote,
    claim,
    running,
    waiting,
)


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


class Known:
    """An expert (see `desk.Expert`) that writes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.resumed: list[str] = []

    def check_args(self, request: hitl.Request, args: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(request.id)
        return args

    def check_answer(self, request: hitl.Request, data: Any) -> tuple[Any]:
        self.asked.append(request.id)
        return (data,)

    async def preview_edit(self, request: hitl.Request, args: dict[str, Any]) -> None:
        del request, args

    async def permit_edit(self, request: hitl.Request, args: dict[str, Any]) -> None:
        del args
        self.asked.append(request.id)

    def resume(self, run_id: str) -> None:
        self.resumed.append(run_id)


class TestBeforeItIsSpent:
    """What stands in the way is said first: nothing is validated, no policy asked, for it."""

    @pytest.fixture
    def known(self, desk: Desk) -> Known:
        desk.experts["agent"] = Known()
        return desk.experts["agent"]  # type: ignore[return-value]

    edit = hitl.Approve(args={"id": "new"})

    async def test_a_request_that_was_decided(self, desk: Desk, known: Known) -> None:
        """R1: who was first, not what is wrong with the second."""
        await desk.decide("req_1", hitl.Decline("no"), reviewer="ada")
        with pytest.raises(hitl.AlreadyDecided, match=r"declined, by ada") as caught:
            await desk.decide("req_1", self.edit, reviewer="bob")
        assert (caught.value.by, caught.value.state) == ("ada", "declined")
        assert caught.value.at is not None
        with pytest.raises(hitl.AlreadyDecided):
            await desk.check_edit("req_1", {"id": "new"})
        assert known.asked == []

    @pytest.mark.parametrize("shown", ["hf1:other", "", FINGERPRINT + " ", FINGERPRINT.upper()])
    async def test_another_fingerprint_than_the_stored_one(
        self, desk: Desk, known: Known, shown: str
    ) -> None:
        """R3, F2: to the letter."""
        with pytest.raises(hitl.StaleFingerprint, match="Look at the request again"):
            await desk.decide("req_1", self.edit, fingerprint=shown)
        assert known.asked == []
        assert desk.store.request("req_1").state == "pending"
        receipt = await desk.decide("req_1", self.edit, fingerprint=FINGERPRINT)
        assert receipt.state == "approved"

    async def test_a_request_whose_time_was_over(self, desk: Desk, known: Known) -> None:
        """R5."""
        desk.store.move("req_1", "expire", "expired")
        with pytest.raises(hitl.Expired, match="Nothing ran"):
            await desk.decide("req_1", self.edit)
        assert known.asked == []

    @pytest.mark.parametrize(
        ("decision", "part"),
        [
            (hitl.Approve(args="id=1"), "args"),  # type: ignore[arg-type]
            (hitl.Approve(args=[("id", 1)]), "args"),  # type: ignore[arg-type]
            (hitl.Approve(note=1), "note"),  # type: ignore[arg-type]
            (hitl.Decline(reason=["no"]), "reason"),  # type: ignore[arg-type]
            (hitl.Decline(stop="no"), "stop"),  # type: ignore[arg-type]
            (hitl.Decline(stop=None), "stop"),  # type: ignore[arg-type]
        ],
        ids=repr,
    )
    async def test_a_part_of_a_decision_that_is_not_what_it_should_be(
        self, desk: Desk, decision: Any, part: str
    ) -> None:
        """F8: a truthy text is no "stop"."""
        with pytest.raises(hitl.InvalidAnswer, match=part):
            await desk.decide("req_1", decision)
        assert desk.store.request("req_1").state == "pending"

    async def test_a_note_where_none_can_be_delivered(self, tmp_path: Path) -> None:
        store = SqliteStore(tmp_path / "b.db")
        waiting(store, scope={"schema_digest": "sd", "notes": False})
        with pytest.raises(hitl.NotAsked, match="no note can be delivered"):
            await Desk(store).decide("req_1", hitl.Approve(note="careful"))
        assert (await Desk(store).decide("req_1", hitl.Approve())).state == "approved"


class TestDrivingOn:
    """A decision that was recorded is acted on, or waits for whoever can (R16, R21)."""

    @pytest.fixture
    def known(self, desk: Desk) -> Known:
        desk.store.release("run_1", "lease", "suspended")
        desk.experts["agent"] = Known()
        return desk.experts["agent"]  # type: ignore[return-value]

    async def test_whoever_knows_the_agent_drives_it_on(self, desk: Desk, known: Known) -> None:
        await desk.decide("req_1", hitl.Approve())
        assert known.resumed == ["run_1"]

    async def test_not_where_the_caller_will(self, desk: Desk, known: Known) -> None:
        await desk.decide("req_1", hitl.Approve(), drive=False)
        assert known.resumed == []

    @pytest.mark.parametrize("driver", ["here", "alive", "nobody knows it"])
    async def test_not_where_a_living_driver_acts_or_nobody_knows_the_agent(
        self, desk: Desk, known: Known, driver: str
    ) -> None:
        if driver == "here":
            desk.drivers["run_1"] = lambda: None
        if driver == "alive":
            desk.store.adopt("run_1", "another")
        if driver == "nobody knows it":
            del desk.experts["agent"]
        receipt = await desk.decide("req_1", hitl.Approve())
        assert receipt.state == "approved"
        assert known.resumed == []

    async def test_a_caller_who_is_interrupted_leaves_no_decision_undriven(
        self, desk: Desk, known: Known, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """R16: stopped while the decision is being written."""
        loop, writing, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
        decide = desk.store.decide

        def slowly(*args: Any, **kwargs: Any) -> Any:
            loop.call_soon_threadsafe(writing.set)
            assert go_on.wait(10)
            return decide(*args, **kwargs)

        monkeypatch.setattr(desk.store, "decide", slowly)
        deciding = asyncio.ensure_future(desk.decide("req_1", hitl.Approve()))
        await writing.wait()
        deciding.cancel()
        loop.call_later(0.01, go_on.set)
        with pytest.raises(asyncio.CancelledError):
            await deciding
        assert desk.store.request("req_1").state == "approved"
        assert known.resumed == ["run_1"]

    @pytest.mark.parametrize("broken", ["events", "run"])
    async def test_what_fails_after_it_does_not_unsay_it(
        self,
        desk: Desk,
        known: Known,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        broken: str,
    ) -> None:
        """ "Nothing was changed" must be true: telling and driving on come after the commit."""

        def busy(*_: Any, **__: Any) -> Any:
            raise hitl.StoreBusy("The store was held. Nothing was changed.")

        monkeypatch.setattr(desk.store, broken, busy)
        receipt = await desk.decide("req_1", hitl.Approve())
        assert receipt.state == "approved"
        assert "The store was held" in caplog.text
        assert known.resumed == (["run_1"] if broken == "events" else [])


class TestSettling:
    @pytest.fixture
    def lost(self, tmp_path: Path) -> Desk:
        """A gated call that asked something itself, was answered, and then lost."""
        store = SqliteStore(tmp_path / "lost.db")
        gate = {"schema_digest": "sd", "how": "gate"}
        running(store, scope=gate, reviewers=("ada", "bob"))
        asks = a_request("req_2", ordinal=1, kind="input", scope={**gate, "how": "ask"})
        store.park("call_1", "call", asks)
        store.decide([a_vote("req_2", "answered", data={"answer": 1})])
        claim(store, "req_2")
        store.lose("call_1", "call", "its process died")
        return Desk(store)

    async def settled(self, desk: Desk, **how: Any) -> hitl.Request:
        who = hitl.Reviewer(how.pop("by", "ada"))
        return await desk.settle(how.pop("request", "req_1"), how.pop("how"), reviewer=who, **how)

    @pytest.mark.parametrize("request_id", ["req_1", "req_2"])
    async def test_to_run_it_again_takes_a_new_yes_at_its_gate(
        self, lost: Desk, request_id: str
    ) -> None:
        """Whichever of its questions is looked at: an answer is no consent (R7)."""
        await self.settled(lost, request=request_id, how="run_again")
        states = {r.id: (r.state, r.kind, r.ordinal) for r in lost.store.requests()}
        assert states.pop("req_1") == ("withdrawn", "approval", 0)
        assert states.pop("req_2") == ("withdrawn", "input", 1)
        assert list(states.values()) == [("pending", "approval", 2)]

    async def test_a_result_that_is_no_json_is_refused(self, lost: Desk) -> None:
        for nonsense in (object(), {1: 2}, {1, 2}):
            with pytest.raises(hitl.InvalidAnswer, match="any JSON value"):
                await self.settled(lost, how="happened", result=nonsense)
        assert lost.store.request("req_1").state == "outcome_unknown"

    async def test_only_its_reviewers_say_how_it_ended(self, lost: Desk) -> None:
        """F30."""
        for how in ("happened", "give_up", "run_again"):
            with pytest.raises(hitl.NotPermitted, match="eve"):
                await self.settled(lost, how=how, by="eve")
        assert lost.store.request("req_1").state == "outcome_unknown"
        assert (await self.settled(lost, how="give_up", by="bob")).state == "failed"

    async def test_its_run_is_driven_on(self, lost: Desk) -> None:
        lost.store.release("run_1", "lease", "suspended")
        lost.experts["agent"] = known = Known()  # type: ignore[assignment]
        await self.settled(lost, how="happened", result=None)
        assert known.resumed == ["run_1"]


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
