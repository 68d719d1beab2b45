"""R1, F1, F35: many processes that want the same thing at once; each thing happens once."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hitl_widgets.errors import AlreadyDecided
from hitl_widgets.store import files
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import RESULT, a_call, a_run, a_vote, claim, gated

from .line import Witness
from .processes import FULL, race

PROCESSES = 8
APPROVALS = 1000 if FULL else 40


def _opened(path: Path, count: int) -> SqliteStore:
    store = SqliteStore(path)
    store.open_run(a_run(), frames={"run_1": 1})
    news = [gated(a_call(f"call_{n}", index=n), f"req_{n}") for n in range(count)]
    store.save("run_1", "lease", state="suspended", calls=news)
    return store


def hammer(
    path: str, journal: str, name: str, count: int, begin: Callable[[], Any]
) -> dict[str, Any]:
    """Decide, claim, act and finish whatever is not taken yet, in an order of one's own."""
    files.journal_for = lambda *_: (journal, "for this test")  # type: ignore[assignment]
    store, witness = SqliteStore(path), Witness(Path(path).parent)
    assert store.journal == journal
    order = random.Random(name).sample(range(count), count)  # noqa: S311
    decided, waits = 0, []
    begin()
    for n in order:
        start = time.monotonic()
        try:
            store.decide([a_vote(f"req_{n}", reviewer=name)])
            decided += 1
        except AlreadyDecided as error:
            assert error.by  # noqa: PT017  # F1: the loser learns who
        waits.append(time.monotonic() - start)
        try:
            call = claim(store, f"req_{n}", by=f"{name}-{n}")
        except AlreadyDecided:
            continue
        witness.saw(call.id)
        store.finish(call.id, f"{name}-{n}", "done", RESULT)
    return {"decided": decided, "longest": max(waits)}


@pytest.mark.parametrize("journal", ["TRUNCATE", "WAL"])
def test_of_eight_processes_each_approval_is_decided_and_claimed_once(
    tmp_path: Path,
    journal: str,
    record_property: Callable[[str, object], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """R1: every process tries every approval; none fails."""
    path = tmp_path / "store.sqlite"
    # Made in its journal mode: eight that switch it at once may leave it as it is (in use).
    monkeypatch.setattr(files, "journal_for", lambda *_: (journal, "for this test"))
    _opened(path, APPROVALS).close()
    start = time.monotonic()
    said = race(hammer, [(str(path), journal, f"p{n}", APPROVALS) for n in range(PROCESSES)])
    assert [s for s in said if isinstance(s, str)] == []  # errors
    assert sum(s["decided"] for s in said) == APPROVALS
    did = Counter(Witness(tmp_path).lines())
    assert (len(did), set(did.values())) == (APPROVALS, {1})
    store = SqliteStore(path)
    assert store.check() == []
    assert {r.state for r in store.requests(limit=APPROVALS)} == {"done"}
    kinds = Counter(e.kind for e in store.events())
    assert (kinds["approved"], kinds["claim"], kinds["finish"]) == (APPROVALS,) * 3
    longest = max(s["longest"] for s in said)
    record_property("seconds", round(time.monotonic() - start, 1))
    record_property("longest wait", round(longest, 2))
    print(f"{journal}: {time.monotonic() - start:.1f} s, longest wait {longest:.2f} s")  # noqa: T201


def verdict(path: str, target: Any, name: str, begin: Callable[[], Any]) -> str:
    store = SqliteStore(path)
    begin()
    try:
        return store.decide([a_vote("req_0", target, reviewer=name)])[0].state
    except AlreadyDecided as error:
        return f"{error.by} {error.state}"


@pytest.mark.parametrize("targets", [("approved", "approved"), ("approved", "declined")])
def test_a_double_click_or_two_minds_count_once(tmp_path: Path, targets: tuple[str, str]) -> None:
    """R1: one counts; the other learns who was first, and what."""
    for n in range(40 if FULL else 4):
        path = tmp_path / f"{n}.sqlite"
        store = _opened(path, 1)
        said = race(verdict, [(str(path), t, name) for t, name in zip(targets, "ab", strict=True)])
        found = store.request("req_0")
        assert found.state in targets
        assert sorted(said) == sorted([found.state, f"{found.reviewer} {found.state}"])
        assert [e.kind for e in store.events()].count(found.state) == 1
        store.close()


def several(path: str, mine: list[int], begin: Callable[[], Any]) -> int:
    """Approve one's own calls of a run, as the card in one of several kernels does."""
    store = SqliteStore(path)
    begin()
    for n in mine:
        store.decide([a_vote(f"req_{n}", reviewer=f"kernel {mine[0]}")])
        if n % 2:
            claim(store, f"req_{n}", by=f"t{n}")
            store.finish(f"call_{n}", f"t{n}", "done", {"type": "result", "value": n})
    return len(mine)


def test_four_kernels_deciding_calls_of_one_run_lose_nothing(tmp_path: Path) -> None:
    """F35: results are rows, never only part of a snapshot."""
    path, count = tmp_path / "store.sqlite", 400 if FULL else 32
    store = _opened(path, count)
    said = race(several, [(str(path), list(range(k, count, 4))) for k in range(4)])
    assert said == [count // 4] * 4
    states = {r.id: (r.state, r.reviewer) for r in store.requests(limit=count)}
    assert states == {
        f"req_{n}": ("done" if n % 2 else "approved", f"kernel {n % 4}") for n in range(count)
    }
    results = {c.id: c.result for c in store.calls("run_1") if c.result}
    assert results == {f"call_{n}": {"type": "result", "value": n} for n in range(1, count, 2)}
    assert store.check() == []
