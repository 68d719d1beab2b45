"""The main job in a real JupyterLab: a card in a cell decides a paused run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

if TYPE_CHECKING:
    from .conftest import OpenNotebook

DEFINE = """
import hitl_widgets as hitl
ran = []

@hitl.tool(require_approval=True)
async def delete_record(id: str) -> dict:
    "Delete a record by ID."
    ran.append(id)
    return {"deleted": id}

agent = hitl.Agent(
    "my-agent",
    model=hitl.ScriptedModel([[hitl.call("delete_record", id="abc-123")], lambda m: f"Told: {m[-1].parts[-1].content}"]),
    tools=[delete_record],
)
"""
RUN = 'result = await agent.run("Delete record abc-123")\nprint(result.text)'
AFTER = "print('after', ran)"


def card(where: Locator, tool: str = "delete_record") -> Locator:
    return where.get_by_role("group", name=f"Approval: {tool}")


def press(button: Locator) -> None:
    """Press a consenting button as a person does: again, when the card says it came too early."""
    group = button.page.get_by_role("status").filter(has_text="press again")
    button.click()
    while group.count():
        button.click()


@pytest.mark.parametrize("kernel", ["7.4.0", "6.31.0"])
def test_a_click_on_approve_runs_the_tool_once_and_the_cell_ends(
    open_notebook: OpenNotebook, kernel: str
) -> None:
    """R1, R2: the card shows argument and fingerprint; the next cell runs afterwards."""
    notebook = open_notebook(DEFINE, RUN, AFTER, kernel=kernel)
    notebook.run_all()
    shown = card(notebook.output(1))
    expect(shown).to_be_visible()
    expect(shown).to_contain_text("abc-123")
    expect(shown).to_contain_text(re.compile(r"hf1:[a-z2-7]{12}"))
    press(shown.get_by_role("button", name="Approve", exact=True))
    notebook.wait_done()
    assert "Told: {'deleted': 'abc-123'}" in notebook.text(1)
    assert notebook.text(2) == "after ['abc-123']\n"
