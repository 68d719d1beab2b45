from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hitl_widgets.store.sqlite import SqliteStore


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqliteStore]:
    """A new, empty store of each kind. Another engine joins the conformance suite here."""
    made = SqliteStore(":memory:" if request.param == "memory" else tmp_path / "store.sqlite")
    yield made
    made.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"
