"""What every test shares: nothing of the person's own is touched, and the order of the run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.browser.lab import LabServer

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
    items.sort(
        key=lambda item: bool({"browser", "frontends", "lite"}.intersection(item.path.parts))
    )


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give each test a store of its own and no reviewer, policy or other setting from outside."""
    for name in [name for name in os.environ if name.startswith("HITL_")]:
        if name not in {"HITL_TEST_ALL", "HITL_CHROMIUM"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HITL_STORE", str(tmp_path / "requests.db"))


# Imported where they are used: most tests need no browser. One Playwright for the whole run: its
# synchronous interface cannot be started twice.
@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A headless Chromium."""
    from tests.browser.session import running_chromium

    with running_chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A running JupyterLab; it serves Notebook and nbclassic too where they are installed."""
    from tests.browser.lab import running_lab

    with running_lab(tmp_path_factory.mktemp("lab")) as server:
        yield server
