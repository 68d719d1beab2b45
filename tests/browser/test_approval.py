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
    model=hitl.ScriptedModel([
        [hitl.call("delete_record", id="abc-123")],
        lambda m: f"Told: {m[-1].parts[-1].content}",
    ]),
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


def test_decline_and_decline_with_a_reason_reach_the_model(open_notebook: OpenNotebook) -> None:
    """R11: the model gets a decline result, with the reason."""
    notebook = open_notebook(DEFINE, RUN, RUN, AFTER)
    notebook.run_all()
    card(notebook.output(1)).get_by_role("button", name="Decline", exact=True).click()
    second = card(notebook.output(2))
    second.get_by_role("button", name="More actions").click()
    second.get_by_role("menuitem", name="Decline with a reason…").click()
    dialog = second.get_by_role("dialog", name="Decline with a reason")
    dialog.get_by_role("textbox", name="Reason").fill("use staging")
    dialog.get_by_role("button", name="Decline", exact=True).click()
    notebook.wait_done()
    assert "The human declined this call of delete_record." in notebook.text(1)
    assert "use staging" in notebook.text(2)
    assert notebook.text(3) == "after []\n"


TWO = DEFINE.replace(
    '[hitl.call("delete_record", id="abc-123")]',
    '[hitl.call("delete_record", id="first"), hitl.call("delete_record", id="second")]',
)


def test_two_gated_calls_stand_there_at_once_and_are_decided_in_any_order(
    open_notebook: OpenNotebook,
) -> None:
    """R9."""
    notebook = open_notebook(TWO, RUN, AFTER)
    notebook.run_all()
    cards = card(notebook.output(1))
    expect(cards).to_have_count(2)
    later = cards.filter(has_text="second")
    press(later.get_by_role("button", name="Approve", exact=True))
    expect(cards).to_have_count(1)
    cards.get_by_role("button", name="Decline", exact=True).click()
    notebook.wait_done()
    assert notebook.text(2) == "after ['second']\n"


def test_an_interrupted_wait_leaves_the_card_decidable(open_notebook: OpenNotebook) -> None:
    """R16, F29: the request stays pending; deciding drives the run on in the background."""
    notebook = open_notebook(DEFINE, RUN)
    notebook.run_all()
    shown = card(notebook.output(1))
    expect(shown).to_be_visible()
    notebook.interrupt()
    notebook.wait_done()
    expect(shown).to_be_visible()
    press(shown.get_by_role("button", name="Approve", exact=True))
    expect(notebook.output(1)).to_contain_text("Told: {'deleted': 'abc-123'}")
    notebook.run(notebook.add("print(ran)"))
    notebook.wait_done()
    assert notebook.text(2) == "['abc-123']\n"


def test_a_run_in_the_background_is_decided_while_other_cells_run(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook(DEFINE, 'handle = agent.start("Delete")', "(await handle).text")
    notebook.run_all()
    press(card(notebook.output(1)).get_by_role("button", name="Approve", exact=True))
    notebook.wait_done()
    assert notebook.text(2) == "\"Told: {'deleted': 'abc-123'}\""


def test_a_killed_kernel_loses_nothing(open_notebook: OpenNotebook) -> None:
    """R14: listed, shown in the inbox, approved there, run once and to its end."""
    notebook = open_notebook(DEFINE, RUN)
    notebook.run_all()
    expect(card(notebook.output(1))).to_be_visible()
    notebook.kill_kernel()
    notebook.run(0)
    notebook.wait_done()
    listed = notebook.add(
        "runs = await agent.list_suspended_runs()\n"
        "print(len(runs), [r.tool_name for r in await hitl.pending()])\nhitl.inbox()"
    )
    notebook.run(listed)
    shown = card(notebook.output(listed))
    press(shown.get_by_role("button", name="Approve", exact=True))
    decided = notebook.output(listed).get_by_role("group", name="Decided: delete_record")
    expect(decided).to_be_visible()
    attached = notebook.add("print((await agent.attach(runs[0].run_id)).text, ran)")
    notebook.run(attached)
    notebook.wait_done()
    assert "1 ['delete_record']" in notebook.text(listed)
    assert notebook.text(attached) == "Told: {'deleted': 'abc-123'} ['abc-123']\n"


def test_running_a_cell_again_with_a_key_attaches(open_notebook: OpenNotebook) -> None:
    """R22: one request, whether the kernel died or the cell was interrupted."""
    keyed = RUN.replace('123")', '123", key="clean-up")')
    notebook = open_notebook(DEFINE, keyed, AFTER)
    notebook.run(0)
    notebook.run(1)
    expect(card(notebook.output(1))).to_be_visible()
    notebook.kill_kernel()
    notebook.run_all()
    press(card(notebook.output(1)).get_by_role("button", name="Approve", exact=True))
    notebook.wait_done()
    assert notebook.text(2) == "after ['abc-123']\n"
