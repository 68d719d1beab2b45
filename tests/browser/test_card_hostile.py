"""The hostile corpus in a real JupyterLab: calls as cards, schemas as forms, all at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .session import LabSession

FOLDER = Path(__file__).parents[1] / "conformance" / "hostile"
FILES = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
CASES = {name: case for name, case in FILES.items() if "refused" not in case}

SHOW = """
import asyncio, json, pathlib
import hitl_widgets as hitl

@hitl.require_approval
async def send(args: dict) -> None: ...

async def show(path):
    case = json.loads(pathlib.Path(path).read_text("utf-8"))
    if "args" in case:
        return await send(case["args"])
    return await hitl.ask(case["schema"], "<b>Fill in</b>")

cases = [pathlib.Path(FOLDER) / f"{name}.json" for name in NAMES]
waiting = [asyncio.ensure_future(show(path)) for path in cases]
"""

OURS = {
    *("DIV", "P", "SPAN", "H3", "CODE", "B", "DL", "DT", "DD", "I", "BUTTON", "TIME", "SECTION"),
    *("PRE", "MARK", "UL", "LI", "INPUT", "TEXTAREA", "SELECT", "OPTION", "LABEL", "FIELDSET"),
    "LEGEND",
}

# What hangs around our roots, counted: whatever grew there came out of an argument or a schema.
PAGE = """() => ({
  head: document.head.childElementCount,
  body: document.querySelectorAll("body > :not(.hitl-attention)").length,
  frames: document.querySelectorAll("iframe, object, embed").length,
  links: document.querySelectorAll(".hitl-root:not(.hitl-attention) :is(a, img, svg)").length,
  title: document.title.replace(/^\\(\\d+\\) /, ""),
  hurt: window.hurt ?? null,
  polluted: ({}).polluted ?? null,
})"""


def test_nothing_on_the_page_changes_and_everything_is_shown(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    """No script runs, no request leaves, no element but ours appears.

    Cards out of view are counted in the title and in a pill of ours, which are looked past.
    """
    asked: list[str] = []
    lab.page.on("request", lambda request: asked.append(request.url))
    notebook = open_notebook(f"FOLDER = {str(FOLDER)!r}\nNAMES = {list(CASES)}", SHOW)
    notebook.run(0)
    notebook.wait_done()
    before = lab.page.evaluate(PAGE)
    notebook.run(1)
    roots = notebook.output(1).locator(".hitl-root")
    expect(roots).to_have_count(len(CASES), timeout=90_000)
    output = notebook.output(1)
    expect(output.get_by_role("form")).to_have_count(3)
    for _ in range(4):
        closed = output.locator('.twist[aria-expanded="false"], .cut > .link')
        closed.evaluate_all("all => { for (const e of all) e.click() }")
    shown = "".join(roots.all_text_contents())
    for name, case in CASES.items():
        for words in case["shows"]:
            if isinstance(words, str) and name not in ("deep", "wide", "long"):
                assert words in shown, name
    tags = roots.locator("*").evaluate_all("all => [...new Set(all.map(e => e.tagName))]")
    assert set(tags) <= OURS
    assert lab.page.evaluate(PAGE) == before
    assert [url for url in asked if "hurt" in url] == []
