"""A page that cannot draw cards: the doctor's table stands under the cell and says what is missing.

JupyterLab refuses the page anywidget's code here, as it does where that is not installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from tests.browser.session import LabSession
from tests.browser.wire import Wire

from .conftest import slug
from .test_life import DEFINE, RUN, new_page

if TYPE_CHECKING:
    import pytest
    from playwright.sync_api import Browser, Locator

    from tests.browser.lab import LabServer


def _decline(where: Locator) -> None:
    """Answer in the input box: no, without a reason."""
    for typed in ("n", ""):
        box = where.get_by_role("textbox")
        expect(box).to_be_enabled(timeout=40_000)
        box.fill(typed)
        box.press("Enter")


def test_a_cell_without_a_card_shows_the_doctors_table_once(
    lab_server: LabServer, chromium: Browser, request: pytest.FixtureRequest
) -> None:
    page = new_page(chromium)
    page.route("**/extensions/anywidget/**", lambda route: route.abort())
    lab = LabSession(lab_server, page, Wire(page))
    lab.start()
    try:
        book = lab.open(slug(request), [DEFINE, RUN, RUN])
        book.run(0)
        book.wait_done()
        book.run(1)
        said = book.output(1).get_by_text("hitl.doctor()")
        expect(said).to_be_visible(timeout=40_000)
        expect(book.output(1)).to_contain_text("no page said hello")
        well = book.output(1).get_by_text("things are well")
        well.click()
        expect(book.output(1)).to_contain_text("anywidget there")
        well.click()
        lab.screenshot("doctor")
        _decline(book.output(1))
        book.wait_done()
        book.run(2)
        _decline(book.output(2))
        book.wait_done()
        expect(book.output(2)).to_contain_text("declined")
        expect(book.output(2)).not_to_contain_text("no page said hello")
    finally:
        lab.close_all()
        page.context.close()
