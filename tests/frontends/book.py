"""What the core suite needs of a notebook, whatever front end shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page


class Book(Protocol):
    """An open notebook of code cells, counted from 0.

    `tests.browser.notebook.Notebook` is one; the others do the same by their front end's means.
    """

    @property
    def page(self) -> Page:
        """The page that shows it."""
        ...

    @property
    def store(self) -> Path:
        """The request store of its kernels."""
        ...

    def run_all(self) -> None:
        """Start all cells and return at once."""
        ...

    def run(self, index: int) -> None:
        """Start one cell and return at once."""
        ...

    def wait_done(self) -> None:
        """Wait until everything that was started has ended."""
        ...

    def output(self, index: int) -> Locator:
        """The output area of a cell."""
        ...

    def text(self, index: int) -> str:
        """What a cell shows as text: streams, ``text/plain`` and errors."""
        ...

    def restart(self) -> None:
        """Restart the kernel, and wait for it."""
        ...

    def close(self) -> None:
        """End the kernel and leave the page."""
        ...
