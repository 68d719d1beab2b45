"""Every kind of card among JupyterLab's colours: light, dark, high contrast."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .test_card import card_in, choose

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .session import LabSession, Theme

THEMES: list[Theme] = ["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]

DEFINE = """
import asyncio
import hitl_widgets as hitl
from pydantic import BaseModel, Field

class Trip(BaseModel):
    city: str
    days: int = Field(ge=1, le=14)

@hitl.tool(require_approval=True, effect="destructive", secret=("/token",))
async def run_sql(sql: str, token: str, note: str = "", options: dict = {}) -> str:
    "Run a statement."
    return "done"

calls = [
    hitl.call("run_sql", sql=f"delete from orders where id = {n} -- gone", token="t0p",
              note="pay\\u200bp\\u0430l", options={"deep": [1, {"a": None, "b": True}], "n": n})
    for n in (1, 2)
]
agent = hitl.Agent("data-agent", model=hitl.ScriptedModel([calls, "Done."]), tools=[run_sql])
"""
RUN = "handle = agent.start('Clean up')"
ASK = "asked = asyncio.ensure_future(hitl.ask(Trip, 'Where to?')); None"


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_waiting_in_a_dialog_refused_and_decided(
    open_notebook: OpenNotebook, lab: LabSession, theme: Theme
) -> None:
    notebook = open_notebook(DEFINE, RUN, ASK)
    lab.theme(theme)
    notebook.run_all()
    form = notebook.output(2).get_by_role("form", name="Input: Where to?")
    first = notebook.output(1).get_by_role("group", name="Approval: run_sql").first
    expect(first).to_be_visible()
    notebook.wait_done()
    assert lab.axe(".hitl-root") == []

    form.get_by_label("Days").fill("99")
    form.get_by_role("button", name="Submit").click()
    expect(form.get_by_label("Days")).to_have_attribute("aria-invalid", "true")
    first.get_by_role("button", name="Open options").click()
    choose(first, "Decline with a reason…")
    expect(first.get_by_role("dialog", name="Decline with a reason")).to_be_visible()
    assert lab.axe(".hitl-root") == []
    lab.screenshot(re.sub(r"\W+", "-", f"cards {theme}").lower())

    first.get_by_role("dialog").get_by_role("button", name="Decline", exact=True).click()
    expect(notebook.output(1).get_by_role("group", name="Decided: run_sql")).to_be_visible()
    second = card_in(notebook.output(1), "Approval: run_sql")
    second.get_by_role("button", name="More actions").click()
    expect(second.get_by_role("menu")).to_be_visible()
    notebook.output(1).get_by_role("button", name="details").click()
    assert lab.axe(".hitl-root") == []
    second.get_by_role("button", name="Decline", exact=True).click()
    form.get_by_role("button", name="Decline", exact=True).click()
    expect(notebook.output(2)).to_contain_text("Declined")
