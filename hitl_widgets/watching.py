"""Who hears of changes, and the thread that looks for those of other processes.

Ending takes no lock: a widget that is dropped leaves from wherever the garbage collector runs. That
may be the thread that holds the lock, or one that its holder waits for, as for a thread to start.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import queue
import sys
import threading
from collections.abc import Callable, Hashable
from typing import Any

from .errors import HitlError

POLL = 0.05
"""Seconds between looks for what other processes did, only while someone waits."""

_log = logging.getLogger("hitl_widgets")


class Watch:
    """Callables by topic; as long as there are any, a thread looks whether something changed.

    Parameters
    ----------
    version
        Returns another value after another process changed something; None ends the looking.
    changed
        Called on the thread when it did.
    """

    def __init__(self, version: Callable[[], object], changed: Callable[[], None]) -> None:
        self._version = version
        self._changed = changed
        self._calls: dict[int, tuple[Hashable, Callable[..., Any]]] = {}
        self._numbers = itertools.count()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        # The one queue whose `put` may be called by a destructor.
        self._left: queue.SimpleQueue[None] = queue.SimpleQueue()

    def add(self, topic: Hashable, call: Callable[..., Any]) -> Callable[[], None]:
        """Keep `call` under a topic; returns the function that ends it, at once and from anywhere.

        Any thread may call either.
        """
        number = next(self._numbers)
        self._calls[number] = topic, call
        # A browser has no threads, and a store in it no other process.
        if sys.platform != "emscripten":
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(
                        target=self._look, name="hitl-watch", daemon=True
                    )
                    self._thread.start()
        return functools.partial(self._end, number)

    def of(self, topic: Hashable) -> list[Callable[..., Any]]:
        """The callables of a topic, oldest first."""
        return [call for of, call in list(self._calls.values()) if of == topic]

    def all(self) -> list[tuple[Hashable, Callable[..., Any]]]:
        """Every topic with its callable, oldest first."""
        return list(self._calls.values())

    def _end(self, number: int) -> None:
        if self._calls.pop(number, None) is not None:
            self._left.put(None)

    def _look(self) -> None:
        # What came between `add` and this thread's first look is news, too.
        seen: object = None
        failing = False
        while True:
            with contextlib.suppress(queue.Empty):
                self._left.get(timeout=POLL)
            with self._starting:
                if not self._calls:
                    self._thread = None
                    return
            try:
                version = self._version()
                if version is None:
                    with self._starting:
                        self._thread = None
                    return
                if version != seen:
                    self._changed()
                    seen = version
            except Exception as e:  # noqa: BLE001
                if not failing:  # said once: the next look may succeed
                    _log.error(
                        "looking for changes failed; it is tried again: %s",
                        e,
                        exc_info=not isinstance(e, HitlError),
                    )
                failing = True
            else:
                failing = False
