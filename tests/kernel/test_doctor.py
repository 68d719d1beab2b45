"""`hitl.doctor` in a real kernel: what it finds there, and that it comes by itself once (R5)."""

from __future__ import annotations

import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kernel.hitl import Hitl
from tests.kernel.notebook import Notebook

pytestmark = pytest.mark.asyncio(loop_scope="session")

SAY = "print(hitl.doctor())"
ASK = textwrap.dedent("""
    from hitl_widgets.notebook import beside
    beside.HELLO_SECONDS = 0.2
    @hitl.require_approval
    async def delete(id: str):
        return f"deleted {id}"
    print("GOT", await delete("abc"))
    """)


@pytest_asyncio.fixture(loop_scope="session")
async def page(notebook: Notebook, tmp_path: Path) -> AsyncIterator[Hitl]:
    page = Hitl(notebook)
    await page.begin(tmp_path / "requests.db")
    yield page


def tables(page: Hitl) -> list[str]:
    """The reports that were displayed."""
    return [
        message["content"]["data"]["text/plain"]
        for message in page.notebook.published[page._seen :]
        if message["msg_type"] == "display_data"
        and "await in a cell" in message["content"]["data"].get("text/plain", "")
    ]


class TestByItself:
    async def test_a_card_without_a_hello_brings_it_once(self, page: Hitl) -> None:
        for _ in range(2):
            cell = page.notebook.execute(ASK)
            await page.asked()
            await page.notebook.until(lambda: tables(page), "the doctor's table")
            page.types("y")
            assert "GOT deleted abc" in await cell.ok()
        (said,) = tables(page)
        assert "✗ page" in said
        assert "no page said hello" in said
        assert "requests.db" in said, "the store of the run"

    async def test_a_card_that_a_page_has_brings_nothing(self, page: Hitl) -> None:
        cell = page.notebook.execute(ASK)
        request = (await page.card())["requests"][0]
        await page.says_hello()
        page.decides(request, {"verdict": "approve"})
        assert "GOT deleted abc" in await cell.ok()
        assert tables(page) == []


class TestWhatItFinds:
    async def test_the_ways_of_asking_the_widgets_the_store_and_the_policy(
        self, page: Hitl
    ) -> None:
        said = await page.notebook.execute(SAY).ok()
        for what in (
            "✓ await in a cell",
            "✓ background",
            "· blocking" if "ipykernel 6" in said else "✓ blocking",
            "✓ input box",
            "✓ ipywidgets",
            "✓ anywidget",
            "✓ store",
            "✓ policy file",
        ):
            assert what in said
        assert "no card was shown yet" in said
