"""One JupyterLab and one page for the whole run; one folder, store and notebook per test."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

import pytest

from .lab import OWN_KERNEL
from .session import LabSession, lab_session

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from playwright.sync_api import Browser

    from .lab import LabServer
    from .notebook import Notebook


class OpenNotebook(Protocol):
    """Open a notebook of code cells; notebooks of one test share a folder, hence a store."""

    def __call__(
        self, *cells: str, name: str = "notebook", kernel: str = OWN_KERNEL
    ) -> Notebook: ...


@pytest.fixture(scope="session")
def _lab_session(lab_server: LabServer, chromium: Browser) -> LabSession:
    return lab_session(lab_server, chromium)


@pytest.fixture
def lab(_lab_session: LabSession, request: pytest.FixtureRequest) -> Iterator[LabSession]:
    """Give the page to a test; afterwards nothing may have failed in it or asked for elsewhere."""
    session = _lab_session
    session.page_errors.clear()
    session.foreign.clear()
    session.wire.reset()
    yield session
    if failed := request.node.stash.get(_FAILED, default=False):
        session.screenshot(f"failed-{_slug(request.node.name)}")
    session.close_all()
    session.theme("JupyterLab Light")
    if not failed:
        assert session.foreign == [], "the page asked for addresses elsewhere"
        assert session.page_errors == [], "a script in the page failed"


@pytest.fixture
def open_notebook(lab: LabSession, request: pytest.FixtureRequest) -> OpenNotebook:
    """Return the function that opens notebooks in this test's folder."""

    def open_(*cells: str, name: str = "notebook", kernel: str = OWN_KERNEL) -> Notebook:
        return lab.open(_slug(request.node.name), list(cells), name=name, kernel=kernel)

    return open_


_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember a failed test body, so that its page is photographed before it is closed."""
    report = yield
    if call.when == "call":
        item.stash[_FAILED] = report.failed
    return report


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-")
