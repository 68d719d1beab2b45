"""The surface of a process: cards or prompts, put together with what knows the surroundings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from .. import deciders
from ..surface import Surface
from . import kernel
from .frontend import detect


def make_surface() -> Surface | None:
    """The surface of this process; None where nothing can ever be shown."""
    kind = detect().kind
    if kind in ("script", "ipython"):
        return _terminal(interactive=kind == "ipython")
    return _widgets()


def _widgets() -> Surface:
    from ..screen.surface import WidgetSurface  # noqa: PLC0415  # loads ipywidgets

    return WidgetSurface(
        can_ask=_can_ask,
        origin=lambda: detect().origin(),
        waiting=kernel.waiting,
        output_to=_output_here,
        quiet=kernel.quiet_comm,
    )


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


def _can_ask(background: bool) -> bool:  # noqa: FBT001  # the port's callback
    here = detect()
    return here.can_show_cards if background else here.can_await_cards


def _output_here() -> Callable[[], AbstractContextManager[Any]]:
    """Remember the cell that runs now, for output that comes later."""
    return functools.partial(kernel.output_to, kernel.current_parent())
