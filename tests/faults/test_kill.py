"""R1, R2, R13, R14, R21: kill -9 at random instants through the whole line.

Two processes open runs, approve whatever waits (each other's too) and drive them; one or both are
killed; new ones take over. What they acknowledged and what a file on the disk saw is compared with
the store after every kill, and at the end everything is brought to rest.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from hitl_widgets.store.sqlite import SqliteStore

from .line import Witness, drain, work
from .processes import FULL, LONG, ended, start

KILLS = 300 if FULL else 8

ENDED = ("done", "failed", "outcome_unknown")


def _when(told: Witness, what: str, more_than: int) -> int:
    """Wait for an acknowledgement; how many there are."""
    end = time.monotonic() + LONG
    while (count := sum(line.startswith(what) for line in told.lines())) <= more_than:
        assert time.monotonic() < end, f"nobody said {what!r}: it hangs"
        time.sleep(0.002)
    return count


def _compare(path: Path) -> Counter[str]:
    """The store against the witness; counts of what became of the calls."""
    store, witness = SqliteStore(path), Witness(path.parent)
    store.sweep()
    assert store.check() == []
    # One process may still be at work: what was seen before and after the store was read.
    told, before = Witness(path.parent, "told").lines(), Counter(witness.lines())
    counts: Counter[str] = Counter()
    runs = store.runs(limit=1_000_000)
    rows = [call for run in runs for call in store.calls(run.id)]
    saw = Counter(witness.lines())
    known: set[str] = set()
    for call in rows:
        what = f"{call.tool_name} {call.args['name']}"
        counts[f"{call.tool_name} {call.state}"] += 1
        if call.tool_name in ("peek", "tag"):
            known.add(what)  # may be done again
            assert saw[what] or call.state != "done"
        elif call.tool_name == "delete":
            known.add(what)
            assert saw[what] <= 1, f"{what} was doubled"
            assert saw[what] == 1 or call.state != "done", f"{what} is done and never happened"
            assert before[what] == 0 or call.state in (*ENDED, "executing"), (
                f"{what} happened and is {call.state}"
            )
    # A free look that happened has a row; each run makes two.
    for what, times in saw.items():
        if what.startswith("look"):
            assert times <= 2, f"{what} was doubled"
    assert {w for w in before if not w.startswith("look")} <= known
    _acknowledged(store, told, {run.id: run.state for run in runs})
    store.close()
    return counts


def _acknowledged(store: SqliteStore, told: list[str], states: dict[str, str]) -> None:
    """Nothing that a process was told happened is lost."""
    for line in told:
        verb, _, name = line.partition(" ")
        if verb == "opened":
            assert states[name] in ("running", "suspended", "completed"), f"{line}: {states[name]}"
        elif verb == "approved":
            assert store.request(name).decision == {"verdict": "approve"}, line
        elif verb == "stop":
            assert states[name] == "completed", line


@pytest.mark.timeout(900)  # all 300 take five minutes
def test_nothing_is_lost_and_nothing_doubled(tmp_path: Path) -> None:
    path, told = tmp_path / "store.sqlite", Witness(tmp_path, "told")
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201
    rng = random.Random(seed)  # noqa: S311
    workers: dict[str, BaseProcess] = {}
    try:
        _kills(path, told, rng, workers)
    finally:
        for worker in workers.values():
            worker.kill()
            ended(worker)
    before = _compare(path)
    assert ended(start(drain, str(path))) == 0, "it does not come to rest"
    after = _compare(path)
    _rests(path)
    assert after["tag done"] >= after["delete done"] > 0
    print(  # noqa: T201
        f"{KILLS} kills, {len(SqliteStore(path).runs(limit=1_000_000))} runs; "
        f"before the end {dict(before)}; after {dict(after)}"
    )


def _kills(path: Path, told: Witness, rng: random.Random, workers: dict[str, BaseProcess]) -> None:
    workers.update({name: start(work, str(path), f"{name}0") for name in "ab"})
    ready = _when(told, "ready", 1)
    for n in range(1, KILLS + 1):
        time.sleep(rng.uniform(0, 0.25))  # the random instant
        victims = rng.choice([["a"], ["b"], ["a", "b"]])
        for name in victims:
            workers[name].kill()
            ended(workers[name])
        _compare(path)
        for name in victims:
            workers[name] = start(work, str(path), f"{name}{n}")
        ready = _when(told, "ready", ready + len(victims) - 1)


def _rests(path: Path) -> None:
    """Everything came to its end; lost is only what had never asked for anything."""
    store = SqliteStore(path)
    assert store.requests(states=["pending", "approved", "executing", "outcome_unknown"]) == []
    for run in store.runs(limit=1_000_000):
        if run.state != "completed":
            assert (run.outcome or {})["finish_reason"] == "lost"
            assert all(c.tool_name == "look" for c in store.calls(run.id)), "a saved run was lost"


@pytest.mark.parametrize("name", ["delete", "look"])
def test_the_comparison_finds_what_it_is_for(tmp_path: Path, name: str) -> None:
    """A call done twice is found."""
    path, told = tmp_path / "store.sqlite", Witness(tmp_path, "told")
    worker = start(work, str(path), "a")
    _when(told, "stop", 0)
    worker.kill()
    ended(worker)
    witness = Witness(tmp_path)
    done = next(line for line in witness.lines() if line.startswith(name))
    _compare(path)
    witness.saw(done)
    witness.saw(done)
    with pytest.raises(AssertionError, match="doubled"):
        _compare(path)
