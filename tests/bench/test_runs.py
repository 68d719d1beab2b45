"""Two hundred runs in one kernel, each approved twice from the page; `bench_runs` prints more."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from .bench_runs import HEAD, measured, row

pytestmark = [pytest.mark.extended, pytest.mark.timeout(900)]

RUNS = 200


async def test_they_all_end_and_the_kernel_stays_responsive(tmp_path: Path) -> None:
    """How fast is the disk's matter; what they cost the kernel is ours."""
    (found,) = await measured([RUNS], tmp_path / "store.db")
    print(dict(zip(HEAD, row(found), strict=True)))  # noqa: T201
    assert len(found.answers) == 2 * RUNS
    median, p95, _ = found.late
    assert median < 0.05
    assert p95 < 0.5
    assert found.after - found.before < RUNS * 300_000
    assert found.sent < RUNS * 40_000
    assert statistics.median(found.answers) < 60
