"""Who answers without a screen: scripted reviewers, and what happens when nobody is there."""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, cast

from . import notifying
from .calling import call
from .desk import Desk
from .errors import AgentDefinitionError, AlreadyDecided
from .given import check
from .policy import administrator
from .request import (
    HEADLESS,
    RECORD,
    Decision,
    Decline,
    Headless,
    Record,
    Request,
    Reviewer,
)
from .store import Store, check_store, open_store, sinks

Decide = Callable[[Request], Awaitable[Decision | None] | Decision | None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What `configure` set for this process."""

    store: Any = None
    headless: Headless = "suspend"
    record: Record = "full"
    notify: Any = field(default=None, repr=False)  # an address may hold a password
    locale: Literal["en", "ja"] | None = None
    reviewer: Decide | None = None
    audit: Any = None


_settings = Settings()
_listeners: list[Callable[[], None]] = []
_stack: list[Decide] = []


def settings() -> Settings:
    """The process's settings, no looser than the administrator's file allows."""
    least = administrator()
    return replace(
        _settings,
        headless=_stricter(HEADLESS, _settings.headless, least.headless),
        record=_stricter(RECORD, _settings.record, least.record),
    )


def store_of(store: Any = None) -> Store:
    """A store from whatever ``store=`` takes; None is the configured default."""
    return open_store(settings().store if store is None else store)


def _stricter(levels: tuple[str, ...], *given: str) -> Any:
    return max(given, key=levels.index)


def configure(**given: Any) -> None:
    """Set defaults for this process.

    Parameters
    ----------
    store
        Path, store object or ``":memory:"`` for everything that names none.
    headless
        What happens when nobody can be asked: ``"suspend"`` (the run raises `RunSuspended` and
        waits), ``"decline"``, or ``"error"`` (`NoReviewer`). Never "run it anyway". ``"prompt"``
        asks at the process's terminal even if its standard streams lead elsewhere
        (``python job.py > log``), and suspends where there is none.
    record
        What stays in a saved notebook: ``"full"``, ``"short"`` or ``"none"``.
    notify
        Who is told when a request waits: a function of the message (a `str` that has `subject`,
        `agent`, `tool`, `fingerprint`, `request_id` and `where` as attributes; it may be async),
        an apprise URL (extra ``notify``; at most one message a minute), a list of them, or None.
        Messages never hold arguments; a failed delivery never touches a run.
    locale
        ``"en"`` or ``"ja"``; None: the front end's.
    reviewer
        A function deciding requests, in force until a `reviewer` block overrides it.
    audit
        Where a copy of every store's audit trail goes as it is written: a `logging.Logger`, a
        path (JSON lines), a function of a store and an event; None: nowhere.

    Raises
    ------
    TypeError
        An unknown name, or a `store` that is none.
    ValueError
        An impossible value; nothing was changed.
    NotPermitted
        The administrator's file does not allow `notify` to go there; nothing was changed.
    """
    global _settings  # noqa: PLW0603  # the process's settings
    _check(given)
    notifier = None
    if "notify" in given:
        notifier = notifying.prepare(given["notify"], where=how_to_decide, locale=_locale)
    if "audit" in given:
        sinks.use(given["audit"])
    if "notify" in given:
        notifying.use(notifier)
    _settings = replace(_settings, **given)
    for heard in _listeners:
        heard()


def _check(given: Mapping[str, Any]) -> None:
    """Refuse what `configure` cannot set; `notify` and `audit` are judged where they are taken."""
    known = {f.name for f in fields(Settings)}
    if given.keys() - known:
        raise TypeError(
            f"configure() does not know {', '.join(sorted(given.keys() - known))}; "
            f"it takes {', '.join(sorted(known))}."
        )
    check_store(given.get("store"))
    check(ValueError, "configure", **given)


def _locale() -> str:
    return _settings.locale or "en"


def on_change(heard: Callable[[], None]) -> None:
    """Call back after every `configure`."""
    _listeners.append(heard)


@contextmanager
def reviewer(decide: Decide) -> Generator[None]:
    """Have `decide(request)` answer requests of runs that start inside the block.

    It returns a decision, an awaitable of one, or None to pass (the run waits for another
    decider). The reviewer in force when a run starts stays with it.
    """
    if not callable(decide):
        raise TypeError(f"reviewer({decide!r}): give a function of a Request.")
    _stack.append(decide)
    try:
        yield
    finally:
        _stack.remove(decide)


def in_force() -> Decide | None:
    """The scripted reviewer for a run that starts now, or None."""
    if _stack:
        return _stack[-1]
    if _settings.reviewer is not None:
        return _settings.reviewer
    named = os.environ.get("HITL_REVIEWER")
    return _named(named) if named else None


def _named(spec: str) -> Decide:
    module, _, name = spec.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as e:
        raise AgentDefinitionError(
            f"HITL_REVIEWER={spec!r} cannot be loaded ({e}); write it as module:function."
        ) from e
    if not callable(found):
        raise AgentDefinitionError(f"HITL_REVIEWER={spec!r} is not a function.")
    return cast("Decide", found)


def decline_all(request: Request) -> Decision:
    """The reviewer in force under ``configure(headless="decline")``."""
    return Decline(f"Nobody could be asked about {request.tool_name}.")


def instead_of_people() -> Decide | None:
    """The reviewer that `configure` puts in force where nobody can be asked, or None."""
    return decline_all if settings().headless == "decline" else None


async def consult(decide: Decide, request: Request) -> Decision | None:
    """Ask a scripted reviewer."""
    return await call(decide, request)


async def consult_at(desk: Desk, decide: Decide, request: Request, *, drive: bool = True) -> bool:
    """Ask a scripted reviewer, and put its decision on the desk; `drive` as in `Desk.decide`.

    Returns
    -------
    bool
        Whether the request is decided now, by whomever; False: the reviewer passed.

    Raises
    ------
    Exception
        What the reviewer raised, or what the desk says of its decision: nothing was decided.
    """
    who, via = identity(decide, request)
    shown = request.fingerprint
    try:
        decision = await consult(decide, request)
        if decision is None:
            return False
        await desk.decide(request, decision, fingerprint=shown, reviewer=who, via=via, drive=drive)
    except AlreadyDecided:
        return True
    return True


def identity(decide: Decide, request: Request) -> tuple[Reviewer, str]:
    """As whom a scripted reviewer decides, and via what: never shown as a click (R18)."""
    own = getattr(decide, "identity", None)
    if own is not None:
        return own(request)
    name = getattr(decide, "__qualname__", type(decide).__name__)
    return Reviewer(f"rule:{name}", "rule"), getattr(decide, "via", "rule")


def how_to_decide(requests: Sequence[Request], location: str) -> str:
    """The commands that decide what waits, as a person can paste them (R5)."""
    if location == ":memory:" or sys.platform == "emscripten":
        return "Decide in this process: await hitl.decide(request, …), or hitl.inbox()."
    lines = ["Decide from a shell:"]
    for request in requests[:3]:
        verb = "approve" if request.kind == "approval" else "answer"
        data = "" if request.kind == "approval" else " --data JSON"
        lines.append(
            f"  hitl-widgets inbox {verb} {request.id}{data} --store {shlex.quote(location)}"
        )
    lines.append(f"(or decline {requests[0].id} --reason TEXT), or in a notebook: hitl.inbox()")
    return "\n".join(lines)
