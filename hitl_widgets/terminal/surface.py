"""The terminal as a surface: requests of a run are put to the person one after the other."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..desk import Desk, desk_of
from ..events import Chunk
from ..request import Request
from .asking import put
from .device import Device
from .prompts import Prompts

__all__ = ["TerminalSurface"]


class TerminalSurface:
    """`surface.Surface` made of prompts.

    Parameters
    ----------
    find
        Returns the terminal, or None while there is nobody at it.
    origin
        ``{"notebook", "kernel", "host", "user"}`` as far as known.
    interactive
        Our code shares the terminal with a shell (IPython): a prompt may stand there only while a
        cell runs.
    """

    def __init__(
        self,
        *,
        find: Callable[[], Device | None],
        origin: Callable[[], dict[str, Any]],
        interactive: bool = False,
    ) -> None:
        self._find = find
        self._origin = origin
        self._interactive = interactive

    def can_ask(self, *, background: bool = False) -> bool:
        """Whether a person can be asked here now."""
        return self._find() is not None and not (background and self._interactive)

    def waiting(self) -> AbstractContextManager[Any]:
        """Nothing has to be done for a prompt."""
        return nullcontext()

    def blocking(self) -> AbstractContextManager[Any] | None:
        """A prompt runs on whichever thread asks: the caller's may be blocked."""
        return nullcontext()

    def remember_cell(self) -> None:
        """A terminal has no cells."""

    def run_started(
        self, *, run_id: str, title: str, store: Any, cancel: Callable[[], None] | None
    ) -> TerminalScreen:
        """The run's prompts. What a run says is its caller's to print."""
        del run_id, title, cancel
        device = self._find()
        assert device is not None, "can_ask() said so"
        return TerminalScreen(device, desk_of(store))

    def run_inside(
        self,
        *,
        run_id: str,
        title: str,
        store: Any,
        cancel: Callable[[], None] | None,
        elsewhere: Container[str],
    ) -> None:
        """A terminal shows nothing inside something else."""
        del run_id, title, store, cancel, elsewhere

    def screen_of(self, run_id: str) -> TerminalScreen | None:
        """A terminal keeps nothing that could be found again."""
        del run_id

    def origin(self) -> dict[str, Any]:
        """Where we are, as far as known."""
        return self._origin()


class TerminalScreen:
    """`surface.RunScreen`: a prompt for each pending request. Belongs to the loop it is made on."""

    def __init__(self, device: Device, desk: Desk) -> None:
        self._prompts = Prompts(lambda request: put(request, desk, device))

    def chunk(self, chunk: Chunk) -> None:
        """Say nothing."""

    def request(self, request: Request) -> None:
        """Ask, once."""
        self._prompts.put(request)

    def paused(self) -> None:
        """Nobody waits any more: take the prompts away. The requests stay as they are."""
        self._prompts.close()

    def ended(self, state: str, outcome: dict[str, Any]) -> None:
        """Take the prompts away."""
        del state, outcome
        self._prompts.close()
