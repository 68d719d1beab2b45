"""The pump: one hook in front of ipykernel's own receiver of shell messages.

Inside of `kernel`, whose `waiting` says when to use it and what callers must know. The hook handles
widget messages (and the two requests that a reloaded page asks first) at once, in the order in
which they come, with their ``busy`` and ``idle``. Everything else goes the kernel's own way, so
queued cells keep their order; nothing is replayed.

It does so while the shell is idle too. A message left to the kernel then could queue up behind a
cell that is about to start, and be overtaken by the next one.

Every private attribute that is used is named in a shell's `needs` and looked for first: an
ipykernel that lacks one has no pump.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
import sys
from collections.abc import Callable, Generator
from typing import Any, ClassVar, Literal

PumpKind = Literal["ipykernel6", "ipykernel7", "unsupported", "none"]

KernelMessage = dict[str, Any]
"""A message of the Jupyter protocol: ``header``, ``parent_header``, ``metadata``, ``content``."""

COMM_MESSAGES = frozenset({"comm_open", "comm_msg", "comm_close"})
# A page that was reloaded while the cell waits asks these before it restores its widgets.
RECONNECT_REQUESTS = frozenset({"comm_info_request", "kernel_info_request"})

# ipykernel's SIGINT handler for an awaiting cell uses `call_soon`, which does not wake a sleeping
# loop (ipython/ipykernel#881): without this timer Interrupt is noticed at the next message only.
WAKE_UP_SECONDS = 0.2

_logger = logging.getLogger(__name__)


class Shell:
    """The main shell of one ipykernel: what the pump needs of it, and nothing more."""

    kind: ClassVar[PumpKind]
    needs: ClassVar[tuple[str, ...]] = (
        "session.feed_identities",
        "session.deserialize",
        "session.unpack",
        "shell_handlers.get",
        "set_parent",
        "get_parent",
        "_parent_ident",
        "_publish_status",
        "pre_handler_hook",
        "post_handler_hook",
    )

    def __init__(self, kernel: Any, stream: Any) -> None:
        self.kernel = kernel
        self.stream = stream

    def busy(self) -> bool:
        """Whether the shell is in the middle of a request."""
        raise NotImplementedError

    def replies(self) -> Any:
        """Where replies to shell requests are sent."""
        raise NotImplementedError

    def remember_cell(self) -> None:
        """Note the request that the calling code belongs to, where it cannot be found later."""

    def running(self) -> tuple[Any, KernelMessage]:
        """Identity and message of the request that the shell is executing."""
        raise NotImplementedError


class _Shell6(Shell):
    """ipykernel 6: one queue of messages, handled one after the other by one task."""

    kind = "ipykernel6"
    needs = (
        *Shell.needs,
        "shell_stream.on_recv",
        "shell_stream._recv_callback",
        "msg_queue._getters",
    )

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel, kernel.shell_stream)

    def busy(self) -> bool:
        # The task that handles messages waits for the next one exactly when it is idle.
        return all(getter.done() for getter in self.kernel.msg_queue._getters)  # noqa: SLF001

    def replies(self) -> Any:
        return self.kernel.shell_stream

    def running(self) -> tuple[Any, KernelMessage]:
        return self.kernel._parent_ident["shell"], self.kernel.get_parent("shell")  # noqa: SLF001


class _Shell7(Shell):
    """ipykernel 7: a thread reads the channel and passes messages to the main shell or subshells.

    The main shell's messages arrive on the main thread through an in-process pair of sockets.
    """

    kind = "ipykernel7"
    needs = (
        *Shell.needs,
        "_main_asyncio_lock.locked",
        "shell_channel_thread.manager.get_subshell_to_shell_channel_socket",
        "shell_channel_thread.manager._shell_channel_to_main.to_stream.on_recv",
        "shell_channel_thread.manager._shell_channel_to_main.to_stream._recv_callback",
    )

    def __init__(self, kernel: Any) -> None:
        self._manager = kernel.shell_channel_thread.manager
        super().__init__(kernel, self._manager._shell_channel_to_main.to_stream)  # noqa: SLF001
        self._cell: tuple[Any, KernelMessage] = (b"", {})

    def busy(self) -> bool:
        return self.kernel._main_asyncio_lock.locked()  # noqa: SLF001

    def replies(self) -> Any:
        return self._manager.get_subshell_to_shell_channel_socket(None)

    def remember_cell(self) -> None:
        kernel = self.kernel
        self._cell = (kernel._parent_ident["shell"], kernel.get_parent("shell"))  # noqa: SLF001

    def running(self) -> tuple[Any, KernelMessage]:
        # The parent is a context variable, and this is not the cell's context. The kernel keeps
        # the last context in which it was set (7.1 on), but subshells overwrite that: only a
        # cell's own request is believed, else the one that entered the pump last.
        kernel = self.kernel
        context = getattr(kernel, "_shell_context", None)
        if context is not None:
            parent = context.get(kernel._shell_parent, {})  # noqa: SLF001
            header = parent.get("header", {})
            if header.get("msg_type") == "execute_request" and not header.get("subshell_id"):
                return context.get(kernel._shell_parent_ident, b""), parent  # noqa: SLF001
        return self._cell


def has_attribute(kernel: Any, path: str) -> bool:
    """Whether a dotted path of attributes leads somewhere from this kernel."""
    try:
        return functools.reduce(getattr, path.split("."), kernel) is not None
    except AttributeError:
        return False


def _shell_of(kernel: Any) -> Shell | None:
    """Find the way to this kernel's main shell; None if its inside is not one we know."""
    # The first ipykernels 7 still have the queue of 6, unused: what tells is the thread.
    shell_class = _Shell7 if has_attribute(kernel, "shell_channel_thread") else _Shell6
    if not all(has_attribute(kernel, path) for path in shell_class.needs):
        return None
    shell = shell_class(kernel)
    # Both generations receive frames, not copies; anything else is no kernel we know.
    return shell if getattr(shell.stream, "_recv_copy", None) is False else None


class _Hook:
    """Stands in front of the kernel's own receiver of shell messages.

    One object for each time the pump starts: if somebody put a hook of theirs on top of it, it
    stays below as a pass-through, and the next start cannot run in a circle.
    """

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.live = True
        self.kernels_own: Callable[[list[Any]], Any] = shell.stream._recv_callback  # noqa: SLF001

    def __call__(self, frames: list[Any]) -> Any:
        if self.live:
            msg_type = self._type_of(frames)
            if msg_type in COMM_MESSAGES:
                return self._handle_comm(frames)
            if msg_type in RECONNECT_REQUESTS:
                return self._answer(frames)
        return self.kernels_own(frames)

    def _type_of(self, frames: list[Any]) -> str | None:
        # The header only. A full `deserialize` would note the signature, and the kernel's own
        # later one would be refused as a duplicate.
        session = self.shell.kernel.session
        try:
            _, rest = session.feed_identities(frames, copy=False)
            return session.unpack(rest[1].bytes)["msg_type"]
        except (ValueError, LookupError, TypeError):
            return None  # not a message: the kernel logs it, or knows it (its "stop aborting")

    def _open(self, frames: list[Any]) -> tuple[Any, KernelMessage] | None:
        session = self.shell.kernel.session
        identities, rest = session.feed_identities(frames, copy=False)
        try:
            return identities, session.deserialize(rest, content=True, copy=False)
        except (ValueError, LookupError, TypeError):
            _logger.exception("Refused a widget message: its signature or form is wrong.")
            return None

    def _handle_comm(self, frames: list[Any]) -> None:
        opened = self._open(frames)
        if opened is None:
            return
        identities, message = opened
        kernel = self.shell.kernel
        cell = self.shell.running()
        kernel.set_parent(identities, message, channel="shell")
        try:
            with self._busy_then_idle(message, cell[1]), self._interruptible():
                self._handler(message)(self.shell.replies(), identities, message)
                for stream in (sys.stdout, sys.stderr):
                    stream.flush()
        finally:
            kernel.set_parent(*cell, channel="shell")

    async def _answer(self, frames: list[Any]) -> None:
        # These handlers may be coroutines. They answer the `message` they are given and need no
        # parent set, which must not be set across an await.
        opened = self._open(frames)
        if opened is None:
            return
        identities, message = opened
        with self._busy_then_idle(message, self.shell.running()[1]):
            result = self._handler(message)(self.shell.replies(), identities, message)
            if inspect.isawaitable(result):
                await result

    def _handler(self, message: KernelMessage) -> Callable[..., Any]:
        return self.shell.kernel.shell_handlers[message["header"]["msg_type"]]

    @contextlib.contextmanager
    def _interruptible(self) -> Generator[None]:
        """Let Interrupt reach a slow callback, as the kernel does, unless it is a cell's."""
        if self.shell.busy():
            yield  # the waiting cell's own SIGINT handler must stay
            return
        self.shell.kernel.pre_handler_hook()
        try:
            yield
        finally:
            self.shell.kernel.post_handler_hook()

    @contextlib.contextmanager
    def _busy_then_idle(self, message: KernelMessage, cell: KernelMessage) -> Generator[None]:
        """Publish both states for the message, and that the cell is still running after it."""
        publish = self.shell.kernel._publish_status  # noqa: SLF001
        publish("busy", "shell", parent=message)
        try:
            yield
        except Exception:
            _logger.exception("The handler of a %s failed.", message["header"]["msg_type"])
        except KeyboardInterrupt:
            _logger.warning("The handler of a %s was interrupted.", message["header"]["msg_type"])
        finally:
            publish("idle", "shell", parent=message)
            if cell and self.shell.busy():
                publish("busy", "shell", parent=cell)


class Pump:
    """The hook and the timer, as long as at least one caller waits. Main thread only."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self._waiters = 0
        self._hook: _Hook | None = None
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, loop: asyncio.AbstractEventLoop) -> None:
        """Count a waiter; the first one sets the hook and starts the timer."""
        self.shell.remember_cell()
        self._waiters += 1
        if self._waiters == 1:
            self._hook = _Hook(self.shell)
            self.shell.stream.on_recv(self._hook, copy=False)
            self._tick(loop)

    def leave(self) -> None:
        """Count one waiter less; after the last one the kernel is as it was."""
        self._waiters -= 1
        if self._waiters == 0 and self._hook is not None and self._timer is not None:
            self._timer.cancel()
            self._hook.live = False
            if self.shell.stream._recv_callback is self._hook:  # noqa: SLF001
                self.shell.stream.on_recv(self._hook.kernels_own, copy=False)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(WAKE_UP_SECONDS, self._tick, loop)


@functools.cache
def pump_of(kernel: Any) -> Pump | None:
    """Return the one pump of a kernel; None if its inside is unknown."""
    shell = _shell_of(kernel)
    return Pump(shell) if shell is not None else None
