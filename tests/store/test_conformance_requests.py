"""What any store must do with requests: decide, claim, move, settle, list."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from hitl_widgets.errors import (
    AlreadyDecided,
    Expired,
    LeaseLost,
    NotPermitted,
    RequestNotFound,
    SnapshotNotFound,
    StaleFingerprint,
    StoreError,
    ToolChanged,
)
from hitl_widgets.request import Evaluation
from hitl_widgets.store.base import Store

from .making import (
    FINGERPRINT,
    OUTCOME,
    RESULT,
    a_call,
    a_request,
    a_vote,
    again,
    ago,
    claim,
    free,
    gated,
    running,
    waiting,
)


class TestReading:
    def test_a_request_comes_back_as_it_was_kept(self, store: Store) -> None:
        evaluation = Evaluation(type="auto", evaluated_permission={"type": "ask"})
        given = waiting(
            store,
            evaluation=evaluation,
            secrets=("/a",),
            reviewers=("ada", "bob"),
            expires_at=datetime(2100, 1, 1, tzinfo=UTC),
            suspend_payload=["\udfff", None],
            agent_path=("root", "agent"),
        )
        read = store.request("req_1")
        assert read == given
        assert read.evaluation is not None
        assert read.evaluation.type == "auto"
        assert read.suspend_payload == ["\udfff", None]
        assert read.expires_at == datetime(2100, 1, 1, tzinfo=UTC)
        assert (read.reviewers, read.agent_path) == (("ada", "bob"), ("root", "agent"))
        assert read.store is store

    def test_an_unknown_request_is_named(self, store: Store) -> None:
        with pytest.raises(RequestNotFound, match="req_9"):
            store.request("req_9")

    def test_requests_are_listed_by_what_is_asked(self, store: Store) -> None:
        waiting(store)
        for n in (2, 3, 4):
            call = a_call(f"call_{n}", index=n, tool_name=f"tool_{n % 2}")
            new = gated(call, f"req_{n}", thread_id=f"t{n % 2}", fingerprint=f"hf1:{n}")
            store.save("run_1", "lease", calls=[new])
        store.decide([a_vote("req_2")])
        listed = lambda **f: [r.id for r in store.requests(**f)]  # noqa: E731
        assert listed() == ["req_1", "req_2", "req_3", "req_4"]
        assert listed(states=["pending"]) == ["req_1", "req_3", "req_4"]
        assert listed(states=["pending", "approved"], thread_id="t0") == ["req_2", "req_4"]
        assert listed(tool_name="tool_1") == ["req_3"]
        assert listed(call_id="call_4") == listed(fingerprint="hf1:4") == ["req_4"]
        assert listed(newest_first=True, limit=2) == ["req_4", "req_3"]
        assert listed(states=["approved", "pending"], offset=1, limit=2) == ["req_2", "req_3"]
        assert listed(run_id="run_9") == []

    def test_one_living_question_per_ordinal(self, store: Store) -> None:
        waiting(store)
        with pytest.raises(StoreError):
            store.save("run_1", "lease", calls=[gated(a_call("call_1"), "req_2")])
        store.move("req_1", "withdraw", "withdrawn", opens=a_request("req_3"))
        assert store.request("req_3").state == "pending"


class TestDeciding:
    def test_the_first_decision_counts_and_says_who(self, store: Store) -> None:
        """R1: the second one gets `AlreadyDecided` with who, what and when."""
        waiting(store)
        receipt = store.decide([a_vote(fingerprint=FINGERPRINT)])[0]
        assert (receipt.state, receipt.reviewer, receipt.via) == ("approved", "ada", "test")
        with pytest.raises(AlreadyDecided, match=r"approved.*ada") as caught:
            store.decide([a_vote(target="declined", reviewer="bob")])
        assert (caught.value.by, caught.value.state) == ("ada", "approved")
        assert caught.value.at == receipt.decided_at
        decided = store.request("req_1")
        assert (decided.state, decided.reviewer, decided.via) == ("approved", "ada", "test")
        assert decided.decision == {"verdict": "approve"}

    def test_several_are_decided_together_or_not_at_all(self, store: Store) -> None:
        waiting(store)
        store.save("run_1", "lease", calls=[gated(a_call("call_2"), "req_2")])
        store.decide([a_vote("req_2")])
        with pytest.raises(AlreadyDecided):
            store.decide([a_vote("req_1"), a_vote("req_2", "declined")])
        assert store.request("req_1").state == "pending"
        with pytest.raises(RequestNotFound):
            store.decide([a_vote("req_1"), a_vote("req_9")])
        assert store.request("req_1").state == "pending"

    def test_another_fingerprint_decides_nothing(self, store: Store) -> None:
        """R3, F2: what was shown is not what waits."""
        waiting(store)
        with pytest.raises(StaleFingerprint):
            store.decide([a_vote(fingerprint="hf1:other")])
        assert store.request("req_1").state == "pending"

    def test_a_late_decision_loses_before_anyone_swept(self, store: Store) -> None:
        """R5: never approved after its time."""
        waiting(store, expires_at=ago(1))
        with pytest.raises(Expired):
            store.decide([a_vote()])
        assert store.request("req_1").state == "expired"
        with pytest.raises(Expired):
            store.decide([a_vote()])

    def test_one_late_request_spoils_the_batch(self, store: Store) -> None:
        waiting(store)
        late = gated(a_call("call_2"), "req_2", expires_at=ago(1))
        store.save("run_1", "lease", calls=[late])
        with pytest.raises(Expired, match="req_2"):
            store.decide([a_vote("req_1"), a_vote("req_2")])
        assert store.request("req_1").state == "pending"
        assert store.request("req_2").state == "expired"

    def test_only_named_reviewers_may_decide(self, store: Store) -> None:
        """F30."""
        waiting(store, reviewers=("bob",))
        with pytest.raises(NotPermitted, match="ada"):
            store.decide([a_vote()])
        assert store.request("req_1").state == "pending"
        assert store.decide([a_vote(reviewer="bob")])[0].state == "approved"

    def test_edited_arguments_reach_the_call_and_both_are_kept(self, store: Store) -> None:
        """R10."""
        waiting(store)
        edited = {"fingerprint": "hf1:edited", "digests": {"/id": "d"}}
        decision = {"verdict": "approve", "args": {"id": "x"}}
        store.decide([a_vote(call_args={"id": "x"}, edited=edited, decision=decision)])
        request = store.request("req_1")
        assert request.args == {"id": "abc-123"}
        assert request.decision == {**decision, "edited": edited}
        with pytest.raises(StaleFingerprint):
            claim(store)
        assert claim(store, fingerprint="hf1:edited").args == {"id": "x"}


class TestGranting:
    def test_a_grant_is_kept_with_the_approval_that_gave_it(self, store: Store) -> None:
        """R20."""
        waiting(store)
        store.decide([a_vote(grant={"id": "g_1", "tool_name": "delete_record"})])
        (grant,) = store.grants()
        assert (grant["id"], grant["reviewer"], grant["via"]) == ("g_1", "ada", "test")
        assert [e.kind for e in store.events()][-2:] == ["approved", "grant"]

    def test_an_approval_that_does_not_count_gives_none(self, store: Store) -> None:
        waiting(store)
        store.decide([a_vote(target="declined")])
        with pytest.raises(AlreadyDecided):
            store.decide([a_vote(grant={"id": "g_1", "tool_name": "delete_record"})])
        assert store.grants() == []


class TestQuorum:
    def test_the_vote_that_completes_it_moves_the_state(self, store: Store) -> None:
        waiting(store, quorum=2)
        first = store.decide([a_vote()])[0]
        assert (first.state, first.votes, first.quorum) == ("pending", 1, 2)
        assert [v["reviewer"] for v in store.request("req_1").votes] == ["ada"]
        second = store.decide([a_vote(reviewer="bob")])[0]
        assert (second.state, second.votes) == ("approved", 2)
        assert [v["reviewer"] for v in store.request("req_1").votes] == ["ada", "bob"]

    def test_each_vote_is_on_record(self, store: Store) -> None:
        """R18."""
        waiting(store, quorum=2)
        store.decide([a_vote(fingerprint=FINGERPRINT)])
        (vote,) = [e for e in store.events() if e.kind == "vote"]
        assert (vote.request_id, vote.call_id) == ("req_1", "call_1")
        said = {n: vote.doc[n] for n in ("reviewer", "verdict", "shown", "votes", "quorum")}
        assert said == {
            "reviewer": "ada",
            "verdict": "approve",
            "shown": FINGERPRINT,
            "votes": 1,
            "quorum": 2,
        }

    def test_a_vote_after_the_end_counts_no_more(self, store: Store) -> None:
        """R1: a quorum that was not complete when it was declined is never completed."""
        waiting(store, quorum=3)
        store.decide([a_vote(target="declined")])
        before = store.last_seq()
        with pytest.raises(AlreadyDecided, match="declined"):
            store.decide([a_vote(reviewer="bob")])
        assert store.last_seq() == before
        assert [v["reviewer"] for v in store.request("req_1").votes] == ["ada"]

    def test_a_vote_for_what_was_not_shown_is_none(self, store: Store) -> None:
        """R3, F2."""
        waiting(store, quorum=2)
        with pytest.raises(StaleFingerprint):
            store.decide([a_vote(fingerprint="hf1:other")])
        assert store.request("req_1").votes == ()

    def test_nobody_votes_twice(self, store: Store) -> None:
        waiting(store, quorum=2)
        store.decide([a_vote()])
        with pytest.raises(AlreadyDecided, match="ada has already voted"):
            store.decide([a_vote()])
        with pytest.raises(AlreadyDecided):
            store.decide([a_vote(reviewer="bob"), a_vote(reviewer="bob")])
        assert store.request("req_1").state == "pending"

    def test_one_decline_ends_it(self, store: Store) -> None:
        waiting(store, quorum=3)
        store.decide([a_vote()])
        receipt = store.decide([a_vote(target="declined", reviewer="bob")])[0]
        assert (receipt.state, receipt.votes) == ("declined", 1)

    def test_votes_for_different_things_do_not_add_up(self, store: Store) -> None:
        """Two people must have consented to the very call that runs."""
        waiting(store, quorum=2)
        edit = {"edited": {"fingerprint": "hf1:e", "digests": {}}, "call_args": {"id": "e"}}
        store.decide([a_vote()])
        assert store.decide([a_vote(reviewer="bob", **edit)])[0].state == "pending"
        assert store.calls("run_1")[0].args == {"id": "abc-123"}
        assert store.decide([a_vote(reviewer="eve", **edit)])[0].state == "approved"
        assert store.calls("run_1")[0].args == {"id": "e"}


class TestClaiming:
    def test_a_claim_gives_the_right_to_act_once(self, store: Store) -> None:
        waiting(store)
        store.decide([a_vote()])
        call = claim(store)
        assert (call.state, call.token, call.owner) == ("executing", "call", store.owner)
        assert call.args == {"id": "abc-123"}
        assert store.request("req_1").state == "executing"
        with pytest.raises(AlreadyDecided, match="executing"):
            claim(store, by="second")

    @pytest.mark.parametrize("target", ["declined", "responded"])
    def test_what_was_not_consented_to_is_never_claimed(self, store: Store, target: str) -> None:
        """F7."""
        waiting(store)
        with pytest.raises(AlreadyDecided, match="pending"):
            claim(store)
        store.decide([a_vote(target=target)])  # type: ignore[arg-type]
        with pytest.raises(AlreadyDecided, match=target):
            claim(store)

    @pytest.mark.parametrize("target", ["declined", "responded"])
    def test_who_decided_is_said_before_what_differs(self, store: Store, target: str) -> None:
        waiting(store)
        store.decide([a_vote(target=target)])  # type: ignore[arg-type]
        with pytest.raises(AlreadyDecided, match=target):
            claim(store, fingerprint="hf1:other", schema_digest="other")

    def test_a_request_that_expired_says_so(self, store: Store) -> None:
        waiting(store)
        store.move("req_1", "expire", "expired")
        with pytest.raises(Expired, match="Nothing ran"):
            claim(store, fingerprint="hf1:other")

    def test_its_time_is_over_at_that_very_second(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """R5: `expires_at` is the first moment at which it is late."""
        end = datetime(2100, 1, 1, tzinfo=UTC)
        waiting(store, expires_at=end)
        monkeypatch.setattr("hitl_widgets.store.connection.time.time", end.timestamp)
        with pytest.raises(Expired, match="2100-01-01 00:00:00 UTC"):
            store.decide([a_vote()])

    def test_another_call_than_approved_is_refused(self, store: Store) -> None:
        """R3, F20: nothing is changed, the caller makes it stale."""
        waiting(store)
        store.decide([a_vote()])
        with pytest.raises(StaleFingerprint):
            claim(store, fingerprint="hf1:other")
        with pytest.raises(ToolChanged):
            claim(store, schema_digest="other")
        with pytest.raises(ToolChanged):
            claim(store, schema_digest=None)
        assert store.request("req_1").state == "approved"
        fresh = again(store.request("req_1"), fingerprint="hf1:other")
        store.move("req_1", "make_stale", "stale", opens=fresh, detail={"diff": ["/id"]})
        assert [r.state for r in store.requests()] == ["stale", "pending"]

    def test_a_decision_that_comes_to_act_too_late_expires(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waiting(store, expires_at=datetime(2100, 1, 1, tzinfo=UTC))
        store.decide([a_vote()])
        far = datetime(2100, 1, 2, tzinfo=UTC).timestamp()
        monkeypatch.setattr("hitl_widgets.store.connection.time.time", lambda: far)
        with pytest.raises(Expired):
            claim(store)
        assert store.request("req_1").state == "expired"
        assert store.calls("run_1")[0].state == "waiting"

    def test_answers_are_given_to_the_call_in_order_until_it_ends(self, store: Store) -> None:
        waiting(store, kind="input")
        answer = {"data": {"answer": {"city": "Oslo"}}}
        store.decide([a_vote(target="answered", **answer)])
        claim(store)
        store.park("call_1", "call", a_request("req_2", ordinal=1, kind="input"))
        store.decide([a_vote("req_2", "answered", data={"answer": 0})])
        claim(store, "req_2", "call2")
        assert store.answers("call_1") == [
            {"request_id": "req_1", "ordinal": 0, "answer": {"city": "Oslo"}},
            {"request_id": "req_2", "ordinal": 1, "answer": 0},
        ]
        store.finish("call_1", "call2", "done", RESULT)
        assert store.answers("call_1") == []

    def test_an_answer_that_was_refused_is_no_answer(self, store: Store) -> None:
        waiting(store, kind="input")
        store.decide([a_vote(target="answered", data={"answer": 1})])
        store.move("req_1", "refuse", "refused", opens=a_request("req_2", kind="input"))
        assert store.answers("call_1") == []


class TestMoving:
    def test_a_call_may_end_with_its_request(self, store: Store) -> None:
        waiting(store)
        store.decide([a_vote()])
        result = {"type": "denied", "value": "blocked"}
        moved = store.move("req_1", "block", "blocked", call_result=result)
        call = store.calls("run_1")[0]
        assert (moved.state, call.state, call.result) == ("blocked", "failed", result)

    def test_what_has_a_method_of_its_own_is_no_move(self, store: Store) -> None:
        running(store)
        with pytest.raises(StoreError):
            store.move("req_1", "finish", "done")
        with pytest.raises(StoreError):
            store.move("req_1", "withdraw", "done")
        with pytest.raises(AlreadyDecided):
            store.move("req_1", "withdraw", "withdrawn")


class TestSettling:
    who = {"reviewer": "ada", "identity_source": "os", "via": "test"}  # noqa: RUF012

    def test_it_happened(self, store: Store) -> None:
        """R13."""
        running(store)
        store.lose("call_1", "call", "timeout")
        assert store.request("req_1").state == "outcome_unknown"
        assert store.settle("req_1", "happened", result=[1], **self.who).state == "done"
        call = store.calls("run_1")[0]
        assert (call.state, call.result) == ("done", {"type": "result", "value": [1]})

    def test_it_is_given_up(self, store: Store) -> None:
        running(store)
        store.lose("call_1", "call", "timeout")
        assert store.settle("req_1", "give_up", **self.who).state == "failed"
        assert store.calls("run_1")[0].state == "failed"

    def test_it_runs_again_only_after_a_new_yes(self, store: Store) -> None:
        running(store)
        store.lose("call_1", "call", "timeout")
        fresh = again(store.request("req_1"))
        assert store.settle("req_1", "run_again", opens=fresh, **self.who).state == "withdrawn"
        assert store.calls("run_1")[0].state == "waiting"
        with pytest.raises(AlreadyDecided):
            claim(store, fresh.id)
        store.decide([a_vote(fresh.id)])
        assert claim(store, fresh.id, "second").token == "second"

    def test_it_does_not_run_again_without_a_new_question(self, store: Store) -> None:
        running(store)
        store.lose("call_1", "call", "timeout")
        with pytest.raises(StoreError, match="opens="):
            store.settle("req_1", "run_again", **self.who)
        assert store.request("req_1").state == "outcome_unknown"
        assert store.calls("run_1")[0].state == "outcome_unknown"

    def test_its_reviewers_settle_it(self, store: Store) -> None:
        """F30."""
        running(store, reviewers=("ada", "bob"))
        store.lose("call_1", "call", "timeout")
        with pytest.raises(NotPermitted, match="eve"):
            store.settle("req_1", "happened", **{**self.who, "reviewer": "eve"})
        assert store.request("req_1").state == "outcome_unknown"
        assert store.settle("req_1", "happened", **self.who).state == "done"

    def test_a_settled_call_fences_its_zombie(self, store: Store) -> None:
        running(store)
        store.lose("call_1", "call", "timeout")
        with pytest.raises(LeaseLost):
            store.finish("call_1", "call", "done", RESULT)
        store.settle("req_1", "give_up", **self.who)
        with pytest.raises(LeaseLost):
            store.finish("call_1", "call", "done", RESULT)
        assert store.calls("run_1")[0].state == "failed"

    def test_it_is_settled_once(self, store: Store) -> None:
        running(store)
        with pytest.raises(AlreadyDecided, match="executing"):
            store.settle("req_1", "happened", **self.who)
        store.lose("call_1", "call", "timeout")
        store.settle("req_1", "happened", **self.who)
        with pytest.raises(AlreadyDecided):
            store.settle("req_1", "give_up", **self.who)
        with pytest.raises(StoreError, match="perhaps"):
            store.settle("req_1", "perhaps", **self.who)

    def test_a_lost_free_call_can_be_settled(self, store: Store) -> None:
        waiting(store)
        store.save("run_1", "lease", calls=[free()])
        store.lose("call_free", "call", "timeout")
        lost = store.requests(states=["outcome_unknown"])
        assert [(r.tool_call_id, r.fingerprint) for r in lost] == [("call_free", FINGERPRINT)]
        store.settle(lost[0].id, "happened", result=2, **self.who)
        assert store.calls("run_1")[1].result == {"type": "result", "value": 2}

    def test_after_the_end_of_its_run_it_does_not_run_again(self, store: Store) -> None:
        running(store)
        store.lose("call_1", "call", "timeout")
        store.end_run("run_1", "lease", "cancelled", OUTCOME)
        with pytest.raises(SnapshotNotFound):
            store.settle("req_1", "run_again", opens=again(store.request("req_1")), **self.who)
        assert store.settle("req_1", "give_up", **self.who).state == "failed"
