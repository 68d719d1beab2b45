"""Four lessons of the course as a student does them: in a real JupyterLab, with real clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import nbformat
from playwright.sync_api import expect

from scripts import notebooks
from tests.frontends.card import approve, card, decline_with

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from .conftest import OpenNotebook
    from .notebook import Notebook


class Lesson:
    """A committed lesson's code cells, found again by what stands in them."""

    def __init__(self, open_notebook: OpenNotebook, stem: str) -> None:
        made = nbformat.read(notebooks.NOTEBOOKS / f"{stem}.ipynb", as_version=4)
        self.cells = [c.source for c in made.cells if c.cell_type == "code"]
        self.notebook: Notebook = open_notebook(*self.cells, name=stem)

    def index(self, words: str) -> int:
        """The first cell that holds `words`."""
        return next(i for i, source in enumerate(self.cells) if words in source)

    def card(self, words: str, tool: str) -> Locator:
        """The open card of `tool` under the cell that holds `words`."""
        shown = card(self.notebook.output(self.index(words)), tool)
        return shown.filter(has=shown.page.get_by_role("button", name="Decline", exact=True))

    def said(self, words: str) -> str:
        return self.notebook.text(self.index(words))


def test_the_first_lesson_by_hand(open_notebook: OpenNotebook) -> None:
    """Approve, then decline with a reason: what the text says is what happens."""
    lesson = Lesson(open_notebook, "01_first_approval")
    lesson.notebook.run_all()
    first = lesson.card('run("Delete the old order")', "delete_record")
    expect(first).to_contain_text("abc-123")
    approve(first)
    second = lesson.card('run("Delete the customer")', "delete_record")
    expect(second).to_contain_text("xyz-789")
    decline_with(second, "Keep the customer.")
    lesson.notebook.wait_done()
    assert "I was told: {'deleted': 'an old order'}" in lesson.said('run("Delete the old order")')
    assert "Keep the customer." in lesson.said('run("Delete the customer")')
    assert "not yet" in lesson.said("check_exercise")


def test_the_third_lesson_by_hand(open_notebook: OpenNotebook) -> None:
    """The rows that would go stand on the card: as the argument, then as a preview."""
    lesson = Lesson(open_notebook, "03_plain_functions")
    lesson.notebook.run_all()
    first = lesson.card("await delete_rows(orders[", "delete_rows")
    expect(first.get_by_role("table")).to_contain_text("Ada")
    approve(first)
    second = lesson.card('await delete_customer("Bob")', "delete_customer")
    rows = second.get_by_role("group", name="Preview").get_by_role("table")
    expect(rows.get_by_role("row")).to_have_count(2)
    expect(rows).to_contain_text("Bob")
    expect(second).to_contain_text("Reads orders")
    approve(second)
    third = lesson.card("await delete_rows(orders)", "delete_rows")
    expect(third).not_to_contain_text("Bob")
    decline_with(third, "Keep them.")
    approve(lesson.card("await publish(", "publish"))
    lesson.notebook.wait_done()
    assert "Declined: Keep them." in lesson.said("await delete_rows(orders)")


def test_the_fifth_lesson_by_hand(open_notebook: OpenNotebook) -> None:
    """The tampered call comes back as a card; the student declines it."""
    lesson = Lesson(open_notebook, "05_fingerprints")
    lesson.notebook.run_all()
    tampered = lesson.card("victim.attach", "transfer")
    expect(tampered).to_contain_text("Mallory")
    tampered.get_by_role("button", name="Decline", exact=True).click()
    lesson.notebook.wait_done()
    assert "Done. []" in lesson.said("victim.attach")
    assert "('Mallory', 'decline', 'declined')" in lesson.said('row["args"]["to"]')


def test_the_eighth_lesson_by_hand(open_notebook: OpenNotebook) -> None:
    """A question from three agents below names its way up; a strict run asks three times."""
    lesson = Lesson(open_notebook, "08_supervisors")
    lesson.notebook.run_all()
    deep = lesson.card('result = await director.run("We', "delete_table")
    expect(deep).to_contain_text("director › operations › database")  # noqa: RUF001
    approve(deep)
    for tool in ("agent-operations", "agent-database", "delete_table"):
        asked = lesson.card("strict = await", tool)
        approve(asked)
    lesson.notebook.wait_done()
    assert "I was told: I was told: I was told: deleted logs_2019" in lesson.said(
        'result = await director.run("We'
    )
    assert "('delete_table', ('director', 'operations', 'database'))" in lesson.said(
        "strict = await"
    )
