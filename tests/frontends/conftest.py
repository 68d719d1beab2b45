"""Every front end that the core suite runs in, each with the kernels that it is run on."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.browser.lab import OWN_KERNEL
from tests.browser.session import LabSession, lab_session

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

    from tests.browser.lab import LabServer

    from .book import Book

Open = Callable[..., "Book"]


@dataclass(frozen=True)
class Front:
    """A front end as a parameter of a test.

    `open` opens a notebook of cells. Where `background` is set a cell gets no clicks while it
    waits: runs are started with ``agent.start``. Where `clears_on_restart` is set the page is
    loaded again with a new kernel, and old cards are gone.
    """

    name: str
    open: Open
    background: bool = False
    clears_on_restart: bool = False

    def run(self, prompt: str) -> str:
        """A cell that runs the agent on `prompt`."""
        if self.background:
            return f"handle = agent.start({prompt!r})"
        return f"result = await agent.run({prompt!r})"


@pytest.fixture(scope="session")
def _lab_page(lab_server: LabServer, chromium: Browser) -> LabSession:
    return lab_session(lab_server, chromium)


@pytest.fixture
def lab_page(_lab_page: LabSession) -> Iterator[LabSession]:
    """A page on JupyterLab, whose notebooks are closed at the end."""
    _lab_page.page_errors.clear()
    _lab_page.foreign.clear()
    yield _lab_page
    _lab_page.close_all()


def slug(request: pytest.FixtureRequest) -> str:
    """The folder of a test's notebooks, below the server's."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", request.node.name).strip("-")


def _lab(request: pytest.FixtureRequest, kernel: str) -> Front:
    lab: LabSession = request.getfixturevalue("lab_page")
    return Front("lab", lambda *cells: lab.open(slug(request), list(cells), kernel=kernel))


def _served(request: pytest.FixtureRequest, kernel: str, name: str) -> Front:
    from .jupyter_books import ClassicBook, Notebook7

    server: LabServer = request.getfixturevalue("lab_server")
    browser: Browser = request.getfixturevalue("chromium")
    kind = Notebook7 if name == "notebook7" else ClassicBook

    def open_(*cells: str) -> Book:
        path = server.root / slug(request) / "notebook.ipynb"
        book = kind.opened(browser, server, path, list(cells), kernel)
        request.addfinalizer(book.close)
        return book

    return Front(name, open_)


def _vscode(request: pytest.FixtureRequest, kernel: str) -> Front:
    from .vscode import VSCodeBook

    browser: Browser = request.getfixturevalue("chromium")
    folder: Path = request.getfixturevalue("tmp_path")

    def open_(*cells: str) -> Book:
        book = VSCodeBook(browser, folder, list(cells), kernel)
        request.addfinalizer(book.close)
        return book

    return Front("vscode", open_)


def _marimo(request: pytest.FixtureRequest) -> Front:
    from .marimo_book import MarimoBook

    browser: Browser = request.getfixturevalue("chromium")
    folder: Path = request.getfixturevalue("tmp_path")

    def open_(*cells: str) -> Book:
        book = MarimoBook(browser, folder, [cell.strip() for cell in cells])
        request.addfinalizer(book.close)
        return book

    return Front("marimo", open_, background=True, clears_on_restart=True)


@pytest.fixture
def front(request: pytest.FixtureRequest) -> Front:
    """The front end that a test's parameter names: ``"<name>-<version of ipykernel>"``.

    marimo has a kernel of its own.
    """
    name, _, kernel = str(request.param).partition("-")
    if name == "lab":
        return _lab(request, kernel)
    if name == "vscode":
        return _vscode(request, kernel)
    if name == "marimo":
        return _marimo(request)
    return _served(request, kernel or OWN_KERNEL, name)
