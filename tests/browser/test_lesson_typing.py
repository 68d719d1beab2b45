"""The second lesson in a real JupyterLab, answered by typing and clicking as a student does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nbformat
from playwright.sync_api import expect

from scripts.notebooks import NOTEBOOKS

from .test_approval import press

if TYPE_CHECKING:
    from .conftest import OpenNotebook


def test_asking_for_data_with_real_typing(open_notebook: OpenNotebook) -> None:
    lesson = nbformat.read(NOTEBOOKS / "02_asking_for_data.ipynb", as_version=4)
    cells = [c.source for c in lesson.cells if c.cell_type == "code"]
    ask, book, weather, colour = (
        next(i for i, c in enumerate(cells) if word in c)
        for word in ("hitl.ask(Trip", "hitl.confirm(", "get_weather", "pick_colour")
    )
    notebook = open_notebook(*cells[: colour + 1])
    notebook.run_all()
    form = notebook.output(ask).get_by_role("form", name="Input: Where are you going?")
    form.get_by_role("textbox", name="City").fill("Oslo")
    form.get_by_role("textbox", name="Days").fill("99")
    form.get_by_role("radio", name="train").check()
    form.get_by_role("button", name="Submit").click()
    days = form.get_by_role("textbox", name="Days")
    expect(days).to_have_attribute("aria-invalid", "true")
    expect(form).to_contain_text("at most 14")
    days.fill("2")
    form.get_by_role("button", name="Submit").click()
    yes = notebook.output(book).get_by_role("group", name="Confirm: Book 2 days in Oslo?")
    press(yes.get_by_role("button", name="Yes"))
    city = notebook.output(weather).get_by_role("form", name="Input: The weather in which city?")
    city.get_by_role("textbox", name="City").fill("Turin")
    city.get_by_role("button", name="Submit").click()
    pick = notebook.output(colour).get_by_role("form", name="Input: pick_colour")
    expect(pick).to_contain_text("Which colour?")
    pick.get_by_role("radio", name="red").check()
    pick.get_by_role("button", name="Submit").click()
    notebook.wait_done()
    assert "Trip(city='Oslo', days=2, travel_by='train')" in notebook.text(ask)
    assert "It is sunny in Turin." in notebook.text(weather)
    assert "You picked red." in notebook.text(colour)
