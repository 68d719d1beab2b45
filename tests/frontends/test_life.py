"""What happens to a page while a card waits in it: reloads, other tabs, lost connections, kernels
that stop. In JupyterLab, whose parts Notebook 7 shares.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.notebook import KERNEL_LIMIT, PAGE_HELPERS, Notebook
from tests.browser.session import LabSession, lab_session
from tests.browser.wire import Wire

from .card import approve, card, decided, expect_silent
from .conftest import slug
from .jupyter_books import new_page
from .test_core import AFTER, DEFINE, TWICE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

    from tests.browser.lab import LabServer

    OpenLab = Callable[..., Notebook]

RUN = 'result = await agent.run("Delete record abc-123")'


@pytest.fixture
def open_lab(lab_page: LabSession, request: pytest.FixtureRequest) -> OpenLab:
    return lambda *cells: lab_page.open(slug(request), list(cells))


@pytest.fixture(scope="module")
def _elsewhere(lab_server: LabServer, chromium: Browser) -> LabSession:
    return lab_session(lab_server, chromium)


@pytest.fixture
def elsewhere(_elsewhere: LabSession) -> Iterator[Page]:
    """JupyterLab in a second browser, with cookies of its own."""
    yield _elsewhere.page
    _elsewhere.load(f"{_elsewhere.server.url}/lab?reset")


def show_in(page: Page, book: Notebook) -> Notebook:
    """Open in another page what `book` has open; its kernel may be waiting in a cell."""
    other = Notebook(page, book.server, book.path)
    page.evaluate("path => { jupyterapp.commands.execute('docmanager:open', { path }) }", book.name)
    connected = """path => {
      const panels = [...jupyterapp.shell.widgets("main")];
      const panel = panels.find(widget => widget.context?.path === path);
      return panel?.sessionContext.session?.kernel?.connectionStatus === "connected";
    }"""
    page.wait_for_function(connected, arg=book.name, timeout=KERNEL_LIMIT)
    return other


def test_a_second_browser_shows_who_decided_and_can_decide_itself(
    open_lab: OpenLab, elsewhere: Page
) -> None:
    """R1, R12: what is decided in one page is said in the other at once."""
    book = open_lab(TWICE, RUN, AFTER)
    book.run_all()
    first = card(book.output(1)).filter(has_text="abc-123")
    expect(first).to_be_visible()
    book.save()
    other = show_in(elsewhere, book)
    expect(card(other.output(1)).filter(has_text="abc-123")).to_be_visible()
    approve(first)
    over = decided(other.output(1))
    expect(over).to_contain_text("Already approved")
    expect(over).to_contain_text("root")
    expect(over.get_by_role("button", name="Approve")).to_have_count(0)
    approve(card(other.output(1)).filter(has_text="abc-124"))
    expect(book.output(1)).to_contain_text("Told: {'deleted': 'abc-124'}")
    book.wait_done()
    assert book.text(2) == "after ['abc-123', 'abc-124']\n"


# A real notification, noted when it is made; and a tab that says it is not looked at.
AWAY = """() => {
  window.made = [];
  window.Notification = class extends window.Notification {
    constructor(title, options) {
      super(title, options);
      window.made.push([title, options.tag]);
    }
  };
  Object.defineProperty(document, "visibilityState", {
    configurable: true, get: () => "hidden",
  });
  localStorage["hitl-widgets:notifications"] = "on";
  document.dispatchEvent(new Event("visibilitychange"));
}"""
BACK = """() => {
  window.Notification = Object.getPrototypeOf(window.Notification);
  delete document.visibilityState;
  localStorage.removeItem("hitl-widgets:notifications");
  document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.mark.extended
def test_one_request_in_two_tabs_is_told_on_the_desktop_once(
    open_lab: OpenLab, lab_page: LabSession
) -> None:
    browser = lab_page.page.context
    browser.grant_permissions(["notifications"])
    second = LabSession(lab_page.server, browser.new_page(), Wire(lab_page.page))
    second.page.add_init_script(PAGE_HELPERS)
    # A workspace of its own: JupyterLab would send a second tab of one workspace elsewhere.
    second.load(f"{lab_page.server.url}/lab/workspaces/second")
    try:
        book = open_lab(DEFINE, RUN)
        book.run_all()
        expect(card(book.output(1))).to_be_visible()
        book.save()
        other = show_in(second.page, book)
        expect(card(other.output(1))).to_be_visible()
        for page in (book.page, other.page):
            page.evaluate(AWAY)
        for page in (book.page, other.page):
            page.wait_for_function("document.title.startsWith('(1) ')")
        made = [made for page in (book.page, other.page) for made in page.evaluate("made")]
        assert [title for title, _ in made] == ["delete_record waits for you"]
        assert made[0][1].startswith("hitl-widgets ")
        book.page.evaluate(BACK)
    finally:
        second.page.close()
        browser.clear_permissions()


@pytest.mark.extended
def test_two_tabs_press_at_once_and_the_tool_runs_once(open_lab: OpenLab, elsewhere: Page) -> None:
    """R1, F1."""
    book = open_lab(DEFINE, RUN, AFTER)
    book.run_all()
    expect(card(book.output(1))).to_be_visible()
    book.save()
    other = show_in(elsewhere, book)
    buttons = [
        card(shown.output(1)).get_by_role("button", name="Approve", exact=True)
        for shown in (book, other)
    ]
    for button in buttons:
        expect(button).to_be_enabled()
    # Not awaited one after the other: both are on their way before either was answered.
    press = "button => { setTimeout(() => button.click(), 600) }"
    for button in buttons:
        button.evaluate(press)
    expect(book.output(1)).to_contain_text("Told: {'deleted': 'abc-123'}")
    expect(decided(other.output(1))).to_be_visible()
    book.wait_done()
    assert book.text(2) == "after ['abc-123']\n"


def test_a_page_that_is_loaded_again_has_the_card_back(
    open_lab: OpenLab, lab_page: LabSession
) -> None:
    """The cell still waits; the card is drawn from the kernel's side and decides it."""
    book = open_lab(DEFINE, RUN)
    book.run_all()
    expect(card(book.output(1))).to_be_visible()
    book.save()
    lab_page.load()
    back = show_in(lab_page.page, book)
    approve(card(back.output(1)))
    expect(decided(back.output(1))).to_be_visible()
    expect(back.output(1)).to_contain_text("Told: {'deleted': 'abc-123'}")
    expect(back.output(1)).to_contain_text("This page was loaded after the card appeared")
    back.wait_idle()
    back.run(back.add("print(ran)"))
    back.wait_done()
    assert back.text(2) == "['abc-123']\n"


@pytest.mark.extended
def test_a_decision_made_while_the_connection_is_down_counts_once_it_is_back(
    open_lab: OpenLab, lab_page: LabSession
) -> None:
    """Until the kernel has answered the card claims nothing."""
    book = open_lab(DEFINE, RUN, AFTER)
    book.run_all()
    shown = card(book.output(1))
    expect(shown.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    network = lab_page.page.context
    # JupyterLab notices too, sooner or later, and says so over everything: a person closes that.
    notice = lab_page.page.get_by_role("dialog", name="Server Connection Error")
    lab_page.page.add_locator_handler(notice, lambda it: it.get_by_role("button").last.click())
    network.set_offline(True)
    try:
        lab_page.page.evaluate("path => harness.kernel(path)._ws.close()", book.name)
        approve(shown)
        expect(shown.get_by_role("alert")).to_contain_text("Sent, but the kernel has not answered")
        expect(decided(book.output(1))).to_have_count(0)
    finally:
        network.set_offline(False)
    # JupyterLab tries again after ever longer pauses.
    told = "Told: {'deleted': 'abc-123'}"
    expect(book.output(1)).to_contain_text(told, timeout=KERNEL_LIMIT)
    book.wait_done()
    expect(notice).to_have_count(0)
    lab_page.page.remove_locator_handler(notice)
    assert book.text(2) == "after ['abc-123']\n"


@pytest.mark.extended
def test_a_card_out_of_view_is_known_to_be_there(open_lab: OpenLab) -> None:
    """The page says hello when it gets the hub, not when it draws a card."""
    heard = """
import asyncio
from hitl_widgets.screen.hub import on_hello, pages
came = asyncio.Event()
stop = on_hello(lambda page: came.set())
if not pages():
    await asyncio.wait_for(came.wait(), 10)
print(len(pages()))
"""
    book = open_lab(DEFINE, "print('tall\\n' * 300)", 'handle = agent.start("Delete")', heard)
    book.run(0)
    book.run(1)
    book.wait_done()
    book.page.evaluate("path => harness.panel(path).content.scrollToItem(0)", book.name)
    book.run(2)
    book.run(3)
    book.page.evaluate("path => harness.panel(path).content.scrollToItem(0)", book.name)
    book.wait_done()
    expect(book.output(2)).not_to_be_in_viewport()
    assert book.text(3) == "1\n"


@pytest.mark.extended
def test_a_restart_in_one_browser_is_said_in_the_other(open_lab: OpenLab, elsewhere: Page) -> None:
    """R12: the second page is told no more than that a kernel starts."""
    book = open_lab(DEFINE, RUN)
    book.run_all()
    expect(card(book.output(1))).to_be_visible()
    book.save()
    other = card(show_in(elsewhere, book).output(1))
    expect(other.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    book.restart()
    expect_silent(other)


@pytest.mark.extended
@pytest.mark.parametrize("end", ["kill_kernel", "shutdown"])
def test_a_kernel_that_ends_is_said_on_its_card_at_once(open_lab: OpenLab, end: str) -> None:
    """R12: nobody has to touch the card."""
    book = open_lab(DEFINE, RUN)
    book.run_all()
    shown = card(book.output(1))
    expect(shown.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    if end == "kill_kernel":
        book.kill_kernel()
    else:
        book.page.evaluate(
            "async path => { await harness.panel(path).sessionContext.shutdown() }", book.name
        )
    expect_silent(shown)
    expect(book.output(1).get_by_role("button", name="Cancel")).to_be_disabled()


def test_a_kernel_that_stands_still_is_not_believed_to_have_heard(open_lab: OpenLab) -> None:
    """Sending claims nothing; what was sent counts when the kernel goes on."""
    book = open_lab(DEFINE, RUN, AFTER)
    book.run_all()
    shown = card(book.output(1))
    expect(shown.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    stopped = book.kernel_pid
    os.kill(stopped, signal.SIGSTOP)
    try:
        approve(shown)
        expect(shown.get_by_role("alert")).to_contain_text("Sent, but the kernel has not answered")
        expect(decided(book.output(1))).to_have_count(0)
    finally:
        os.kill(stopped, signal.SIGCONT)
    book.wait_done()
    assert book.text(2) == "after ['abc-123']\n"


@pytest.mark.extended
def test_a_card_that_comes_late_decides_what_the_input_box_asks_too(
    lab_server: LabServer, chromium: Browser, request: pytest.FixtureRequest
) -> None:
    """Ten seconds without a hello: the box is offered. A page that comes later has its card."""
    page = new_page(chromium)
    code = "**/extensions/anywidget/**"
    page.route(code, lambda route: route.abort())
    lab = LabSession(lab_server, page, Wire(page))
    lab.start()
    try:
        book = lab.open(slug(request), [DEFINE, RUN])
        book.run_all()
        box = book.output(1).get_by_role("textbox")
        expect(box).to_be_visible(timeout=40_000)
        expect(card(book.output(1))).to_have_count(0)
        book.save()
        page.unroute(code)
        lab.load()
        back = show_in(page, book)
        approve(card(back.output(1)))
        expect(back.output(1)).to_contain_text("Told: {'deleted': 'abc-123'}")
        back.wait_idle()
        back.run(back.add("print(ran)"))
        back.wait_done()
        assert back.text(2) == "['abc-123']\n"
    finally:
        lab.close_all()
        page.context.close()
