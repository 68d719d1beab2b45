"""Copies of the audit trail as it is written: a Python logger, a file of JSON lines, a function.

The trail itself stands in the store, hashed; what goes out here is for whoever watches. Loads no
database, so that `configure` can use it.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from .base import Event

Sink = Callable[[Any, Event], None]

_sinks: list[Sink] = []
_configured: list[Callable[[], None]] = []
_log = logging.getLogger("hitl_widgets")


def add_sink(sink: Sink) -> Callable[[], None]:
    """Have ``sink(store, event)`` called after each commit of this process.

    Returns the function that ends it. A sink that raises is logged: the change stands, the trail
    in the store has it, and whoever made it must not be told otherwise.
    """
    _sinks.append(sink)
    return lambda: _sinks.remove(sink)


def tell(store: Any, events: Sequence[Event]) -> None:
    """Hand events that were committed to the sinks."""
    for sink in tuple(_sinks):
        for event in events:
            try:
                sink(store, event)
            except Exception:  # noqa: BLE001
                _log.exception("event %s of %s was not copied", event.seq, store.location)


def use(target: Any) -> None:
    """Send the trail of every store of this process to `target`, in place of an earlier one.

    Parameters
    ----------
    target
        A `logging.Logger` (INFO; the event is the record's ``event``), a path (one JSON object
        per line, mode 0600), a function of a store and an `Event`, or None for none.

    Raises
    ------
    ValueError
        It is something else; nothing was changed.
    """
    sink = _sink(target)
    while _configured:
        _configured.pop()()
    if sink is not None:
        _configured.append(add_sink(sink))


def _sink(target: Any) -> Sink | None:
    if target is None:
        return None
    if isinstance(target, logging.Logger):
        return _to_logger(target)
    if isinstance(target, str | os.PathLike):
        return _to_file(Path(os.fspath(target)).expanduser())  # pyright: ignore[reportUnknownArgumentType]
    if callable(target):
        return cast("Sink", target)
    raise ValueError(f"audit={target!r}: give a logger, a path, a function, or None.")


def as_json(store: Any, event: Event) -> dict[str, Any]:
    """An event as one JSON object; secrets are masked in it as they are in the store."""
    return {
        "at": event.at.isoformat(),
        "kind": event.kind,
        "seq": event.seq,
        "store": store.location,
        "run_id": event.run_id,
        "request_id": event.request_id,
        "call_id": event.call_id,
        **{f"doc.{name}": value for name, value in event.doc.items()},
    }


def _to_logger(logger: logging.Logger) -> Sink:
    def sink(store: Any, event: Event) -> None:
        told = as_json(store, event)
        logger.info("%s %s", event.kind, event.request_id or event.run_id, extra={"event": told})

    return sink


def _to_file(path: Path) -> Sink:
    def sink(store: Any, event: Event) -> None:
        line = json.dumps(as_json(store, event), ensure_ascii=True) + "\n"
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, line.encode("ascii"))
        finally:
            os.close(descriptor)

    return sink
