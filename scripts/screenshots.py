"""Take the README's pictures: an approval card in JupyterLab, light and dark.

Usage: python -m scripts.screenshots
"""

from __future__ import annotations

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
    with (
        tempfile.TemporaryDirectory() as root,
        running_lab(Path(root)) as server,
        running_chromium() as browser,
    ):
        take(lab_session(server, browser))
    for picture in sorted(PICTURES.glob("*.png")):
        print(f"{picture}: {picture.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
