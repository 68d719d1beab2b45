"""Drive a notebook in marimo's editor: a server of its own per notebook, cells run by hand."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.browser.lab import free_port

from .jupyter_books import new_page

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Locator

START_LIMIT = 60.0  # seconds

# As in Jupyter: a cell runs when it is told to, and what depends on it is only marked.
SETTINGS = '[runtime]\nauto_instantiate = false\non_cell_change = "lazy"\n'
CELL = "@app.cell\nasync def _():\n{body}\n    return\n\n\n"


@dataclass
class MarimoBook:
    """A notebook in its own page; `folder` holds its store."""

    browser: Browser
    folder: Path
    cells: list[str]
    errors: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        (self.folder / "marimo").mkdir()
        (self.folder / "marimo" / "marimo.toml").write_text(SETTINGS, encoding="utf-8")
        bodies = (CELL.format(body=textwrap.indent(cell, "    ")) for cell in self.cells)
        source = "import marimo\n\napp = marimo.App()\n\n\n" + "".join(bodies)
        (self.folder / "notebook.py").write_text(source, encoding="utf-8")
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/"
        with (self.folder / "marimo.log").open("wb") as log:
            self._server = subprocess.Popen(
                [
                    *(sys.executable, "-m", "marimo", "edit", "notebook.py", "--headless"),
                    *("--no-token", "--skip-update-check", "--host=127.0.0.1", f"--port={port}"),
                ],
                cwd=self.folder,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    "HITL_STORE": str(self.store),
                    "XDG_CONFIG_HOME": str(self.folder),
                },
            )
        try:
            self._wait_until_up()
            self.page = new_page(self.browser)
            self.page.on("pageerror", lambda error: self.errors.append(error.message))
            self.page.goto(self.url)
            self._wait_ready()
        except BaseException:
            self.close()
            raise

    def _wait_until_up(self) -> None:
        limit = time.monotonic() + START_LIMIT
        while True:
            try:
                urllib.request.urlopen(self.url, timeout=5).close()  # noqa: S310 - our own server
            except (urllib.error.URLError, OSError):
                if self._server.poll() is not None or time.monotonic() > limit:
                    log = (self.folder / "marimo.log").read_text(encoding="utf-8")
                    raise RuntimeError(f"marimo did not come up:\n{log}") from None
                time.sleep(0.1)
            else:
                return

    def _wait_ready(self) -> None:
        self._cell(len(self.cells) - 1).wait_for()

    @property
    def store(self) -> Path:
        """The request store of this notebook's kernels."""
        return self.folder / "requests.db"

    def close(self) -> None:
        """End the kernel and leave the page."""
        if hasattr(self, "page"):
            self.page.context.close()
        self._server.terminate()
        try:
            self._server.wait(15)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()

    # Running ------------------------------------------------------------------------------------

    def run_all(self) -> None:
        """Start all cells and return at once."""
        for index in range(len(self.cells)):
            self.run(index)

    def run(self, index: int) -> None:
        """Start one cell and return at once."""
        # Not by the mouse: the head of the page may lie over the button.
        self._cell(index).get_by_test_id("run-button").first.dispatch_event("click")

    def wait_done(self) -> None:
        """Wait until everything that was started has ended."""
        busy = self.page.locator("[data-status=running], [data-status=queued]")
        busy.first.wait_for(state="detached")

    def restart(self) -> None:
        """Restart the kernel, and wait for it."""
        self.page.get_by_test_id("notebook-menu-dropdown").click()
        self.page.get_by_role("menuitem", name="Restart kernel").click()
        with self.page.expect_navigation():
            self.page.get_by_role("alertdialog").get_by_role("button", name="Restart").click()
        self._wait_ready()

    # Reading ------------------------------------------------------------------------------------

    def _cell(self, index: int) -> Locator:
        return self.page.locator("[data-cell-id]").nth(index)

    def output(self, index: int) -> Locator:
        """The output area of a cell."""
        return self._cell(index).locator(".output-area")

    def text(self, index: int) -> str:
        """What a cell has printed."""
        return self._cell(index).get_by_test_id("console-output-area").inner_text()
