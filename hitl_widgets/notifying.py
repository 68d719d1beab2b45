"""Telling people elsewhere that something waits: ``configure(notify=…)``.

A message says which agent and tool, the fingerprint, and where to decide; never arguments, words
of a model, or secrets. It is written and delivered on a thread of its own: a run neither waits for
it nor hears of its failure, which is logged once and seen in ``hitl.doctor()``.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib
import inspect
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, cast

from .errors import HitlError, NotPermitted
from .policy import administrator
from .request import Request
from .store import sinks
from .store.base import Event
from .visible import visible
from .words import say

GRACE = 1.0
"""Seconds after which a request is looked at again: what a rule decided meanwhile is not told."""

EVERY = 60.0
"""Seconds between two messages to one address; what comes between is told in one."""

LISTED = 10
"""Requests that one message names; it says how many more there are."""

LEAVING = 10.0
"""Seconds that an ending process waits for its last message to be delivered."""

_OPENS = frozenset({"opened", "lose"})
"""Events after which a person may be needed: a new request, an outcome that nobody knows."""

_log = logging.getLogger("hitl_widgets")

Where = Callable[[Sequence[Request], str], str]


class Notice(str):
    """What a notification says, as text; its parts are attributes.

    Attributes
    ----------
    subject
        One line.
    agent
        Ids from the root agent to the asker, as a card shows them; empty where no agent asks.
    tool, fingerprint, request_id
        The call that waits.
    where
        How and where to decide.
    """

    subject: str
    agent: str
    tool: str
    fingerprint: str
    request_id: str
    where: str

    __slots__ = ("agent", "fingerprint", "request_id", "subject", "tool", "where")


def notice_of(request: Request, *, where: str, locale: str) -> Notice:
    """The message about one request."""
    tool = _line(request.tool_name)
    agent = _line(" › ".join(request.agent_path))  # noqa: RUF001  # as on a card
    unknown = request.state == "outcome_unknown"
    subject = say("notify.unknown" if unknown else "notify.title", locale, tool=tool)
    effect = say(f"effect.{request.effect}", locale)
    lines = [
        subject,
        *([say("notify.agent", locale, agent=agent)] if agent else []),
        say("notify.tool", locale, tool=tool, effect=effect),
        say("notify.fingerprint", locale, fingerprint=request.fingerprint),
        *_when_and_where(request, locale),
        where,
    ]
    notice = Notice("\n".join(lines))
    notice.subject, notice.agent, notice.tool = subject, agent, tool
    notice.fingerprint, notice.request_id = request.fingerprint, request.id
    notice.where = where
    return notice


def _line(text: str) -> str:
    """In one line: no name may write lines of its own, such as another way to decide."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _when_and_where(request: Request, locale: str) -> list[str]:
    lines = [say("notify.asked", locale, time=f"{request.created_at:%Y-%m-%d %H:%M:%S} UTC")]
    if request.expires_at is not None and request.state == "pending":
        lines.append(say("notify.expires", locale, time=f"{request.expires_at:%Y-%m-%d %H:%M:%S}"))
    places = [str(request.origin[k]) for k in ("notebook", "host") if request.origin.get(k)]
    if places:
        lines.append(say("notify.origin", locale, place=_line(", ".join(places))))
    return lines


# -- addresses -----------------------------------------------------------------------------------


class _Target:
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
        except Exception as e:  # noqa: BLE001  # whatever a delivery does, no run hears of it
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


class _Function(_Target):
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


class _Address(_Target):
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


# -- the thread ----------------------------------------------------------------------------------

THREAD = "hitl-notify"


class Notifier:
    """Hears of new requests, and tells its targets of those that still wait a moment later."""

    def __init__(
        self, targets: Sequence[_Target], *, where: Where, locale: Callable[[], str]
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


# -- the process's one -----------------------------------------------------------------------------

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
    return Notifier([_target(one) for one in several], where=where, locale=locale)


def _target(given: Any) -> _Target:
    if isinstance(given, str) and "://" in given:
        check(given)
        return _Address(given)
    if callable(given):
        target = _Function(given)
        check(target.name)
        return target
    raise ValueError(
        f"configure(notify={type(given).__name__}): give a function of the message, an apprise URL "
        "(mailto://…), a list of them, or None."
    )


def use(notifier: Notifier | None) -> None:
    """Tell from now on through `notifier`, in place of an earlier one."""
    global _notifier  # one per process
    before, _notifier = _notifier, notifier
    if notifier is not None:
        notifier.start()
    if before is not None:
        before.close()
        _closed[:] = [before, *(n for n in _closed if n.busy)]


def targets() -> tuple[_Target, ...]:
    """Where this process sends messages, and how that went; for `doctor`."""
    return () if _notifier is None else _notifier.targets


@atexit.register
def _leave() -> None:
    # A job that ends while its request waits is the very case that a message is for.
    until = time.monotonic() + LEAVING
    use(None)
    for notifier in _closed:
        notifier.join(max(0.0, until - time.monotonic()))
