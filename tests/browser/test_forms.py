"""Forms in a real JupyterLab: typed, refused, corrected, submitted, declined, kept."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Locator, expect

from tests.conformance.forms.cases import from_files

from .lab import PROJECT

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .session import LabSession

TRIP = """
import hitl_widgets as hitl
from pydantic import BaseModel, Field, SecretStr

class Trip(BaseModel):
    city: str
    days: int = Field(ge=1, le=14)
    note: str | None = None
"""
ASK = 'answer = await hitl.ask(Trip, "Where to?")\nprint(repr(answer))'


def form_in(where: Locator, message: str = "Where to?") -> Locator:
    """The form once it is shown: a kernel on a busy machine imports for a while before it asks."""
    form = where.get_by_role("form", name=f"Input: {message}")
    expect(form).to_be_visible(timeout=90_000)
    return form


def submit(form: Locator) -> None:
    form.get_by_role("button", name="Submit").click()


def submit_consent(form: Locator) -> None:
    """Press again for as long as the form says that the press came too early."""
    again = form.get_by_role("status").filter(has_text="press again")
    submit(form)
    while again.count():
        submit(form)


class TestAsk:
    def test_is_typed_refused_corrected_and_returns_the_typed_value(
        self, open_notebook: OpenNotebook
    ) -> None:
        """R4, F3: the error stands at its field; the request stays pending, the text stays."""
        notebook = open_notebook(TRIP, ASK)
        notebook.run_all()
        form = form_in(notebook.output(1))
        form.get_by_label("City").press_sequentially("Oslo")
        days = form.get_by_label("Days")
        days.press_sequentially("99")
        submit(form)
        expect(days).to_have_attribute("aria-invalid", "true")
        expect(days).to_be_focused()
        expect(days).to_have_accessible_description("1 to 14 Should be at most 14")
        expect(form.get_by_label("City")).to_have_value("Oslo")
        days.press("ControlOrMeta+a")
        days.press_sequentially("7")
        submit(form)
        notebook.wait_done()
        assert notebook.text(1).endswith("Trip(city='Oslo', days=7, note=None)\n")

    def test_a_blank_form_is_refused_at_every_required_field(
        self, open_notebook: OpenNotebook
    ) -> None:
        """R4: a required text that was never given is missing, and focus goes to the first."""
        notebook = open_notebook(TRIP, ASK)
        notebook.run_all()
        form = form_in(notebook.output(1))
        submit(form)
        expect(form.get_by_label("City")).to_be_focused()
        expect(form.locator("[aria-invalid]")).to_have_count(2)
        expect(form.get_by_role("status")).to_have_text("2 things to correct.")

    def test_can_be_declined_with_a_reason(self, open_notebook: OpenNotebook) -> None:
        caught = (
            'try:\n    await hitl.ask(Trip, "Where to?")\n'
            "except hitl.Declined as e:\n    print('declined:', e.reason)"
        )
        notebook = open_notebook(TRIP, caught)
        notebook.run_all()
        form = form_in(notebook.output(1))
        form.get_by_role("button", name="More actions").click()
        form.get_by_role("menuitem", name="Decline with a reason…").click()
        dialog = form.get_by_role("dialog", name="Decline with a reason")
        dialog.get_by_role("textbox", name="Reason").fill("no travel this year")
        dialog.get_by_role("button", name="Decline", exact=True).click()
        notebook.wait_done()
        assert notebook.text(1).endswith("declined: no travel this year\n")

    def test_keys_stay_in_the_form(self, open_notebook: OpenNotebook) -> None:
        """Shift+Enter runs no cell, `dd` deletes none, Enter in a line submits."""
        notebook = open_notebook(TRIP, ASK, "print('ran')")
        notebook.run(0)
        notebook.run(1)
        form = form_in(notebook.output(1))
        city = form.get_by_label("City")
        city.press_sequentially("ddaabb00")
        city.press("Shift+Enter")
        expect(city).to_have_value("ddaabb00")
        assert notebook.text(2) == ""
        form.get_by_label("Days").press_sequentially("3")
        form.get_by_label("Days").press("Enter")
        notebook.wait_done()
        assert "days=3" in notebook.text(1)
        assert notebook.text(2) == ""

    def test_what_was_typed_survives_a_reload_and_secrets_are_not_kept(
        self, open_notebook: OpenNotebook, lab: LabSession
    ) -> None:
        """screen.md: as a draft; R17: a secret is in no storage."""
        secret = TRIP.replace("note: str | None = None", "token: SecretStr")
        inbox = "import asyncio\ntask = asyncio.ensure_future(hitl.ask(Trip, 'Where to?'))"
        notebook = open_notebook(secret, inbox)
        notebook.run_all()
        form = form_in(notebook.output(1))
        form.get_by_label("City").press_sequentially("Oslo")
        form.get_by_label("Days").press_sequentially("99")
        form.get_by_label("Token").press_sequentially("hunter2")
        notebook.wait_done()
        notebook.save()
        kept = lab.page.evaluate("JSON.stringify({ ...sessionStorage })")
        assert "Oslo" in kept
        assert "hunter2" not in kept
        lab.load()
        again = form_in(lab.page.locator("body"))
        expect(again.get_by_label("City")).to_have_value("Oslo")
        expect(again.get_by_label("Days")).to_have_value("99")
        expect(again.get_by_label("Token")).to_have_value("")


TOOL = """
import hitl_widgets as hitl
from pydantic import BaseModel

class Question(BaseModel):
    message: str
    found: list[str]

class City(BaseModel):
    city: str

@hitl.tool(suspend_schema=Question, resume_schema=City)
async def get_weather(city: str | None = None, *, ctx: hitl.ToolContext) -> str:
    "Tell the weather."
    if city is None and ctx.resume_data is None:
        return await ctx.suspend(Question(message="Which city?", found=["Oslo", "Bergen"]))
    return f"rain in {city or ctx.resume_data.city}"

agent = hitl.Agent(
    "my-agent",
    model=hitl.ScriptedModel(
        [[hitl.call("get_weather")], lambda m: f"Told: {m[-1].parts[-1].content}"]
    ),
    tools=[get_weather],
)
"""


def test_a_suspended_tool_shows_its_payload_and_goes_on_with_the_answer(
    open_notebook: OpenNotebook,
) -> None:
    notebook = open_notebook(TOOL, 'result = await agent.run("Weather?")\nprint(result.text)')
    notebook.run_all()
    form = form_in(notebook.output(1), "get_weather")
    expect(form).to_contain_text("Which city?")
    expect(form).to_contain_text("Bergen")
    form.get_by_label("City").press_sequentially("Bergen")
    submit(form)
    notebook.wait_done()
    assert "Told: rain in Bergen" in notebook.text(1)


FEW = (
    "i03 i06 i16 m07 p02 p09 p11 p19 p22 p24 p29 p31 p37 p48"
    if os.environ.get("HITL_TEST_ALL") != "1"
    else "i m p"
).split()


def test_the_conformance_set_round_trips_through_a_notebook(open_notebook: OpenNotebook) -> None:
    """Many questions in one cell: prefilled, touched, submitted, answered with what was given."""
    cases = [c for c in from_files() if c.id.startswith(tuple(FEW))]
    # JupyterLab draws 50 outputs of a cell; the rest is behind "Show more outputs".
    batches = [cases[at : at + 40] for at in range(0, len(cases), 40)]
    define = (
        f"import sys, asyncio; sys.path.insert(0, {str(PROJECT)!r})\n"
        "import hitl_widgets as hitl\n"
        "from tests.conformance.forms.cases import from_files\n"
        "async def one(c):\n"
        "    shape = c.shape()\n"
        "    got = await hitl.ask(c.source, c.id, initial=c.valid)\n"
        "    want = shape.validate(c.valid)\n"
        "    return c.id if shape.dump(got) == shape.dump(want) else f'{c.id}: {got!r}'\n"
        "async def all_of(ids):\n"
        "    cases = [c for c in from_files() if c.id in ids]\n"
        "    print(await asyncio.gather(*map(one, cases)))"
    )
    asks = [f"await all_of({json.dumps([c.id for c in batch])})" for batch in batches]
    notebook = open_notebook(define, *asks)
    notebook.run_all()
    for index, batch in enumerate(batches, 1):
        for case in batch:
            form = form_in(notebook.output(index), case.id)
            form.scroll_into_view_if_needed()
            form.locator(".form").evaluate(
                "form => form.dispatchEvent(new Event('input', { bubbles: true }))"
            )
            submit_consent(form)
            expect(form).to_have_count(0)
    notebook.wait_done()
    for index, batch in enumerate(batches, 1):
        assert notebook.text(index).endswith(f"{[c.id for c in batch]}\n")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_nothing(open_notebook: OpenNotebook, lab: LabSession, theme: Any) -> None:
    lab.theme(theme)
    both = "from typing import Literal\n" + TRIP.replace(
        "note: str | None = None",
        "note: str | None = None\n    ok: bool\n    kind: int | str\n"
        "    tags: list[Literal['a', 'b']] = []\n    stops: list[str] = []\n"
        "    more: dict[str, int] = {}\n    token: SecretStr\n    any: dict = {}",
    )
    initial = "{'stops': ['x', 'y'], 'more': {'a': 1}, 'days': 99}"
    notebook = open_notebook(both, ASK.replace('"Where to?"', f'"Where to?", initial={initial}'))
    notebook.run_all()
    form = form_in(notebook.output(1))
    submit(form)
    expect(form.locator("[aria-invalid]").first).to_be_visible()
    assert lab.axe(".hitl-root") == []
    lab.screenshot(f"form-{theme}")
