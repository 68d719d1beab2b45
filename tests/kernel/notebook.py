"""A front end without a browser: it starts one ipykernel, keeps every message, and clicks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from jupyter_client import AsyncKernelManager

ROOT = Path(__file__).resolve().parents[2]

# Far above what anything here takes, far below a test run: a wait that never ends fails here.
PATIENCE_SECONDS = 10

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"

Message = dict[str, Any]

Route = Literal["plain", "subshell"]
"""How a page sends widget messages: to the main shell, or to a subshell as JupyterLab does."""


class Cell:
    """One execute request, and what came back for it."""

    def __init__(self, notebook: Notebook, msg_id: str) -> None:
        self.notebook = notebook
        self.msg_id = msg_id

    async def reply(self, *, within: float = PATIENCE_SECONDS) -> Message:
        """Return the content of the execute reply, once the cell is idle as well."""
        reply = await self.notebook.reply_to(self.msg_id, within=within)
        await self.notebook.until(
            lambda: self.notebook.states(self.msg_id)[-1:] == ["idle"], f"idle for {self.msg_id}"
        )
        return reply["content"]

    async def ok(self) -> str:
        """Wait for the end, insist on success, and return the printed text."""
        reply = await self.reply()
        assert reply["status"] == "ok", "\n".join(reply.get("traceback", [reply["status"]]))
        return self.text

    @property
    def text(self) -> str:
        """What was printed under this cell."""
        return self.notebook.printed_for(self.msg_id)

    def outputs(self, msg_type: str) -> list[Message]:
        """Messages of this type that a front end shows under this cell."""
        return self.notebook.published_for(self.msg_id, msg_type)

    async def printed(self, text: str) -> None:
        """Wait until this is printed under this cell."""
        await self.notebook.until(lambda: text in self.text, f"{text!r}")

    async def card(self, name: str) -> str:
        """Return the comm of the card of this name, once this cell displays it."""

        def look() -> str | None:
            opened = {
                m["content"]["data"].get("state", {}).get("name"): m["content"]["comm_id"]
                for m in self.outputs("comm_open")
            }
            shown = {
                m["content"]["data"].get(WIDGET_VIEW, {}).get("model_id")
                for m in self.outputs("display_data")
            }
            return opened.get(name) if opened.get(name) in shown else None

        return await self.notebook.until(look, f"card {name!r}")


class Notebook:
    """A kernel of one ipykernel version and everything it said."""

    def __init__(self, ipykernel: Path, *, env: dict[str, str] | None = None) -> None:
        self.version = ipykernel.name
        self._path = os.pathsep.join([str(ipykernel), str(ROOT)])
        self._env = env or {}
        self.published: list[Message] = []
        self.replies: list[Message] = []
        self._news = asyncio.Condition()
        self._readers: list[asyncio.Task[None]] = []
        self._cells: list[str] = []
        self._subshell = ""

    async def start(self) -> None:
        self._cells.clear()
        self._readers.clear()
        self._subshell = ""
        self.manager = AsyncKernelManager(kernel_name="python3")
        await self.manager.start_kernel(env={**os.environ, **self._env, "PYTHONPATH": self._path})
        self.client = self.manager.client()
        self.client.start_channels()
        await self.client.wait_for_ready(timeout=60)
        for receive, kept in (
            (self.client.get_iopub_msg, self.published),
            (self.client.get_shell_msg, self.replies),
            (self.client.get_control_msg, self.replies),
        ):
            self._readers.append(asyncio.create_task(self._read(receive, kept)))
        assert await self.run("import ipykernel; print(ipykernel.__version__)") == (
            f"{self.version}\n"
        )
        await self.run("import asyncio; from tests.kernel.cards import *")

    async def stop(self) -> None:
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self.client.stop_channels()
        await self.manager.shutdown_kernel(now=True)

    async def make_idle(self) -> None:
        """End what a failed test left running, so that only that test fails."""
        if all(self.replied(msg_id) for msg_id in self._cells):
            return
        try:
            await self.manager.interrupt_kernel()
            await self.execute("").reply(within=2)
        except AssertionError:
            await self.stop()
            await self.start()

    async def _read(self, receive: Callable[..., Any], kept: list[Message]) -> None:
        while True:
            message = await receive(timeout=None)
            async with self._news:
                kept.append(message)
                self._news.notify_all()

    async def until(
        self, look: Callable[[], Any], what: str, *, within: float = PATIENCE_SECONDS
    ) -> Any:
        """Look again after every message until there is something."""
        try:
            async with asyncio.timeout(within), self._news:
                return await self._news.wait_for(look)
        except TimeoutError:
            last = [f"{m['msg_type']} {str(m['content'])[:80]}" for m in self.published[-8:]]
            message = f"ipykernel {self.version}: no {what} within {within} s; last: {last}"
            raise AssertionError(message) from None

    # -- cells --------------------------------------------------------------------------------

    def execute(self, code: str, *, metadata: dict[str, Any] | None = None, **content: Any) -> Cell:
        """Send a cell; the kernel runs it when its turn comes."""
        request = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": True,
            "stop_on_error": True,
            **content,
        }
        self._cells.append(self.send("execute_request", request, metadata=metadata))
        return Cell(self, self._cells[-1])

    async def run(self, code: str, **kwargs: Any) -> str:
        """Run a cell to its end and return what it printed."""
        return await self.execute(code, **kwargs).ok()

    async def recovered(self) -> None:
        """After an error: wait until the kernel no longer aborts what comes next."""
        while (await self.execute("").reply())["status"] == "aborted":
            pass

    # -- messages -----------------------------------------------------------------------------

    def send(
        self,
        msg_type: str,
        content: dict[str, Any],
        *,
        subshell: str = "",
        metadata: dict[str, Any] | None = None,
    ) -> str:
        """Send a shell message, to a subshell if one is named, and return its id."""
        message = self.client.session.msg(msg_type, content, metadata=metadata)
        if subshell:
            message["header"]["subshell_id"] = subshell
        self._send(self.client.shell_channel, message)
        return message["header"]["msg_id"]

    async def reply_to(self, msg_id: str, *, within: float = PATIENCE_SECONDS) -> Message:
        def look() -> Message | None:
            return next((m for m in self.replies if m["parent_header"]["msg_id"] == msg_id), None)

        return await self.until(look, f"reply to {msg_id}", within=within)

    def _send(self, channel: Any, message: Message) -> None:
        # The channel's own `send` goes round the asyncio socket. If a message arrives just then,
        # the socket never tells the reader that waits for it.
        channel.socket.send_multipart(self.client.session.serialize(message))

    def replied(self, msg_id: str) -> bool:
        return any(m["parent_header"]["msg_id"] == msg_id for m in self.replies)

    def published_for(self, msg_id: str, msg_type: str) -> list[Message]:
        return [
            message
            for message in self.published
            if message["parent_header"].get("msg_id") == msg_id and message["msg_type"] == msg_type
        ]

    def printed_for(self, msg_id: str) -> str:
        return "".join(m["content"]["text"] for m in self.published_for(msg_id, "stream"))

    def last_state(self) -> str:
        """Return what a front end shows as the kernel's state."""
        states = [m for m in self.published if m["msg_type"] == "status"]
        return states[-1]["content"]["execution_state"]

    def states(self, msg_id: str) -> list[str]:
        """Execution states published for a message so far."""
        messages = self.published_for(msg_id, "status")
        return [message["content"]["execution_state"] for message in messages]

    async def handled(self, msg_id: str) -> None:
        """Wait until a message has its ``busy`` and its ``idle``, which lets the page go on."""
        await self.until(
            lambda: self.states(msg_id) == ["busy", "idle"], f"busy and idle for {msg_id}"
        )

    async def control(self, msg_type: str) -> Message:
        message = self.client.session.msg(msg_type, {})
        self._send(self.client.control_channel, message)
        return (await self.reply_to(message["header"]["msg_id"]))["content"]

    async def subshell(self) -> str:
        """Return the id of this front end's one subshell, made when first needed."""
        if not self._subshell:
            self._subshell = (await self.control("create_subshell_request"))["subshell_id"]
        return self._subshell

    # -- widgets ------------------------------------------------------------------------------

    def click(self, comm_id: str, answer: Any, *, subshell: str = "") -> str:
        """Send what the page sends for a click: a custom message."""
        data = {"method": "custom", "content": {"answer": answer}}
        return self.send("comm_msg", {"comm_id": comm_id, "data": data}, subshell=subshell)

    def set_trait(self, comm_id: str, value: int, *, subshell: str = "") -> str:
        """Send what ``model.set("value", …); model.save_changes()`` sends."""
        data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
        return self.send("comm_msg", {"comm_id": comm_id, "data": data}, subshell=subshell)
