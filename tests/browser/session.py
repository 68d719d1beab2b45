"""One headless Chromium page on one JupyterLab, kept for all tests, and what tests do with it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from .lab import OWN_KERNEL, PROJECT, LabServer
from .notebook import KERNEL_LIMIT, PAGE_HELPERS, Notebook, write_notebook
from .wire import Wire

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Error, Page

SCREENSHOTS = PROJECT / "reports" / "screenshots"
Theme = Literal["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]

# The last five keep Chromium from looking up its maker's hosts, at every start and for ever.
CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
]

# The application exists before its commands do; a theme is the last thing that it loads.
_LOADED = """async () => {
  await window.jupyterapp.restored;
  const commands = ["docmanager:open", "notebook:run-cell", "apputils:change-theme"];
  return commands.every((name) => window.jupyterapp.commands.hasCommand(name))
    && document.body.dataset.jpThemeName && !document.getElementById("jupyterlab-splash");
}"""

# JupyterLab leaves its own requests to a kernel unhandled when that kernel ends.
_KERNEL_GONE = re.compile(r"(Error: )?Canceled future for \w+ message before replies were done")


def chromium_path() -> str:
    """Return the Chromium or Chrome to use: ``HITL_CHROMIUM``, else the first one on the path."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("HITL_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not found:
        raise RuntimeError("No Chromium found: run scripts/chromium.sh, or set HITL_CHROMIUM.")
    return found


@contextlib.contextmanager
def running_chromium() -> Iterator[Browser]:
    """Run a headless Chromium. A busy machine may take its time before something is there."""
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class LabSession:
    """A page on a running JupyterLab.

    `page_errors` are errors that no script caught, `foreign` the addresses elsewhere that the page
    asked for (they never get there), `wire` counts the kernels' websockets.
    """

    server: LabServer
    page: Page
    wire: Wire
    page_errors: list[str] = field(default_factory=list[str])
    foreign: list[str] = field(default_factory=list[str])
    _open: list[Notebook] = field(default_factory=list[Notebook])

    def start(self) -> None:
        """Watch the page and load JupyterLab into it."""
        self.page.set_default_timeout(20_000)
        self.page.on("pageerror", self._note_error)
        self.page.route(self._is_foreign, lambda route: route.abort())
        self.page.add_init_script(PAGE_HELPERS)
        self.load(f"{self.server.url}/lab?token={self.server.token}&reset")

    def load(self, address: str | None = None) -> None:
        """Load `address`, or load the present one again, and wait for JupyterLab."""
        if address is None:
            self.page.reload()
        else:
            self.page.goto(address)
        self.page.wait_for_function("() => window.jupyterapp?.commands", timeout=KERNEL_LIMIT)
        self.page.wait_for_function(_LOADED, timeout=KERNEL_LIMIT)

    def _note_error(self, error: Error) -> None:
        if not _KERNEL_GONE.match(error.message):
            self.page_errors.append(error.message)

    def _is_foreign(self, address: str) -> bool:
        local = (self.server.url, "data:", "blob:", "about:")
        if address.startswith(local):
            return False
        self.foreign.append(address)
        return True

    def open(
        self, folder: str, cells: list[str], *, name: str = "notebook", kernel: str = OWN_KERNEL
    ) -> Notebook:
        """Write a notebook of `cells` into `folder`, open it and check its ipykernel's version."""
        notebook = Notebook(self.page, self.server, self.server.root / folder / f"{name}.ipynb")
        write_notebook(notebook.path, cells, kernel)
        notebook.open()
        self._open.append(notebook)
        running = notebook.ipykernel_version()
        if running != kernel:
            raise AssertionError(f"asked for ipykernel {kernel}, got {running}")
        return notebook

    def close_all(self) -> None:
        """Close every notebook opened here, with its kernel."""
        while self._open:
            self._open.pop().close()

    def theme(self, name: Theme) -> None:
        """Switch JupyterLab to the theme `name` and wait until the page shows it.

        Each switch shows the splash screen; a second switch while it fades away makes JupyterLab
        remove it twice, which is an error in the page.
        """
        if self.page.evaluate("document.body.dataset.jpThemeName") == name:
            return
        change = "theme => jupyterapp.commands.execute('apputils:change-theme', { theme })"
        self.page.evaluate(change, name)
        shown = """name => document.body.dataset.jpThemeName === name
                           && !document.getElementById('jupyterlab-splash')"""
        self.page.wait_for_function(shown, arg=name)

    def axe(self, selector: str) -> list[dict[str, Any]]:
        """Return axe-core's findings within `selector`: id, impact, help and the elements."""
        results = Axe().run(self.page, context=selector)
        return [
            {
                "id": violation["id"],
                "impact": violation["impact"],
                "help": violation["help"],
                "elements": [node["html"] for node in violation["nodes"]],
            }
            for violation in results.response["violations"]
        ]

    def screenshot(self, name: str) -> Path:
        """Save a picture of the page as ``reports/screenshots/<name>.png`` and return its path."""
        path = SCREENSHOTS / f"{name}.png"
        self.page.screenshot(path=path)
        return path


def lab_session(server: LabServer, browser: Browser) -> LabSession:
    """Open a page of its own on a running JupyterLab; it is closed with the browser."""
    page = browser.new_context(viewport={"width": 1200, "height": 1000}).new_page()
    session = LabSession(server, page, Wire(page))
    session.start()
    return session
