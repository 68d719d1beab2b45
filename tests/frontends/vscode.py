"""Drive a notebook in the stand-in for VS Code: the person's side of `vscode_host`."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from tests.browser.lab import OWN_KERNEL, kernel_name, write_kernelspecs

from .vscode_host import KERNEL_LIMIT, Host

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

Theme = Literal["dark", "light", "hcdark", "hclight"]


class _Loop:
    """An event loop in a thread: Playwright's synchronous interface occupies the main one."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vscode-host")
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * KERNEL_LIMIT)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@dataclass
class VSCodeBook:
    """A notebook in its own page; `folder` holds its store."""

    browser: Browser
    folder: Path
    cells: list[str]
    kernel: str = OWN_KERNEL
    theme: Theme = "dark"
    policy: bool = False
    errors: list[str] = field(default_factory=list[str])
    foreign: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        data = self.folder / ".jupyter"
        write_kernelspecs(data)
        self.host = Host(self.folder / "notebook.ipynb", data / "kernels", kernel_name(self.kernel))
        self.host.theme, self.host.policy = self.theme, self.policy
        self._loop = _Loop()
        self._open = AsyncExitStack()
        try:
            self.url = self._loop.do(self._open.enter_async_context(self.host.serving()))
            self.page = self._new_page()
        except BaseException:
            self.close()
            raise

    def _new_page(self) -> Page:
        # VS Code's notebook is in a frame of this width beside its side bar.
        context = self.browser.new_context(viewport={"width": 900, "height": 1000})
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.errors.append(error.message))
        page.route(self._is_foreign, lambda route: route.abort())
        page.goto(self.url)
        _wait_connected(page, 1)
        return page

    def _is_foreign(self, address: str) -> bool:
        if address.startswith((self.url, "data:", "blob:", "about:")):
            return False
        self.foreign.append(address)
        return True

    @property
    def store(self) -> Path:
        """The request store of this notebook's kernels."""
        return self.folder / "requests.db"

    def close(self) -> None:
        """End the kernel and close the page."""
        if hasattr(self, "page"):
            self.page.context.close()
        try:
            self._loop.do(self._open.aclose())
        finally:
            self._loop.close()

    # Running ------------------------------------------------------------------------------------

    def run_all(self) -> None:
        """Start all cells and return at once."""
        for index in range(len(self.cells)):
            self.run(index)

    def run(self, index: int) -> None:
        """Start one cell and return at once."""
        self._loop.do(self.host.run(index, self.cells[index]))

    def wait_done(self) -> None:
        """Wait until everything that was started has ended."""
        # What was started a moment ago may not have reached the page.
        done = "started => window.started === started && window.running === 0"
        self.page.wait_for_function(done, arg=self.host.started, timeout=1000 * KERNEL_LIMIT)

    def restart(self) -> None:
        """Restart the kernel, and wait for it."""
        before = int(self.page.evaluate("window.connections"))
        self._loop.do(self.host.restart())
        _wait_connected(self.page, before + 1)

    # Reading ------------------------------------------------------------------------------------

    def output(self, index: int) -> Locator:
        """The outputs of a cell."""
        return self.page.locator(f"#cell-{index}")

    def text(self, index: int) -> str:
        """What a cell shows as text: streams, ``text/plain`` and errors."""
        return "".join(map(_text, self.host.outputs.get(index, [])))


def _wait_connected(page: Page, times: int) -> None:
    # In the page: while Python waits, Playwright would let none of the page's requests pass.
    page.wait_for_function("times => window.connections === times", arg=times)


def _text(output: dict[str, Any]) -> str:
    match output["output_type"]:
        case "stream":
            return str(output["text"])
        case "error":
            return f"{output['ename']}: {output['evalue']}"
        case _:
            return str(output["data"].get("text/plain", ""))
