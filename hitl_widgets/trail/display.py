"""A history as a cell shows it: what stands out, two plots, the same as a table, the decisions.

Where a sanitizer takes the plots and the style away, the sentences and tables still say it all.
"""

from __future__ import annotations

import hashlib
import html
import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib import resources
from typing import Any

from ..request import Request
from ..visible import visible
from ..words import say
from .patterns import Blind, Repeated
from .plots import VERDICTS, Bar, bars, legend
from .tables import table

ROWS = 200
"""Decisions that a cell shows, the newest."""

TOOLS = 12
"""Tools that the plot shows, those asked for most."""

VALUE = 160
"""Characters of arguments in a row; it says how many there are."""

UPPER = (1, 5, 30, 120, 600, 3600, 86400)
"""Seconds at which the bars of the time to decide end; the last has no end."""

EXPORTS = ("to_csv(path)", "to_json(path)", "to_frame()")

Row = Mapping[str, Any]


def verdict_of(row: Row) -> str:
    """One of `VERDICTS`; other: answered, responded, or ended without anybody's decision."""
    return {"approve": "approved", "decline": "declined"}.get(row["verdict"] or "", "other")


def html_of(
    rows: Sequence[Row], patterns: Sequence[Blind | Repeated], *, locale: str, level: str
) -> str:
    """The whole display; `level` other than ``full`` leaves the arguments out."""
    if not rows:
        return f"<p>{html.escape(say('history.empty', locale))}</p>"
    parts = [
        f"<p><strong>{html.escape(_headline(rows, locale))}</strong></p>",
        _stands_out(patterns, locale, full=level == "full"),
        _plots(rows, locale),
        _by_tool(rows, locale),
        _decisions(rows, locale, full=level == "full"),
        _exports(locale),
    ]
    return f'<div class="hitl-history"><style>{_css()}</style>{"".join(parts)}</div>'


def _exports(locale: str) -> str:
    calls = ", ".join(f"<code>.{call}</code>" for call in EXPORTS)
    return f"<p>{html.escape(say('history.export', locale))} {calls}</p>"


@cache
def _css() -> str:
    return resources.files(__package__ or __name__).joinpath("history.css").read_text("utf-8")


def _headline(rows: Sequence[Row], locale: str) -> str:
    first, last = (f"{rows[n]['asked_at']:%Y-%m-%d}" for n in (0, -1))
    when = first if first == last else f"{first} – {last}"  # noqa: RUF001  # a span
    return say("history.headline", locale, n=len(rows), when=when)


def _names(locale: str) -> dict[str, str]:
    return {verdict: say(f"history.{verdict}", locale) for verdict in VERDICTS}


# -- what stands out -----------------------------------------------------------------------------


def _stands_out(patterns: Sequence[Blind | Repeated], locale: str, *, full: bool) -> str:
    if not patterns:
        return ""
    told = "".join(
        _blind(p, locale) if isinstance(p, Blind) else _repeated(p, locale, full=full)
        for p in patterns
    )
    title = html.escape(say("history.look", locale))
    return f'<div class="hitl-stands-out"><p><strong>{title}</strong></p><ul>{told}</ul></div>'


def _blind(found: Blind, locale: str) -> str:
    said = say("history.blind", locale, n=len(found.requests), all=found.of)
    who = say("history.blind.who", locale, who=_counted(found.reviewers))
    tools = say("history.blind.tools", locale, tools=_counted(found.tools))
    do = say("history.blind.do", locale)
    return f"<li><strong>{html.escape(said)}</strong> {html.escape(f'{who} {tools} {do}')}</li>"


def _counted(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{visible(name)} {n}" for name, n in counts)


def _repeated(found: Repeated, locale: str, *, full: bool) -> str:
    newest = found.requests[-1]
    tool = visible(newest.tool_name)
    lines = [
        say("history.same", locale, tool=tool, n=found.approvals, fp=newest.short_fingerprint),
    ]
    if found.reach is None:
        offer = say("history.same.none", locale)
    else:
        values = _values(newest) if full else say("history.same.shown", locale)
        agent = " › ".join(visible(step) for step in newest.agent_path)  # noqa: RUF001
        rule = say("always.rule.exact", locale, tool=tool, agent=agent, values=values)
        until = found.reach == "until"
        reach = say("history.until" if until else f"always.reach.{found.reach}", locale)
        offer = say("history.same.offer", locale, rule=rule, reach=reach)
    would = say(
        "history.same.would", locale, n=len(found.would_allow), tool=tool, others=found.others
    )
    said = f"<strong>{html.escape(lines[0])}</strong> {html.escape(offer)} {html.escape(would)}"
    if found.declined:
        warned = say("history.same.declined", locale, n=len(found.declined))
        said += f" <strong>{html.escape(warned)}</strong>"
    if found.undecided:
        ended = say("history.same.undecided", locale, n=len(found.undecided))
        said += f" <strong>{html.escape(ended)}</strong>"
    return f"<li>{said}{_let_through(found.would_allow, locale)}</li>"


def _let_through(requests: Sequence[Request], locale: str) -> str:
    """What a grant would have let through, one by one."""
    if not requests:
        return ""
    heads = [say(f"history.{n}", locale) for n in ("asked_at", "verdict", "reviewer", "seconds")]
    rows = [
        [
            _cell(r.created_at),
            say(f"state.{r.state}", locale),
            visible(r.reviewer or ""),
            f"{(r.decided_at - r.created_at).total_seconds():.1f}" if r.decided_at else "",
        ]
        for r in requests[-ROWS:]
    ]
    title = html.escape(say("history.same.list", locale, n=len(requests)))
    return f"<details><summary>{title}</summary>{table(heads, rows)}</details>"


def _values(request: Request) -> str:
    told = (f"{name} = {json.dumps(v, ensure_ascii=False)}" for name, v in request.args.items())
    return _cut(visible(", ".join(told) or "()"))


def _cut(text: str) -> str:
    return text if len(text) <= VALUE else f"{text[:VALUE]}… ({len(text):,})"


# -- plots ---------------------------------------------------------------------------------------


def _plots(rows: Sequence[Row], locale: str) -> str:
    names = _names(locale)
    seed = "".join(str(row["request_id"]) for row in rows)
    key = f"hitl-{hashlib.sha256(seed.encode()).hexdigest()[:8]}"
    times, by_tool = _time_bars(rows, locale), _tool_bars(rows)
    shown = by_tool[:TOOLS]
    more = len(by_tool) - len(shown)
    tools_title = say("history.plot.tools", locale)
    if more > 0:
        tools_title += f" ({say('history.plot.more', locale, n=more)})"
    drawn = ""
    if any(bar.total for bar in times):  # where only rules decided nobody took any time
        title = say("history.plot.time", locale)
        drawn += bars(times, title=title, said=_said(times), names=names, key=f"{key}-t")
    drawn += bars(shown, title=tools_title, said=_said(shown), names=names, key=f"{key}-n")
    return f'{legend(names, f"{key}-n")}<div class="hitl-plots">{drawn}</div>'


def _said(rows: Sequence[Bar]) -> str:
    return "; ".join(f"{visible(row.label)}: {row.total}" for row in rows if row.total)


def _time_bars(rows: Sequence[Row], locale: str) -> list[Bar]:
    counted: list[Counter[str]] = [Counter() for _ in (*UPPER, None)]
    for row in rows:
        if _person(row):
            place = sum(row["seconds"] >= end for end in UPPER)
            counted[place][verdict_of(row)] += 1
    return [Bar(say(f"history.time.{n}", locale), c) for n, c in enumerate(counted)]


def _person(row: Row) -> bool:
    by_rule = row["identity_source"] == "rule" or row["via"] in ("rule", "replay", "test")
    return row["verdict"] is not None and row["seconds"] is not None and not by_rule


def _tool_bars(rows: Sequence[Row]) -> list[Bar]:
    counted: dict[str, Counter[str]] = {}
    for row in rows:
        counted.setdefault(str(row["tool"]), Counter())[verdict_of(row)] += 1
    return sorted((Bar(tool, c) for tool, c in counted.items()), key=lambda bar: -bar.total)


# -- tables --------------------------------------------------------------------------------------


def _by_tool(rows: Sequence[Row], locale: str) -> str:
    names = _names(locale)
    heads = [say("history.tool", locale), *names.values(), say("history.median", locale)]
    body: list[list[str]] = []
    for bar in _tool_bars(rows):
        took = [row["seconds"] for row in rows if row["tool"] == bar.label and _person(row)]
        middle = f"{statistics.median(took):.1f}" if took else ""
        counts = [str(bar.counts.get(verdict, 0)) for verdict in VERDICTS]
        body.append([visible(bar.label), *counts, middle])
    title = html.escape(say("history.numbers", locale))
    return f"<details><summary>{title}</summary>{table(heads, body, numbers=1)}</details>"


def _decisions(rows: Sequence[Row], locale: str, *, full: bool) -> str:
    names = ["asked_at", "tool", *(["args"] if full else []), "verdict", "reviewer", "via"]
    heads = [say(f"history.{name}", locale) for name in (*names, "seconds", "state")]
    body = [
        [*(_shown(row, name, locale) for name in names), _cell(row["seconds"]), _state(row, locale)]
        for row in rows[: -ROWS - 1 : -1]
    ]
    title = say("history.rows", locale, n=len(body), all=len(rows))
    label = html.escape(title)
    return (
        f"<p>{label}</p>"
        f'<div class="hitl-rows" role="region" tabindex="0" aria-label="{label}">'
        f"{table(heads, body)}</div>"
    )


def _shown(row: Row, name: str, locale: str) -> str:
    if name == "verdict":
        return say(f"history.{verdict_of(row)}", locale) if row["verdict"] else "—"
    if name != "args":
        return _cell(row[name])
    return _cut(_cell(row["args"]))


def _state(row: Row, locale: str) -> str:
    return say(f"state.{row['state']}", locale)


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case str():
            return visible(value)
        case float():
            return f"{value:.1f}"
        case _:
            return visible(json.dumps(value, ensure_ascii=False))
