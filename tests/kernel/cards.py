"""What the test cells import: the smallest widget that a cell can wait for."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import anywidget
import traitlets
from IPython import get_ipython
from IPython.display import display

from hitl_widgets.notebook.kernel import quiet_comm, waiting

__all__ = [
    "UNTOUCHED",
    "Card",
    "ask",
    "cards",
    "channel_hooked",
    "display",
    "hooked",
    "main_stream",
]


class Card(anywidget.AnyWidget):
    """A question with a name, settled by a message ``{"answer": …}`` that is not "not yet"."""

    _esm = "export default { render() {} };"
    name = traitlets.Unicode().tag(sync=True)
    value = traitlets.Int().tag(sync=True)

    def __init__(self, name: str) -> None:
        super().__init__(name=name)
        self.clicks: list[Any] = []
        self.threads: list[str] = []
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[Any] = self.loop.create_future()
        self.on_msg(self._clicked)

    def _clicked(self, _: Any, content: dict[str, Any], __: Any) -> None:
        self.clicks.append(content["answer"])
        self.threads.append(threading.current_thread().name)
        print(f"handler of {self.name}")  # noqa: T201 - where it appears is tested
        # Publishing from the handler is what makes ipykernel 7.4 flip threads.
        self.send({"ack": content["answer"]})
        self.loop.call_soon_threadsafe(self._settle, content["answer"])

    def _settle(self, answer: Any) -> None:
        if answer != "not yet" and not self.answer.done():
            self.answer.set_result(answer)


cards: dict[str, Card] = {}


async def ask(name: str, *, pump: bool = True, quiet: bool = True) -> Any:
    """Show a card and wait for its answer, as the product does."""
    with waiting() if pump else contextlib.nullcontext():
        card = cards[name] = Card(name)
        if quiet:
            quiet_comm(card)
        display(card)
        return await card.answer


def main_stream() -> Any:
    """Return the stream that brings this kernel its main shell's messages."""
    kernel = get_ipython().kernel
    if hasattr(kernel, "shell_channel_thread"):
        return kernel.shell_channel_thread.manager._shell_channel_to_main.to_stream
    return kernel.shell_stream


UNTOUCHED = main_stream()._recv_callback
UNTOUCHED_CHANNEL = get_ipython().kernel.shell_stream._recv_callback


def hooked() -> bool:
    """Whether somebody stands in front of the kernel's own receiver."""
    return main_stream()._recv_callback is not UNTOUCHED


def channel_hooked() -> bool:
    """Whether somebody stands in front of the thread that reads the shell channel."""
    return get_ipython().kernel.shell_stream._recv_callback != UNTOUCHED_CHANNEL
