"""Synchronous code blocks the main thread, and clicks still arrive: a subshell takes them."""

from __future__ import annotations

import textwrap

import pytest

from tests.kernel.notebook import Notebook

pytestmark = pytest.mark.asyncio(loop_scope="session")

BLOCK = textwrap.dedent("""
    import threading
    from hitl_widgets.notebook.subshell import clicks_while_blocked
    card = cards["blocked"] = Card("blocked")
    clicked = threading.Event()
    card.on_msg(lambda *_: clicked.set())
    with clicks_while_blocked(card) as arrive:
        display(card)
        print("arrive", arrive)
        if arrive:
            print("clicked", clicked.wait(10), card.clicks)
    """)


def has_subshells(notebook: Notebook) -> bool:
    return not notebook.version.startswith("6.")


class TestClicksWhileBlocked:
    async def test_a_click_ends_a_blocking_wait(self, notebook: Notebook, subshell: str) -> None:
        """Where no subshell can take it, that is said before anybody waits."""
        cell = notebook.execute(BLOCK)
        card = await cell.card("blocked")
        if has_subshells(notebook):
            notebook.click(card, "yes", subshell=subshell)
            assert await cell.ok() == "arrive True\nclicked True ['yes']\n"
        else:
            assert await cell.ok() == "arrive False\n"

    async def test_trait_changes_and_their_states_flow_meanwhile(
        self, notebook: Notebook, subshell: str
    ) -> None:
        cell = notebook.execute(BLOCK)
        card = await cell.card("blocked")
        if has_subshells(notebook):
            for value in (1, 2):
                await notebook.handled(notebook.set_trait(card, value, subshell=subshell))
            known = await notebook.reply_to(notebook.send("comm_info_request", {}))
            assert card in known["content"]["comms"]
            notebook.click(card, "yes", subshell=subshell)
        await cell.ok()
        value = 2 if has_subshells(notebook) else 0
        assert await notebook.run("print(card.value)") == f"{value}\n"

    async def test_other_widgets_and_cells_wait_as_ever(self, notebook: Notebook) -> None:
        made = notebook.execute("other = cards['other'] = Card('other'); display(other)")
        other = await made.card("other")
        await made.ok()
        cell = notebook.execute(BLOCK)
        card = await cell.card("blocked")
        sent = notebook.click(other, "early")
        queued = notebook.execute("print(other.threads)")
        if has_subshells(notebook):
            await notebook.reply_to(notebook.send("comm_info_request", {}))
            assert not notebook.states(sent)
            notebook.click(card, "yes")
        await cell.ok()
        assert await queued.ok() == "['MainThread']\n"

    async def test_a_forged_message_is_not_signed_again(self, notebook: Notebook) -> None:
        cell = notebook.execute(BLOCK)
        card = await cell.card("blocked")
        session = notebook.client.session
        key, session.key = session.key, b"not the key of this kernel"
        try:
            notebook.click(card, "forged")
        finally:
            session.key = key
        if has_subshells(notebook):
            notebook.click(card, "genuine")
        await cell.ok()
        clicks = ["genuine"] if has_subshells(notebook) else []
        assert await notebook.run("print(card.clicks)") == f"{clicks}\n"

    async def test_interrupt_ends_it_and_leaves_the_kernel_as_before(
        self, notebook: Notebook
    ) -> None:
        cell = notebook.execute(BLOCK)
        card = await cell.card("blocked")
        if has_subshells(notebook):
            await cell.printed("arrive True")
            await notebook.manager.interrupt_kernel()
            assert (await cell.reply())["ename"] == "KeyboardInterrupt"
        else:
            await cell.ok()
        await notebook.handled(notebook.click(card, "later"))
        assert await notebook.run("print(card.threads)") == "['MainThread']\n"
        assert await notebook.run("print(channel_hooked())") == "False\n"

    async def test_one_subshell_serves_all_waits(self, notebook: Notebook) -> None:
        for answer in ("a", "b"):
            cell = notebook.execute(BLOCK + "print(card.threads)")
            card = await cell.card("blocked")
            if has_subshells(notebook):
                notebook.click(card, answer)
            await cell.ok()
            await notebook.run("threads = {*globals().get('threads', ()), *card.threads}")
        assert await notebook.run("print(len(threads))") == f"{int(has_subshells(notebook))}\n"

    async def test_off_the_main_thread_nothing_is_promised(self, notebook: Notebook) -> None:
        """A worker thread does not block the shell: `waiting` is for the cell that awaits it."""
        assert (
            await notebook.run(
                textwrap.dedent("""
            from hitl_widgets.notebook.subshell import clicks_while_blocked
            def work():
                with clicks_while_blocked() as arrive:
                    return arrive
            print(await asyncio.to_thread(work))
            """)
            )
            == "False\n"
        )

    async def test_every_attribute_that_is_used_is_looked_for(self, notebook: Notebook) -> None:
        assert (
            await notebook.run(
                textwrap.dedent("""
            from hitl_widgets.notebook import subshell
            known = subshell.NEEDS
            subshell.NEEDS = (*known, "an_attribute_that_is_gone")
            subshell._readdresser_of.cache_clear()
            try:
                with subshell.clicks_while_blocked() as arrive:
                    print(arrive)
            finally:
                subshell.NEEDS = known
                subshell._readdresser_of.cache_clear()
            """)
            )
            == "False\n"
        )
