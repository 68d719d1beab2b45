"""The approval card in a real JupyterLab: edited, allowed for good, decided by two, tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from playwright.sync_api import Locator, expect

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .notebook import Notebook
    from .session import LabSession

DEFINE = """
import hitl_widgets as hitl
ran = []

@hitl.tool(require_approval=True, secret=("/token",))
async def move(table: str, rows: int, token: str, to: str = "archive") -> str:
    "Move rows of a table."
    ran.append([table, rows, token, to])
    return "moved"

def agent_of(*calls):
    turns = [[hitl.call("move", **c) for c in calls], lambda m: f"Told: {m[-1].parts[-1].content}"]
    return hitl.Agent("my-agent", model=hitl.ScriptedModel(turns), tools=[move])
"""
CALL = "dict(table='orders', rows=2**53 + 1, token='t0p')"
RUN = f"result = await agent_of({CALL}).run('go')\nprint(result.text)"
RAN = "print(ran)"


def card_in(where: Locator, name: str = "Approval: move") -> Locator:
    """The card once it is shown: a kernel on a busy machine imports for a while before it asks."""
    card = where.get_by_role("group", name=name)
    expect(card).to_be_visible(timeout=90_000)
    return card


def press(card: Locator, name: str) -> None:
    """Press a consenting button as a person does: again, when the card says it came too early."""
    button = card.get_by_role("button", name=name, exact=True)
    again = card.get_by_role("status").filter(has_text="press again")
    button.click()
    while again.count():
        button.click()


def choose(card: Locator, item: str) -> None:
    card.get_by_role("button", name="More actions").click()
    card.get_by_role("menuitem", name=item).click()


def decided(notebook: Notebook, index: int) -> list[list[object]]:
    notebook.wait_done()
    return list(json.loads(notebook.text(index).replace("'", '"')))


def test_edited_arguments_are_shown_as_a_difference_and_run(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    """R10, R17, F19: the secret that was not retyped and 2**53 + 1 run as they were."""
    notebook = open_notebook(DEFINE, RUN, RAN)
    notebook.run_all()
    card = card_in(notebook.output(1))
    choose(card, "Edit arguments…")
    box = card.get_by_role("dialog", name="Edit arguments")
    box.get_by_label("Table").fill("orders_old")
    assert lab.axe('[role="dialog"]') == []
    box.get_by_role("button", name="Show the changes").click()
    changes = box.get_by_role("region", name="What changes")
    expect(changes).to_contain_text("orders_old")
    assert "t0p" not in card.inner_text()
    press(card, "Approve edited")
    assert decided(notebook, 2) == [["orders_old", 2**53 + 1, "t0p", "archive"]]


def test_an_edit_that_the_tool_refuses_is_refused_at_its_field(
    open_notebook: OpenNotebook,
) -> None:
    """R4: nothing is decided, and the card stays."""
    notebook = open_notebook(DEFINE, RUN, RAN)
    notebook.run_all()
    card = card_in(notebook.output(1))
    choose(card, "Edit arguments…")
    rows = card.get_by_label("Rows")
    rows.fill("")
    card.get_by_role("button", name="Show the changes").click()
    expect(rows).to_have_attribute("aria-invalid", "true")
    expect(rows).to_be_focused()
    rows.fill("3")
    card.get_by_role("button", name="Show the changes").click()
    press(card, "Approve edited")
    assert decided(notebook, 2) == [["orders", 3, "t0p", "archive"]]


def test_a_standing_grant_is_read_before_it_is_given_listed_and_revoked(
    open_notebook: OpenNotebook,
) -> None:
    """R20: the second run does not ask and says why; after the revocation the third does."""
    listed = "(grant,) = hitl.grants()\nprint(grant['words'])\nhitl.revoke(grant['id'])"
    notebook = open_notebook(DEFINE, RUN, RUN, listed, RUN, RAN)
    notebook.run(0)
    notebook.run(1)
    card = card_in(notebook.output(1))
    choose(card, "Always allow…")
    card.get_by_role("radio", name="this tool, while these stay").check()
    card.get_by_role("checkbox", name="table").check()
    card.get_by_role("radio", name="until").check()
    rule = card.get_by_role("status", name="The exact rule")
    # The last choice's words: at each change the section is empty until they are there.
    expect(rule).to_contain_text("in every run, until")
    words = rule.inner_text()
    assert 'move of my-agent whenever table = "orders"' in words
    press(card, "Approve and always allow")
    notebook.wait_done()
    notebook.run(2)
    notebook.run(3)
    notebook.wait_done()
    assert "Told: moved" in notebook.text(2)
    expect(notebook.output(2)).to_contain_text("allowed by a standing permission")
    expect(notebook.output(3)).to_have_text(words)
    notebook.run(4)
    card_in(notebook.output(4)).get_by_role("button", name="Decline", exact=True).click()
    notebook.run(5)
    assert len(decided(notebook, 5)) == 2


def test_one_vote_of_two_says_so_and_another_reviewer_completes_it(
    open_notebook: OpenNotebook,
) -> None:
    two = DEFINE.replace("require_approval=True", "require_approval=True, quorum=2")
    start = f"handle = agent_of({CALL}).start('go')"
    other = (
        "(request,) = await hitl.pending()\n"
        "await hitl.decide(request, hitl.Approve(), reviewer='user-04')\n"
        "print((await handle).text)"
    )
    notebook = open_notebook(two, start, other)
    notebook.run(0)
    notebook.run(1)
    card = card_in(notebook.output(1))
    expect(card).to_contain_text("0 of 2 reviewers")
    press(card, "Approve")
    expect(card).to_contain_text("Your approval counts: 1 of 2.")
    expect(card.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    notebook.run(2)
    notebook.wait_done()
    assert notebook.text(2) == "Told: moved\n"


def test_a_table_is_shown_as_one_and_its_whole_content_is_bound(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    """R3: twenty of a thousand rows are shown, and say so; the digest is of all."""
    define = (
        "import pandas as pd, hitl_widgets as hitl\n"
        "@hitl.require_approval\n"
        "async def upload(frame): return len(frame)\n"
        "frame = pd.DataFrame({'order': [f'A-{n}' for n in range(1000)], 'paid': True})"
    )
    notebook = open_notebook(define, "print(await upload(frame))")
    notebook.run_all()
    card = card_in(notebook.output(1), "Approval: upload")
    expect(card.get_by_role("table")).to_contain_text("pandas.DataFrame, 1,000 rows × 2 columns")  # noqa: RUF001
    expect(card).to_contain_text("showing 20 of 1,000 rows")
    approve = card.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_disabled()
    card.get_by_role("region", name="frame").evaluate("e => { e.scrollTop = e.scrollHeight }")
    expect(approve).to_be_enabled()
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        lab.theme(theme)
        assert lab.axe('[role="group"]') == []
    press(card, "Approve")
    notebook.wait_done()
    assert notebook.text(1).endswith("1000\n")
    assert "showing 5 of 1,000 rows" in notebook.text(1)


def test_keys_in_a_dialog_do_not_reach_the_notebook(open_notebook: OpenNotebook) -> None:
    """The whole of an edit by keyboard: no cell is run, deleted or added by it."""
    notebook = open_notebook(DEFINE, RUN, RAN)
    notebook.run_all()
    card = card_in(notebook.output(1))
    keyboard = notebook.page.keyboard
    more = card.get_by_role("button", name="More actions")
    more.focus()
    keyboard.press("ArrowDown")
    for _ in range(3):
        keyboard.press("ArrowDown")
    keyboard.press("Enter")
    table = card.get_by_label("Table")
    expect(table).to_be_focused()
    keyboard.press("Control+a")
    keyboard.type("dd aa bb")
    keyboard.press("Shift+Enter")
    keyboard.press("Enter")
    changes = card.get_by_role("region", name="What changes")
    expect(changes).to_contain_text("dd aa bb")
    keyboard.press("Tab")
    approve = card.get_by_role("button", name="Approve edited")
    expect(approve).to_be_focused()
    keyboard.press("Enter")
    while card.get_by_role("status").filter(has_text="press again").count():
        keyboard.press("Enter")
    assert decided(notebook, 2) == [["dd aa bb", 2**53 + 1, "t0p", "archive"]]
