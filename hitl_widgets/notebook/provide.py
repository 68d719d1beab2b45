"""The surface of a process: cards or prompts, put together with what knows the surroundings."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from .. import deciders
from ..surface import Surface
from . import kernel, subshell
from .again import Replacing
from .frontend import detect


def make_surface(*, advise: Callable[[Any], object]) -> Surface | None:
    """The surface of this process; None where nothing can ever be shown.

    Parameters
    ----------
    advise
        Called with a store; returns what to display where a card reaches no page.
    """
    kind = detect().kind
    if kind in ("script", "ipython"):
        return _terminal(interactive=kind == "ipython")
    return _marimo() if kind == "marimo" else _widgets(advise)


def _widgets(advise: Callable[[Any], object]) -> Surface:
    from ..screen.hub import on_displayed, on_made  # noqa: PLC0415  # loads ipywidgets
    from ..screen.surface import WidgetSurface  # noqa: PLC0415  # loads ipywidgets
    from .beside import NotebookSurface, output_here  # noqa: PLC0415

    kernel.publish_anywhere()
    on_made(_quiet)
    on_displayed(_replacing.displayed)
    cards = WidgetSurface(
        can_ask=lambda _background: True,
        origin=lambda: detect().origin(),
        output_to=output_here,
    )
    return NotebookSurface(cards, cell_runs=_cell_watch(), advise=advise)


def _marimo() -> Surface:
    from ..screen.surface import WidgetSurface  # noqa: PLC0415  # loads ipywidgets
    from . import marimo_cells  # noqa: PLC0415  # loads marimo

    def can_ask(background: bool) -> bool:  # noqa: FBT001  # the port's callback
        here = detect()
        return here.can_show_cards if background else here.can_await_cards

    return WidgetSurface(
        can_ask=can_ask,
        origin=lambda: detect().origin(),
        output_to=marimo_cells.output_here,
        display=marimo_cells.display,
    )


_replacing = Replacing()


def _quiet(widget: Any) -> None:
    kernel.quiet_comm(widget)
    subshell.join(widget)


def _cell_watch() -> Callable[[], bool]:
    """Watch whether a cell is running, as one is now."""
    running = threading.Event()
    running.set()
    shell = kernel.ipython()
    if shell is not None:
        shell.events.register("pre_run_cell", _calling(running.set))
        shell.events.register("post_run_cell", _calling(running.clear))
    return running.is_set


def _calling(function: Callable[[], object]) -> Callable[..., None]:
    def call(*_: Any) -> None:
        function()

    return call


def _terminal(*, interactive: bool) -> Surface | None:
    if not detect().allow_stdin and not _prompts_anyway():
        return None  # the common case of a job: nothing is loaded for it
    from ..terminal import TerminalSurface, find  # noqa: PLC0415  # loads prompt_toolkit and rich

    def look() -> Any:
        return find(controlling=_prompts_anyway())

    if look() is None:
        return None
    return TerminalSurface(find=look, origin=lambda: detect().origin(), interactive=interactive)


def _prompts_anyway() -> bool:
    return deciders.settings().headless == "prompt"
