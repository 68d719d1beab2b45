"""What stays in a saved notebook: a static record, as HTML that survives sanitizers and as text.

Only strong, p, ul, table, pre and code; meaning in words, no colour, no class. Deterministic apart
from times, ids and fingerprints, so that a notebook's git diff stays small.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..request import Request
from ..visible import visible
from .words import known, say

LONGEST = 2000
"""Characters of one value that a record shows; it says how many there are."""

# States that the verdict's own words tell already.
_SAID_BY_VERDICT = frozenset({"approved", "declined", "answered", "responded", "done"})


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The outcome of a run, for its record."""

    title: str
    state: str
    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()


def record(
    requests: Sequence[Request], run: RunRecord | None = None, *, locale: str = "en"
) -> dict[str, str]:
    """A mime bundle of ``text/html`` and ``text/plain``.

    Parameters
    ----------
    requests
        In the order in which they were asked.
    run
        The run around them, or None for agentless cards.
    """
    pages = [_request_lines(request, locale) for request in requests]
    head = [] if run is None else [_run_lines(run, locale)]
    blocks = [*head, *pages]
    return {
        "text/plain": "\n\n".join(_plain(block) for block in blocks),
        "text/html": "<div>" + "".join(_html(block) for block in blocks) + "</div>",
    }


@dataclass(frozen=True, slots=True)
class _Block:
    """One part of a record before it becomes HTML or text."""

    title: str
    lines: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    head: tuple[str, str] = ("", "")
    rows: tuple[tuple[str, str], ...] = ()
    code: tuple[tuple[str, str], ...] = ()


def _run_lines(run: RunRecord, locale: str) -> _Block:
    title = f"{say('run.name', locale, agent=run.title)}: {_run_state(run.state, locale)}"
    return _Block(
        title=title,
        items=tuple(f"{name}: {say(f'call.{status}', locale)}" for name, status in run.calls),
        lines=(visible(run.text),) if run.text else (),
    )


def _run_state(state: str, locale: str) -> str:
    key = f"run.state.{state}"
    return say(key, locale) if known(key) else state


def _request_lines(request: Request, locale: str) -> _Block:
    return _Block(
        title=_title(request, locale),
        lines=tuple(_verdict_lines(request, locale)),
        head=(say("record.argument", locale), say("record.value", locale)),
        rows=tuple((visible(k), _value(v, locale)) for k, v in request.args.items()),
        code=tuple(_edited(request, locale)),
    )


def _title(request: Request, locale: str) -> str:
    if request.kind == "approval" and request.message is not None:
        return say("card.confirm", locale, message=visible(request.message))
    key = "card.input" if request.kind == "input" else "card.approval"
    return say(key, locale, tool=visible(request.message or request.tool_name))


def _verdict_lines(request: Request, locale: str) -> Iterable[str]:
    decision, at = request.decision, request.decided_at
    parts: list[str] = []
    if decision is not None and at is not None:
        parts.append(
            say(
                "record.by",
                locale,
                verdict=say(f"after.{decision['verdict']}", locale),
                who=visible(request.reviewer or "?"),
                via=_via(request.via, locale),
                time=_time(at),
            )
        )
    if request.state == "pending":
        parts.append(say("record.asked", locale, time=_time(request.created_at)))
    elif request.state not in _SAID_BY_VERDICT:
        parts.append(say("record.state", locale, state=say(f"state.{request.state}", locale)))
    parts.append(f"{say('record.fingerprint', locale)}: {request.short_fingerprint}")
    yield " · ".join(parts)
    for key in ("note", "reason"):
        if (decision or {}).get(key):
            yield say(f"after.{key}", locale, **{key: visible(str((decision or {})[key]))})


def _via(via: str | None, locale: str) -> str:
    key = f"after.via.{via}"
    return say(key, locale) if known(key) else f", {via}"


def _edited(request: Request, locale: str) -> Iterable[tuple[str, str]]:
    edited = (request.decision or {}).get("args")
    if edited is not None:
        text = json.dumps(edited, indent=2, ensure_ascii=False)
        yield say("record.approved", locale), _cut(visible(text), locale)


def _value(value: Any, locale: str) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _cut(visible(text), locale)


def _cut(text: str, locale: str) -> str:
    if len(text) <= LONGEST:
        return text
    tail = say("record.cut", locale, shown=f"{LONGEST:,}", all=f"{len(text):,}")
    return f"{text[:LONGEST]}{tail}"


def _time(at: datetime) -> str:
    return at.astimezone().isoformat(timespec="seconds")


def _plain(block: _Block) -> str:
    parts = [
        block.title,
        *(f"  - {item}" for item in block.items),
        *(f"  {name}: {value}" for name, value in block.rows),
        *(f"  {name}:\n{value}" for name, value in block.code),
        *(f"  {line}" for line in block.lines),
    ]
    return "\n".join(parts)


def _html(block: _Block) -> str:
    parts = [f"<p><strong>{_esc(block.title)}</strong></p>"]
    if block.items:
        parts.append("<ul>" + "".join(f"<li>{_esc(i)}</li>" for i in block.items) + "</ul>")
    if block.rows:
        name, value = block.head
        body = "".join(f"<tr><td>{_esc(n)}</td><td>{_cell(v)}</td></tr>" for n, v in block.rows)
        parts.append(f"<table><tr><th>{_esc(name)}</th><th>{_esc(value)}</th></tr>{body}</table>")
    parts += [f"<p>{_esc(n)}</p><pre>{_esc(v)}</pre>" for n, v in block.code]
    parts += [f"<p>{_esc(line)}</p>" for line in block.lines]
    return "".join(parts)


def _cell(value: str) -> str:
    tag = "pre" if "\n" in value else "code"
    return f"<{tag}>{_esc(value)}</{tag}>"


def _esc(text: str) -> str:
    return html.escape(text)
