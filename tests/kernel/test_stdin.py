"""The cell's input box beside the card: no page said hello, or clicks cannot arrive (R5, R12)."""

from __future__ import annotations

import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kernel.hitl import Hitl
from tests.kernel.notebook import Notebook

pytestmark = pytest.mark.asyncio(loop_scope="session")

ASK = textwrap.dedent("""
    from hitl_widgets.notebook import beside
    beside.HELLO_SECONDS = 0.2
    @hitl.require_approval
    async def delete(id: str):
        print("RAN", id)
        return f"deleted {id}"
    try:
        print("GOT", await delete("abc"))
    except hitl.HitlError as e:
        print("RAISED", type(e).__name__)
    """)


@pytest_asyncio.fixture(loop_scope="session")
async def page(notebook: Notebook, tmp_path: Path) -> AsyncIterator[Hitl]:
    page = Hitl(notebook)
    await page.begin(tmp_path / "requests.db")
    yield page


class TestNoHello:
    async def test_the_box_is_offered_and_a_typed_yes_counts(self, page: Hitl) -> None:
        cell = page.notebook.execute(ASK)
        asked = await page.asked()
        assert 'Allow delete(id="abc")?  [y]es  [n]o' in asked["prompt"]
        await cell.printed("No page has shown the card so far.")
        await cell.printed("hf1:")
        page.types("y")
        assert "GOT deleted abc" in await cell.ok()

    async def test_what_is_not_a_yes_is_not_one(self, page: Hitl) -> None:
        """F7: empty is what VS Code sends for Escape."""
        cell = page.notebook.execute(ASK)
        for typed in ("", "  ", "yy", "1"):
            await page.asked()
            page.types(typed)
        await page.asked()
        page.types("t")
        assert (await page.asked())["prompt"].startswith("Why")
        page.types("not now")
        text = await cell.ok()
        assert "RAN" not in text
        assert "RAISED Declined" in text

    async def test_a_click_that_was_faster_takes_the_question_back(self, page: Hitl) -> None:
        cell = page.notebook.execute(ASK)
        request = (await page.card())["requests"][0]
        await page.asked()
        page.decides(request, {"verdict": "decline"})
        text = await cell.ok()
        assert "RAISED Declined" in text
        assert "No longer asked: delete was declined by" in text
        # Nobody reads that box any more: a reader left behind would steal the next answer.
        await page.notebook.run(
            "import asyncio, threading\n"
            "while any(t.name == 'hitl-input' for t in threading.enumerate()):\n"
            "    await asyncio.sleep(0.01)"
        )
        # What is typed into the box that still stands answers nothing, not even a later question.
        page.types("y")
        again = page.notebook.execute(ASK)
        await page.asked()
        assert "RAN" not in again.text
        page.types("n")
        assert "RAISED Declined" in await again.ok()

    async def test_a_typed_answer_is_told_to_the_card(self, page: Hitl) -> None:
        cell = page.notebook.execute(ASK)
        request = (await page.card())["requests"][0]
        await page.asked()
        page.types("n")
        await cell.ok()
        await page.shows(lambda r: r["id"] == request["id"] and r["state"] == "declined")

    async def test_a_secret_is_asked_as_a_password(self, page: Hitl) -> None:
        cell = page.notebook.execute(
            "from pydantic import SecretStr\n"
            "from hitl_widgets.notebook import beside\nbeside.HELLO_SECONDS = 0.2\n"
            "print('GOT', (await hitl.ask(SecretStr, 'Key?')).get_secret_value())"
        )
        asked = await page.asked()
        assert asked["password"] is True
        page.types("tr0ub")
        assert "GOT tr0ub" in await cell.ok()

    async def test_a_form_in_the_box_can_be_left_to_decline(self, page: Hitl) -> None:
        cell = page.notebook.execute(
            "from hitl_widgets.notebook import beside\nbeside.HELLO_SECONDS = 0.2\n"
            "try: await hitl.ask(int, 'How many?')\n"
            "except hitl.Declined: print('RAISED')"
        )
        await page.asked()
        page.types(":menu")
        assert "[n]o" in (await page.asked())["prompt"]
        page.types("n")
        assert "RAISED" in await cell.ok()


class TestHello:
    async def test_a_page_that_said_hello_is_enough(self, page: Hitl) -> None:
        cell = page.notebook.execute(ASK.replace("0.2", "3"))
        request = (await page.card())["requests"][0]
        await page.says_hello()
        await page.notebook.handled(page.decides(request, {"verdict": "approve"}))
        assert "GOT deleted abc" in await cell.ok()
        assert page.questions == []

    async def test_once_is_enough_for_every_later_cell(self, page: Hitl) -> None:
        await page.notebook.run("from hitl_widgets.screen.hub import hub; hub()")
        await page.says_hello()
        cell = page.notebook.execute(ASK.replace("0.2", "0"))
        request = (await page.card())["requests"][0]
        await page.notebook.handled(page.decides(request, {"verdict": "approve"}))
        assert "No page has shown the card" not in await cell.ok()

    async def test_a_page_that_comes_late_takes_the_card(self, page: Hitl) -> None:
        """Both stay open; here nothing was offered yet, since hello came in time."""
        cell = page.notebook.execute(ASK.replace("0.2", "30"))
        request = (await page.card())["requests"][0]
        page.decides(request, {"verdict": "approve"})
        await cell.ok()
        assert page.questions == []

    async def test_a_front_end_without_an_input_box_is_asked_by_card_alone(
        self, page: Hitl
    ) -> None:
        """It says so with each cell; then nobody is there (R5)."""
        cell = page.notebook.execute(ASK, allow_stdin=False)
        assert "RAISED NoReviewer" in await cell.ok()
        assert page.questions == []


class TestUnknownKernel:
    UNKNOWN = textwrap.dedent("""
        from hitl_widgets.notebook import pump, subshell
        kept = pump.Shell.needs, pump._Shell6.needs, pump._Shell7.needs, subshell.NEEDS
        gone = ("an_attribute_that_is_gone",)
        pump._Shell6.needs = pump._Shell7.needs = subshell.NEEDS = gone
        pump.pump_of.cache_clear(); subshell._readdresser_of.cache_clear()
        """)
    KNOWN = textwrap.dedent("""
        pump.Shell.needs, pump._Shell6.needs, pump._Shell7.needs, subshell.NEEDS = kept
        pump.pump_of.cache_clear(); subshell._readdresser_of.cache_clear()
        """)

    @pytest_asyncio.fixture(loop_scope="session")
    async def unknown(self, page: Hitl) -> AsyncIterator[Hitl]:
        await page.notebook.run(self.UNKNOWN)
        yield page
        await page.notebook.make_idle()
        await page.notebook.run(self.KNOWN)

    @pytest.mark.parametrize("hello", [False, True])
    async def test_the_box_is_offered_at_once_instead_of_suspending(
        self, unknown: Hitl, hello: bool
    ) -> None:
        """Even where a page is known to show cards: its clicks would come after the cell."""
        if hello:
            await unknown.notebook.run("hitl.confirm")
            await unknown.notebook.run("from hitl_widgets.screen.hub import hub; hub()")
            await unknown.says_hello()
        cell = unknown.notebook.execute(ASK.replace("0.2", "60"))
        await unknown.asked()
        await cell.printed("A click on a card cannot arrive while this cell runs")
        unknown.types("y")
        assert "GOT deleted abc" in await cell.ok()
