"""What any store must do with runs, frames and leases."""

from __future__ import annotations

import pytest

from hitl_widgets.errors import LeaseLost, SnapshotNotFound, StoreError
from hitl_widgets.store.base import Store

from .making import (
    OUTCOME,
    RESULT,
    a_call,
    a_run,
    a_vote,
    claim,
    free,
    gated,
    running,
    waiting,
)

ODD = {"half": "\ud83d alone", "nan": float("inf"), "tag": {"$float": "nan"}, "deep": [[{}], ""]}


class TestRuns:
    def test_a_run_comes_back_as_it_was_kept(self, store: Store) -> None:
        run = a_run(thread_id="t", resource_id="r", notebook="a b.ipynb", origin={"host": "h"})
        kept = store.open_run(run)
        assert kept == store.run("run_1")
        assert (kept.thread_id, kept.resource_id, kept.notebook) == ("t", "r", "a b.ipynb")
        assert (kept.owner, kept.token) == (store.owner, "lease")
        assert abs((kept.created_at - run.created_at).total_seconds()) < 0.001

    def test_an_unknown_run_is_named(self, store: Store) -> None:
        with pytest.raises(SnapshotNotFound, match="run_9"):
            store.run("run_9")

    def test_any_json_survives_in_a_frame(self, store: Store) -> None:
        store.open_run(a_run(), frames={"run_1": ODD})
        assert store.frame("run_1") == ODD
        literal = {"$literal": {"$float": "nan"}, "x": {"$literal": {"$literal": {"$float": 1}}}}
        store.save("run_1", "lease", frames={"run_1/nested": literal})
        assert store.frame("run_1/nested") == literal

    def test_what_is_not_json_is_refused_and_changes_nothing(self, store: Store) -> None:
        store.open_run(a_run(), frames={"run_1": 1})
        before = store.last_seq()
        with pytest.raises(TypeError):
            store.save("run_1", "lease", frames={"run_1": {1, 2}}, calls=[free()])
        assert (store.frame("run_1"), store.calls("run_1"), store.last_seq()) == (1, [], before)

    def test_frames_are_dropped_on_request(self, store: Store) -> None:
        store.open_run(a_run(), frames={"run_1": 1, "nested": 2})
        store.save("run_1", "lease", drop_frames=["nested"])
        assert store.frame("run_1") == 1
        with pytest.raises(SnapshotNotFound, match="nested"):
            store.frame("nested")

    def test_runs_are_listed_by_what_is_asked_oldest_first(self, store: Store) -> None:
        for n in range(4):
            store.open_run(
                a_run(f"run_{n}", thread_id=f"t{n % 2}", agent_id="ab"[n % 2], notebook="n")
            )
            store.release(f"run_{n}", "lease", "suspended")
        store.adopt("run_0", "again")
        store.save("run_0", "again", state="running")
        listed = store.runs
        assert [r.id for r in listed(thread_id="t0")] == ["run_0", "run_2"]
        assert [r.id for r in listed(states=["suspended"], notebook="n")] == [
            "run_1",
            "run_2",
            "run_3",
        ]
        assert [r.id for r in listed(agent_id="a", states=["suspended"])] == ["run_2"]
        assert [r.id for r in listed(states=["running", "suspended"], limit=2)] == [
            "run_0",
            "run_1",
        ]
        assert listed(thread_id="t0", agent_id="b") == []


class TestLeases:
    """R21: a run has one driver."""

    def test_a_living_driver_keeps_its_run(self, store: Store) -> None:
        store.open_run(a_run())
        with pytest.raises(LeaseLost, match="living"):
            store.adopt("run_1", "other", force=True)

    def test_a_released_run_is_adopted_once(self, store: Store) -> None:
        store.open_run(a_run())
        store.release("run_1", "lease", "suspended")
        assert store.adopt("run_1", "next").token == "next"
        assert store.run("run_1").state == "suspended"
        with pytest.raises(LeaseLost):
            store.adopt("run_1", "third")

    def test_who_lost_the_lease_writes_nothing(self, store: Store) -> None:
        waiting(store)
        store.decide([a_vote()])
        store.release("run_1", "lease", "suspended")
        store.adopt("run_1", "next")
        before = store.last_seq()
        with pytest.raises(LeaseLost):
            store.save("run_1", "lease", frames={"run_1": "mine"})
        with pytest.raises(LeaseLost):
            claim(store)
        with pytest.raises(LeaseLost):
            store.answer_call("call_1", "lease", "failed", RESULT)
        with pytest.raises(LeaseLost):
            store.end_run("run_1", "lease", "completed", OUTCOME)
        store.release("run_1", "lease", "suspended")
        assert store.last_seq() == before
        assert store.run("run_1").token == "next"

    def test_an_ended_run_is_not_adopted(self, store: Store) -> None:
        store.open_run(a_run())
        store.end_run("run_1", "lease", "completed", OUTCOME)
        with pytest.raises(SnapshotNotFound, match="ended"):
            store.adopt("run_1", "next")
        with pytest.raises(LeaseLost, match="ended"):
            store.save("run_1", "lease")

    def test_whether_a_driver_lives_is_told(self, store: Store) -> None:
        run = store.open_run(a_run())
        assert store.driver_alive(run)
        store.release("run_1", "lease", "suspended")
        assert not store.driver_alive(store.run("run_1"))

    def test_release_and_end_take_states_of_their_kind_only(self, store: Store) -> None:
        store.open_run(a_run())
        with pytest.raises(StoreError):
            store.release("run_1", "lease", "completed")
        with pytest.raises(StoreError):
            store.end_run("run_1", "lease", "suspended", OUTCOME)


class TestKeys:
    """R22: a key names one unfinished run."""

    def test_the_same_key_leads_to_the_unfinished_run(self, store: Store) -> None:
        store.open_run(a_run(key="k"))
        second = store.open_run(a_run("run_2", key="k"), frames={"run_2": 1})
        assert second.id == "run_1"
        assert len(store.runs()) == 1
        with pytest.raises(SnapshotNotFound):
            store.frame("run_2")

    def test_another_agent_may_use_the_same_key(self, store: Store) -> None:
        store.open_run(a_run(key="k"))
        assert store.open_run(a_run("run_2", key="k", agent_id="other")).id == "run_2"

    def test_a_finished_run_starts_anew(self, store: Store) -> None:
        store.open_run(a_run(key="k"))
        store.end_run("run_1", "lease", "completed", OUTCOME)
        assert store.open_run(a_run("run_2", key="k")).id == "run_2"

    def test_a_verbs_outcome_is_handed_out_once(self, store: Store) -> None:
        store.open_run(a_run(key="k", kind="verb"))
        assert not store.deliver("run_1")  # it has none yet
        store.end_run("run_1", "lease", "completed", OUTCOME)
        again = store.open_run(a_run("run_2", key="k", kind="verb"))
        assert (again.id, again.outcome) == ("run_1", OUTCOME)
        assert store.deliver("run_1")
        assert not store.deliver("run_1")
        assert store.open_run(a_run("run_2", key="k", kind="verb")).id == "run_2"


class TestEnds:
    """R17: what is left of an ended run."""

    def test_snapshots_go_and_the_outcome_stays(self, store: Store) -> None:
        store.open_run(a_run(), frames={"run_1": 1, "run_1/nested": 2})
        store.end_run("run_1", "lease", "completed", OUTCOME)
        run = store.run("run_1")
        assert (run.state, run.outcome, run.owner, run.token) == ("completed", OUTCOME, None, None)
        for key in ("run_1", "run_1/nested"):
            with pytest.raises(SnapshotNotFound):
                store.frame(key)

    def test_nothing_of_it_waits_any_more(self, store: Store) -> None:
        waiting(store)
        other = a_call("call_2", index=1)
        store.save("run_1", "lease", calls=[gated(other, "req_2")])
        store.decide([a_vote("req_2")])
        store.end_run("run_1", "lease", "cancelled", OUTCOME)
        assert {r.state for r in store.requests(run_id="run_1")} == {"withdrawn"}
        assert {c.state for c in store.calls("run_1")} == {"failed"}

    def test_a_call_that_still_runs_keeps_its_result(self, store: Store) -> None:
        running(store)
        store.end_run("run_1", "lease", "cancelled", OUTCOME)
        assert store.calls("run_1")[0].state == "executing"
        store.finish("call_1", "call", "done", RESULT)
        assert store.calls("run_1")[0].result == RESULT
        assert store.request("req_1").state == "done"
