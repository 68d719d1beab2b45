"""The thread that hears of new requests, and tells of those that still wait a moment later."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import HitlError
from ..request import Request
from ..store import sinks
from ..store.base import Event
from .addresses import THREAD, Target
from .notice import notice_of

GRACE = 1.0
"""Seconds after which a request is looked at again: what a rule decided meanwhile is not told."""

_OPENS = frozenset({"opened", "lose"})
"""Events after which a person may be needed: a new request, an outcome that nobody knows."""

Where = Callable[[Sequence[Request], str], str]


class Notifier:
    """Hears of new requests, and tells its targets of those that still wait a moment later."""

    def __init__(
        self, targets: Sequence[Target], *, where: Where, locale: Callable[[], str]
    ) -> None:
        self.targets = tuple(targets)
        self._where = where
        self._locale = locale
        self._opened: deque[tuple[float, Any, str]] = deque()
        self._changed = threading.Condition()
        self._leaving = False
        self._thread: threading.Thread | None = None
        self._deaf: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Listen to every store of this process."""
        self._deaf = sinks.add_sink(self._hear)

    def close(self) -> None:
        """Listen no longer; deliver at once what is left, without anybody waiting for it."""
        self._deaf()
        with self._changed:
            self._leaving = True
            self._changed.notify()

    @property
    def busy(self) -> bool:
        """Whether something may still be delivered."""
        return self._thread is not None and self._thread.is_alive()

    def join(self, timeout: float) -> None:
        """Wait until all is delivered."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _hear(self, store: Any, event: Event) -> None:
        """Called where a change was committed: only noted here."""
        if event.kind not in _OPENS or event.request_id is None:
            return
        with self._changed:
            self._opened.append((time.monotonic() + GRACE, store, event.request_id))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=THREAD, daemon=True)
                self._thread.start()
            self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._leaving and (pause := self._pause()) != 0:
                    self._changed.wait(pause)
                if self._leaving and not self._opened and not any(t.held for t in self.targets):
                    return
                looked_at = list(self._take())
            for store, request_id in looked_at:
                self._look(store, request_id)
            for target in self.targets:
                due = target.due()
                if due is not None and (self._leaving or due <= time.monotonic()):
                    target.send(self._locale())

    def _pause(self) -> float | None:
        """Seconds until something is to be done; None: until something is heard."""
        ends = [due for t in self.targets if (due := t.due()) is not None]
        if self._opened:
            ends.append(self._opened[0][0])
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def _take(self) -> Any:
        soon = time.monotonic() + GRACE / 4  # calls of one turn are told together
        while self._opened and (self._leaving or self._opened[0][0] <= soon):
            _, store, request_id = self._opened.popleft()
            yield store, request_id

    def _look(self, store: Any, request_id: str) -> None:
        try:
            request: Request = store.request(request_id)
        except HitlError:  # pruned, or the store is closed: nobody can decide it
            return
        if request.state not in ("pending", "outcome_unknown"):
            return
        where = self._where([request], store.location)
        notice = notice_of(request, where=where, locale=self._locale())
        for target in self.targets:
            target.held.append(notice)
