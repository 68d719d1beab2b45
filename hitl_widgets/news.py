"""What changes in a store, told to whoever waits, here or in another process.

The store's audit trail is the news. What this process changes is told at once; what others change
is looked for on the thread of a `watching.Watch`, only while somebody waits.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence

from .errors import RequestNotFound, StoreCorrupt, StoreError
from .request import Request
from .store import forks
from .store.base import Event, Store
from .watching import Watch

PAGE = 10_000
"""Events read at a time."""

_QUIET = frozenset({"opened", "claim", "call-started", "park", "unpark"})
"""Events that only a run's own driver makes: they are no news to it."""

# Topics of a watch beside the runs' own ids: requests of any run (None) or of one, anything at all.
_REQUESTS = "requests"
_ANYTHING = ("anything",)

_log = logging.getLogger("hitl_widgets")
Listener = Callable[[Request], None]


class News:
    """Everybody of this process who waits at a store.

    Its methods may be called on any thread, and call on any thread.

    Attributes
    ----------
    drivers
        What wakes the driver that a run has here, by run id.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.drivers: dict[str, Callable[[], None]] = {}
        self._lock = threading.RLock()
        self._watch = Watch(store.version, self._publish)
        self._seq = store.last_seq()
        forks.watch(self)

    def subscribe(self, listener: Listener, run_id: str | None = None) -> Callable[[], None]:
        """Have `listener` called with every request that changes, whoever changed it.

        Parameters
        ----------
        run_id
            Only with this run's: what many runs at once do is not told to each of them.

        Returns the function that ends it.
        """
        return self._watch.add((_REQUESTS, run_id), listener)

    def heed(self, heeder: Callable[[], None]) -> Callable[[], None]:
        """Have `heeder` called after anything changed in the store, whoever changed it.

        It is called once for changes that come together. Returns the function that ends it.
        """
        return self._watch.add(_ANYTHING, heeder)

    def follow(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Have `wake` called when something of a run changes, wherever it is driven.

        Returns the function that ends it.
        """
        return self._watch.add(run_id, wake)

    def watch(self) -> Callable[[], None]:
        """Look for other processes' changes until the returned function is called."""
        return self._watch.add(None, _nobody)

    def look(self) -> None:
        """Tell everybody here what others did since the last look."""
        self._publish()

    def tell(self) -> None:
        """`look` after a change that was made: that it cannot be told now does not unsay it."""
        try:
            self._publish()
        except StoreError:
            _log.exception("what changed in %s is told at the next look", self.store.location)

    # -- telling -----------------------------------------------------------------------------

    def _publish(self) -> None:
        """Tell drivers, followers and listeners what the events since the last look say."""
        while True:
            with self._lock:
                events, requests = self._read()
                # Only ever up to what was read: an event that was written since is news yet.
                last = events[-1].seq if events else min(self._seq, self.store.last_seq())
                replaced, self._seq = last < self._seq, last
            if replaced:
                self._tell_all()
                return
            self._wake(events)
            if events:
                _tell_each(self._watch.of(_ANYTHING))
            for request in requests:
                _tell_each(self._listeners(request.run_id), request)
            if len(events) < PAGE:
                return

    def _read(self) -> tuple[list[Event], list[Request]]:
        """What happened since the last look, and how the requests are now that it is about."""
        events = self.store.events(self._seq, limit=PAGE)
        changed = dict.fromkeys((e.request_id, e.run_id) for e in events if e.request_id)
        read = (self._request(r) for r, run_id in changed if r and self._listeners(run_id))
        return events, [request for request in read if request is not None]

    def _listeners(self, run_id: str | None) -> list[Listener]:
        to_all = self._watch.of((_REQUESTS, None))
        return to_all if run_id is None else [*to_all, *self._watch.of((_REQUESTS, run_id))]

    def _request(self, request_id: str) -> Request | None:
        try:
            return self.store.request(request_id)
        except RequestNotFound:  # pruned meanwhile
            return None
        except StoreCorrupt:  # one damaged row must not keep the others from being told
            _log.exception("request %s cannot be read", request_id)
            return None

    def _tell_all(self) -> None:
        """The file was replaced by an older one: everybody looks for themselves."""
        everybody = self._watch.all()
        others = [call for topic, call in everybody if not _of_requests(topic)]
        _tell_each([*others, *list(self.drivers.values())])
        if len(others) < len(everybody):
            for request in self.store.requests(newest_first=True):
                _tell_each(self._listeners(request.run_id), request)

    def _wake(self, events: Sequence[Event]) -> None:
        for run_id in dict.fromkeys(e.run_id for e in events if e.run_id):
            _tell_each(self._watch.of(run_id))
        news = [e for e in events if (e.request_id or e.call_id) and e.kind not in _QUIET]
        driven = [self.drivers.get(run_id or "") for run_id in {e.run_id for e in news}]
        _tell_each(wake for wake in driven if wake is not None)

    # -- forks -------------------------------------------------------------------------------

    def before_fork(self) -> bool:
        """Nothing: locks are not taken, a child gets new ones."""
        return True

    def after_fork(self, *, child: bool, held: bool) -> None:
        """Whoever waited does so in the parent: its threads and loops are not in the child."""
        del held
        if child:
            self.drivers.clear()
            self._lock = threading.RLock()
            self._watch = Watch(self.store.version, self._publish)


def _nobody() -> None: ...


def _of_requests(topic: Hashable) -> bool:
    return isinstance(topic, tuple) and _REQUESTS in topic


def _tell_each(listeners: Iterable[Callable[..., None]], *news: Request) -> None:
    """One listener's fault must not keep the others, or the decision, from going on."""
    for listener in listeners:
        try:
            listener(*news)
        except Exception:  # noqa: BLE001
            _log.exception("a listener failed on %s", news[0].id if news else "a change")
