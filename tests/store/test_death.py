"""What the death of a process means for what it was doing (R13, R14, R21)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hitl_widgets.errors import AlreadyDecided, LeaseLost
from hitl_widgets.store.sqlite import SqliteStore

from .acts import dead, other
from .making import RESULT, a_vote, ago, claim, waiting


class TestSweep:
    def test_what_a_dead_process_was_running_has_an_unknown_outcome(self, path: Path) -> None:
        dead("claim", path)
        store = SqliteStore(path)
        assert store.request("req_1").state == "executing"
        store.sweep()
        assert store.request("req_1").state == "outcome_unknown"
        assert store.calls("run_1")[0].state == "outcome_unknown"
        lost = [e for e in store.events() if e.kind == "lose"]
        assert [e.request_id for e in lost] == ["req_1"]
        assert "died" in lost[0].doc["why"]

    def test_what_a_living_process_runs_is_left_alone(self, path: Path) -> None:
        with other("claim", path) as process:
            process.said()
            store = SqliteStore(path)
            before = store.last_seq()
            store.sweep()
            assert store.last_seq() == before
            with pytest.raises(LeaseLost, match="living"):
                store.adopt("run_1", "next")

    def test_a_free_call_gets_a_request_to_be_settled_by(self, path: Path) -> None:
        dead("free", path, "{}")
        store = SqliteStore(path)
        store.sweep()
        request = store.requests(states=["outcome_unknown"])[0]
        assert (request.tool_call_id, request.tool_name) == ("call_free", "delete_record")
        store.sweep()
        assert len(store.requests()) == 1

    @pytest.mark.parametrize("template", [{"effect": "read"}, {"idempotent": True}])
    def test_what_may_run_twice_waits_to_run_again(
        self, path: Path, template: dict[str, object]
    ) -> None:
        dead("free", path, json.dumps(template))
        store = SqliteStore(path)
        store.adopt("run_1", "next")
        assert store.calls("run_1")[0].state == "parked"
        assert store.requests() == []
        assert store.resume_call("call_free", "next", "again").state == "executing"

    def test_an_approved_idempotent_call_runs_again_under_its_approval(self, path: Path) -> None:
        dead("idempotent", path)
        store = SqliteStore(path)
        store.sweep()
        assert store.request("req_1").state == "parked"
        store.adopt("run_1", "next")
        store.resume_call("call_1", "next", "again")
        store.finish("call_1", "again", "done", RESULT)
        assert store.request("req_1").state == "done"

    def test_a_parked_call_has_no_owner_to_die(self, path: Path) -> None:
        dead("parked", path)
        store = SqliteStore(path)
        store.sweep()
        assert [r.state for r in store.requests()] == ["parked", "pending"]

    def test_a_suspended_run_waits_for_another_driver(self, path: Path) -> None:
        """R14: found, decided and claimed after the restart."""
        dead("open", path)
        store = SqliteStore(path)
        store.sweep()
        run = store.run("run_1")
        assert (run.state, run.owner) == ("suspended", None)
        assert store.frame("run_1") == {"messages": ["hello"]}
        store.decide([a_vote()])
        store.adopt("run_1", "lease")
        assert claim(store).args == {"id": "abc-123"}

    def test_a_run_that_died_at_work_is_suspended(self, path: Path) -> None:
        dead("free", path, json.dumps({"effect": "read"}))
        store = SqliteStore(path)
        assert store.run("run_1").state == "running"
        store.sweep()
        assert store.run("run_1").state == "suspended"

    @pytest.mark.parametrize("act", ["verb", "approved_verb"])
    def test_a_question_that_cannot_outlive_its_process_is_withdrawn(
        self, path: Path, act: str
    ) -> None:
        """R14: listed as lost, never approvable."""
        dead(act, path)
        store = SqliteStore(path)
        store.sweep()
        assert store.request("req_1").state == "withdrawn"
        run = store.run("run_1")
        assert run.state == "failed"
        assert run.outcome is not None
        assert run.outcome["finish_reason"] == "lost"
        with pytest.raises(AlreadyDecided, match="withdrawn"):
            store.decide([a_vote()])

    def test_of_a_resumable_run_only_the_lost_question_goes(self, path: Path) -> None:
        dead("mixed", path)
        store = SqliteStore(path)
        store.sweep()
        assert store.request("req_1").state == "withdrawn"
        assert store.run("run_1").state == "suspended"

    def test_a_run_that_died_before_it_was_saved_is_lost(self, path: Path) -> None:
        """R13: reported lost, not resumed."""
        dead("unsaved", path)
        store = SqliteStore(path)
        store.sweep()
        run = store.run("run_1")
        assert (run.state, run.outcome and run.outcome["finish_reason"]) == ("failed", "lost")

    def test_what_is_past_its_time_expires(self, store: SqliteStore) -> None:
        waiting(store, expires_at=ago(1))
        store.sweep()
        assert store.request("req_1").state == "expired"
        before = store.last_seq()
        store.sweep()
        assert store.last_seq() == before


class TestAdopting:
    def test_the_lease_of_a_dead_driver_is_taken_once(self, path: Path) -> None:
        dead("open", path)
        store = SqliteStore(path)
        assert not store.driver_alive(store.run("run_1"))
        store.adopt("run_1", "next")
        assert store.driver_alive(store.run("run_1"))
        with pytest.raises(LeaseLost):
            store.adopt("run_1", "third")

    def test_its_calls_are_found_lost_at_once(self, path: Path) -> None:
        dead("claim", path)
        store = SqliteStore(path)
        store.adopt("run_1", "next")
        assert store.request("req_1").state == "outcome_unknown"


class TestStrangers:
    """An owner of whom nobody can tell is never called dead: a human says so."""

    stranger = "elsewhere/0ff1ce/1/4711/99/abcdef"

    def _estranged(self, path: Path) -> SqliteStore:
        dead("claim", path)
        store = SqliteStore(path)

        def step(tx):  # noqa: ANN001, ANN202
            for table in ("runs", "calls"):
                tx.rows(f"UPDATE {table} SET owner = ? WHERE owner > ''", (self.stranger,))  # noqa: S608

        store._db.write(step)
        return store

    def test_it_is_left_alone(self, path: Path) -> None:
        store = self._estranged(path)
        assert store.liveness(self.stranger) == "unknown"
        store.sweep()
        assert store.request("req_1").state == "executing"
        assert store.driver_alive(store.run("run_1"))
        with pytest.raises(LeaseLost, match="declare_dead"):
            store.adopt("run_1", "next")

    def test_a_human_says_that_it_is_dead(self, path: Path) -> None:
        store = self._estranged(path)
        store.declare_dead(self.stranger, reviewer="ada", via="cli")
        assert store.request("req_1").state == "outcome_unknown"
        assert "ada" in next(e.doc["why"] for e in store.events() if e.kind == "lose")
        store.adopt("run_1", "next")

    def test_its_run_can_be_taken_by_force(self, path: Path) -> None:
        store = self._estranged(path)
        assert store.adopt("run_1", "next", force=True).token == "next"
        assert store.request("req_1").state == "outcome_unknown"

    def test_a_living_process_is_not_declared_dead(self, path: Path) -> None:
        with other("claim", path) as process:
            owner = process.said()
            store = SqliteStore(path)
            with pytest.raises(LeaseLost, match="alive"):
                store.declare_dead(owner, reviewer="ada", via="cli")
