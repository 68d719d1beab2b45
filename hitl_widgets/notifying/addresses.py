"""Where messages go: a function of the user's own, or a service that apprise knows."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import NotPermitted
from ..policy import administrator
from ..words import say
from .notice import Notice

THREAD = "hitl-notify"
"""Name of the thread that messages are delivered on."""

EVERY = 60.0
"""Seconds between two messages to one address; what comes between is told in one."""

LISTED = 10
"""Requests that one message names; it says how many more there are."""

_log = logging.getLogger("hitl_widgets")


class Target:
    """Where messages go, and how that went."""

    every = 0.0
    at_once: int | None = None
    """Notices of one delivery; None: all that are held."""

    def __init__(self, name: str, shown: str) -> None:
        self.name = name
        self.shown = shown
        self.sent = self.failed = 0
        self.fault = ""
        self.held: list[Notice] = []
        self._next = 0.0

    def due(self) -> float | None:
        """When what is held may go; None: nothing is held."""
        return self._next if self.held else None

    def send(self, locale: str) -> None:
        """Deliver what is held; a failure is counted, and logged the first time."""
        notices = self.held[: self.at_once]
        del self.held[: self.at_once]
        self._next = time.monotonic() + self.every
        try:
            check(self.name)
            self._deliver(notices, locale)
        # Whatever a delivery does, no run hears of it, and the next one is made: a function that
        # leaves with SystemExit, or is cancelled, would take the thread along.
        except BaseException as e:  # noqa: BLE001
            self.failed += 1
            first, self.fault = not self.fault, f"{type(e).__name__}: {e}"
            if first:
                _log.warning(
                    "A notification to %s was not delivered (%s). Runs go on, and further "
                    "failures are only counted: see hitl.doctor().",
                    self.shown,
                    self.fault,
                )
        else:
            self.sent += 1
            self.fault = ""

    def _deliver(self, notices: Sequence[Notice], locale: str) -> None:
        raise NotImplementedError


class FunctionTarget(Target):
    """A callable of the user's own: each notice by itself, as it comes."""

    at_once = 1

    def __init__(self, function: Callable[[Notice], Any]) -> None:
        where = getattr(function, "__module__", None) or type(function).__module__
        name = getattr(function, "__qualname__", None) or type(function).__qualname__
        super().__init__(f"python:{where}.{name}", f"{where}.{name}")
        self._function = function

    def _deliver(self, notices: Sequence[Notice], locale: str) -> None:
        del locale
        answer = self._function(notices[0])
        if inspect.isawaitable(answer):
            asyncio.run(_awaited(answer))


async def _awaited(answer: Any) -> None:
    await answer


class AddressTarget(Target):
    """An apprise URL: at most one message a minute. The URL may hold a password: never shown."""

    every = EVERY

    def __init__(self, url: str) -> None:
        super().__init__(url, f"{url.partition('://')[0]}://…")
        self._service, self._convert = _service(url, self.shown)

    def _deliver(self, notices: Sequence[Notice], locale: str) -> None:
        many = len(notices) > 1
        title = say("notify.many", locale, n=len(notices)) if many else notices[0].subject
        bodies = [str(notice) for notice in notices[:LISTED]]
        if len(notices) > LISTED:
            bodies.append(say("notify.more", locale, n=len(notices) - LISTED))
        _heard.said.clear()
        # By the service itself: `Apprise.notify` works in a pool, which an ending process has not.
        body = self._convert("text", self._service.notify_format, content="\n\n".join(bodies))
        if not self._service.notify(body=body, title=title):
            raise ConnectionError("; ".join(_heard.said) or "the service did not take it")


def _service(url: str, shown: str) -> tuple[Any, Callable[..., str]]:
    """An apprise service for exactly one URL, and what turns text into its format."""
    try:
        # An optional extra, slow to load.
        library: Any = importlib.import_module("apprise")
        conversion: Any = importlib.import_module("apprise.conversion")
    except ImportError as e:
        raise ImportError(
            "configure(notify=URL) needs apprise: pip install 'hitl-widgets[notify]'. "
            "A function needs nothing."
        ) from e
    # Not `Apprise.add`, which takes several addresses in one string: only one was judged.
    service = library.Apprise.instantiate(url)
    if service is None:
        raise ValueError(
            f"configure(notify='{shown}'): apprise does not understand this address. Its wiki "
            "lists how each service is written, mailto://… or slack://… for example."
        )
    logging.getLogger("apprise").addFilter(_heard)
    return service, conversion.convert_between


class _Heard(logging.Filter):
    """Takes what apprise says on our thread: a dead server is logged once, by us."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def filter(self, record: logging.LogRecord) -> bool:
        if record.threadName != THREAD:
            return True
        if record.levelno >= logging.WARNING:
            self.said.append(record.getMessage())
        return False


_heard = _Heard()


def check(name: str) -> None:
    """Refuse an address that the administrator's file does not name.

    Raises
    ------
    NotPermitted
        It begins with none of the file's prefixes.
    """
    allowed = administrator().notify
    if allowed is None or any(_begins(name, prefix) for prefix in allowed):
        return
    kind = name.partition(":")[0]
    listed = f"only to {', '.join(allowed)}" if allowed else "nowhere"
    raise NotPermitted(
        f"Notifications may not go to this {kind}: address; the administrator of this machine "
        f"allows them {listed}."
    )


def _begins(name: str, prefix: str) -> bool:
    """Whether `name` begins with whole parts of `prefix`: ``json://a`` is not ``json://a.evil``."""
    ends, goes_on = (":", ".") if name.startswith("python:") else ("/", "/?")
    rest = name[len(prefix) :]
    return name.startswith(prefix) and (
        not rest or prefix.endswith(ends) or rest.startswith(tuple(goes_on))
    )


def target_of(given: Any) -> Target:
    """Where one thing that `configure` was given leads to.

    Raises
    ------
    ValueError, ImportError, NotPermitted
        See `prepare`.
    """
    if isinstance(given, str) and "://" in given:
        check(given)
        return AddressTarget(given)
    if callable(given):
        target = FunctionTarget(given)
        check(target.name)
        return target
    raise ValueError(
        f"configure(notify={type(given).__name__}): give a function of the message, an apprise URL "
        "(mailto://…), a list of them, or None."
    )
