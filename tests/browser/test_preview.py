"""Previews in a real JupyterLab: what would happen, on the card, before the buttons."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .test_approval import card, press

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .session import LabSession

CORPUS = Path(__file__).parents[1] / "conformance" / "hostile-html"

DEFINE = """
import pandas as pd
import hitl_widgets as hitl

orders = pd.DataFrame({
    "order": range(101, 221),
    "customer": ["Ada", "Bob", "Ada", "Cy"] * 30,
    "total": [19.9, 5.0, 7.25, 100.0] * 30,
})
ran = []

@hitl.tool(
    effect="destructive",
    reads=("orders",),
    preview=lambda customer: orders[orders["customer"] == customer],
)
async def delete_orders(customer: str) -> int:
    "Delete all orders of a customer."
    ran.append(customer)
    return int((orders["customer"] == customer).sum())

agent = hitl.Agent(
    "orders",
    model=hitl.ScriptedModel([
        [hitl.call("delete_orders", customer="Ada")],
        lambda m: f"Told: {m[-1].parts[-1].content}",
    ]),
    tools=[delete_orders],
)
"""
RUN = 'result = await agent.run("Delete what Ada ordered")\nprint(result.text)'


def test_the_rows_that_would_be_deleted_stand_above_the_buttons(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    """An accessible table with its shape, what was cut, and the variable that the call reads."""
    notebook = open_notebook(DEFINE, RUN, "print(ran)")
    notebook.run_all()
    shown = card(notebook.output(1), "delete_orders")
    preview = shown.get_by_role("group", name="Preview")
    table = preview.get_by_role("table", name=re.compile("60 rows . 3 columns"))
    expect(table).to_be_visible()
    expect(table.get_by_role("columnheader", name="customer")).to_be_visible()
    expect(table.get_by_role("rowheader").first).to_have_text("0")
    expect(table.get_by_role("row")).to_have_count(51)
    expect(preview).to_contain_text("showing 50 of 60 rows")
    expect(shown).to_contain_text("Reads orders: pandas.DataFrame, 120 rows")
    expect(shown.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    preview.get_by_role("region", name="Preview").evaluate("e => e.scrollTo(0, e.scrollHeight)")
    lab.screenshot("preview-table")
    press(shown.get_by_role("button", name="Approve", exact=True))
    expect(notebook.output(1)).to_contain_text("Told: 60")
    expect(notebook.output(2)).to_contain_text("['Ada']")


EVERYTHING = """
import pandas as pd
import matplotlib
import matplotlib.pyplot as plt
import hitl_widgets as hitl
from IPython.display import Markdown

stock = pd.DataFrame({"item": ["bolt", "nut", "gear"], "left": [12, 0, 7]}, index=["a", "b", "c"])

def what_happens(item):
    after = stock.drop("b").assign(left=[12, 5])
    figure, axes = plt.subplots(figsize=(4, 1.6))
    axes.bar(stock["item"], stock["left"])
    axes.set_title("Left in stock")
    return [
        hitl.previews.changes(stock, after),
        hitl.previews.sql("DELETE FROM stock WHERE item = 'nut'", rows=1),
        hitl.previews.diff("limit: 10\\nmode: slow\\n", "limit: 5\\nmode: slow\\n", "stock.yaml"),
        Markdown("## Why\\n\\n- *nut* has run out\\n- `gear` was recounted"),
        hitl.previews.html("<table><tr><th>Cost</th><td>12</td></tr></table>"),
        figure,
    ]

@hitl.require_approval(preview=what_happens, bind_preview=True)
async def prune(item: str) -> str:
    return f"pruned {item}"
"""


def test_every_kind_of_preview_in_light_and_dark(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    """Nothing that axe objects to; the figure is not shown a second time under the cell."""
    notebook = open_notebook(EVERYTHING, 'await prune("nut")')
    notebook.run_all()
    shown = card(notebook.output(1), "prune")
    preview = shown.get_by_role("group", name="Preview", exact=True)
    expect(preview.get_by_role("table", name=re.compile("Rows removed: 1"))).to_be_visible()
    expect(preview.get_by_role("img", name="Left in stock")).to_be_visible()
    frame = preview.locator("iframe")
    expect(frame).to_have_attribute("sandbox", "")
    expect(frame.content_frame.get_by_role("cell", name="12")).to_be_visible()
    shown.evaluate("e => e.scrollIntoView({block: 'start'})")
    lab.screenshot("preview-kinds-light")
    assert lab.axe(".hitl-root") == []
    lab.theme("JupyterLab Dark")
    lab.screenshot("preview-kinds-dark")
    shown.evaluate("e => e.scrollIntoView({block: 'end'})")
    lab.screenshot("preview-kinds-dark-end")
    assert lab.axe(".hitl-root") == []
    lab.theme("JupyterLab Light")
    for block in preview.get_by_role("region").all():
        block.evaluate("e => e.scrollTo(e.scrollWidth, e.scrollHeight)")
    press(shown.get_by_role("button", name="Approve", exact=True))
    expect(notebook.output(1)).to_contain_text("pruned nut")
    expect(notebook.output(1).locator("img")).to_have_count(0)


HOSTILE = """
import pathlib
import hitl_widgets as hitl

def raw(content):
    # Past the sanitiser: the page has to hold by itself.
    return [
        hitl.previews.Shown({"kind": "html", "text": content, "length": len(content)}),
        hitl.previews.Shown(
            {"kind": "markdown", "html": content, "text": content, "length": len(content)}
        ),
    ]

def previewing(folder):
    pages = [p.read_text("utf-8") for p in sorted(pathlib.Path(folder).glob("*.html"))]
    return [part for page in pages[START:START + 6] for part in raw(page)]

@hitl.require_approval(preview=previewing)
async def act(folder: str) -> str:
    return "acted"
"""


@pytest.mark.parametrize("start", [0, 6])
def test_what_got_past_the_sanitiser_runs_and_loads_nothing(
    open_notebook: OpenNotebook, lab: LabSession, start: int
) -> None:
    """The fixture `lab` fails the test when the page asks for any address elsewhere."""
    folder = str(CORPUS)
    notebook = open_notebook(HOSTILE.replace("START", str(start)), f"await act({folder!r})")
    notebook.run_all()
    shown = card(notebook.output(1), "act")
    frames = shown.locator("iframe")
    expect(frames).to_have_count(6)
    for frame in frames.all():
        frame.scroll_into_view_if_needed()
        expect(frame.content_frame.locator("body")).to_be_attached()
    page = lab.page
    assert page.evaluate("window.hurt") is None
    assert page.evaluate("document.activeElement?.ownerDocument === document")
    names = {b.inner_text() for b in shown.get_by_role("button").all()}
    assert names <= {"Approve", "Decline", "⋯", "copy", "show all", ""}, names
    assert "/lab" in page.url
    assert not [f.url for f in page.frames if "127.0.0.1:9" in f.url]


def test_an_edit_is_previewed_before_anybody_says_yes_to_it(open_notebook: OpenNotebook) -> None:
    """R10: what the changed call would do is made by the tool's own code, and is to be read too."""
    notebook = open_notebook(DEFINE, RUN, "print(ran)")
    notebook.run_all()
    shown = card(notebook.output(1), "delete_orders")
    to_end = "e => e.scrollTo(e.scrollWidth, e.scrollHeight)"
    shown.get_by_role("region", name="Preview", exact=True).evaluate(to_end)
    shown.get_by_role("button", name="More actions").click()
    shown.get_by_role("menuitem", name="Edit arguments…").click()
    shown.get_by_role("textbox", name="customer").fill("Cy")
    shown.get_by_role("button", name="Show the changes").click()
    changed = shown.get_by_role("group", name="Preview of the changed call")
    expect(changed.get_by_role("table", name=re.compile("30 rows . 3 columns"))).to_be_visible()
    yes = shown.get_by_role("button", name="Approve edited")
    expect(yes).to_be_disabled()
    changed.get_by_role("region").evaluate(to_end)
    press(yes)
    expect(notebook.output(2)).to_contain_text("['Cy']")


STALE = """
import pandas as pd
import hitl_widgets as hitl

orders = pd.DataFrame({"order": [101, 102], "customer": ["Ada", "Bob"]})
ran = []

@hitl.tool(require_approval=True, reads=("orders",), preview=lambda: orders)
async def archive() -> int:
    "Archive all orders."
    ran.append(len(orders))
    return len(orders)

agent = hitl.Agent(
    "clerk", model=hitl.ScriptedModel([[hitl.call("archive")], "Archived."]), tools=[archive]
)
"""


def test_a_variable_that_changed_while_the_card_waited_is_asked_about_again(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    """R3: another cell changed it; the new card says what changed, and shows the new rows."""
    notebook = open_notebook(
        STALE,
        'handle = agent.start("Archive")',
        'orders = orders.assign(total=1.5)\norders.loc[2] = [103, "Cy", 2.5]',
        "print(ran)",
    )
    for cell in (0, 1):
        notebook.run(cell)
        notebook.wait_done()
    shown = card(notebook.output(1), "archive")
    expect(shown.get_by_role("table", name=re.compile("2 rows . 2 columns"))).to_be_visible()
    notebook.run(2)
    notebook.wait_done()
    press(shown.get_by_role("button", name="Approve", exact=True))
    again = card(notebook.output(1), "archive")
    expect(again).to_contain_text("orders changed since this was asked")
    expect(again).to_contain_text("columns added: total")
    expect(again.get_by_role("table", name=re.compile("3 rows . 3 columns"))).to_be_visible()
    again.evaluate("e => e.scrollIntoView({block: 'start'})")
    lab.screenshot("preview-stale")
    press(again.get_by_role("button", name="Approve", exact=True))
    expect(notebook.output(1)).to_contain_text("Archived.")
    notebook.run(3)
    expect(notebook.output(3)).to_contain_text("[3]")


PICKERS = """
import pandas as pd
import hitl_widgets as hitl
from typing import Annotated
from pydantic import BaseModel

df = pd.DataFrame({"age": [1], "name": ["x"], "city": ["y"]})
Column = Annotated[str, hitl.columns("df")]

class Chart(BaseModel):
    x: Column
    group: list[Column] = []

@hitl.tool(require_approval=True)
async def plot(column: Column) -> str:
    "Plot a column."
    return f"plotted {column}"

agent = hitl.Agent(
    "plots",
    model=hitl.ScriptedModel([
        [hitl.call("plot", column="age")],
        lambda m: f"Told: {m[-1].parts[-1].content}",
    ]),
    tools=[plot],
)
"""


def test_columns_are_picked_from_the_live_table(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    """In a question's form and in an edit: a column that was added a cell ago is there."""
    notebook = open_notebook(
        PICKERS,
        "df['new'] = 1",
        'chart = await hitl.ask(Chart, "What to draw?")\nprint(chart)',
        'result = await agent.run("Plot it")\nprint(result.text)',
    )
    notebook.run_all()
    form = notebook.output(2).get_by_role("form", name="Input: What to draw?")
    expect(form.get_by_role("radio")).to_have_count(4)
    form.get_by_role("radio", name="new").check()
    form.get_by_role("checkbox", name="city").check()
    lab.screenshot("column-pickers")
    form.get_by_role("button", name="Submit").click()
    expect(notebook.output(2)).to_contain_text("x='new' group=['city']")
    shown = card(notebook.output(3), "plot")
    shown.get_by_role("button", name="More actions").click()
    shown.get_by_role("menuitem", name="Edit arguments…").click()
    shown.get_by_role("radio", name="new").check()
    shown.get_by_role("button", name="Show the changes").click()
    press(shown.get_by_role("button", name="Approve edited"))
    expect(notebook.output(3)).to_contain_text("plotted new")
