"""What a fork must not inherit.

An SQLite connection, its locks and SQLite's own table of open files are wrong in a forked
child. So files are closed before a fork and opened again when next used, on both sides.
`subprocess` does not come here: it never runs Python code between fork and exec.
"""

from __future__ import annotations

import functools
import logging
import os
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

_log = logging.getLogger("hitl_widgets")
T = TypeVar("T")


class Forkable(Protocol):
    """Something that must know of forks."""

    def before_fork(self) -> bool:
        """Prepare; False when that was not possible."""
        ...

    def after_fork(self, *, child: bool, held: bool) -> None:
        """Go on; `held` is what `before_fork` returned."""
        ...


_watched: weakref.WeakSet[Forkable] = weakref.WeakSet()
_prepared: list[tuple[Forkable, bool]] = []


def watch(thing: Forkable) -> None:
    """Tell `thing` of every fork from now on."""
    _watched.add(thing)


def _before() -> None:
    _prepared.clear()
    _prepared.extend((thing, bool(_told(thing.before_fork))) for thing in list(_watched))


def _after(*, child: bool) -> None:
    for thing, held in _prepared:
        _told(functools.partial(thing.after_fork, child=child, held=held))
    _prepared.clear()


def _told(hook: Callable[[], T]) -> T | None:
    """What a hook returns; one that fails must not leave the others' locks behind."""
    try:
        return hook()
    except Exception:  # noqa: BLE001
        _log.exception("a store was not made ready for a fork")
        return None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(child=False),
        after_in_child=lambda: _after(child=True),
    )
