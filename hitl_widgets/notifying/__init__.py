"""Telling people elsewhere that something waits: ``configure(notify=…)``.

A message says which agent and tool, the fingerprint, and where to decide; never arguments, words
of a model, or secrets. It is written and delivered on a thread of its own: a run neither waits for
it nor hears of its failure, which is logged once and seen in ``hitl.doctor()``.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from .addresses import LISTED, Target, check, target_of
from .notice import Notice, notice_of
from .thread import Notifier, Where

__all__ = ["LISTED", "Notice", "Notifier", "check", "notice_of", "prepare", "targets", "use"]

LEAVING = 10.0
"""Seconds that an ending process waits for its last message to be delivered."""

_notifier: Notifier | None = None
_closed: list[Notifier] = []


def prepare(given: Any, *, where: Where, locale: Callable[[], str]) -> Notifier | None:
    """What `configure` was given, judged; nothing is told before `use`.

    Raises
    ------
    ValueError, ImportError, NotPermitted
        It is no callable and no apprise URL, apprise is missing, or the administrator's file
        does not allow it.
    """
    if given is None:
        return None
    several = cast("Sequence[Any]", given) if isinstance(given, list | tuple) else (given,)
    return Notifier([target_of(one) for one in several], where=where, locale=locale)


def use(notifier: Notifier | None) -> None:
    """Tell from now on through `notifier`, in place of an earlier one."""
    global _notifier  # one per process
    before, _notifier = _notifier, notifier
    if notifier is not None:
        notifier.start()
    if before is not None:
        before.close()
        _closed[:] = [before, *(n for n in _closed if n.busy)]


def targets() -> tuple[Target, ...]:
    """Where this process sends messages, and how that went; for `doctor`."""
    return () if _notifier is None else _notifier.targets


@atexit.register
def _leave() -> None:
    # A job that ends while its request waits is the very case that a message is for.
    until = time.monotonic() + LEAVING
    use(None)
    for notifier in _closed:
        notifier.join(max(0.0, until - time.monotonic()))
