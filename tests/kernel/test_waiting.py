"""While a cell waits, clicks arrive: `hitl_widgets.notebook.kernel.waiting` on real ipykernels.

`route` is how the page sends its widget messages: "plain", or to a "subshell" of the kernel as
JupyterLab does by default since 4.4.
"""

from __future__ import annotations

import pytest

from tests.kernel.notebook import Notebook, Route

pytestmark = pytest.mark.asyncio(loop_scope="session")


class TestClick:
    async def test_resumes_the_waiting_cell(self, notebook: Notebook, subshell: str) -> None:
        cell = notebook.execute("print('got', await ask('one'))")
        notebook.click(await cell.card("one"), "yes", subshell=subshell)
        assert "got yes" in await cell.ok()

    async def test_keeps_the_order_of_queued_cells(self, notebook: Notebook, subshell: str) -> None:
        """Run All: nothing queued behind the waiting cell overtakes it or another."""
        first = notebook.execute("seen = [await ask('order')]")
        card = await first.card("order")
        later = [notebook.execute(f"seen.append({number})") for number in (1, 2, 3)]
        notebook.click(card, "yes", subshell=subshell)
        await first.ok()
        for cell in later:
            await cell.ok()
        assert "['yes', 1, 2, 3]" in await notebook.run("print(seen)")

    async def test_each_of_several_cards_resumes_its_own_waiter(
        self, notebook: Notebook, subshell: str
    ) -> None:
        cell = notebook.execute(
            "import asyncio\nprint(await asyncio.gather(ask('a'), ask('b'), ask('c')))"
        )
        comms = {name: await cell.card(name) for name in "abc"}
        for name in "cab":
            notebook.click(comms[name], name.upper(), subshell=subshell)
        assert "['A', 'B', 'C']" in await cell.ok()

    async def test_reaches_a_background_waiter_while_another_cell_waits(
        self, notebook: Notebook, subshell: str
    ) -> None:
        """The pump stays until the last waiter leaves, whichever leaves first."""
        started = notebook.execute("background = asyncio.create_task(ask('back'))")
        back = await started.card("back")
        await started.ok()
        cell = notebook.execute("front = await ask('front'); print(front, await background)")
        notebook.click(await cell.card("front"), "first", subshell=subshell)
        await notebook.handled(notebook.click(back, "second", subshell=subshell))
        assert "first second" in await cell.ok()

    async def test_reaches_a_background_card_while_a_cell_awaits_something_else(
        self, notebook: Notebook, subshell: str
    ) -> None:
        started = notebook.execute("background = asyncio.create_task(ask('alone'))")
        back = await started.card("alone")
        await started.ok()
        cell = notebook.execute("print('awaiting'); print(await background)")
        await cell.printed("awaiting")
        notebook.click(back, "now", subshell=subshell)
        assert "now" in await cell.ok()

    async def test_is_not_caught_between_a_cell_that_comes_and_one_that_goes(
        self, notebook: Notebook
    ) -> None:
        """Sent right behind a cell: the kernel would queue it until that cell ends."""
        for attempt in range(10):
            name = f"between {attempt}"
            started = notebook.execute(f"background = asyncio.create_task(ask('{name}'))")
            card = await started.card(name)
            await started.ok()
            cells = [notebook.execute("0"), notebook.execute("print(await background)")]
            notebook.click(card, "yes")
            await cells[0].ok()
            assert "yes" in await cells[1].ok()

    async def test_of_many_is_handled_in_the_order_of_sending(
        self, notebook: Notebook, subshell: str
    ) -> None:
        """Whether the kernel is idle, about to start a cell, or in one that waits."""
        started = notebook.execute("background = asyncio.create_task(ask('burst'))")
        card = await started.card("burst")
        await started.ok()
        await notebook.run(
            "values = []; cards['burst'].observe(lambda change: values.append(change.new), 'value')"
        )
        for value in range(1, 21):
            if value == 10:
                cell = notebook.execute("await background")
            notebook.set_trait(card, value, subshell=subshell)
        notebook.click(card, "end", subshell=subshell)
        await cell.ok()
        assert await notebook.run("print(values)") == f"{list(range(1, 21))}\n"

    async def test_with_a_forged_signature_is_refused(self, notebook: Notebook) -> None:
        """The pump checks what the kernel checks: the signature of every message it handles."""
        cell = notebook.execute("print('got', await ask('forged'))")
        card = await cell.card("forged")
        session = notebook.client.session
        key, session.key = session.key, b"not the key of this kernel"
        try:
            notebook.click(card, "forged")
        finally:
            session.key = key
        notebook.click(card, "genuine")
        assert "got genuine" in await cell.ok()


class TestStates:
    """ipywidgets' page sends a model's next change only after ``idle`` for the one before."""

    async def test_every_widget_message_gets_busy_and_idle(
        self, notebook: Notebook, subshell: str
    ) -> None:
        cell = notebook.execute("print(await ask('sync'), cards['sync'].value)")
        card = await cell.card("sync")
        for value in (1, 2, 3):
            sent = notebook.set_trait(card, value, subshell=subshell)
            await notebook.handled(sent)
        sent = notebook.click(card, "done", subshell=subshell)
        await notebook.handled(sent)
        assert "done 3" in await cell.ok()

    async def test_the_kernel_is_shown_busy_until_the_cell_ends(self, notebook: Notebook) -> None:
        cell = notebook.execute("print(await ask('busy'))")
        card = await cell.card("busy")
        sent = notebook.set_trait(card, 1)
        await notebook.handled(sent)
        # After the idle of the widget's message: busy again, for the cell.
        await notebook.until(
            lambda: notebook.states(cell.msg_id) == ["busy", "busy"], "busy again for the cell"
        )
        notebook.click(card, "done")
        await cell.ok()
        assert notebook.last_state() == "idle"

    async def test_the_kernel_is_shown_busy_for_the_cell_after_a_subshell_spoke(
        self, notebook: Notebook, subshell: str
    ) -> None:
        """ipykernel 7 keeps one "last parent" for all threads: a subshell's is not the cell's."""
        cell = notebook.execute("print(await asyncio.gather(ask('sub'), ask('main')))")
        sub, main = await cell.card("sub"), await cell.card("main")
        for value in (1, 2):
            await notebook.handled(notebook.set_trait(sub, value, subshell=subshell))
        await notebook.handled(notebook.set_trait(main, 1))
        await notebook.until(
            lambda: notebook.states(cell.msg_id)[1:] and notebook.last_state() == "busy",
            "busy again for the cell",
        )
        notebook.click(sub, "a", subshell=subshell)
        notebook.click(main, "b")
        assert "['a', 'b']" in await cell.ok()

    async def test_an_idle_kernel_is_not_shown_busy_by_a_click(
        self, notebook: Notebook, subshell: str
    ) -> None:
        started = notebook.execute("background = asyncio.create_task(ask('quiet'))")
        card = await started.card("quiet")
        await started.ok()
        sent = notebook.click(card, "yes", subshell=subshell)
        await notebook.handled(sent)
        assert "yes" in await notebook.run("print(await background)")
        assert notebook.states(started.msg_id) == ["busy", "idle"]
        assert notebook.last_state() == "idle"


class TestRequests:
    async def test_a_reloaded_page_is_answered_while_the_cell_waits(
        self, notebook: Notebook
    ) -> None:
        cell = notebook.execute("print(await ask('reload'))")
        card = await cell.card("reload")
        known = await notebook.reply_to(notebook.send("comm_info_request", {}))
        assert card in known["content"]["comms"]
        about = await notebook.reply_to(notebook.send("kernel_info_request", {}))
        assert about["content"]["language_info"]["name"] == "python"
        for reply in (known, about):
            await notebook.handled(reply["parent_header"]["msg_id"])
        notebook.click(card, "done")
        await cell.ok()

    async def test_a_completion_waits_for_the_cell_as_ever(self, notebook: Notebook) -> None:
        # Jedi reads its type stubs at first: for longer than anything here takes.
        await notebook.run("get_ipython().Completer.use_jedi = False")
        cell = notebook.execute("print(await ask('complete'))")
        card = await cell.card("complete")
        asked = notebook.send("complete_request", {"code": "pri", "cursor_pos": 3})
        # The reload request, sent later, is answered before: the completion was passed by.
        await notebook.reply_to(notebook.send("comm_info_request", {}))
        assert not notebook.replied(asked)
        notebook.click(card, "done")
        await cell.ok()
        assert "print" in (await notebook.reply_to(asked))["content"]["matches"]


class TestOutput:
    async def test_what_the_cell_shows_after_the_click_is_the_cells(
        self, notebook: Notebook, subshell: str
    ) -> None:
        cell = notebook.execute(
            "from IPython.display import display\n"
            "answer = await ask('output')\n"
            "print('printed', answer)\n"
            "display({'text/plain': 'displayed'}, raw=True)\n"
            "'result'"
        )
        sent = notebook.click(await cell.card("output"), "yes", subshell=subshell)
        assert "printed yes" in await cell.ok()
        texts = [m["content"]["data"]["text/plain"] for m in cell.outputs("display_data")]
        assert texts[-1] == "displayed"
        results = [m["content"]["data"]["text/plain"] for m in cell.outputs("execute_result")]
        assert results == ["'result'"]
        # The handler's own output belongs to the widget's message, as on an idle kernel.
        assert "handler of output" not in cell.text
        assert "handler of output" in notebook.printed_for(sent)

    async def test_what_a_task_of_the_cell_prints_after_a_click_is_the_cells(
        self, notebook: Notebook, subshell: str
    ) -> None:
        cell = notebook.execute(
            "async def second():\n"
            "    print('second starts')\n"
            "    print('second', await ask('two'))\n"
            "first = asyncio.create_task(ask('one'))\n"
            "await asyncio.gather(first, second())\n"
            "print('both')"
        )
        one, two = await cell.card("one"), await cell.card("two")
        notebook.click(one, 1, subshell=subshell)
        notebook.click(two, 2, subshell=subshell)
        assert "second 2\nboth" in await cell.ok()

    async def test_output_to_keeps_background_output_in_its_own_cell(
        self, notebook: Notebook
    ) -> None:
        """ipykernel 6 shows it under whichever cell is running, or nowhere."""
        started = notebook.execute(
            "from hitl_widgets.notebook.kernel import current_parent, output_to\n"
            "def show(text, parent):\n"
            "    with output_to(parent):\n"
            "        print('printed', text)\n"
            "        display({'text/plain': 'displayed ' + text}, raw=True)\n"
            "async def work(parent):\n"
            "    await ask('first'); show('in another cell', parent)\n"
            "    await ask('second'); show('with none running', parent)\n"
            "background = asyncio.create_task(work(current_parent()))"
        )
        first = await started.card("first")
        await started.ok()
        other = notebook.execute("await ask('other'); print('other ends')")
        notebook.click(first, "go")
        await started.printed("printed in another cell")
        notebook.click(await other.card("other"), "go")
        assert "other ends" in await other.ok()
        await notebook.run("cards['second']._settle('go')")
        await notebook.run("await background")
        assert "printed with none running" in started.text
        texts = [m["content"]["data"]["text/plain"] for m in started.outputs("display_data")]
        assert {"displayed in another cell", "displayed with none running"} < set(texts)
        assert "printed" not in other.text

    async def test_output_to_puts_everything_back(self, notebook: Notebook) -> None:
        started = notebook.execute("parent = current_parent()")
        await started.ok()
        cell = notebook.execute(
            "with output_to(parent): print('there')\n"
            "print('here')\n"
            "display({'text/plain': 'displayed here'}, raw=True)\n"
            "with output_to(None): print('here too')"
        )
        assert await cell.ok() == "here\nhere too\n"
        assert [m["content"]["data"] for m in cell.outputs("display_data")] == [
            {"text/plain": "displayed here"}
        ]
        assert started.text == "there\n"


class TestInterrupt:
    @pytest.mark.parametrize("how", ["signal", "message"])
    async def test_ends_the_waiting_cell_though_nothing_else_wakes_it(
        self, notebook: Notebook, how: str
    ) -> None:
        """F29: CancelledError in the cell, queued cells aborted, the kernel as before."""
        cell = notebook.execute(
            "from hitl_widgets.notebook.kernel import waiting\n"
            "with waiting():\n"
            "    await asyncio.sleep(0.5)  # nothing of the start wakes the loop any more\n"
            "    await ask('interrupted')"
        )
        card = await cell.card("interrupted")
        queued = notebook.execute("print('must not run')")
        # Once this is answered, the queued cell has arrived too: nothing is left to wake the loop.
        await notebook.reply_to(notebook.send("comm_info_request", {}))
        if how == "signal":
            await notebook.manager.interrupt_kernel()
        else:
            await notebook.control("interrupt_request")
        reply = await cell.reply()
        assert (reply["status"], reply["ename"]) == ("error", "CancelledError")
        assert (await queued.reply())["status"] == "aborted"
        await notebook.recovered()
        assert await notebook.run("print(hooked())") == "False\n"
        # The card stays decidable: an idle kernel handles the click.
        await notebook.handled(notebook.click(card, "later"))
        assert await notebook.run("print(cards['interrupted'].clicks)") == "['later']\n"

    async def test_is_the_kernels_own_business_again_after_the_cell(
        self, notebook: Notebook
    ) -> None:
        """The SIGINT handler of an idle kernel is not replaced by a cell's that has ended."""
        before = await notebook.run("print(get_ipython().kernel.saved_sigint_handler)")
        cell = notebook.execute("await ask('handler')")
        card = await cell.card("handler")
        await notebook.handled(notebook.set_trait(card, 1))
        notebook.click(card, "done")
        await cell.ok()
        assert await notebook.run("print(get_ipython().kernel.saved_sigint_handler)") == before

    async def test_ends_a_slow_callback_of_an_idle_kernel(self, notebook: Notebook) -> None:
        """A background run holds the pump for hours: other widgets stay interruptible."""
        started = notebook.execute(
            "import time\n"
            "def slow(change):\n"
            "    print('slow starts')\n"
            "    time.sleep(60)\n"
            "background = asyncio.create_task(ask('hours'))"
        )
        card = await started.card("hours")
        await started.ok()
        await notebook.run("cards['hours'].observe(slow, 'value')")
        sent = notebook.set_trait(card, 1)
        await notebook.until(lambda: "slow starts" in notebook.printed_for(sent), "slow start")
        await notebook.manager.interrupt_kernel()
        await notebook.handled(sent)
        notebook.click(card, "done")
        assert await notebook.run("print(await background)") == "done\n"


class TestQuietComm:
    """matplotlib's inline backend closes every open figure on post_execute."""

    @staticmethod
    async def fires(notebook: Notebook, subshell: str, *, quiet: bool) -> bool:
        cell = notebook.execute(
            "fired = []\n"
            "count = lambda *_: fired.append(1)\n"
            "get_ipython().events.register('post_execute', count)\n"
            f"try: await ask('events', quiet={quiet})\n"
            "finally: get_ipython().events.unregister('post_execute', count)\n"
            "print(bool(fired))"
        )
        card = await cell.card("events")
        await notebook.handled(notebook.set_trait(card, 1, subshell=subshell))
        notebook.click(card, "yes", subshell=subshell)
        return (await cell.ok()).endswith("True\n")

    async def test_a_message_does_not_fire_post_execute(
        self, notebook: Notebook, subshell: str
    ) -> None:
        assert not await self.fires(notebook, subshell, quiet=True)

    async def test_messages_stay_on_the_thread_that_the_page_sent_them_to(
        self, notebook: Notebook, route: Route, subshell: str
    ) -> None:
        """ipykernel 7.4 moves them to the thread that last published: two could run at once."""
        cell = notebook.execute("await ask('thread'); print({*cards['thread'].threads})")
        card = await cell.card("thread")
        for answer in ("not yet", "not yet", "now"):
            await notebook.handled(notebook.click(card, answer, subshell=subshell))
        expected = {"plain": "MainThread", "subshell": f"subshell-{subshell}"}[route]
        assert await cell.ok() == f"{{{expected!r}}}\n"

    async def test_without_it_a_message_does(self, notebook: Notebook, subshell: str) -> None:
        """The witness sees what it must. Once comm no longer does this, `quiet_comm` can go."""
        assert await self.fires(notebook, subshell, quiet=False)
