"""Take the pictures of README and docs: a card and the inbox in JupyterLab.

Usage: python -m scripts.screenshots
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.lab import running_lab
from tests.browser.session import LabSession, lab_session, running_chromium
from tests.browser.test_approval import press

PICTURES = Path(__file__).resolve().parent.parent / "docs"

CELLS = (
    """\
import hitl_widgets as hitl

@hitl.tool(require_approval=True, effect="destructive")
async def delete_record(id: str) -> dict:
    "Delete a record by ID."
    return {"deleted": id}

agent = hitl.Agent(
    "records",
    instructions="Keep the records.",
    model=hitl.ScriptedModel([[hitl.call("delete_record", id="abc-123")], "Deleted abc-123."]),
    tools=[delete_record],
)""",
    'result = await agent.run("Delete record abc-123")',
    "result.text",
)


# No picture shows where it was taken: the store stands in the notebook's folder, as in a home.
INBOX = (
    """import os
import hitl_widgets as hitl

os.environ["HOME"] = os.getcwd()
hitl.configure(store=os.path.expanduser("~/hitl.db"))

@hitl.tool(require_approval=True, effect="destructive")
async def delete_record(table: str, id: str) -> str:
    return f"deleted {id}"

@hitl.tool(require_approval=True, effect="costly")
async def pay(to: str, amount: float) -> str:
    return f"paid {to}"

def asks(agent, call):
    model = hitl.ScriptedModel([[call], "Done."])
    return hitl.Agent(agent, model=model, tools=[delete_record, pay])

for n in ("0231", "0232", "0240", "0255"):
    await asks("records", hitl.call("delete_record", table="orders", id=n)).generate("Tidy up")
for to, amount in (("Ada", 120.0), ("Grace", 75.5)):
    await asks("accounts", hitl.call("pay", to=to, amount=amount)).generate("Pay the invoices")""",
    "hitl.inbox()",
)


def take_inbox(session: LabSession) -> None:
    """Photograph what waits, with one row opened."""
    session.page.set_viewport_size({"width": 960, "height": 1240})
    session.page.evaluate("() => jupyterapp.shell.collapseLeft()")
    notebook = session.open("inbox", list(INBOX), name="office")
    notebook.run_all()
    notebook.wait_done()
    inbox = notebook.output(1).get_by_role("region", name="Inbox")
    inbox.get_by_role("button", name='Open pay: to="Ada"').click()
    opened = inbox.get_by_role("region", name="Opened: pay")
    expect(opened.get_by_role("button", name="Approve", exact=True)).to_be_enabled()
    session.page.mouse.move(0, 0)
    inbox.screenshot(path=PICTURES / "inbox.png")


def take(session: LabSession) -> None:
    """Photograph the waiting card in both themes, then decide it and photograph the outcome."""
    page = session.page
    page.set_viewport_size({"width": 960, "height": 760})
    page.evaluate("() => jupyterapp.shell.collapseLeft()")
    notebook = session.open("pictures", list(CELLS), name="records")
    notebook.run_all()
    card = notebook.output(1).get_by_role("group", name="Approval: delete_record")
    expect(card).to_be_visible()
    panel = page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    for theme, name in (("JupyterLab Dark", "card-dark"), ("JupyterLab Light", "card-light")):
        session.theme(theme)
        panel.screenshot(path=PICTURES / f"{name}.png")
    press(card.get_by_role("button", name="Approve", exact=True))
    notebook.wait_done()
    panel.screenshot(path=PICTURES / "decided.png")


def main() -> None:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    os.environ["LOGNAME"] = "ada"  # no picture names whose machine it was taken on
    with (
        tempfile.TemporaryDirectory() as root,
        running_lab(Path(root)) as server,
        running_chromium() as browser,
    ):
        session = lab_session(server, browser)
        take(session)
        take_inbox(session)  # last: what waits in it is counted on every other page
    for picture in sorted(PICTURES.glob("*.png")):
        print(f"{picture}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
