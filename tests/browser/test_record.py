"""What stays: one output per run, swapped once for a record that reads well without a kernel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import nbformat
import pytest
from nbconvert.exporters.html import HTMLExporter
from nbconvert.exporters.markdown import MarkdownExporter
from playwright.sync_api import Locator, expect

from .test_card import DEFINE, RUN, card_in, press

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .notebook import Notebook
    from .session import LabSession

CALL = "dict(table='orders <b>&', rows=7, token='t0p')"
CELL = f"result = await agent_of({CALL}).run('go')"
START = f"handle = agent_of({CALL}).start('go')"
WIDGET = "application/vnd.jupyter.widget-view+json"
SAVED = 12_000
"""Bytes of a notebook with two cards, its cells included: no bundle, no widget's state."""
WHO_AND_WHEN = re.compile(r"by \S+ at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d")


def outputs(cell: Any) -> list[dict[str, str]]:
    return [output.data for output in cell.outputs if output.output_type == "display_data"]


def frozen(notebook: Notebook, index: int) -> dict[str, str]:
    """The cell's one record, as the file has it."""
    expect(notebook.output(index)).to_contain_text("Approved by")
    saved = notebook.save()
    assert "widgets" not in saved.metadata
    assert notebook.path.stat().st_size < SAVED
    (record,) = outputs(saved.cells[index])
    assert set(record) == {"text/html", "text/plain"}
    return record


def without_names_and_times(record: dict[str, str]) -> dict[str, str]:
    return {kind: WHO_AND_WHEN.sub("by … at …", text) for kind, text in record.items()}


class TestOneOutputPerRun:
    def test_is_swapped_from_the_cell_from_a_task_and_in_both_ways_alike(
        self, open_notebook: OpenNotebook
    ) -> None:
        """Two runs of one call differ in names and times alone; fingerprints are the same."""
        notebook = open_notebook(DEFINE, CELL, START, "print((await handle).text)")
        notebook.run(0)
        notebook.run(1)
        press(card_in(notebook.output(1)), "Approve")
        notebook.wait_done()
        notebook.run(2)
        notebook.wait_done()
        press(card_in(notebook.output(2)), "Approve")
        notebook.run(3)
        notebook.wait_done()
        first, second = frozen(notebook, 1), frozen(notebook, 2)
        assert without_names_and_times(first) == without_names_and_times(second)
        assert "orders &lt;b&gt;&amp;" in first["text/html"]
        assert "t0p" not in str(first)
        for text in first.values():
            assert WHO_AND_WHEN.search(text)
        assert notebook.text(3) == "Told: moved\n"

    def test_is_swapped_when_a_decision_drives_an_interrupted_run_on(
        self, open_notebook: OpenNotebook
    ) -> None:
        """R16: from the callback of the press, after the cell has ended."""
        notebook = open_notebook(DEFINE, CELL)
        notebook.run_all()
        card = card_in(notebook.output(1))
        notebook.interrupt()
        notebook.wait_done()
        press(card, "Approve")
        assert "Told: moved" in frozen(notebook, 1)["text/plain"]

    def test_while_it_waits_says_when_it_was_asked_and_how_to_decide(
        self, open_notebook: OpenNotebook
    ) -> None:
        question = "hitl.confirm('Train for 3 h?', key='train')"
        notebook = open_notebook(
            DEFINE, START, f"import asyncio; t = asyncio.ensure_future({question})"
        )
        notebook.run_all()
        card_in(notebook.output(1))
        card_in(notebook.output(2), "Confirm: Train for 3 h?")
        saved = notebook.save()
        assert "widgets" not in saved.metadata
        assert notebook.path.stat().st_size < SAVED
        for index, words in (
            (1, r"started at \d{4}-\d\d-\d\dT"),
            (2, r"asked at \d{4}-\d\d-\d\dT"),
        ):
            (waiting,) = outputs(saved.cells[index])
            assert WIDGET in waiting
            for kind in ("text/plain", "text/html"):
                assert re.search(words, waiting[kind])
                assert "hitl-widgets inbox" in waiting[kind]


WAITS = """
import asyncio, pathlib
import hitl_widgets as hitl

@hitl.tool(require_approval=True)
async def move(table: str) -> str:
    "Move a table."
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.02)
    return "moved"

turns = [[hitl.call("move", table="orders")], "All moved."]
agent = hitl.Agent("my-agent", model=hitl.ScriptedModel(turns), tools=[move])
"""


class TestTheFocus:
    """A record takes the card's place where nobody is at work, and takes nobody's focus."""

    @pytest.mark.parametrize("by", ["mouse", "Enter", "Space"])
    def test_stands_when_the_cell_has_ended_however_it_was_approved(
        self, open_notebook: OpenNotebook, by: str
    ) -> None:
        notebook = open_notebook(DEFINE, RUN, "pass")
        notebook.run_all()
        card = card_in(notebook.output(1))
        if by == "mouse":
            press(card, "Approve")
        else:
            approve = card.get_by_role("button", name="Approve", exact=True)
            expect(approve).to_be_enabled()
            approve.focus()
            again = card.get_by_role("status").filter(has_text="press again")
            notebook.page.keyboard.press(by)
            while again.count():
                notebook.page.keyboard.press(by)
        notebook.wait_done()
        (record,) = outputs(notebook.save().cells[1])
        assert WIDGET not in record
        assert "Approved by" in record["text/plain"]
        assert "had not ended" not in str(record)
        if by != "mouse":  # the keyboard goes on from the cell, not from nowhere
            assert notebook.page.evaluate("document.activeElement.closest('.jp-Cell') !== null")
            assert "moved" in notebook.output(1).inner_text()

    def test_of_who_types_elsewhere_is_left_alone(self, open_notebook: OpenNotebook) -> None:
        notebook = open_notebook(WAITS, "await agent.run('go'); None", "")
        notebook.run(0)
        notebook.run(1)
        press(card_in(notebook.output(1)), "Approve")
        editor = notebook.page.locator('[data-windowed-list-index="2"] .cm-content')
        editor.click()
        notebook.page.keyboard.type("before")
        (notebook.path.parent / "go").touch()
        expect(notebook.output(1)).to_contain_text("Approved by")
        notebook.page.keyboard.type(" and after")
        expect(editor).to_be_focused()
        expect(editor).to_have_text("before and after")
        notebook.wait_done()
        assert WIDGET not in outputs(notebook.save().cells[1])[0]

    def test_of_who_reads_on_holds_the_record_back(self, open_notebook: OpenNotebook) -> None:
        notebook = open_notebook(WAITS, "await agent.run('go'); None")
        notebook.run_all()
        press(card_in(notebook.output(1)), "Approve")
        decided = notebook.output(1).get_by_role("group", name="Decided: move")
        details = decided.get_by_role("button", name="details")
        details.focus()
        notebook.page.keyboard.press("Enter")
        reading = decided.get_by_role("button", name="less")
        (notebook.path.parent / "go").touch()
        notebook.wait_done()
        expect(notebook.output(1)).to_contain_text("completed")
        expect(reading).to_be_focused()
        reading.blur()
        expect(decided).to_have_count(0)
        expect(notebook.output(1)).to_contain_text("Approved by")


class TestReadWithoutAKernel:
    @pytest.fixture
    def saved(self, open_notebook: OpenNotebook) -> Notebook:
        notebook = open_notebook(DEFINE, CELL)
        notebook.run_all()
        press(card_in(notebook.output(1)), "Approve")
        notebook.wait_done()
        frozen(notebook, 1)
        return notebook

    def test_in_lab_trusted_and_untrusted(self, saved: Notebook, lab: LabSession) -> None:
        """Another kernel knows no model; Lab's sanitizer leaves what has a meaning."""
        changed = nbformat.read(saved.path, as_version=4)
        changed.cells.append(nbformat.v4.new_markdown_cell("Another file: nobody trusts it."))
        copy = replace(saved, path=saved.path.with_name("copy.ipynb"))
        nbformat.write(changed, copy.path)
        saved.close()
        for notebook, trusted in ((saved, True), (copy, False)):
            notebook.open()
            cell = "harness.panel(path).content.widgets[1].model"
            assert lab.page.evaluate(f"path => {cell}.trusted", notebook.name) is trusted
            _is_whole(notebook.output(1))
            notebook.close()
        saved.open()  # the fixture closes it again

    @pytest.mark.parametrize("sanitize", [False, True])
    def test_as_a_page_and_as_markdown(self, saved: Notebook, sanitize: bool) -> None:
        notebook = nbformat.read(saved.path, as_version=4)
        page, _ = HTMLExporter(sanitize_html=sanitize).from_notebook_node(notebook)
        text, _ = MarkdownExporter().from_notebook_node(notebook)
        assert "orders &lt;b&gt;&amp;" in page
        for exported in (page, text):
            assert WHO_AND_WHEN.search(exported)
            assert "Approval: move" in exported
            assert "widget-view" not in exported


def _is_whole(output: Locator) -> None:
    expect(output).to_contain_text("Approval: move")
    expect(output.get_by_role("table")).to_contain_text("orders <b>&")
    expect(output).to_contain_text(WHO_AND_WHEN)
    expect(output).to_contain_text(re.compile(r"hf1:[a-z2-7]{12}"))


@pytest.mark.parametrize(("level", "left"), [("short", "Approved by"), ("none", "")])
def test_less_is_kept_where_less_is_wanted(
    open_notebook: OpenNotebook, level: str, left: str
) -> None:
    """`record=`: who decided what without the arguments, or nothing."""
    notebook = open_notebook(f"{DEFINE}hitl.configure(record={level!r})", RUN)
    notebook.run_all()
    card = card_in(notebook.output(1))
    press(card, "Approve")
    notebook.wait_done()
    expect(card).to_have_count(0)  # the record takes its place once the focus has left it
    saved = notebook.save()
    (record,) = outputs(saved.cells[1])
    assert WIDGET not in record
    assert left in record["text/plain"]
    assert "orders" not in str(record)
    assert (record["text/plain"] == "") == (level == "none")


HEADLESS = """
import hitl_widgets as hitl

@hitl.tool(require_approval=True)
async def move(table: str) -> str:
    "Move a table."
    return "moved"

turns = [[hitl.call("move", table="orders")], "done"]
agent = hitl.Agent("my-agent", model=hitl.ScriptedModel(turns), tools=[move])
with hitl.reviewer(lambda request: hitl.Approve()):
    result = await agent.run("go")
hitl.inbox()
"""


def test_a_job_leaves_no_widget_in_its_notebook(tmp_path: Any) -> None:
    """nbclient stores widget state by default: a bundle of 250 kB in every file."""
    path = tmp_path / "job.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(HEADLESS)]), path)
    script = (
        "import sys, nbformat, nbclient\n"
        "notebook = nbformat.read(sys.argv[1], as_version=4)\n"
        "nbclient.NotebookClient(notebook, kernel_name='python3').execute()\n"
        "nbformat.write(notebook, sys.argv[1])\n"
    )
    environment = {**os.environ, "HITL_STORE": str(tmp_path / "hitl.db")}
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, env=environment)
    saved = nbformat.read(path, as_version=4)
    assert "widgets" not in saved.metadata
    assert path.stat().st_size < 5000
    (shown,) = [o for o in saved.cells[0].outputs if o.output_type == "execute_result"]
    assert shown.data["text/plain"] == "Nothing waits here."
