"""Clicks while the main thread is blocked: one widget's messages go to a subshell of our own.

`kernel.waiting` needs a cell that awaits. Synchronous code on the main thread stops its loop, so
only another thread can take a click: a subshell (ipykernel 7). JupyterLab sends widget messages to
one by itself; VS Code, Notebook before 7.4 and plain clients do not. Here the kernel makes one and
readdresses the messages on their way in. As in `pump`, every private attribute is looked for first.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import threading
from collections.abc import Callable, Generator
from typing import Any, cast

from .kernel import quiet_comm, running_kernel
from .pump import RECONNECT_REQUESTS, has_attribute

__all__ = ["can_unblock", "clicks_while_blocked", "join"]

NEEDS = (
    "session.feed_identities",
    "session.deserialize",
    "session.unpack",
    "session.pack",
    "session.sign",
    "shell_stream.on_recv",
    "shell_stream._recv_callback",
    "shell_channel_thread.io_loop.add_callback",
    "shell_channel_thread.manager._create_subshell",
)

# The channel's thread does nothing that takes time; without an answer it is gone.
CHANNEL_SECONDS = 5


@contextlib.contextmanager
def clicks_while_blocked(*widgets: Any, on_any_thread: bool = False) -> Generator[bool]:
    """Let clicks on these widgets arrive while the code inside blocks the main thread.

    Their callbacks run on a thread named ``subshell-…``, as do the answers to a page that is
    reloaded meanwhile. A callback must not wait for the main thread's event loop, which stands.

    Parameters
    ----------
    *widgets
        Widgets with a comm, before they are displayed. `quiet_comm` is called with each. Later
        ones take part by `join`.
    on_any_thread
        The caller may be another thread that the main one waits for.

    Yields
    ------
    bool
        Whether clicks will arrive. False before ipykernel 7, on an unknown kernel, without one,
        and off the main thread, where nothing is blocked: then ask in another way.
    """
    kernel = running_kernel()
    here = on_any_thread or threading.current_thread() is threading.main_thread()
    desk = _readdresser_of(kernel) if kernel is not None and here else None
    if desk is None:
        yield False
        return
    for widget in widgets:
        quiet_comm(widget)
    comms: set[str] = {widget.comm.comm_id for widget in widgets}
    desk.add(comms)
    try:
        yield True
    finally:
        desk.remove(comms)


def can_unblock() -> bool:
    """Whether `clicks_while_blocked` can do anything with this process's kernel."""
    kernel = running_kernel()
    return kernel is not None and _readdresser_of(kernel) is not None


def join(widget: Any) -> None:
    """Let a widget that was made while somebody blocks take part; nothing if nobody does."""
    kernel = running_kernel()
    desk = _readdresser_of(kernel) if kernel is not None else None
    if desk is not None and widget.comm is not None:
        desk.join(widget.comm.comm_id)


class _Readdresser:
    """Stands in front of the thread that reads the shell channel, while somebody blocks."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._groups: tuple[set[str], ...] = ()  # replaced as a whole: read by two threads
        self._kernels_own: Callable[[list[Any]], Any] | None = None
        self._subshell_id = ""

    def add(self, comms: set[str]) -> None:
        """Readdress these comms; the first ones set the hook, and make the subshell once."""
        self._groups = (*self._groups, comms)
        if len(self._groups) == 1:
            self._on_channel(self._hook)

    def join(self, comm_id: str) -> None:
        """Readdress one more comm, as long as the last that came block."""
        groups = self._groups
        if groups:
            groups[-1].add(comm_id)

    def remove(self, comms: set[str]) -> None:
        """Readdress these comms no longer; after the last ones the channel is as it was."""
        self._groups = tuple(group for group in self._groups if group is not comms)
        if not self._groups:
            self._on_channel(self._unhook)

    def _on_channel(self, function: Callable[[], None]) -> None:
        """Run a function on the channel's own thread, which owns the stream and the subshells."""
        done: concurrent.futures.Future[None] = concurrent.futures.Future()

        def run() -> None:
            try:
                done.set_result(function())
            except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
                done.set_exception(error)

        self._kernel.shell_channel_thread.io_loop.add_callback(run)
        done.result(CHANNEL_SECONDS)

    def _hook(self) -> None:
        stream = self._kernel.shell_stream
        if not self._subshell_id:
            self._subshell_id = self._kernel.shell_channel_thread.manager._create_subshell()  # noqa: SLF001
        if stream._recv_callback != self._receive:  # noqa: SLF001
            self._kernels_own = stream._recv_callback  # noqa: SLF001
            stream.on_recv(self._receive, copy=False)

    def _unhook(self) -> None:
        stream = self._kernel.shell_stream
        # Somebody's hook on top of this one stays, and this one passes everything through.
        if stream._recv_callback == self._receive:  # noqa: SLF001
            stream.on_recv(self._kernels_own, copy=False)

    def _receive(self, frames: list[Any]) -> Any:
        assert self._kernels_own is not None
        return self._kernels_own(self._readdressed(frames) if self._groups else frames)

    def _readdressed(self, frames: list[Any]) -> list[Any]:
        session = self._kernel.session
        identities, rest = session.feed_identities(frames, copy=False)
        try:
            # Checks the signature: what is signed again below was genuine before.
            message = session.deserialize(rest, content=False, copy=False)
        except (ValueError, TypeError):
            return frames  # the kernel refuses and logs it
        if message["header"].get("subshell_id") or not self._concerns_us(message):
            return frames
        header = {**session.unpack(rest[1].bytes), "subshell_id": self._subshell_id}
        signed = [session.pack(header), *(frame.bytes for frame in rest[2:5])]
        frame = cast("Callable[[bytes], Any]", type(rest[1]))
        routing = frames[: len(identities) + 1]
        return [*routing, frame(session.sign(signed)), *map(frame, signed), *rest[5:]]

    def _concerns_us(self, message: dict[str, Any]) -> bool:
        if message["header"]["msg_type"] in RECONNECT_REQUESTS:
            return True
        if message["header"]["msg_type"] not in {"comm_msg", "comm_close"}:
            return False
        comm_id = self._kernel.session.unpack(message["content"]).get("comm_id")
        return any(comm_id in comms for comms in self._groups)


@functools.cache
def _readdresser_of(kernel: Any) -> _Readdresser | None:
    known = all(has_attribute(kernel, path) for path in NEEDS)
    if not known or getattr(kernel.shell_stream, "_recv_copy", None) is not False:
        return None
    return _Readdresser(kernel)
