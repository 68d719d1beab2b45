"""What every test shares: nothing of the person's own is touched, and the order of the run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

EXTENDED = os.environ.get("HITL_TEST_ALL") == "1"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the extended tests unless asked for, and run the browser tests last.

    Playwright's synchronous interface leaves its event loop marked as running in the main thread
    for as long as the browser is open; an async test after it could not start its own loop.
    """
    if not EXTENDED:
        left_out = [item for item in items if item.get_closest_marker("extended")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: "browser" in item.path.parts)


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give each test a store of its own and no reviewer, policy or other setting from outside."""
    for name in [name for name in os.environ if name.startswith("HITL_")]:
        if name not in {"HITL_TEST_ALL", "HITL_CHROMIUM"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HITL_STORE", str(tmp_path / "requests.db"))
