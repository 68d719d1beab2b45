"""Synchronous code asks a person: on the main thread, and on worker threads. Never a hang."""

from __future__ import annotations

import getpass
import platform
import textwrap
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kernel.hitl import Hitl
from tests.kernel.notebook import Notebook

pytestmark = pytest.mark.asyncio(loop_scope="session")

DEFINE = textwrap.dedent("""
    @hitl.require_approval
    def delete(id: str):
        print("RAN", id)
        return f"deleted {id}"
    """)
APPROVE = {"verdict": "approve"}


@pytest_asyncio.fixture(loop_scope="session")
async def page(notebook: Notebook, tmp_path: Path) -> Hitl:
    page = Hitl(notebook)
    await page.begin(tmp_path / "requests.db")
    await notebook.run(DEFINE)
    return page


def has_subshells(page: Hitl) -> bool:
    return not page.notebook.version.startswith("6.")


async def answer(page: Hitl, verdict: str = "approve") -> None:
    """Click where the kernel can hear it, else type."""
    request = (await page.card())["requests"][0]
    if has_subshells(page):
        page.decides(request, {"verdict": verdict})
    else:
        await page.asked()
        page.types("y" if verdict == "approve" else "n")


class TestOnTheMainThread:
    async def test_a_gated_function_is_decided_while_it_blocks(self, page: Hitl) -> None:
        """By a click where a subshell can take it, at the input box where not (ipykernel 6)."""
        cell = page.notebook.execute("print('GOT', delete('abc'))")
        await answer(page)
        said = await cell.ok()
        # The input box says in its own thread who decided: the lines may be woven together.
        assert "RAN" in said
        assert "GOT deleted abc" in said
        assert "GOT deleted abc" in cell.text
        assert bool(page.questions) is not has_subshells(page)

    async def test_the_history_says_where_it_was_asked(self, page: Hitl) -> None:
        """R18."""
        cell = page.notebook.execute("print('GOT', delete('abc'))")
        await answer(page)
        await cell.ok()
        said = await page.notebook.execute("print(hitl.history()[-1]['origin'])").ok()
        for part in (f"'host': {platform.node()!r}", f"'user': {getpass.getuser()!r}"):
            assert part in said
        assert "'kernel': '" in said

    async def test_ask_and_confirm_too(self, page: Hitl) -> None:
        cell = page.notebook.execute("print('GOT', hitl.confirm_sync('Go on?'))")
        await answer(page, "decline")
        assert "GOT False" in await cell.ok()
        page.forget()
        cell = page.notebook.execute("print('GOT', hitl.ask_sync(int, 'How many?') + 1)")
        request = (await page.card())["requests"][0]
        if has_subshells(page):
            page.decides(request, {"verdict": "answer", "data": 41})
        else:
            await page.asked()
            page.types("41")
        assert "GOT 42" in await cell.ok()

    async def test_what_stands_in_a_cells_output_is_this_cells(self, page: Hitl) -> None:
        cell = page.notebook.execute("print('GOT', delete('abc'))")
        await answer(page)
        await cell.ok()
        shown = cell.outputs("display_data")
        assert any("widget-view" in kind for m in shown for kind in m["content"]["data"])
        assert cell.outputs("update_display_data"), "the static record stays in this output"

    async def test_two_in_a_row_and_in_two_cells(self, page: Hitl) -> None:
        for name in ("a", "b"):
            page.forget()
            cell = page.notebook.execute(f"print('GOT', delete({name!r}))")
            await answer(page)
            assert f"GOT deleted {name}" in await cell.ok()

    async def test_the_next_cells_wait(self, page: Hitl) -> None:
        first = page.notebook.execute("seen = [delete('abc')]")
        later = page.notebook.execute("seen.append('later'); print(seen)")
        await answer(page)
        await first.ok()
        assert "['deleted abc', 'later']" in await later.ok()

    async def test_interrupt_withdraws_the_question_and_nothing_runs(self, page: Hitl) -> None:
        """R16: a verb without a key has nobody to return to."""
        cell = page.notebook.execute("delete('abc')")
        await page.card()
        if not has_subshells(page):
            await page.asked()
        await page.notebook.manager.interrupt_kernel()
        assert (await cell.reply())["ename"] == "KeyboardInterrupt"
        states = await page.notebook.run("print([row['state'] for row in hitl.history()])")
        assert states == "['withdrawn']\n"
        assert "RAN" not in cell.text

    async def test_afterwards_the_kernel_is_as_before(self, page: Hitl) -> None:
        cell = page.notebook.execute("delete('abc')")
        await answer(page)
        await cell.ok()
        page.forget()
        cell = page.notebook.execute("print('GOT', await delete.aio('def'))")
        request = (await page.card())["requests"][0]
        await page.notebook.handled(page.decides(request, APPROVE))
        assert "GOT deleted def" in await cell.ok()
        assert await page.notebook.run("print(hooked())") == "False\n"

    async def test_where_nobody_can_be_reached_it_says_what_to_await(self, page: Hitl) -> None:
        cell = page.notebook.execute("delete('abc')", allow_stdin=False)
        reply = await cell.reply()
        assert reply["ename"] == "NoReviewer"
        assert "await fn.aio(…)" in reply["evalue"]

    async def test_a_scripted_reviewer_answers_all_the_same(self, page: Hitl) -> None:
        assert "GOT deleted abc" in await page.notebook.run(
            "with hitl.reviewer(lambda r: hitl.Approve()): print('GOT', delete('abc'))",
            allow_stdin=False,
        )


class TestOnWorkerThreads:
    async def test_in_an_awaiting_cell_clicks_arrive(self, page: Hitl) -> None:
        """As when a framework runs a sync tool in a thread; on every ipykernel."""
        cell = page.notebook.execute(
            "import asyncio; print('GOT', await asyncio.to_thread(delete, 'abc'))"
        )
        request = (await page.card())["requests"][0]
        await page.notebook.handled(page.decides(request, APPROVE))
        assert "GOT deleted abc" in await cell.ok()
        assert page.questions == []
        assert await page.notebook.run("print(hooked())") == "False\n"

    async def test_several_at_once_are_decided_in_any_order(self, page: Hitl) -> None:
        cell = page.notebook.execute(
            "print('GOT', await asyncio.gather(*(asyncio.to_thread(delete, x) for x in 'abc')))"
        )
        panels = await page.cards(3)
        for panel in reversed(panels):
            page.decides(panel["requests"][0], APPROVE, comm=panel["comm"])
        assert "GOT ['deleted a', 'deleted b', 'deleted c']" in await cell.ok()

    async def test_that_the_main_thread_waits_for(self, page: Hitl) -> None:
        """The loop stands still: a subshell takes the click, or the input box is offered."""
        cell = page.notebook.execute(
            "from concurrent.futures import ThreadPoolExecutor\n"
            "with ThreadPoolExecutor() as pool: print('GOT', pool.submit(delete, 'abc').result())"
        )
        await answer(page)
        assert "GOT deleted abc" in await cell.ok()
