"""A kernel that listens while a cell waits. Only here and in `pump` is ipykernel's inside touched.

An executing cell owns the kernel's shell channel. Up to ipykernel 7.3 a click on a widget waits
until the cell ends, which is never if the cell waits for the click. ipykernel 7.4 delivers it at
once but publishes no ``idle`` for it, and ipywidgets in the page sends no second trait change
before it has seen one: the widget's trait sync stays dead.

`waiting` keeps widget messages flowing meanwhile, on every ipykernel that it knows.

What callers must know:

- *Threads.* With subshells (ipykernel >= 7 under JupyterLab) a widget's callback runs on a thread
  named ``subshell-…``; on 7.4 without `quiet_comm` it flips from one message to the next. A
  callback hands over to the waiting loop with ``loop.call_soon_threadsafe(...)``, nothing else.
- *When to enter.* Before the widget is displayed, and as long as somebody waits for it, in the
  background too: a message that reached the kernel's queue earlier stays there until the cell
  ends.
- *Unknown kernels.* If an attribute that the pump needs is missing, `pump_kind` is
  ``"unsupported"`` and `waiting` does nothing: clicks arrive when the cell has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

from .pump import KernelMessage, Pump, PumpKind, pump_of

__all__ = [
    "KernelMessage",
    "PumpKind",
    "allow_stdin",
    "cell_id",
    "current_parent",
    "ipykernel_version",
    "ipython",
    "kernel_id",
    "output_to",
    "publish_anywhere",
    "pump_kind",
    "quiet_comm",
    "waiting",
    "waiting_on_a_thread",
]

# A loop that runs answers at once; one that does not within this time is taken to stand still.
LOOP_SECONDS = 1


def ipython() -> Any:
    """Return the IPython shell of this process, or None; never import IPython."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module is not None else None


def running_kernel() -> Any:
    """Return the ipykernel of this process, or None; other kernels have other insides."""
    kernel = getattr(ipython(), "kernel", None)
    module = sys.modules.get("ipykernel.kernelbase")
    return kernel if module is not None and isinstance(kernel, module.Kernel) else None


def pump_kind() -> PumpKind:
    """Say what `waiting` can do here.

    Returns
    -------
    PumpKind
        The generation of ipykernel that it works on; ``"unsupported"`` on an ipykernel whose
        inside is not one we know; ``"none"`` without ipykernel.
    """
    kernel = running_kernel()
    if kernel is None:
        return "none"
    pump = pump_of(kernel)
    return pump.shell.kind if pump is not None else "unsupported"


@contextlib.contextmanager
def waiting() -> Generator[bool]:
    """Keep widget messages flowing while the code inside awaits.

    Enter it before the widget is displayed. It can be nested and entered by several tasks at once;
    the last one out puts the kernel back as it was. It does nothing off the main thread, without a
    running event loop, outside ipykernel and on an ipykernel whose inside is unknown.

    Yields
    ------
    bool
        Whether it does anything.
    """
    kernel = running_kernel()
    pump = pump_of(kernel) if kernel is not None else None
    loop = _main_loop()
    if pump is None or loop is None:
        yield False
        return
    pump.enter(loop)
    try:
        yield True
    finally:
        if threading.current_thread() is threading.main_thread():
            pump.leave()
        else:  # a generator that was dropped is closed wherever the collector runs
            loop.call_soon_threadsafe(pump.leave)


def _main_loop() -> asyncio.AbstractEventLoop | None:
    # A cell on a subshell or a worker thread does not block the main shell.
    if threading.current_thread() is not threading.main_thread():
        return None
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


@contextlib.contextmanager
def waiting_on_a_thread() -> Generator[bool]:
    """`waiting`, entered on another thread than the main one, whose cell awaits meanwhile.

    For ``await asyncio.to_thread(f)``: the main shell is as busy as if the cell itself waited.

    Yields
    ------
    bool
        Whether clicks will arrive. False if the main thread's loop stands still (the cell blocks),
        outside ipykernel and on an ipykernel whose inside is unknown.
    """
    kernel = running_kernel()
    pump = pump_of(kernel) if kernel is not None else None
    loop = getattr(getattr(kernel, "io_loop", None), "asyncio_loop", None)
    if pump is None or loop is None or not loop.is_running():
        yield False
        return
    entry = _Entry(pump, loop)
    if not entry.made():
        yield False
        return
    try:
        yield True
    finally:
        loop.call_soon_threadsafe(pump.leave)


class _Entry:
    """One entry into the pump, made on its loop for another thread, or not at all."""

    def __init__(self, pump: Pump, loop: asyncio.AbstractEventLoop) -> None:
        self._lock = threading.Lock()
        self._entered = threading.Event()
        self._given_up = False
        loop.call_soon_threadsafe(self._enter, pump, loop)

    def _enter(self, pump: Pump, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            if not self._given_up:
                pump.enter(loop)
                self._entered.set()

    def made(self) -> bool:
        self._entered.wait(LOOP_SECONDS)
        with self._lock:
            self._given_up = not self._entered.is_set()
            return not self._given_up


def quiet_comm(widget: Any) -> None:
    """Keep a widget's messages from disturbing the cell that waits, and each other.

    They no longer fire IPython's ``pre_execute`` and ``post_execute``: with ``%matplotlib inline``
    those events flush and close every open figure, and a click during a wait would take a
    half-built figure out of the cell. And they stay where the page sent them: ipykernel 7.4 moves
    a widget's messages to the thread that last published on its comm, so that two of them sent
    to a subshell can run on two threads at once and overtake each other.

    Call it once the widget has its comm, before it is displayed.

    Parameters
    ----------
    widget
        An ipywidgets or anywidget widget. One without a comm is left alone.
    """
    comm = getattr(widget, "comm", None)
    if comm is None or not hasattr(comm, "_msg_callback"):
        return

    def handle_msg(message: KernelMessage) -> None:
        callback = comm._msg_callback  # noqa: SLF001
        if callback is not None:
            callback(message)

    comm.handle_msg = handle_msg
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = _where_the_page_sent_it  # noqa: SLF001


def _where_the_page_sent_it(_data: Any, subshell_id: str | None) -> str | None:
    return subshell_id


def publish_anywhere() -> None:
    """Let widgets change from any thread and callback, as ipykernel 7.1 and later do.

    7.0 knows the request that a message belongs to only in the context in which it handles that:
    anywhere else publishing raises `LookupError`, and the widget's change is lost.
    """
    kernel = running_kernel()
    parent_of_shell = getattr(kernel, "_shell_parent", None)
    if not isinstance(parent_of_shell, contextvars.ContextVar):
        return
    if hasattr(kernel, "_get_shell_context_var") or "get_parent" in vars(kernel):
        return
    get_parent = kernel.get_parent

    def parent(channel: str | None = None) -> KernelMessage:
        try:
            return get_parent(channel)
        except LookupError:
            return {}

    kernel.get_parent = parent


def current_parent() -> KernelMessage | None:
    """Return the request that the calling code belongs to, for `output_to`; None without a kernel.

    Call it in the cell, before work goes to the background: on ipykernel 6 a background task sees
    whichever cell is running.
    """
    kernel = running_kernel()
    return cast("KernelMessage", kernel.get_parent("shell")) or None if kernel is not None else None


@contextlib.contextmanager
def output_to(parent: KernelMessage | None) -> Generator[None]:
    """Show what is printed and displayed inside under the cell of `parent`.

    For background work: ipykernel 6 shows its output under whichever cell is running and drops it
    when none is. Do not await inside: on ipykernel 6 other tasks' output would come along.

    Parameters
    ----------
    parent
        What `current_parent` returned in the cell. With None nothing is changed.
    """
    with contextlib.ExitStack() as undo:
        if parent is not None:
            for target in _outputs():
                _redirect(target, parent["header"], undo)
        yield


def _outputs() -> list[Any]:
    shell = ipython()
    if shell is None:
        return []
    targets = (shell.display_pub, shell.displayhook, sys.stdout, sys.stderr)
    return [target for target in targets if hasattr(target, "parent_header")]


def _redirect(target: Any, header: dict[str, Any], undo: contextlib.ExitStack) -> None:
    variable = getattr(target, "_parent_header", None)
    if isinstance(variable, contextvars.ContextVar):
        header_of = cast("contextvars.ContextVar[dict[str, Any]]", variable)
        undo.callback(header_of.reset, header_of.set(header))
    else:
        flush = getattr(target, "flush", _nothing_to_flush)  # or what is buffered comes along
        flush()
        undo.callback(setattr, target, "parent_header", target.parent_header)
        undo.callback(flush)
        target.parent_header = header


def _nothing_to_flush() -> None: ...


def ipykernel_version() -> str | None:
    """Return the version of the ipykernel that runs this process, or None."""
    return sys.modules["ipykernel"].__version__ if running_kernel() is not None else None


def kernel_id() -> str | None:
    """Return the id under which the server knows this kernel, or None.

    It is taken from the name of the connection file (``kernel-<id>.json``).
    """
    application = getattr(running_kernel(), "parent", None)
    connection_file = getattr(application, "connection_file", "")
    return Path(connection_file).stem.removeprefix("kernel-") or None


def allow_stdin() -> bool | None:
    """Return whether the front end that runs this cell answers ``input()``; None without a kernel.

    nbclient, nbconvert and papermill say no: nobody is there.
    """
    kernel = running_kernel()
    if kernel is None:
        return None
    content = (current_parent() or {}).get("content", {})
    # In a widget's callback the parent is the widget's message, which does not say.
    return bool(content.get("allow_stdin", getattr(kernel, "_allow_stdin", False)))


def cell_id() -> str | None:
    """Return the id of the running cell, where the front end tells it, or None."""
    metadata = (current_parent() or {}).get("metadata", {})
    return metadata.get("cellId") or None
