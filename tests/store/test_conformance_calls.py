"""What any store must do with calls, the audit trail, documents and grants."""

from __future__ import annotations

import time
from typing import Any

import pytest

from hitl_widgets.errors import AlreadyDecided, LeaseLost, NotPermitted, StoreError
from hitl_widgets.request import Evaluation
from hitl_widgets.store.base import NewCall, Store

from .making import (
    OUTCOME,
    RESULT,
    a_call,
    a_request,
    a_run,
    a_vote,
    claim,
    free,
    running,
    waiting,
)


class TestCalls:
    def test_calls_come_in_the_models_order(self, store: Store) -> None:
        store.open_run(a_run())
        for n, (turn, index) in enumerate([("t1", 1), ("t1", 0), ("t2", 0)]):
            more: dict[str, Any] = {"turn": turn, "index": index, "frame": f"f{n // 2}"}
            store.save("run_1", "lease", calls=[free(f"c{n}", **more)])
        assert [c.id for c in store.calls("run_1")] == ["c1", "c0", "c2"]
        assert [c.id for c in store.calls("run_1", "f1")] == ["c2"]

    def test_a_call_comes_back_as_it_was_kept(self, store: Store) -> None:
        store.open_run(a_run())
        call = a_call(
            provider_id="toolu_1",
            permission="ask",
            evaluation=Evaluation(type="effect"),
            notes={"edit": [1]},
        )
        store.save("run_1", "lease", calls=[NewCall(call, {})])
        assert store.calls("run_1") == [call]

    def test_it_says_which_calls_began(self, store: Store) -> None:
        """Those that run or ran, and no call that was only asked for, answered or refused."""
        store.open_run(a_run())
        waits: dict[str, Any] = {"state": "waiting", "token": None}
        store.save("run_1", "lease", calls=[free("asked", **waits), free("ran")])
        store.save("run_1", "lease", calls=[free("runs")], durable=False)
        nested = free("nested", state="parked", token=None)
        store.save("run_1", "lease", calls=[nested], durable=False)
        assert sorted(store.begun("run_1")) == ["nested", "ran", "runs"]
        store.save("run_1", "lease", calls=[free("answered", **waits)])
        store.finish("ran", "call", "failed", {"type": "error", "value": "x"})
        store.answer_call("answered", "lease", "done", {"type": "responded", "value": 1})
        assert sorted(store.begun("run_1")) == ["nested", "ran", "runs"]
        store.lose("runs", "call", "nobody knows")
        (unknown,) = store.requests(states=["outcome_unknown"])
        assert "runs" in store.begun("run_1")
        who = {"reviewer": "ada", "identity_source": "os", "via": "test"}
        store.settle(unknown.id, "happened", result=1, **who)
        store.answer_call("nested", "lease", "done", RESULT)
        assert sorted(store.begun("run_1")) == ["nested", "ran", "runs"]

    def test_one_id_is_one_call(self, store: Store) -> None:
        """F11: the same id with other arguments is refused."""
        waiting(store)
        with pytest.raises(StoreError):
            store.save("run_1", "lease", calls=[free("call_1", args={"id": "other"})])
        assert store.calls("run_1")[0].args == {"id": "abc-123"}

    def test_a_call_refused_before_anyone_was_asked_is_kept_ended(self, store: Store) -> None:
        store.open_run(a_run())
        denied = {"type": "denied", "value": "no such tool"}
        store.save("run_1", "lease", calls=[free("c", state="failed", result=denied, token=None)])
        assert store.calls("run_1")[0].result == denied

    def test_an_end_may_be_said_again_by_the_same_hands_only(self, store: Store) -> None:
        running(store)
        store.finish("call_1", "call", "done", RESULT)
        before = store.last_seq()
        store.finish("call_1", "call", "done", RESULT)
        assert store.last_seq() == before
        with pytest.raises(LeaseLost):
            store.finish("call_1", "other", "done", RESULT)
        with pytest.raises(LeaseLost):
            store.finish("call_1", "call", "failed", RESULT)
        with pytest.raises(StoreError):
            store.finish("call_1", "call", "executing", RESULT)

    def test_a_waiting_call_is_answered_without_running(self, store: Store) -> None:
        waiting(store)
        store.decide([a_vote(target="declined")])
        denied = {"type": "denied", "value": "no"}
        store.answer_call("call_1", "lease", "failed", denied)
        assert store.calls("run_1")[0].result == denied
        assert store.request("req_1").state == "declined"

    def test_a_running_call_is_not_answered_by_others(self, store: Store) -> None:
        running(store)
        with pytest.raises(LeaseLost):
            store.answer_call("call_1", "lease", "failed", RESULT)

    def test_what_asks_itself_is_parked_and_goes_on(self, store: Store) -> None:
        running(store)
        store.park("call_1", "call", a_request("req_2", ordinal=1), frames={"run_1": "later"})
        call = store.calls("run_1")[0]
        assert (call.state, call.owner) == ("parked", None)
        assert [r.state for r in store.requests()] == ["parked", "pending"]
        assert store.frame("run_1") == "later"
        store.decide([a_vote("req_2")])
        assert claim(store, "req_2", "call2").token == "call2"
        assert [r.state for r in store.requests()] == ["executing", "executing"]
        store.finish("call_1", "call2", "done", RESULT)
        assert [r.state for r in store.requests()] == ["done", "done"]

    def test_a_parked_call_that_ends_takes_its_question_back(self, store: Store) -> None:
        running(store)
        store.park("call_1", "call", a_request("req_2", ordinal=1))
        store.finish("call_1", "call", "failed", {"type": "error", "value": "timeout"})
        assert [r.state for r in store.requests()] == ["failed", "withdrawn"]

    def test_a_nested_agent_parks_without_a_question_and_runs_again(self, store: Store) -> None:
        store.open_run(a_run())
        store.save("run_1", "lease", calls=[free()])
        store.park("call_free", "call", None)
        again = store.resume_call("call_free", "lease", "call2")
        assert (again.state, again.token) == ("executing", "call2")
        with pytest.raises(AlreadyDecided):
            store.resume_call("call_free", "lease", "call3")

    def test_a_call_with_an_open_question_is_not_resumed(self, store: Store) -> None:
        """F5: nothing runs around its gate."""
        waiting(store)
        with pytest.raises(AlreadyDecided, match="pending"):
            store.resume_call("call_1", "lease", "call")
        store.decide([a_vote()])
        with pytest.raises(AlreadyDecided, match="approved"):
            store.resume_call("call_1", "lease", "call")

    @pytest.mark.parametrize("target", ["declined", "responded"])
    def test_a_call_that_was_decided_against_is_not_resumed(
        self, store: Store, target: str
    ) -> None:
        """F5: only a yes opens a gate."""
        waiting(store)
        store.decide([a_vote(target=target)])  # type: ignore[arg-type]
        with pytest.raises(AlreadyDecided, match=target):
            store.resume_call("call_1", "lease", "call")

    def test_a_call_that_must_be_asked_for_does_not_start_unasked(self, store: Store) -> None:
        """F7: no request is no yes."""
        store.open_run(a_run())
        store.save("run_1", "lease", calls=[NewCall(a_call(permission="ask"), {})])
        with pytest.raises(NotPermitted):
            store.resume_call("call_1", "lease", "call")

    def test_a_free_call_may_start_later(self, store: Store) -> None:
        store.open_run(a_run())
        store.save("run_1", "lease", calls=[NewCall(a_call(), {})])
        assert store.resume_call("call_1", "lease", "call").state == "executing"

    def test_losing_what_ended_changes_nothing(self, store: Store) -> None:
        running(store)
        store.finish("call_1", "call", "done", RESULT)
        before = store.last_seq()
        store.lose("call_1", "call", "late")
        assert store.last_seq() == before


class TestSecrets:
    """R17: a secret stands in the stored call until it ends, nowhere else."""

    def test_it_is_erased_when_the_call_ends(self, store: Store) -> None:
        call = a_call(args={"id": "x", "password": "hunter2"})
        waiting(store, call=call, secrets=("/password",), args={"id": "x", "password": "••••"})
        store.decide([a_vote()])
        assert claim(store).args["password"] == "hunter2"
        store.finish("call_1", "call", "done", RESULT)
        assert store.calls("run_1")[0].args == {"id": "x", "password": "••••"}

    def test_it_is_erased_when_the_run_ends_without_the_call(self, store: Store) -> None:
        call = a_call(args={"password": "hunter2"})
        waiting(store, call=call, secrets=("/password",), args={"password": "••••"})
        store.end_run("run_1", "lease", "cancelled", OUTCOME)
        assert store.calls("run_1")[0].args == {"password": "••••"}

    def test_it_is_erased_when_a_call_gets_lost_after_its_run_ended(self, store: Store) -> None:
        call = a_call(args={"password": "hunter2"})
        running(store, call=call, secrets=("/password",), args={"password": "••••"})
        store.end_run("run_1", "lease", "cancelled", OUTCOME)
        assert store.calls("run_1")[0].args == {"password": "hunter2"}  # it is running
        store.lose("call_1", "call", "timeout")
        assert store.calls("run_1")[0].args == {"password": "••••"}


class TestAudit:
    """R18."""

    def test_a_decision_says_who_what_when_why(self, store: Store) -> None:
        waiting(store, evaluation=Evaluation(type="effect"), origin={"notebook": "a.ipynb"})
        decision = {"verdict": "approve", "args": {"id": "x"}}
        edited = {"fingerprint": "hf1:e", "digests": {}}
        store.decide([a_vote(decision=decision, edited=edited, call_args={"id": "x"})])
        event = store.events()[-1]
        assert (event.kind, event.request_id, event.run_id) == ("approved", "req_1", "run_1")
        doc = event.doc
        assert doc["args"] == {"id": "abc-123"}
        assert doc["decision"]["args"] == {"id": "x"}
        assert (doc["reviewer"], doc["identity_source"], doc["via"]) == ("ada", "os", "test")
        assert (doc["evaluation"], doc["origin"]) == ({"type": "effect"}, {"notebook": "a.ipynb"})
        assert doc["shown"] == "not shown"
        assert 0 <= doc["seconds"] < 60

    def test_the_whole_life_is_told_in_order(self, store: Store) -> None:
        running(store)
        store.finish("call_1", "call", "done", RESULT)
        store.end_run("run_1", "lease", "completed", OUTCOME)
        events = store.events()
        assert [e.kind for e in events] == [
            "run-started",
            "run-saved",
            "opened",
            "approved",
            "claim",
            "finish",
            "call-finished",
            "run-ended",
        ]
        assert [e.seq for e in events] == list(range(1, 9))
        assert store.last_seq() == 8
        assert store.events(6, limit=1) == [events[6]]
        assert store.events(run_id="run_9") == []
        assert store.check() == []

    def test_a_change_that_failed_leaves_no_event(self, store: Store) -> None:
        waiting(store)
        before = store.last_seq()
        with pytest.raises(AlreadyDecided):
            claim(store)
        assert store.last_seq() == before

    def test_any_commit_changes_the_version(self, store: Store) -> None:
        first = store.version()
        assert store.version() == first
        store.put_document("a", 1)
        assert store.version() != first


class TestTheRest:
    def test_documents_are_kept_by_name(self, store: Store) -> None:
        assert store.document("a") is None
        store.put_document("a", {"x": ["\ud800"]})
        store.put_document("b", 0)
        assert (store.document("a"), store.document("b")) == ({"x": ["\ud800"]}, 0)
        store.put_document("a", None)
        assert store.document("a") is None

    def test_the_secret_key_is_the_stores_own(self, store: Store) -> None:
        assert len(store.secret_key()) == 32
        assert store.secret_key() == store.secret_key()
        assert store.secret_key() != bytes(32)

    def test_grants_are_listed_revoked_and_told(self, store: Store) -> None:
        """R20."""
        by = {"reviewer": "ada", "via": "card"}
        store.add_grant({"id": "g1", "tool_name": "rm", "words": "rm at all"}, **by)
        store.add_grant({"id": "g2", "tool_name": "rm", "expires_at": time.time() - 1}, **by)
        store.add_grant({"id": "g3", "tool_name": "ls"}, **by)
        assert [g["id"] for g in store.grants()] == ["g1", "g3"]
        assert store.grants("rm")[0]["words"] == "rm at all"
        assert store.grants("rm")[0]["reviewer"] == "ada"
        assert store.revoke_grant("g1", **by)
        assert not store.revoke_grant("g1", **by)
        assert store.grants("rm") == []
        assert [g["id"] for g in store.grants("rm", revoked=True)] == ["g1", "g2"]
        assert [e.kind for e in store.events()] == ["grant", "grant", "grant", "revoke"]

    def test_ended_runs_are_forgotten_on_request_but_not_their_trail(self, store: Store) -> None:
        running(store)
        store.finish("call_1", "call", "done", RESULT)
        assert store.prune(time.time() + 1) == 0  # it has not ended
        store.end_run("run_1", "lease", "completed", OUTCOME)
        assert store.prune(time.time() - 60) == 0  # too young
        assert store.prune(time.time() + 1) == 1
        assert (store.runs(), store.requests(), store.calls("run_1")) == ([], [], [])
        assert store.events()[0].kind == "run-started"
        assert store.check() == []
        store.vacuum()

    def test_a_run_with_something_to_settle_is_not_forgotten(self, store: Store) -> None:
        running(store)
        store.lose("call_1", "call", "timeout")
        store.end_run("run_1", "lease", "failed", OUTCOME)
        assert store.prune(time.time() + 1) == 0
