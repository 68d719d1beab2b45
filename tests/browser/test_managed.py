"""A Managed Agents session in JupyterLab: its calls are decided in the cell that attached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playwright.sync_api import expect

from .test_approval import card, press

if TYPE_CHECKING:
    from .conftest import OpenNotebook

START = """
import anthropic
from hitl_widgets.adapters.managed.double import Double, say, use
from hitl_widgets.adapters.managed_agents import attach

ASK = {"permission_policy": {"type": "always_ask"}}
double = Double([[use("bash", command="ls"), use("bash", command="rm -r src")], [say("Listed.")]])
double.start()
session = double.new_session([{"type": "agent_toolset_20260401", "default_config": ASK}])
client = anthropic.AsyncAnthropic(base_url=double.url, api_key=double.key)
"""
ATTACH = "live = attach(client, session.id)"
WAIT = "print(await live.until_idle(), [given['command'] for _, given in session.ran])"
CLOSE = "await live.close(); await client.close(); double.close()"


def test_a_session_is_decided_in_the_cell_that_attached(open_notebook: OpenNotebook) -> None:
    """The cards stand in the cell of `attach`; a later cell waits and goes on."""
    notebook = open_notebook(START, ATTACH, WAIT, CLOSE)
    notebook.run_all()
    where = notebook.output(1)
    expect(where.get_by_role("region", name="Run: double")).to_be_visible()
    expect(card(where, "bash")).to_have_count(2)
    second = card(where, "bash").filter(has_text="rm -r src")
    second.get_by_role("button", name="More actions").click()
    expect(second.get_by_role("menuitem", name="Edit arguments…")).to_have_count(0)
    expect(second.get_by_role("menuitem", name="Respond instead…")).to_have_count(0)
    second.get_by_role("menuitem", name="Decline with a reason…").click()
    dialog = second.get_by_role("dialog", name="Decline with a reason")
    dialog.get_by_role("textbox", name="Reason").fill("Keep the sources.")
    dialog.get_by_role("button", name="Decline", exact=True).click()
    first = card(where, "bash").filter(has_text="ls")
    press(first.get_by_role("button", name="Approve", exact=True))
    notebook.wait_done()
    assert notebook.text(2) == "end_turn ['ls']\n"
    expect(where).to_contain_text("Listed.")
    expect(where).to_contain_text("Keep the sources.")
