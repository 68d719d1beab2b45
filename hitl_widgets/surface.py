"""The port to whatever shows things, and its one slot.

The desk and the agent speak to a `Surface` and never know whether it is made of widgets. A
process without one asks nobody: the declared headless behaviour applies (R5).
"""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from typing import Any, Protocol

from .events import Chunk
from .request import Request


class RunScreen(Protocol):
    """What a person sees of one run: one output, kept until the run ends."""

    def chunk(self, chunk: Chunk) -> None:
        """Show that something happened. Never raises; never waits."""
        ...

    def request(self, request: Request) -> None:
        """Show a stored request, or redraw it after a change."""
        ...

    def paused(self) -> None:
        """Nobody here waits any more (interrupt): cards stay open and decidable."""
        ...

    def ended(self, state: str, outcome: dict[str, Any]) -> None:
        """Freeze to the static record."""
        ...


class Surface(Protocol):
    """Whatever shows requests to a person in this process."""

    def can_ask(self, *, background: bool = False) -> bool:
        """Whether a person can be reached here now; False means headless.

        `background`: by a card whose cell does not wait for the click (more kernels can do that).
        """
        ...

    def waiting(self) -> AbstractContextManager[Any]:
        """Keep the person's messages flowing while the caller awaits."""
        ...

    def blocking(self) -> AbstractContextManager[Any] | None:
        """Keep messages flowing while the caller's thread is blocked; None: it cannot be done."""
        ...

    def remember_cell(self) -> None:
        """Note, in the current context, in which cell a run of this context will be shown.

        For a run in the background: when it starts, its cell may be over and another one running.
        """
        ...

    def run_started(
        self, *, run_id: str, title: str, store: Any, cancel: Callable[[], None] | None
    ) -> RunScreen:
        """Open the run's one output, or find the one it already has here."""
        ...

    def run_inside(
        self,
        *,
        run_id: str,
        title: str,
        store: Any,
        cancel: Callable[[], None] | None,
        elsewhere: Container[str],
    ) -> RunScreen | None:
        """A screen of the run for whoever shows it inside something of its own.

        It is found by `screen_of`. None: the run has an output already, or nothing is shown so.
        `elsewhere` holds ids of requests whose cards stand beside it.
        """
        ...

    def screen_of(self, run_id: str) -> RunScreen | None:
        """The run's output, if it has one here."""
        ...

    def origin(self) -> dict[str, Any]:
        """``{"notebook", "kernel", "host", "user"}`` as far as known."""
        ...


Factory = Callable[[], "Surface | None"]
_factory: Factory | None = None
_surface: Surface | None = None


def provide(factory: Factory) -> None:
    """Say how to make the surface; called at the first need, again after `reset`."""
    global _factory, _surface  # the one slot
    _factory, _surface = factory, None


def current() -> Surface | None:
    """The surface of this process, or None when nothing can show anything here."""
    global _surface  # noqa: PLW0603  # the one slot
    if _surface is None and _factory is not None:
        _surface = _factory()
    return _surface


def reset() -> None:
    """Forget the surface (after the kernel's front end changed); it is made again when needed."""
    global _surface  # noqa: PLW0603  # the one slot
    _surface = None
