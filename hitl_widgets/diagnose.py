"""What will work here, and what to do where it does not: ``hitl.doctor()``."""

from __future__ import annotations

import html
import importlib.util
import os
import sys
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from . import deciders, notifying, policy
from .errors import HitlError
from .notebook import served, subshell
from .notebook.frontend import Frontend, detect

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
        told = [f for v in ("problem", "note") for f in self.findings if f.verdict == v]
        well = [f for f in self.findings if f.verdict == "ok"]
        head = "What does not work here, or is good to know" if told else "Everything works here"
        return (
            f"<p><strong>hitl.doctor()</strong>: {head}</p>{_table(told)}"
            f"<details><summary>{len(well)} things are well</summary>{_table(well)}</details>"
        )


def _table(findings: list[Finding]) -> str:
    if not findings:
        return ""
    left = ' style="text-align:left;vertical-align:top"'
    rows = "".join(
        f"<tr><td{left}>{_MARKS[f.verdict]} {f.verdict}</td>"
        f"<td{left}><strong>{html.escape(f.what)}</strong></td>"
        f"<td{left}>{html.escape(f.found)}</td><td{left}>{html.escape(f.do)}</td></tr>"
        for f in findings
    )
    heads = "".join(f"<th{left}>{word}</th>" for word in ("", "What", "Found", "To do"))
    return f"<table><tr>{heads}</tr>{rows}</table>"


def doctor(store: Any = None) -> Report:
    """Look at kernel, front end, packages and store, and say what will work here.

    Parameters
    ----------
    store
        The store to look at; None is the configured default.
    """
    here = detect()
    return Report(
        (
            _python(),
            _ours(),
            *_kernel(here),
            *_packages(),
            *_page(here),
            *_store(store),
            _policy(),
            *_notify(),
        )
    )


def _python() -> Finding:
    return Finding("ok", "Python", sys.version.split()[0])


def _ours() -> Finding:
    return Finding("ok", "hitl-widgets", sys.modules["hitl_widgets"].__version__)


def _kernel(here: Frontend) -> list[Finding]:
    """Where we are, and which ways of asking work there."""
    where = Finding("ok", "Where", _where(here))
    if here.can_show_cards:
        return [where, _await(here), *_other_ways(here)]
    if here.allow_stdin:
        return [where, Finding("ok", "prompt", "requests are put at this terminal")]
    return [
        where,
        Finding(
            "note",
            "cards",
            "nobody can click a card here",
            "runs raise RunSuspended and wait; decide with `hitl-widgets inbox`, in a "
            "notebook with hitl.inbox(), or give a reviewer (hitl.reviewer, HITL_REVIEWER)",
        ),
    ]


def _await(here: Frontend) -> Finding:
    if here.can_await_cards:
        return Finding("ok", "await in a cell", "cards can be clicked while a cell waits")
    box = "; the question is put in the input box beside the card" if here.allow_stdin else ""
    return Finding(
        "problem",
        "await in a cell",
        f"no click arrives here while a cell waits{box}",
        "use handle = agent.start(...), and await handle in a later cell after deciding"
        + ('; or pip install "ipykernel>=7.4,<7.5"' if here.ipykernel else ""),
    )


def _other_ways(here: Frontend) -> list[Finding]:
    box, blocking = here.allow_stdin, subshell.can_unblock()
    return [
        Finding("ok", "background", "agent.start(...): the cell ends, the card stays"),
        Finding(
            "ok" if blocking else "note",
            "blocking",
            "ask_sync, confirm_sync, run_sync: cards can be clicked"
            if blocking
            else f"synchronous code {'asks in the input box' if box else 'cannot ask'}",
            "" if blocking or box else "use the forms that are awaited, or agent.start(...)",
        ),
        Finding(
            "ok" if box else "note",
            "input box",
            "input() reaches a person: asked when no card does"
            if box
            else "none: cards are the only way",
        ),
    ]


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


def _page(here: Frontend) -> list[Finding]:
    """What the page said of itself once it had a widget; before that, what it will be given."""
    hub = sys.modules.get("hitl_widgets.screen.hub")
    said: list[Any] = hub.pages() if hub is not None else []
    if said:
        return [Finding("ok", "page", f"{len(said)} page(s) said hello: cards can be seen")]
    if not here.can_show_cards:
        return []
    if hub is None or not hub.in_use():
        return [
            Finding("note", "page", "no card was shown yet, so it said nothing"),
            *_served(here),
        ]
    silent = Finding(
        "problem",
        "page",
        "a card was sent, and no page said hello: nobody sees it",
        "is the notebook open in a browser? reload it and run the cell again; if that does not "
        'help, look at "anywidget there"',
    )
    return [silent, *_served(here)]


def _served(here: Frontend) -> list[Finding]:
    """Whether the page gets the widgets' code: kernel and page are often two environments."""
    what = "anywidget there"
    if here.kind == "vscode":
        if served.from_here():
            return [Finding("ok", what, "VS Code takes it from this environment")]
        todo = f"{sys.executable} -m pip install --force-reinstall {_PAGE_NEEDS}"
        return [Finding("problem", what, f"not in {sys.prefix}, where VS Code looks", todo)]
    server = served.from_the_server() if here.kind == "jupyter" else None
    if server is None:
        found = "cannot be told from here: the page's server needs it in the kernel's minor version"
        return [Finding("note", what, found, f"where JupyterLab runs: pip install {_PAGE_NEEDS}")]
    todo = f"{server.python} -m pip install {_PAGE_NEEDS}, and start JupyterLab again"
    missing = [name for name in served.NEEDED if name not in server.versions]
    if missing:
        found = f"{' and '.join(missing)} not in {server.prefix}, where JupyterLab runs"
        return [Finding("problem", what, found, todo)]
    mine, theirs = version("anywidget"), server.versions["anywidget"]
    found = f"{theirs} in {server.prefix}, where JupyterLab runs"
    if _minor(mine) != _minor(theirs):
        return [Finding("problem", what, f"{found}; {mine} here, which it cannot draw", todo)]
    return [Finding("ok", what, found)]


_PAGE_NEEDS = '"anywidget>=0.11,<0.12" "ipywidgets>=8.1"'


def _minor(number: str) -> list[str]:
    return number.split(".")[:2]


def _store(given: Any) -> list[Finding]:
    try:
        store = deciders.store_of(given)
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


def _policy() -> Finding:
    """The administrator's file, if there is one."""
    path = policy.policy_file()
    try:
        laid_down = policy.administrator()
    except HitlError as e:
        return Finding("problem", "policy file", str(e), "nothing runs until it can be read")
    if not path.exists():
        return Finding("ok", "policy file", f"none (it would be {path})")
    given = [f.name for f in fields(laid_down) if getattr(laid_down, f.name) != f.default]
    return Finding("ok", "policy file", f"{path}: {', '.join(given) or 'nothing'} tightened")


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
