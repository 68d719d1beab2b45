"""The same few behaviours in every front end: what docs/front-ends.md says was run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from .card import approve, card, decided, decline_with, expect_silent

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from .book import Book
    from .conftest import Front

# The first of each is small enough for `make test`; JupyterLab's own tests are in tests/browser.
JUPYTER = [
    "vscode-7.4.0",
    *(
        pytest.param(name, marks=pytest.mark.extended)
        for name in (
            "lab-7.4.0",
            "lab-7.3.0",
            "lab-6.31.0",
            "notebook7-7.4.0",
            "nbclassic-7.4.0",
            "vscode-7.3.0",
            "vscode-6.31.0",
        )
    ),
]
MARIMO = pytest.param("marimo", marks=pytest.mark.extended)
everywhere = pytest.mark.parametrize("front", [*JUPYTER, MARIMO], indirect=True)
in_jupyter = pytest.mark.parametrize("front", JUPYTER, indirect=True)

DEFINE = """
import hitl_widgets as hitl
ran = []

@hitl.tool(require_approval=True)
async def delete_record(id: str) -> dict:
    "Delete a record by ID."
    ran.append(id)
    return {"deleted": id}

def tell(messages):
    return f"Told: {messages[-1].parts[-1].content}"

agent = hitl.Agent(
    "my-agent",
    model=hitl.ScriptedModel([[hitl.call("delete_record", id="abc-123")], tell]),
    tools=[delete_record],
)
"""
AFTER = "print('after', ran)"


def after(book: Book, front: Front) -> str:
    """What the cell after the run's has printed; in the background it has to be run again."""
    book.wait_done()
    if front.background:
        book.run(2)
        book.wait_done()
    return book.text(2)


@everywhere
def test_approve_runs_the_tool_once_and_the_next_cell_follows(front: Front) -> None:
    """R1: a real click; then cells go on in their order."""
    book = front.open(DEFINE, front.run("Delete record abc-123"), AFTER)
    book.run_all()
    shown = card(book.output(1))
    expect(shown).to_contain_text("abc-123")
    expect(shown).to_contain_text(re.compile(r"hf1:[a-z2-7]{12}"))
    approve(shown)
    expect(book.output(1)).to_contain_text("Told: {'deleted': 'abc-123'}")
    assert after(book, front) == "after ['abc-123']\n"


@everywhere
def test_decline_with_a_reason_reaches_the_model(front: Front) -> None:
    """R11: nothing runs, and the model is told why."""
    book = front.open(DEFINE, front.run("Delete record abc-123"), AFTER)
    book.run_all()
    decline_with(card(book.output(1)), "use staging")
    expect(book.output(1)).to_contain_text("The human declined this call of delete_record.")
    expect(book.output(1)).to_contain_text("use staging")
    assert after(book, front) == "after []\n"


FORM = """
import hitl_widgets as hitl
from pydantic import BaseModel, Field

class Trip(BaseModel):
    city: str
    days: int = Field(ge=1, le=14)

class Question(BaseModel):
    message: str

@hitl.tool(suspend_schema=Question, resume_schema=Trip)
async def book_trip(*, ctx: hitl.ToolContext) -> str:
    "Book a trip."
    if ctx.resume_data is None:
        return await ctx.suspend(Question(message="Where to?"))
    return repr(ctx.resume_data)

agent = hitl.Agent(
    "travel",
    model=hitl.ScriptedModel([[hitl.call("book_trip")], lambda m: m[-1].parts[-1].content]),
    tools=[book_trip],
)
"""


def fill_in(form: Locator) -> None:
    """Type a city and a number that is refused, correct it, submit."""
    form.get_by_label("City").press_sequentially("Oslo")
    days = form.get_by_label("Days")
    days.press_sequentially("99")
    form.get_by_role("button", name="Submit").click()
    expect(days).to_have_attribute("aria-invalid", "true")
    expect(days).to_be_focused()
    expect(form.get_by_label("City")).to_have_value("Oslo")
    days.press("ControlOrMeta+a")
    days.press_sequentially("7")
    form.get_by_role("button", name="Submit").click()


@everywhere
def test_a_form_says_what_is_wrong_and_then_takes_the_answer(front: Front) -> None:
    """R4, F3: the request stays pending, and so does what was typed."""
    book = front.open(FORM, front.run("Plan my trip"))
    book.run_all()
    fill_in(book.output(1).get_by_role("form", name="Input: book_trip"))
    expect(book.output(1)).to_contain_text("Trip(city='Oslo', days=7)")
    book.wait_done()


@in_jupyter
def test_ask_without_an_agent_returns_the_typed_value(front: Front) -> None:
    ask = "answer = await hitl.ask(Trip, 'Where to?')\nprint(repr(answer))"
    book = front.open(FORM, ask)
    book.run_all()
    fill_in(book.output(1).get_by_role("form", name="Input: Where to?"))
    book.wait_done()
    assert book.text(1).endswith("Trip(city='Oslo', days=7)\n")


TWICE = DEFINE.replace(
    '[hitl.call("delete_record", id="abc-123")]',
    '[hitl.call("delete_record", id="abc-123")], [hitl.call("delete_record", id="abc-124")]',
)


@everywhere
def test_a_call_is_compared_with_the_last_one(front: Front) -> None:
    """The fingerprint is diffable: one changed character is shown, in words too."""
    book = front.open(TWICE, front.run("Delete two records"), AFTER)
    book.run_all()
    first = card(book.output(1)).filter(has_text="abc-123")
    approve(first)
    second = card(book.output(1)).filter(has_text="abc-124")
    second.get_by_role("button", name="Compare with the last decided call").click()
    expect(second).to_contain_text("1 of 1 value changed")
    difference = second.get_by_role("region", name="Compared with the last decided call")
    expect(difference).to_contain_text(re.compile(r"was.*abc-123.*now.*abc-124", re.DOTALL))
    approve(second)
    expect(book.output(1)).to_contain_text("Told: {'deleted': 'abc-124'}")
    assert after(book, front) == "after ['abc-123', 'abc-124']\n"


INBOX = "[waiting] = await hitl.pending()\nhitl.inbox()"
ATTACH = "print((await agent.attach(waiting.run_id)).text, ran)"


@everywhere
def test_a_restarted_kernel_loses_nothing(front: Front) -> None:
    """R12, R14: the old card is dead and says so; the inbox has it, and the run goes to its end."""
    book = front.open(DEFINE, front.run("Delete record abc-123"), INBOX, ATTACH)
    book.run(0)
    book.run(1)
    expect(card(book.output(1))).to_be_visible()
    book.restart()
    if front.clears_on_restart:
        expect(card(book.output(1))).to_have_count(0)
    else:
        expect_silent(card(book.output(1)))
    book.run(0)
    book.run(2)
    approve(card(book.output(2)))
    expect(decided(book.output(2))).to_be_visible()
    book.run(3)
    book.wait_done()
    assert book.text(3) == "Told: {'deleted': 'abc-123'} ['abc-123']\n"
