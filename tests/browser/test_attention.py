"""What waits out of sight, in a real JupyterLab: the tab's title, the pill, another notebook."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .test_approval import card, press

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .session import LabSession

DEFINE = """
import hitl_widgets as hitl

@hitl.tool(require_approval=True, effect="destructive")
async def delete_record(id: str) -> str:
    "Delete a record by ID."
    return "deleted"

agent = hitl.Agent(
    "office", model=hitl.ScriptedModel([[hitl.call("delete_record", id="a")], "Done."]),
    tools=[delete_record],
)
"""
START = "handle = agent.start('Go')"
TALL = "print('line\\n' * 120)"


def pill(page: Page) -> Locator:
    return page.get_by_role("region", name="Waiting out of sight")


def scrolled_away(open_notebook: OpenNotebook) -> Any:
    """A notebook whose card is far above what is in view."""
    notebook = open_notebook(DEFINE, START, TALL, TALL)
    notebook.run_all()
    expect(card(notebook.output(1))).to_be_visible()
    notebook.wait_done()
    notebook.output(3).evaluate("element => element.scrollIntoView({block: 'end'})")
    expect(card(notebook.output(1))).not_to_be_in_viewport()
    return notebook


def test_the_title_counts_it_and_the_pill_jumps_to_it(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    notebook = scrolled_away(open_notebook)
    expect(lab.page).to_have_title(re.compile(r"^\(1\) "))
    jump = pill(lab.page).get_by_role("button", name="Jump to delete_record")
    jump.click()
    shown = card(notebook.output(1))
    expect(shown).to_be_in_viewport()
    expect(shown).to_be_focused()
    expect(pill(lab.page)).to_have_count(0)
    press(shown.get_by_role("button", name="Approve", exact=True))
    expect(lab.page).not_to_have_title(re.compile(r"^\(\d+\) "))


def test_the_pill_brings_back_the_notebook_that_is_behind_another(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    behind = open_notebook(DEFINE, START)
    behind.run_all()
    shown = card(behind.output(1))
    expect(shown).to_be_visible()
    open_notebook("1 + 1", name="front")
    expect(shown).not_to_be_visible()
    expect(lab.page).to_have_title(re.compile(r"^\(1\) .*front"))
    pill(lab.page).get_by_role("button", name="Jump to delete_record").click()
    expect(shown).to_be_in_viewport()
    expect(shown).to_be_focused()
    expect(lab.page).not_to_have_title(re.compile(r"^\(\d+\) "))


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_pill_has_no_fault_that_axe_can_find(
    open_notebook: OpenNotebook, lab: LabSession, theme: Any
) -> None:
    lab.theme(theme)
    scrolled_away(open_notebook)
    expect(pill(lab.page)).to_be_visible()
    lab.screenshot(f"attention-{theme.rpartition(' ')[2].lower()}")
    assert lab.axe(".hitl-attention") == []


def test_a_question_that_is_decided_elsewhere_waits_no_longer(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    notebook = scrolled_away(open_notebook)
    expect(pill(lab.page)).to_be_visible()
    number = notebook.add(
        "(request,) = await hitl.pending()\nreceipt = await hitl.decide(request, hitl.Decline())"
    )
    notebook.run(number)
    expect(pill(lab.page)).to_have_count(0)
    expect(lab.page).not_to_have_title(re.compile(r"^\(\d+\) "))
