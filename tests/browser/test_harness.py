"""The harness itself, on an ordinary ipywidgets button: what other browser tests rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .lab import OWN_KERNEL

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .session import LabSession, Theme

BUTTON = """
import ipywidgets
button = ipywidgets.Button(description="Press me")
button.on_click(lambda b: setattr(b, "description", "Pressed"))
button
"""
WAIT = "import asyncio\nawait asyncio.get_running_loop().create_future()"


def test_a_click_reaches_python_and_comes_back(open_notebook: OpenNotebook) -> None:
    notebook = open_notebook(BUTTON)
    notebook.run_all()
    notebook.output(0).get_by_role("button", name="Press me").click()
    expect(notebook.output(0).get_by_role("button", name="Pressed")).to_be_visible()


def test_outputs_are_read_from_the_page_and_from_the_saved_file(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook("print('to stdout')", "6 * 7", "1 / 0")
    notebook.run_all()
    notebook.wait_done()
    assert [notebook.text(i) for i in range(3)] == [
        "to stdout\n",
        "42",
        "ZeroDivisionError: division by zero",
    ]
    assert notebook.save().cells[1].outputs[0].data["text/plain"] == "42"


def test_a_waiting_cell_is_seen_busy_and_can_be_interrupted(open_notebook: OpenNotebook) -> None:
    # The timer wakes the event loop: ipykernel alone notices an interrupt only when woken.
    notebook = open_notebook("import asyncio\nwhile True: await asyncio.sleep(0.05)", "'after'")
    notebook.run(0)
    notebook.wait_busy()
    notebook.interrupt()
    notebook.wait_done()
    assert "CancelledError" in notebook.text(0) or "KeyboardInterrupt" in notebook.text(0)
    notebook.run(notebook.add("'added'"))
    notebook.wait_done()
    assert notebook.text(2) == "'added'"
    assert notebook.text(1) == "", "the cell in between was not started"


@pytest.mark.parametrize("end", ["restart", "kill_kernel"])
def test_a_kernel_that_ends_while_a_cell_waits_is_replaced(
    open_notebook: OpenNotebook, end: str
) -> None:
    notebook = open_notebook("mark = 1", WAIT, "'mark' in globals()")
    before = notebook.kernel_pid
    notebook.run(0)
    notebook.run(1)
    notebook.wait_busy()
    getattr(notebook, end)()
    assert notebook.kernel_pid != before
    notebook.run(2)
    notebook.wait_done()
    assert notebook.text(2) == "False"


def test_notebooks_of_one_test_share_a_store_that_is_nobody_elses(
    open_notebook: OpenNotebook,
) -> None:
    show = "import os; print(os.environ['HITL_STORE'])"
    first, second = open_notebook(show, name="first"), open_notebook(show, name="second")
    for notebook in (first, second):
        notebook.run(0)
        notebook.wait_done()
    assert first.text(0) == second.text(0) == f"{first.store}\n"
    assert first.store.parent.name.startswith("test-notebooks-of-one-test")


@pytest.mark.parametrize("version", ["6.31.0", "7.3.0", OWN_KERNEL])
def test_the_kernel_has_the_version_that_was_asked_for(
    open_notebook: OpenNotebook, version: str
) -> None:
    notebook = open_notebook("import ipykernel; print(ipykernel.__version__)", kernel=version)
    notebook.run_all()
    notebook.wait_done()
    assert notebook.text(0) == f"{version}\n"


def test_bytes_are_counted_per_message_type(lab: LabSession, open_notebook: OpenNotebook) -> None:
    notebook = open_notebook("import ipywidgets", "ipywidgets.HTML('x' * 100_000)")
    notebook.run(0)
    notebook.wait_done()
    lab.wire.reset()
    notebook.run(1)
    notebook.wait_done()
    assert 100_000 < lab.wire.received["comm_open"] < 110_000
    assert lab.wire.sent["execute_request"] > 0


@pytest.mark.parametrize(
    ("theme", "scheme"),
    [
        ("JupyterLab Light", "light"),
        ("JupyterLab Dark", "dark"),
        ("JupyterLab Dark High Contrast", "dark"),
    ],
)
def test_the_theme_is_switched(lab: LabSession, theme: Theme, scheme: str) -> None:
    lab.theme(theme)
    style = "getComputedStyle(document.body).getPropertyValue('color-scheme')"
    assert lab.page.evaluate(style) == scheme


def test_axe_reports_what_is_wrong_and_only_within_the_selector(
    lab: LabSession, open_notebook: OpenNotebook
) -> None:
    notebook = open_notebook(
        "from IPython.display import HTML",
        "HTML('<div id=bad><button></button></div><p id=good>Fine</p>')",
    )
    notebook.run_all()
    notebook.wait_done()
    assert [finding["id"] for finding in lab.axe("#bad")] == ["button-name"]
    assert lab.axe("#good") == []


def test_an_address_elsewhere_is_blocked_and_noted(lab: LabSession) -> None:
    address = "https://example.org/pixel.png"
    failed = "async a => { try { await fetch(a); return false } catch { return true } }"
    assert lab.page.evaluate(failed, address)
    assert lab.foreign == [address]
    lab.foreign.clear()


def test_an_error_in_the_page_is_noted(lab: LabSession) -> None:
    with lab.page.expect_event("pageerror"):
        lab.page.evaluate("() => { setTimeout(() => { throw new Error('on purpose') }) }")
    assert lab.page_errors == ["on purpose"]
    lab.page_errors.clear()
