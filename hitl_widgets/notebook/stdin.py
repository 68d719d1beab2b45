"""The input box of the front end that runs a cell: a person can be asked there too.

`CellInput` is to a cell what `terminal.Device` is to a terminal. Its question can be taken back,
which ``input()`` cannot: a card may have been faster. That needs two attributes of ipykernel, which
are looked for first; elsewhere ``input()`` itself is called, and what is typed too late is dropped.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import getpass
import threading
from collections.abc import Callable
from typing import Any

from ..deciders import settings
from ..screen.hub import pages
from ..terminal import Left
from ..words import of_environment, short
from . import kernel
from .pump import has_attribute

NEEDS = ("stdin_socket.poll", "session.send", "session.recv", "_parent_ident")

LOOK_MILLISECONDS = 20
"""How often a reader looks whether its question was taken back."""

MENU = ":menu"
"""Typed alone it leaves a line without an answer: an input box has no Escape that could be told."""

END = "\x04"
"""What a front end replies for the end of the input."""


class CellInput:
    """The front end's input box, for the cell that runs where this is made."""

    way_out = MENU

    @property
    def locale(self) -> str:
        """The language that was set, else the page's, else the environment's."""
        page = next((short(page.locale) for page in pages()), None)
        return settings().locale or page or of_environment()

    def __init__(self) -> None:
        self._output = functools.partial(kernel.output_to, kernel.current_parent())
        self._context = contextvars.copy_context()

    def say(self, words: str, style: str = "") -> None:
        """Print under the cell."""
        del style
        with self._output():
            print(words, flush=True)  # noqa: T201  # to the person

    def forget_typed(self) -> None:
        """Nothing can be typed before the box is there."""

    async def choose(self, menu: str) -> str:
        """Ask in the box itself: some front ends show it far from the cell."""
        return await self.line(f"{menu} ")

    async def line(self, label: str, *, secret: bool = False) -> str:
        """Read one line on a thread of its own; cancelling it takes the question back.

        Raises
        ------
        Left
            ``:menu`` was typed, or the input ended, or there is no input box.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[str] = loop.create_future()
        taken_back = threading.Event()

        def settle(text: str | None) -> None:
            if answer.done():
                return
            if text is None or text.strip() == MENU:
                answer.set_exception(Left("eof" if text is None else "escape"))
            else:
                answer.set_result(text)

        def read() -> None:
            text = _read(label, secret=secret, taken_back=taken_back)
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, text)

        context = self._context.copy()
        # Not the loop's executor: that is waited for when the loop ends.
        threading.Thread(target=context.run, args=(read,), name="hitl-input", daemon=True).start()
        try:
            return await answer
        finally:
            taken_back.set()


def _read(label: str, *, secret: bool, taken_back: threading.Event) -> str | None:
    running = kernel.running_kernel()
    own = running is not None and all(has_attribute(running, path) for path in NEEDS)
    try:
        if own:
            return _ask(running, label, secret=secret, taken_back=taken_back)
        ask: Callable[[str], str] = getpass.getpass if secret else input
        return ask(label)
    except Exception:  # noqa: BLE001  # every front end without a box says so in its own way
        return None


def _ask(running: Any, label: str, *, secret: bool, taken_back: threading.Event) -> str | None:
    """What ``Kernel.raw_input`` does, until the question is taken back."""
    socket, session = running.stdin_socket, running.session
    while socket.poll(0):  # replies to questions that were taken back
        socket.recv_multipart()
    parent = running.get_parent("shell")
    ident = running._parent_ident["shell"]  # noqa: SLF001
    content = {"prompt": label, "password": secret}
    session.send(socket, "input_request", content, parent, ident=ident)
    while not taken_back.is_set():
        if not socket.poll(LOOK_MILLISECONDS) or taken_back.is_set():
            continue
        _, reply = session.recv(socket)
        if reply is not None:
            text = str(reply["content"].get("value", ""))
            return None if text == END else text
    return None
