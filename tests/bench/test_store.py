"""The store's figures, against the bounds that are promised; `bench_store` and `bench_wake` print
them."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from .bench_store import cycles, free_call, listing
from .bench_wake import wakes

pytestmark = [pytest.mark.extended, pytest.mark.timeout(1800)]


def test_a_cycle_costs_what_its_durability_costs(tmp_path: Path) -> None:
    """At least 0.9 of plain sqlite3, where an fsync is one (3 ms): the rest is processor time."""
    found = cycles(tmp_path, count=100)
    print(found)  # noqa: T201
    assert found.on_disk("ours, TRUNCATE", "sqlite3, TRUNCATE") >= 0.9
    assert found.on_disk("ours, WAL", "sqlite3, WAL") >= 0.85


def test_a_free_call_costs_no_fsync(tmp_path: Path) -> None:
    """R13: under half a millisecond to start, and to end."""
    started, ended = free_call(tmp_path)
    assert max(started, ended) < 0.5


def test_listing_does_not_grow_with_what_waits(tmp_path: Path) -> None:
    took = {}
    for count in (1_000, 10_000, 100_000):
        folder = tmp_path / str(count)
        folder.mkdir()
        took[count] = listing(folder, count, others=count <= 10_000)
    print(took)  # noqa: T201
    assert took[100_000]["ours"] < 3 * took[1_000]["ours"] + 1
    assert took[100_000]["ours"] < 5
    assert took[100_000]["ours, newest 50"] < 10


async def test_a_decision_elsewhere_wakes_the_waiting_run(tmp_path: Path) -> None:
    """F35: median under 100 ms."""
    assert statistics.median(await wakes(tmp_path)) < 100
