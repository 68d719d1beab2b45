"""What a session has said: its events, who listens, and the faults that can befall them."""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

END = None
"""In a listener's queue: the stream ends cleanly."""
CUT = "cut"
"""In a listener's queue: the connection breaks."""

Event = dict[str, Any]


def new_id(prefix: str) -> str:
    """An id in the service's form."""
    return f"{prefix}_{uuid.uuid4().hex[:24]}"


class Clock:
    """UTC times that never repeat, so that events have one order."""

    def __init__(self) -> None:
        self._last = datetime.fromtimestamp(0, UTC)

    def now(self) -> str:
        """RFC 3339, in microseconds."""
        self._last = max(datetime.now(UTC), self._last + timedelta(microseconds=1))
        return self._last.isoformat().replace("+00:00", "Z")


@cache
def _models() -> dict[str, Any]:
    """Event type → the SDK's own model. Loaded late: only a double in use needs it."""
    from typing import get_args  # noqa: PLC0415

    from anthropic.types.beta.sessions import (  # noqa: PLC0415
        beta_managed_agents_session_event as module,
    )

    union = get_args(get_args(module.BetaManagedAgentsSessionEvent)[0])
    return {get_args(m.model_fields["type"].annotation)[0]: m for m in union}


def check(event: Event) -> None:
    """Hold an event against the SDK's model, so that the double can not drift from it.

    Raises
    ------
    AssertionError, pydantic.ValidationError
        The double is wrong.
    """
    model = _models()[event["type"]]
    model.model_validate(event)
    unknown = event.keys() - model.model_fields.keys()
    assert not unknown, f"{event['type']} has no {unknown}"


class Log:
    """Events of one thread, in order, and the streams that follow it.

    Attributes
    ----------
    muted
        Events are kept and told to nobody: what a client misses while it is away.
    hidden
        Ids that `listed` leaves out: an index that lags behind the stream.
    opened
        How many streams were opened.
    """

    def __init__(self, changed: threading.Condition) -> None:
        self.events: list[Event] = []
        self.muted = False
        self.hidden: set[str] = set()
        self.opened = 0
        self._streams: list[queue.SimpleQueue[Any]] = []
        self._changed = changed

    def add(self, event: Event, *, checked: bool = True) -> Event:
        """Keep an event and tell it."""
        if checked:
            check(event)
        with self._changed:
            self.events.append(event)
            self.tell(event)
        return event

    def tell(self, event: Event) -> None:
        """Send an event as it is now to every stream (again, if it was sent before)."""
        with self._changed:
            if not self.muted:
                for stream in self._streams:
                    stream.put(dict(event))
            self._changed.notify_all()

    def find(self, event_id: str) -> Event | None:
        """An event by id."""
        return next((e for e in self.events if e["id"] == event_id), None)

    def listed(self) -> list[Event]:
        """What a listing shows."""
        with self._changed:
            return [dict(e) for e in self.events if e["id"] not in self.hidden]

    def open(self) -> queue.SimpleQueue[Any]:
        """A new stream: it begins now and replays nothing."""
        stream: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with self._changed:
            self._streams.append(stream)
            self.opened += 1
            self._changed.notify_all()
        return stream

    def leave(self, stream: queue.SimpleQueue[Any]) -> None:
        """A stream is gone."""
        with self._changed:
            if stream in self._streams:
                self._streams.remove(stream)
            self._changed.notify_all()

    def end_streams(self, how: Any = END) -> None:
        """End every stream, cleanly (`END`) or by breaking the connection (`CUT`)."""
        with self._changed:
            for stream in self._streams:
                stream.put(how)
            self._streams.clear()

    @property
    def followers(self) -> int:
        """How many streams are open."""
        return len(self._streams)

    def wait(self, holds: Callable[[], Any], timeout: float = 20.0) -> Any:
        """Wait for something to become true; for a test's own thread.

        Raises
        ------
        TimeoutError
            It did not in `timeout` seconds; names the events so far.
        """
        with self._changed:
            if not self._changed.wait_for(holds, timeout):
                said = ", ".join(e["type"] for e in self.events)
                raise TimeoutError(f"The session never came to that; it said: {said}")
            return holds()
