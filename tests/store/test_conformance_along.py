"""What goes along in one transaction: a lease taken with a decision, given back with a question."""

from __future__ import annotations

import pytest

from hitl_widgets.errors import AlreadyDecided, LeaseLost
from hitl_widgets.store.base import Store

from .making import OUTCOME, RESULT, a_call, a_run, a_vote, claim, free, gated, waiting


class TestTake:
    def test_a_decision_takes_the_run_that_nobody_drives(self, store: Store) -> None:
        waiting(store)
        store.release("run_1", "lease", "suspended")
        store.decide([a_vote()], take=("run_1", "mine"))
        run = store.run("run_1")
        assert (run.owner, run.token, run.state) == (store.owner, "mine", "suspended")
        assert store.events()[-1].kind == "run-adopted"

    def test_a_driven_run_stays_with_its_driver_and_the_decision_stands(self, store: Store) -> None:
        waiting(store)
        store.decide([a_vote()], take=("run_1", "mine"))
        assert store.run("run_1").token == "lease"
        assert store.request("req_1").state == "approved"

    def test_a_decision_that_does_not_count_takes_nothing(self, store: Store) -> None:
        """R1: nothing at all is changed."""
        waiting(store)
        store.release("run_1", "lease", "suspended")
        store.decide([a_vote()])
        with pytest.raises(AlreadyDecided):
            store.decide([a_vote()], take=("run_1", "mine"))
        assert store.run("run_1").owner is None

    def test_a_run_that_is_over_or_unknown_is_not_taken(self, store: Store) -> None:
        waiting(store)
        store.open_run(a_run("run_2"))
        store.end_run("run_2", "lease", "completed", OUTCOME)
        store.decide([a_vote()], take=("run_2", "mine"))
        assert store.run("run_2").owner is None


class TestRelease:
    def test_a_question_gives_the_lease_back(self, store: Store) -> None:
        store.open_run(a_run())
        store.save("run_1", "lease", frames={"run_1": 1}, calls=[gated()], release=True)
        run = store.run("run_1")
        assert (run.owner, run.token, run.state) == (None, None, "suspended")
        assert store.request("req_1").state == "pending"
        with pytest.raises(LeaseLost):
            store.save("run_1", "lease", frames={"run_1": 2})

    def test_what_needs_no_fsync_is_not_left_out_of_it(self, store: Store) -> None:
        store.open_run(a_run())
        store.save("run_1", "lease", calls=[free()], durable=False, release=True)
        assert store.run("run_1").owner is None
        assert [c.id for c in store.calls("run_1")] == ["call_free"]


class TestMoving:
    def test_a_suspended_run_runs_again_with_the_claim(self, store: Store) -> None:
        waiting(store)
        store.save("run_1", "lease", state="suspended")
        store.decide([a_vote()])
        assert store.run("run_1").state == "suspended"
        claim(store)
        assert store.run("run_1").state == "running"

    def test_or_with_the_end_of_a_call_that_does_not_run(self, store: Store) -> None:
        waiting(store)
        store.save("run_1", "lease", state="suspended")
        store.decide([a_vote(target="declined")])
        store.answer_call("call_1", "lease", "done", RESULT)
        assert store.run("run_1").state == "running"


def test_the_calls_of_one_turn(store: Store) -> None:
    """Those that wait for a durable change among them (R13)."""
    store.open_run(a_run())
    one, two = a_call("call_1", turn="t#1"), a_call("call_2", turn="t#2")
    store.save("run_1", "lease", calls=[gated(one), gated(two, "req_2")])
    store.save("run_1", "lease", calls=[free("call_3")], durable=False)
    turn = store.calls("run_1")[2].turn
    assert [c.id for c in store.calls("run_1", turn="t#2")] == ["call_2"]
    assert "call_3" in [c.id for c in store.calls("run_1", turn=turn)]
    assert store.calls("run_1", "nobody", turn="t#2") == []
