"""Forms in a real JupyterLab: typed, refused, corrected, submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from .conftest import OpenNotebook

TRIP = """
import hitl_widgets as hitl
from pydantic import BaseModel, Field

class Trip(BaseModel):
    city: str
    days: int = Field(ge=1, le=14)
    note: str | None = None
"""
ASK = 'answer = await hitl.ask(Trip, "Where to?")\nprint(repr(answer))'


def test_ask_is_typed_refused_corrected_and_returns_the_typed_value(
    open_notebook: OpenNotebook,
) -> None:
    """R4, F3: Python's error stands at its field; the request stays pending, the text stays."""
    notebook = open_notebook(TRIP, ASK)
    notebook.run_all()
    form = notebook.output(1).get_by_role("form", name="Input: Where to?")
    form.get_by_label("City").press_sequentially("Oslo")
    days = form.get_by_label("Days")
    days.press_sequentially("99")
    form.get_by_role("button", name="Submit").click()
    expect(days).to_have_attribute("aria-invalid", "true")
    expect(days).to_be_focused()
    expect(days).to_have_accessible_description("1 to 14 Should be at most 14")
    expect(form.get_by_label("City")).to_have_value("Oslo")
    days.press("ControlOrMeta+a")
    days.press_sequentially("7")
    form.get_by_role("button", name="Submit").click()
    notebook.wait_done()
    assert notebook.text(1).endswith("Trip(city='Oslo', days=7, note=None)\n")
