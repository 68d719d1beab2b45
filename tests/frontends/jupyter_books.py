"""Notebook 7 and nbclassic, on the JupyterLab server of the browser tests: a page per notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tests.browser.notebook import KERNEL_LIMIT, PAGE_HELPERS, Notebook, write_notebook

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

    from tests.browser.lab import LabServer


def new_page(browser: Browser) -> Page:
    """A page with its own cookies: another person's browser."""
    page = browser.new_context(viewport={"width": 1200, "height": 1000}).new_page()
    page.set_default_timeout(20_000)
    return page


class Notebook7(Notebook):
    """Notebook 7 is made of JupyterLab's parts: its one panel is driven in the same way."""

    @classmethod
    def opened(
        cls, browser: Browser, server: LabServer, path: Path, cells: list[str], kernel: str
    ) -> Notebook7:
        """Write a notebook and open it."""
        write_notebook(path, cells, kernel)
        book = cls(new_page(browser), server, path)
        book.page.add_init_script(PAGE_HELPERS)
        book.open()
        return book

    def open(self) -> None:
        """Open the file and wait until its kernel is idle and connected."""
        self.page.goto(f"{self.server.url}/notebooks/{quote(self.name)}?token={self.server.token}")
        self.page.wait_for_function(
            """path => {
              if (!window.jupyterapp?.commands.hasCommand("notebook:run-all-cells")) return false;
              const [panel] = window.jupyterapp.shell.widgets("main");
              return panel?.context?.path === path && harness.idle(path);
            }""",
            arg=self.name,
            timeout=KERNEL_LIMIT,
        )

    def output(self, index: int) -> Locator:
        """The output area of a cell."""
        return self.page.locator(f'[data-windowed-list-index="{index}"] .jp-Cell-outputArea')

    def close(self) -> None:
        """End the kernel and leave the page."""
        super().close()
        self.page.context.close()


@dataclass(frozen=True)
class ClassicBook:
    """nbclassic: the notebook of before 2023, which many servers still offer."""

    page: Page
    server: LabServer
    path: Path

    @classmethod
    def opened(
        cls, browser: Browser, server: LabServer, path: Path, cells: list[str], kernel: str
    ) -> ClassicBook:
        """Write a notebook, open it and wait for its kernel."""
        write_notebook(path, cells, kernel)
        book = cls(new_page(browser), server, path)
        name = quote(path.relative_to(server.root).as_posix())
        book.page.goto(f"{server.url}/nbclassic/notebooks/{name}?token={server.token}")
        book._wait_idle()
        return book

    @property
    def store(self) -> Path:
        """The request store of this notebook's kernels."""
        return self.path.parent / "requests.db"

    def close(self) -> None:
        """End the kernel and leave the page."""
        self._evaluate("() => new Promise(done => Jupyter.notebook.session.delete(done, done))")
        # Or the page asks whether to leave what was not saved.
        self._evaluate("() => Jupyter.notebook.set_dirty(false)")
        self.page.context.close()

    # Running ------------------------------------------------------------------------------------

    def run_all(self) -> None:
        """Start all cells and return at once."""
        self._evaluate("() => Jupyter.notebook.execute_all_cells()")

    def run(self, index: int) -> None:
        """Start one cell and return at once."""
        self._evaluate("index => Jupyter.notebook.execute_cells([index])", index)

    def wait_done(self) -> None:
        """Wait until everything that was started has ended."""
        # A cell is `running` from when it is queued until its reply has come; what it has printed
        # may come later, and is there when the kernel's idle has come.
        self._wait(
            """() => Jupyter.notebook.get_cells().every(cell =>
              !cell.element.hasClass("running")
              && (Jupyter.notebook.kernel._msg_callbacks[cell.last_msg_id]?.iopub_done ?? true))"""
        )

    def restart(self) -> None:
        """Restart the kernel, and wait for it."""
        # A cell that the old kernel was running keeps its star for ever.
        self._evaluate(
            """() => new Promise(done => {
              Jupyter.notebook.events.one("kernel_ready.Kernel", done);
              Jupyter.notebook.get_cells().forEach(cell => {
                cell.element.removeClass("running");
                cell.last_msg_id = null;
              });
              Jupyter.notebook.kernel.restart();
            })"""
        )
        self._wait_idle()

    # Reading ------------------------------------------------------------------------------------

    def output(self, index: int) -> Locator:
        """The output area of a cell."""
        cell = self.page.locator("#notebook-container > .cell").nth(index)
        return cell.locator(".output_wrapper")

    def text(self, index: int) -> str:
        """What a cell shows as text: streams, ``text/plain`` and errors."""
        script = "index => Jupyter.notebook.get_cell(index).output_area.toJSON()"
        return "".join(map(_text, self._evaluate(script, index)))

    # Inside -------------------------------------------------------------------------------------

    def _evaluate(self, script: str, argument: object = None) -> Any:
        return self.page.evaluate(script, argument)

    def _wait(self, condition: str) -> None:
        self.page.wait_for_function(condition, timeout=KERNEL_LIMIT)

    def _wait_idle(self) -> None:
        self._wait(
            """() => window.Jupyter?.notebook?.kernel?.info_reply?.banner
                     && !Jupyter.notebook.kernel_busy"""
        )


def _text(output: dict[str, Any]) -> str:
    match output["output_type"]:
        case "stream":
            return _joined(output["text"])
        case "error":
            return f"{output['ename']}: {output['evalue']}"
        case _:
            return _joined(output["data"].get("text/plain", ""))


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
