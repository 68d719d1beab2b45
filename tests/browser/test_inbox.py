"""The inbox in a real JupyterLab; what other processes do comes from this one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from hitl_widgets.fingerprint import fingerprint
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import a_call, a_run, a_vote, gated

from .session import SCREENSHOTS
from .test_approval import DEFINE, card, press

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .notebook import Notebook
    from .session import LabSession

INBOX = "import hitl_widgets as hitl\nhitl.inbox()"
PAY = {"tool": "pay"}


def ask(store: SqliteStore, n: int, tool: str = "pay", **more: object) -> None:
    """Another process's run ``run_<n>`` asks ``req_<n>`` and rests."""
    args = {"to": f"user-{n}", "amount": 10}
    call = a_call(f"call_{n}", f"run_{n}", tool_name=tool, args=args)
    made = fingerprint(tool, args)
    asked = gated(call, f"req_{n}", fingerprint=made.text, digests=made.digests, **more)
    store.open_run(a_run(f"run_{n}"), frames={f"run_{n}": {}}, calls=[asked])
    store.release(f"run_{n}", "lease", "suspended")


def inbox(notebook: Notebook, index: int = 0) -> Locator:
    return notebook.output(index).get_by_role("region", name="Inbox")


def with_waiting(notebook: Notebook, *asks: dict[str, str]) -> tuple[SqliteStore, Locator]:
    """The store of another process that asks `asks`, and the inbox that shows them."""
    other = SqliteStore(notebook.store)
    for n, one in enumerate(asks):
        ask(other, n, **one)
    notebook.run_all()
    notebook.wait_done()
    return other, inbox(notebook)


def choose_all_to_decide_together(shown: Locator) -> None:
    shown.get_by_role("button", name="choose all").click()
    shown.get_by_role("button", name="Decide together", exact=True).click()


def rows(shown: Locator) -> Locator:
    return shown.get_by_role("grid", name="Requests").get_by_role("row")


def named(shown: Locator, n: int, verb: str = "Open") -> Locator:
    return shown.get_by_role("button", name=re.compile(rf"{verb} pay: .*user-{n}\b"))


def test_what_other_processes_ask_appears_and_what_they_decide_vanishes(
    open_notebook: OpenNotebook,
) -> None:
    """Live over processes, without a refresh."""
    other, shown = with_waiting(open_notebook(INBOX), PAY)
    expect(rows(shown)).to_have_count(1)
    ask(other, 1)
    expect(rows(shown)).to_have_count(2)
    expect(shown.get_by_text("2 waiting")).to_be_visible()
    other.decide([a_vote("req_0", "declined", reviewer="ada")])
    expect(rows(shown)).to_have_count(1)
    # It was opened from the start; its card says who was faster.
    expect(shown.get_by_role("group", name="Decided: pay")).to_contain_text("ada")
    shown.get_by_role("tab", name="History").click()
    expect(rows(shown)).to_contain_text(["Declined"])


def test_a_run_decided_here_goes_on_with_its_panel_under_its_row(
    lab: LabSession, open_notebook: OpenNotebook
) -> None:
    """R14: after a restart, by the agent that the notebook defines again; a reload shows it all."""
    notebook = open_notebook(DEFINE, 'await agent.generate("Delete");', "hitl.inbox()")
    notebook.run(0)
    notebook.run(1)
    notebook.wait_done()
    notebook.restart()
    notebook.run(0)
    notebook.run(2)
    shown = inbox(notebook, 2)
    opened = shown.get_by_role("region", name="Opened: delete_record")
    press(card(opened).get_by_role("button", name="Approve", exact=True))
    panel = opened.get_by_role("region", name="Run: my-agent")
    expect(panel).to_contain_text("Told: {'deleted': 'abc-123'}")
    expect(panel.get_by_role("status").first).to_contain_text("completed")
    expect(opened.get_by_role("group", name="Decided: delete_record")).to_have_count(1)
    notebook.save()
    lab.load()
    notebook.open()
    expect(panel).to_contain_text("Told: {'deleted': 'abc-123'}")


def test_like_calls_are_decided_together_each_by_itself(open_notebook: OpenNotebook) -> None:
    """R1: one that another process decides meanwhile is told, and stops no other."""
    other, shown = with_waiting(open_notebook(INBOX), *[PAY] * 5, {"tool": "refund"})
    choose_all_to_decide_together(shown)
    together = shown.get_by_role("group", name="Together: pay (5)")
    expect(shown.get_by_role("group", name="Together: refund (1)")).to_be_visible()
    expect(together.get_by_role("row")).to_have_count(6)
    expect(together).to_contain_text(other.request("req_3").short_fingerprint)
    other.decide([a_vote("req_0", "declined", fingerprint=None)])
    together = shown.get_by_role("group", name="Together: pay (4)")
    press(together.get_by_role("button", name="Approve 4"))
    expect(shown.get_by_text("4 decided", exact=True)).to_be_visible()
    expect(together).to_have_count(0)
    assert [other.request(f"req_{n}").state for n in range(6)] == [
        "declined",
        *["approved"] * 4,
        "pending",
    ]
    expect(rows(shown)).to_have_count(1)


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing(lab: LabSession, open_notebook: OpenNotebook, theme: str) -> None:
    notebook = open_notebook(INBOX)
    lab.theme(theme)  # type: ignore[arg-type]
    write, destroy = {"effect": "write"}, {"effect": "destructive"}
    _, shown = with_waiting(notebook, *[write, destroy] * 3)
    named(shown, 1).click()
    expect(shown.get_by_role("region", name="Opened: pay")).to_be_visible()
    choose_all_to_decide_together(shown)
    expect(shown.get_by_role("group", name=re.compile("Together: pay [(]3[)]"))).to_have_count(2)
    assert lab.axe(".hitl-root") == []
    shown.screenshot(path=SCREENSHOTS / f"inbox-{theme.removeprefix('JupyterLab ').lower()}.png")


def test_the_keyboard_does_all_and_no_key_reaches_the_notebook(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook(INBOX)
    _, shown = with_waiting(notebook, *[PAY] * 5)
    grid = shown.get_by_role("grid", name="Requests")
    grid.focus()
    keyboard = notebook.page.keyboard
    for key in ("ArrowDown", " ", "ArrowDown", " ", "d", "d", "Enter"):
        keyboard.press(key)
    expect(shown.get_by_text("2 chosen")).to_be_visible()
    opened = shown.get_by_role("region", name="Opened: pay")
    expect(opened).to_contain_text("user-2")
    expect(opened).to_be_focused()
    expect(notebook.page.locator(".jp-CodeCell")).to_have_count(1)  # `d` deletes it twice pressed
