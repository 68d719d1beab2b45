"""The notebook's surface: screens, put together with what knows the kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ..screen.surface import WidgetSurface
from . import kernel
from .frontend import detect


def make_surface() -> WidgetSurface | None:
    """The surface of this process; None where no widget can ever be shown."""
    if detect().kind in ("script", "ipython"):
        return None
    return WidgetSurface(
        can_ask=_can_ask,
        origin=lambda: detect().origin(),
        waiting=kernel.waiting,
        output_to=_output_here,
        quiet=kernel.quiet_comm,
    )


def _can_ask(background: bool) -> bool:  # noqa: FBT001  # the port's callback
    here = detect()
    return here.can_show_cards if background else here.can_await_cards


def _output_here() -> Callable[[], AbstractContextManager[Any]]:
    """Remember the cell that runs now, for output that comes later."""
    return functools.partial(kernel.output_to, kernel.current_parent())
