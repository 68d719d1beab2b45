"""What will work here, and what to do where it does not: ``hitl.doctor()``."""

from __future__ import annotations

import html
import importlib.util
import os
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from . import deciders, notifying
from .errors import HitlError
from .notebook.frontend import Frontend, detect
from .store import Store, open_store

Verdict = Literal["ok", "note", "problem"]
_MARKS = {"ok": "✓", "note": "·", "problem": "✗"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at.

    Attributes
    ----------
    verdict
        ``ok``, ``note`` (works, but know this) or ``problem``.
    what, found, do
        What was looked at, what is there, and what to do about it (empty when nothing).
    """

    verdict: Verdict
    what: str
    found: str
    do: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What `doctor` found; shows itself as a table in a cell and as text elsewhere."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return all(f.verdict != "problem" for f in self.findings)

    def __str__(self) -> str:
        width = max(len(f.what) for f in self.findings)
        lines = [f"{_MARKS[f.verdict]} {f.what:<{width}}  {f.found}" for f in self.findings]
        told = [f"  {f.what}: {f.do}" for f in self.findings if f.do]
        return "\n".join([*lines, *(["What to do:", *told] if told else [])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{_MARKS[f.verdict]} {f.verdict}</td><td><strong>{html.escape(f.what)}"
            f"</strong></td><td>{html.escape(f.found)}</td><td>{html.escape(f.do)}</td></tr>"
            for f in self.findings
        )
        return f"<table><tr><th></th><th>What</th><th>Found</th><th>To do</th></tr>{rows}</table>"


def doctor(store: Any = None) -> Report:
    """Look at kernel, front end, packages and store, and say what will work here.

    Parameters
    ----------
    store
        The store to look at; None is the configured default.
    """
    here = detect()
    return Report((_python(), *_kernel(here), *_packages(), *_page(), *_store(store), *_notify()))


def _python() -> Finding:
    return Finding("ok", "Python", sys.version.split()[0])


def _kernel(here: Frontend) -> list[Finding]:
    found = [Finding("ok", "Where", _where(here))]
    if here.can_await_cards:
        found.append(Finding("ok", "await in a cell", "cards can be clicked while a cell waits"))
    elif here.can_show_cards:
        found.append(
            Finding(
                "problem",
                "await in a cell",
                "this kernel takes no clicks while a cell waits",
                "use handle = agent.start(...), and await handle in a later cell after deciding",
            )
        )
    else:
        found.append(
            Finding(
                "note",
                "cards",
                "nobody can click a card here",
                "runs raise RunSuspended and wait; decide with `hitl-widgets inbox`, in a "
                "notebook with hitl.inbox(), or give a reviewer (hitl.reviewer, HITL_REVIEWER)",
            )
        )
    return found


def _where(here: Frontend) -> str:
    kernel = f", ipykernel {here.ipykernel} (messages: {here.pump})" if here.ipykernel else ""
    return f"{here.kind}{kernel}; {here.user} ({here.identity_source}) on {here.host}"


def _packages() -> list[Finding]:
    found = [
        Finding("ok", name, version(name))
        if importlib.util.find_spec(module)
        else Finding("problem", name, "not installed", f"pip install {name}")
        for name, module in (("ipywidgets", "ipywidgets"), ("anywidget", "anywidget"))
    ]
    try:
        found.append(Finding("ok", "pydantic-ai-slim", version("pydantic-ai-slim")))
    except PackageNotFoundError:
        found.append(
            Finding(
                "note",
                "pydantic-ai-slim",
                "not installed: hitl.Agent is off, verbs and cards work",
                "pip install 'pydantic-ai-slim>=2.60,<3'",
            )
        )
    return found


def _page() -> list[Finding]:
    """What the page said of itself, once a widget has said hello."""
    hub = sys.modules.get("hitl_widgets.screen.hub")
    said: list[Any] = hub.pages() if hub is not None else []
    if not said:
        return [Finding("note", "page", "no card was shown yet, so the page said nothing")]
    return [Finding("ok", "page", f"{len(said)} page(s) said hello: cards can be seen")]


def _store(given: Any) -> list[Finding]:
    try:
        store: Store = open_store(deciders.settings().store if given is None else given)
        faults = store.check()
    except HitlError as e:
        return [Finding("problem", "store", str(e), "set HITL_STORE to a file you can write")]
    found = [
        Finding("problem" if faults else "ok", "store", f"{store.location}: {'; '.join(faults)}")
        if faults
        else Finding("ok", "store", store.location)
    ]
    describe = getattr(store, "describe", None)
    if describe is not None:
        found.extend(Finding(*line) for line in describe())
    if os.environ.get("HITL_STORE"):
        found.append(Finding("ok", "HITL_STORE", os.environ["HITL_STORE"]))
    return found


def _notify() -> list[Finding]:
    """Where messages go, and whether they arrive."""
    return [
        Finding(
            "problem",
            "notify",
            f"{t.shown}: the last message was not delivered ({t.failed} failed, {t.sent} "
            f"delivered). {t.fault}",
            "check the address in hitl.configure(notify=…); what waits is in hitl.inbox()",
        )
        if t.fault
        else Finding("ok", "notify", f"{t.shown}: {t.sent} delivered, {t.failed} failed")
        for t in notifying.targets()
    ]
