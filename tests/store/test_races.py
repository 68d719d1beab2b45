"""Real processes that want the same thing at once (R1, F1, F35)."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from hitl_widgets.store.sqlite import SqliteStore

from .acts import other
from .making import a_call, a_vote, gated, waiting


def _race(act: str, path: Path, names: list[str]) -> list[str]:
    """What each of several processes said after they started together."""
    with ExitStack() as stack:
        processes = [stack.enter_context(other(act, path, name)) for name in names]
        for process in processes:
            process.go()
        return [process.said() for process in processes]


def test_of_two_processes_one_decides_and_the_other_learns_who(path: Path) -> None:
    """R1."""
    for n in range(5):
        place = path.with_name(f"{n}.sqlite")
        store = SqliteStore(place)
        waiting(store)
        said = _race("decide", place, ["ada", "bob"])
        winner = store.request("req_1").reviewer
        assert winner == ["ada", "bob"][said.index("won")]
        assert sorted(said) == [f"lost to {winner}", "won"]
        assert [e.kind for e in store.events()].count("approved") == 1


def test_of_four_processes_one_claims(path: Path) -> None:
    """R1: the tool runs at most once, even where four drivers hold the same lease token."""
    store = SqliteStore(path)
    waiting(store)
    store.decide([a_vote()])
    said = _race("race_claim", path, ["a", "b", "c", "d"])
    assert sorted(said) == ["AlreadyDecided"] * 3 + ["won"]
    assert store.calls("run_1")[0].token == "abcd"[said.index("won")]


def test_processes_deciding_different_calls_of_one_run_lose_nothing(path: Path) -> None:
    """F35."""
    store = SqliteStore(path)
    waiting(store)
    ids = ["req_1", "req_2", "req_3", "req_4"]
    for n, request_id in enumerate(ids[1:], 2):
        store.save("run_1", "lease", calls=[gated(a_call(f"call_{n}", index=n), request_id)])
    assert _race("decide_own", path, ids) == ["won"] * 4
    decided = store.requests(run_id="run_1")
    assert {r.id: (r.state, r.reviewer) for r in decided} == {
        name: ("approved", name) for name in ids
    }
    assert store.check() == []
