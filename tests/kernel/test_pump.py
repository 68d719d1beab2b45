"""The pump and its kernel: unknown kernels, other hooks, other threads, and leaving no trace."""

from __future__ import annotations

import contextvars
import textwrap

import pytest

from hitl_widgets.notebook import kernel
from hitl_widgets.notebook.kernel import KernelMessage
from tests.kernel.notebook import Notebook

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def printed_by(notebook: Notebook, code: str, last_line: str = "") -> str:
    return await notebook.run(textwrap.dedent(code) + last_line)


class TestKind:
    async def test_names_the_generation(self, notebook: Notebook) -> None:
        kind = await notebook.run(
            "from hitl_widgets.notebook import kernel, pump\nprint(kernel.pump_kind())"
        )
        assert kind.strip() == f"ipykernel{notebook.version[0]}"

    async def test_without_a_kernel_there_is_nothing_to_do(self) -> None:
        assert kernel.pump_kind() == "none"
        with kernel.waiting():
            assert kernel.current_parent() is None
        with kernel.output_to(None):
            pass

    async def test_every_attribute_that_is_used_is_looked_for(self, notebook: Notebook) -> None:
        """Hide one at a time, as a later ipykernel might: no pump, no error."""
        printed = await notebook.run(
            textwrap.dedent("""
            from hitl_widgets.notebook import pump

            class Without:
                def __init__(self, inner, path):
                    self.inner, self.path = inner, path
                def __getattr__(self, name):
                    first, _, rest = self.path.partition(".")
                    if name != first:
                        return getattr(self.inner, name)
                    if not rest:
                        raise AttributeError(name)
                    return Without(getattr(self.inner, name), rest)

            kernel = get_ipython().kernel
            needs = pump.pump_of(kernel).shell.needs
            print(len(needs), {path: pump.pump_of(Without(kernel, path)) for path in needs})
            """)
        )
        count, pumps = printed.split(maxsplit=1)
        assert int(count) > 10
        assert set(eval(pumps).values()) == {None}  # noqa: S307 - printed by the line above

    @pytest.mark.parametrize("later", [False, True])
    async def test_where_a_request_is_known_to_its_own_context_alone_the_others_have_none(
        self, monkeypatch: pytest.MonkeyPatch, *, later: bool
    ) -> None:
        """As in ipykernel 7.0, where a change that is made elsewhere would be lost."""

        class Kernel:
            def __init__(self) -> None:
                self._shell_parent = contextvars.ContextVar[KernelMessage]("shell_parent")
                if later:
                    self._get_shell_context_var = self._shell_parent.get

            def get_parent(self, channel: str | None = None) -> KernelMessage:
                assert channel in (None, "shell")
                return self._shell_parent.get()

        running = Kernel()
        monkeypatch.setattr(kernel, "running_kernel", lambda: running)
        kernel.publish_anywhere()
        changed = vars(running).get("get_parent")
        kernel.publish_anywhere()
        assert vars(running).get("get_parent") is changed
        assert (changed is None) == later
        if not later:
            assert running.get_parent("shell") == running.get_parent() == {}
            message: KernelMessage = {"header": {"msg_id": "1"}}
            running._shell_parent.set(message)
            assert running.get_parent("shell") is message

    async def test_on_an_unknown_ipykernel_waiting_does_nothing(self, notebook: Notebook) -> None:
        printed = await printed_by(
            notebook,
            """
            from hitl_widgets.notebook import kernel, pump
            generations = (pump._Shell6, pump._Shell7)
            known = [generation.needs for generation in generations]
            for generation in generations:
                generation.needs += ("an_attribute_that_is_gone",)
            pump.pump_of.cache_clear()
            try:
                with kernel.waiting():
                    print(kernel.pump_kind(), hooked())
            finally:
                for generation, needs in zip(generations, known):
                    generation.needs = needs
                pump.pump_of.cache_clear()
            """,
        )
        assert printed == "unsupported False\n"


class TestHook:
    async def test_is_set_while_somebody_waits_and_not_longer(self, notebook: Notebook) -> None:
        printed = await printed_by(
            notebook,
            """
            from hitl_widgets.notebook.kernel import waiting
            seen = [hooked()]
            with waiting():
                seen.append(hooked())
                try:
                    with waiting():
                        raise LookupError
                except LookupError:
                    seen.append(hooked())
            print(*seen, hooked())
            """,
        )
        assert printed == "False True True False\n"

    async def test_lets_another_hook_on_top_live(self, notebook: Notebook) -> None:
        """jupyter_ui_poll and others hook the same stream; neither may lose the other."""
        cell = notebook.execute(
            textwrap.dedent("""
            from hitl_widgets.notebook.kernel import waiting
            stream, passed = main_stream(), []
            with waiting():
                below = stream._recv_callback
                def theirs(frames):
                    passed.append(1)
                    return below(frames)
                stream.on_recv(theirs, copy=False)
            try:
                print(stream._recv_callback is theirs, below.live)
                print(await ask("on top"))
                print(stream._recv_callback is theirs, len(passed))
            finally:
                stream.on_recv(UNTOUCHED, copy=False)
            """)
        )
        card = await cell.card("on top")
        # Not a widget message: the kernel's own way through all hooks.
        asked = notebook.send("complete_request", {"code": "pri", "cursor_pos": 3})
        await notebook.reply_to(notebook.send("comm_info_request", {}))
        notebook.click(card, "yes")
        assert await cell.ok() == "True False\nyes\nTrue 1\n"
        await notebook.reply_to(asked)

    async def test_is_left_on_the_main_thread_wherever_it_ends(self, notebook: Notebook) -> None:
        printed = await printed_by(
            notebook,
            """
            import threading
            from hitl_widgets.notebook.kernel import waiting
            from hitl_widgets.notebook.pump import pump_of

            pump, left_on = pump_of(get_ipython().kernel), asyncio.Queue()
            leave = pump.leave
            def watched():
                leave()
                left_on.put_nowait(threading.current_thread().name)
            pump.leave = watched
            try:
                entered = waiting()
                entered.__enter__()
                await asyncio.to_thread(entered.__exit__, None, None, None)
                print(await left_on.get(), hooked())
            finally:
                del pump.leave
            """,
        )
        assert printed == "MainThread False\n"

    @pytest.mark.parametrize(
        "where", ["await asyncio.to_thread(asyncio.run, enter())", "enter_without_a_loop()"]
    )
    async def test_is_not_set_where_it_cannot_help(self, notebook: Notebook, where: str) -> None:
        """Off the main thread and without a running loop nothing waits on the main shell."""
        printed = await printed_by(
            notebook,
            """
            from hitl_widgets.notebook.kernel import waiting
            async def enter():
                with waiting():
                    print(hooked())
            def enter_without_a_loop():
                running = asyncio.get_running_loop()
                asyncio._set_running_loop(None)
                try:
                    with waiting():
                        print(hooked())
                finally:
                    asyncio._set_running_loop(running)
            """,
            where,
        )
        assert printed == "False\n"

    async def test_a_failing_handler_is_logged_and_leaves_the_cell_waiting(
        self, notebook: Notebook
    ) -> None:
        cell = notebook.execute(
            textwrap.dedent("""
            kernel = get_ipython().kernel
            own = kernel.shell_handlers["comm_close"]
            def broken(stream, ident, message): raise LookupError("broken handler")
            kernel.shell_handlers["comm_close"] = broken
            try: print(await ask("broken"))
            finally: kernel.shell_handlers["comm_close"] = own
            """)
        )
        card = await cell.card("broken")
        await notebook.handled(notebook.send("comm_close", {"comm_id": card, "data": {}}))
        await notebook.handled(notebook.click(card, "still here"))
        assert "still here" in await cell.ok()


class TestQuietComm:
    async def test_leaves_a_widget_without_a_comm_alone(self, notebook: Notebook) -> None:
        printed = await printed_by(
            notebook,
            """
            from hitl_widgets.notebook.kernel import quiet_comm
            card = Card("closed")
            card.close()
            quiet_comm(card)
            print(card.comm)
            """,
        )
        assert printed == "None\n"
