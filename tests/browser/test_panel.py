"""A run's one output in a real JupyterLab: everything that it says and does, and where."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from .session import SCREENSHOTS
from .test_approval import card, press

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .notebook import Notebook
    from .session import LabSession

KERNELS = pytest.mark.parametrize("kernel", ["7.4.0", "6.31.0"])

DEFINE = """
import asyncio
import pathlib
import hitl_widgets as hitl
from pydantic import BaseModel

class City(BaseModel):
    name: str

async def until(name):
    while not pathlib.Path(name).exists():
        await asyncio.sleep(0.05)

@hitl.tool
async def rebuild(ctx: hitl.ToolContext) -> str:
    ctx.progress(0.5, "50 of 100 shards")
    await until("rebuilt")
    return "rebuilt"

@hitl.tool
async def weather(ctx: hitl.ToolContext) -> str:
    city = await ctx.ask(City, "Which city?")
    await until("over")
    return f"rain in {city.name}"

@hitl.tool(require_approval=True)
async def delete_record(id: str) -> str:
    return f"deleted {id}"

librarian = hitl.Agent(
    "librarian",
    description="knows the records",
    tools=[delete_record],
    model=hitl.ScriptedModel([[hitl.call("delete_record", id="abc-123")], "It is gone."]),
)
boss = hitl.Agent(
    "boss",
    agents=[librarian],
    tools=[rebuild, weather],
    model=hitl.ScriptedModel([
        ["First the index.", hitl.call("rebuild")],
        [hitl.call("agent-librarian", prompt="delete it")],
        [hitl.call("weather")],
        "All is done, word by word by word by word.",
    ], delay=0.02),
)
"""


def panel_in(where: Locator, agent: str = "boss") -> Locator:
    return where.get_by_role("region", name=f"Run: {agent}")


def touch(notebook: Notebook, name: str) -> None:
    (notebook.path.parent / name).touch()


def answer(panel: Locator) -> None:
    form = panel.get_by_role("form", name="Input: Which city?")
    form.get_by_label("Name").press_sequentially("Oslo")
    form.get_by_role("button", name="Submit").click()


@KERNELS
def test_a_background_run_says_everything_in_its_own_panel(
    open_notebook: OpenNotebook, kernel: str
) -> None:
    """Text, progress, a nested agent, a card, a form, and the chart; other cells keep theirs."""
    notebook = open_notebook(
        DEFINE,
        "handle = boss.start('go')",
        "for n in range(3):\n    print('mine', n)\n    await asyncio.sleep(0.1)",
        "print((await handle).text)",
        kernel=kernel,
    )
    for index in (0, 1, 2):
        notebook.run(index)
    notebook.wait_done()
    panel = panel_in(notebook.output(1))
    steps = panel.get_by_role("list", name="Steps of the run")
    expect(steps).to_contain_text("First the index.")
    bar = panel.get_by_role("progressbar", name="rebuild")
    expect(bar).to_have_attribute("value", "0.5")
    expect(panel).to_contain_text("50 of 100 shards")
    touch(notebook, "rebuilt")
    nested = panel.get_by_role("list", name="Agent: librarian")
    press(card(nested).get_by_role("button", name="Approve", exact=True))
    answer(panel)
    # What is looked at is not swapped for the record when the run ends.
    panel.get_by_role("button", name="details").first.focus()
    touch(notebook, "over")
    expect(steps).to_contain_text("All is done, word by word by word by word.")
    expect(panel.get_by_role("figure", name="Where the time went")).to_contain_text("people")
    expect(panel.get_by_role("status").first).to_contain_text("completed")
    expect(nested).to_contain_text("It is gone.")
    panel.screenshot(path=SCREENSHOTS / f"panel-{kernel}.png")
    assert notebook.text(2) == "mine 0\nmine 1\nmine 2\n"
    notebook.run(3)
    notebook.wait_done()
    assert notebook.text(3) == "All is done, word by word by word by word.\n"


@KERNELS
def test_deciding_after_an_interrupt_goes_on_in_the_same_panel(
    open_notebook: OpenNotebook, kernel: str
) -> None:
    """R16: nobody in a cell waits any more, and everything that follows stands in the panel."""
    notebook = open_notebook(DEFINE, "await librarian.run('go')", "print('later')", kernel=kernel)
    notebook.run(0)
    notebook.run(1)
    panel = panel_in(notebook.output(1), "librarian")
    expect(card(panel)).to_be_visible()
    notebook.interrupt()
    notebook.wait_done()
    expect(panel).to_contain_text("Nobody waits for this run in a cell any more")
    notebook.run(2)
    notebook.wait_done()
    press(card(panel).get_by_role("button", name="Approve", exact=True))
    expect(notebook.output(1)).to_contain_text("It is gone.")
    expect(notebook.output(1)).to_contain_text("completed")
    assert notebook.text(2) == "later\n"


@KERNELS
def test_a_page_that_is_loaded_again_shows_what_happened_meanwhile(
    open_notebook: OpenNotebook, lab: LabSession, kernel: str
) -> None:
    """The run goes on without a page; what it said and asked since is there, and can be decided."""
    notebook = open_notebook(DEFINE, "handle = boss.start('go')", kernel=kernel)
    notebook.run(0)
    notebook.run(1)
    notebook.wait_done()
    expect(panel_in(notebook.output(1))).to_contain_text("50 of 100 shards")
    notebook.save()
    lab.page.goto("about:blank")
    touch(notebook, "rebuilt")
    touch(notebook, "over")
    lab.load(f"{lab.server.url}/lab/tree/{notebook.name}?token={lab.server.token}")
    panel = panel_in(lab.page.locator("body"))
    expect(panel).to_contain_text("First the index.")
    press(card(panel).get_by_role("button", name="Approve", exact=True))
    answer(panel)
    expect(panel).to_contain_text("All is done, word by word by word by word.")
    expect(panel.get_by_role("status").first).to_contain_text("completed")


def test_cancel_ends_the_run_and_takes_its_questions_back(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(
        DEFINE, "handle = boss.start('go')", "print((await handle).finish_reason)"
    )
    notebook.run(0)
    touch(notebook, "rebuilt")
    notebook.run(1)
    panel = panel_in(notebook.output(1))
    expect(card(panel)).to_be_visible()
    panel.get_by_role("button", name=re.compile("^Cancel")).click()
    notebook.run(2)
    notebook.wait_done()
    assert notebook.text(2) == "aborted\n"
    expect(notebook.output(1)).to_contain_text("cancelled")
    expect(card(panel)).to_have_count(0)
