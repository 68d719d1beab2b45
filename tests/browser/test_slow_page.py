"""A page that is busy while a card comes: it is shown, and hears."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .test_card import DEFINE, RAN, RUN, card_in, choose, decided, press

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conftest import OpenNotebook
    from .session import LabSession

# anywidget makes a model deaf whose module did not load within two seconds: here within none.
_NO_TIME = """() => {
  window.givenTime = AbortSignal.timeout;
  AbortSignal.timeout = () => window.givenTime.call(AbortSignal, 0);
}"""
_TIME_AGAIN = "() => { AbortSignal.timeout = window.givenTime; }"


@pytest.fixture
def no_time(lab: LabSession) -> Iterator[None]:
    """Every module that loads in the page loads too late; anywidget says so in the page."""
    lab.page.evaluate(_NO_TIME)
    yield
    lab.page.evaluate(_TIME_AGAIN)
    assert set(lab.page_errors) == {"[anywidget] Failed to initialize model."}
    lab.page_errors.clear()


@pytest.mark.usefixtures("no_time")
def test_a_card_whose_module_loaded_late_is_shown_and_decides(open_notebook: OpenNotebook) -> None:
    """What the page dropped before it heard again is asked for; answers arrive."""
    notebook = open_notebook(DEFINE, RUN, RAN)
    notebook.run_all()
    card = card_in(notebook.output(1))
    choose(card, "Edit arguments…")
    card.get_by_role("dialog", name="Edit arguments").get_by_label("Table").fill("orders_old")
    card.get_by_role("button", name="Show the changes").click()
    expect(card.get_by_role("region", name="What changes")).to_contain_text("orders_old")
    press(card, "Approve edited")
    assert decided(notebook, 2) == [["orders_old", 2**53 + 1, "t0p", "archive"]]
