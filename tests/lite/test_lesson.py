"""The first lesson, in a static site without a server: Python runs in the page.

Build the site first (``make lite``). A plain file server on the loopback address serves it;
anything that the page asks for elsewhere fails the test.
"""

from __future__ import annotations

import functools
import http.server
import threading
from typing import TYPE_CHECKING, cast

import pytest
from playwright.sync_api import expect

from tests.browser.lab import PROJECT
from tests.browser.notebook import PAGE_HELPERS, Notebook
from tests.browser.session import SCREENSHOTS
from tests.frontends.card import approve, card, decline_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

    from tests.browser.lab import LabServer

SITE = PROJECT / "build" / "lite"

# Milliseconds: Python itself and 60 wheels are loaded into the page, on a busy machine.
LIMIT = 240_000


class Lesson(Notebook):
    """The lesson in JupyterLite: as in JupyterLab, only slower and with no server behind it."""

    name = "01_first_approval.ipynb"

    def _wait(self, script: str) -> None:
        self.page.wait_for_function(script, arg=self.name, timeout=LIMIT)

    def cell(self, words: str) -> int:
        """The first cell that holds `words`."""
        sources: list[str] = self.page.evaluate(
            "path => harness.panel(path).content.widgets.map(c => c.model.sharedModel.source)",
            self.name,
        )
        return next(i for i, source in enumerate(sources) if words in source)

    def do(self, words: str) -> str:
        """Run the cell that holds `words` to its end; what it says."""
        index = self.cell(words)
        self.run(index)
        self.wait_done()
        return self.text(index)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Nothing: a page asks for hundreds of files."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The site, served as files and nothing else."""
    assert (SITE / "index.html").is_file(), "build the site first: make lite"
    serve = functools.partial(_Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(chromium: Browser, address: str) -> Iterator[Page]:
    """A page that reaches the site alone; nothing in it may have failed."""
    context = chromium.new_context(viewport={"width": 1100, "height": 1000})
    foreign: list[str] = []
    errors: list[str] = []

    def is_foreign(url: str) -> bool:
        away = not url.startswith((address, "data:", "blob:", "about:"))
        if away:
            foreign.append(url)
        return away

    context.route(is_foreign, lambda route: route.abort())
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(PAGE_HELPERS)
    yield page
    page.screenshot(path=SCREENSHOTS / "lite.png")
    context.close()
    assert foreign == [], "the page asked for addresses elsewhere"
    assert errors == [], "a script in the page failed"


@pytest.fixture
def lesson(page: Page, address: str) -> Lesson:
    """The lesson, open, with its kernel idle."""
    opened = Lesson(page, cast("LabServer", None), SITE / "files" / Lesson.name)
    page.goto(f"{address}/lab/index.html")
    page.wait_for_function("() => window.jupyterapp?.commands", timeout=LIMIT)
    page.evaluate("async () => { await window.jupyterapp.restored }")
    opened.open()
    return opened


@pytest.mark.timeout(900)
def test_the_first_lesson_by_hand_without_a_server(lesson: Lesson) -> None:
    """A started run waits for a click in the background: approve, then decline with a reason."""
    assert lesson.do("import hitl_widgets") == ""
    lesson.do("agent = hitl.Agent(")

    lesson.do("first = agent.start")
    where = lesson.output(lesson.cell("first = agent.start"))
    expect(card(where)).to_contain_text("abc-123")
    assert "decide on the card above first" in lesson.do("assert first.done()")
    approve(card(where))
    expect(where).to_contain_text("Approved by")
    assert "I was told: {'deleted': 'an old order'}" in lesson.do("assert first.done()")

    lesson.do("careful = hitl.Agent(")
    lesson.do("second = careful.start")
    where = lesson.output(lesson.cell("second = careful.start"))
    decline_with(card(where), "Keep the customer.")
    expect(where).to_contain_text("Declined by")
    assert "Keep the customer." in lesson.do("assert second.done()")

    history = lesson.do("hitl.history()")
    assert ("approve" in history, "decline" in history) == (True, True)
    lesson.do("archived = {}")
    assert "not yet" in lesson.do("check_exercise")

    index = lesson.add("print(hitl.doctor())")
    lesson.run(index)
    lesson.wait_done()
    assert "the page's memory: what waits is lost with the kernel" in lesson.text(index)
