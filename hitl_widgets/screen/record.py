"""What stays in a saved notebook: a static record, as HTML that survives sanitizers and as text.

Only strong, p, ul, table, pre and code; meaning in words, no colour, no class. Deterministic apart
from times, ids and fingerprints, so that a notebook's git diff stays small.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple, cast

from ..fingerprint import diff, fingerprint, lookup
from ..previews.plain import Teller
from ..request import RECORD, WAITING, Record, Request
from ..store.base import Search, Store
from ..visible import reads_as_json, visible
from ..words import known, say

LONGEST = 2000
"""Characters of one value that a record shows; it says how many there are."""

RECORDED = 20
"""Requests that an inbox's record shows; it says how many more there are."""

TABLE_ROWS = 5
"""Rows of a described table that a record shows; it says how many there are."""

# States that the verdict's own words tell already.
_SAID_BY_VERDICT = frozenset({"approved", "declined", "answered", "responded", "done"})


class RanCall(NamedTuple):
    """One call of a run, for its record."""

    tool: str
    status: str
    granted: str | None = None
    """The words of the standing grant that let it run."""
    cause: str | None = None
    """What it raised, if it failed."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The outcome of a run, for its record.

    Attributes
    ----------
    calls
        Every call, in the order in which they were made.
    """

    title: str
    state: str
    text: str = ""
    calls: tuple[RanCall, ...] = ()
    started: datetime | None = None
    """When it began, while it goes on: a saved output must not claim that it still does."""


def record(
    requests: Sequence[Request],
    run: RunRecord | None = None,
    *,
    locale: str = "en",
    level: Record = "full",
    more: int = 0,
) -> dict[str, str]:
    """A mime bundle of ``text/html`` and ``text/plain``.

    Parameters
    ----------
    requests
        In the order in which they were asked.
    run
        The run around them, or None for agentless cards.
    level
        ``full``; ``short``: one line per request, without arguments and words of the model;
        ``none``: nothing of what was decided. A tool may keep less of its requests; then the run's
        own words, which may repeat what they hold, are left out too.
    more
        How many more requests wait than are given.
    """
    locale = locale.partition("-")[0]
    levels = [_least(level, request) for request in requests]
    blocks: list[_Block] = []
    if run is not None and level != "none":
        whole = _least(level, *requests) == "full"
        blocks.append(_run_block(run, locale) if whole else _run_line(run, locale))
    for request, kept in zip(requests, levels, strict=True):
        if kept != "none":
            whole = kept == "full"
            blocks.append((_request_block if whole else _request_line)(request, locale))
    hidden = [r for r, kept in zip(requests, levels, strict=True) if kept == "none"]
    if _waits(hidden):
        blocks.append(_waiting_line(hidden, locale))
    if not requests and run is None and level != "none":
        blocks = [_Block(say("inbox.empty", locale))]
    if more > 0:
        blocks.append(_Block(say("inbox.more", locale, n=more)))
    return {
        "text/plain": "\n\n".join(_plain(block) for block in blocks),
        "text/html": "<div>" + "".join(_html(block) for block in blocks) + "</div>",
    }


def inbox_record(store: Store, *, locale: str = "en", level: Record = "full") -> dict[str, str]:
    """What stays of an inbox: the first of what waits, and how many more there are."""
    found = store.search(Search(WAITING), limit=RECORDED)
    return record(
        found.requests, locale=locale, level=level, more=found.total - len(found.requests)
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows under a head; every cell is text."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class _Block:
    """One part of a record before it becomes HTML or text."""

    title: str
    lines: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    tables: tuple[_Table, ...] = ()


def _least(level: Record, *requests: Request) -> Record:
    """The least that any of these keeps: a tool can only lower what is set for all."""
    given = (request.scope.get("record", "full") for request in requests)
    return max((level, *given), key=RECORD.index)


# -- runs ----------------------------------------------------------------------------------------


def _run_block(run: RunRecord, locale: str) -> _Block:
    return _Block(
        title=_run_title(run, locale),
        items=tuple(_call(call, locale) for call in run.calls),
        lines=(*([visible(run.text)] if run.text else []), *_started(run, locale)),
    )


def _run_line(run: RunRecord, locale: str) -> _Block:
    return _Block(_run_title(run, locale), _started(run, locale))


def _started(run: RunRecord, locale: str) -> tuple[str, ...]:
    if run.started is None:
        return ()
    return (say("record.started", locale, time=_time(run.started)),)


def _run_title(run: RunRecord, locale: str) -> str:
    name = say("run.name", locale, agent=visible(run.title))
    if run.started is not None:
        return name
    key = f"run.state.{run.state}"
    return f"{name}: {say(key, locale) if known(key) else run.state}"


def _call(call: RanCall, locale: str) -> str:
    text = f"{visible(call.tool)}: {say(f'call.{call.status}', locale)}"
    if call.granted is not None:
        words = f": {visible(call.granted)}" if call.granted else ""
        text = f"{text} ({say('call.granted', locale)}{words})"
    return f"{text} · {visible(call.cause)}" if call.cause else text


# -- requests ------------------------------------------------------------------------------------


def _waits(requests: Sequence[Request]) -> list[Request]:
    return [request for request in requests if request.state == "pending"]


def _waiting_line(requests: Sequence[Request], locale: str) -> _Block:
    first = _waits(requests)[0]
    return _Block(say("record.asked", locale, time=_time(first.created_at)))


def _request_block(request: Request, locale: str) -> _Block:
    plain, described = _arguments(request, locale)
    head = (say("record.argument", locale), say("record.value", locale))
    # Those of the call that asks are not what is asked.
    asks = request.kind == "input"
    caption = say("details.call", locale, tool=visible(request.tool_name)) if asks else ""
    tables = [_Table(head, plain, caption)] if plain else []
    about, previewed = _previewed(request, locale)
    return _Block(
        title=_title(request, locale),
        lines=(_verdict_line(request, locale), *_words(request, locale), *about),
        tables=(
            *_given("record.question", request.suspend_payload, locale),
            *tables,
            *described,
            *_edited(request, locale),
            *_answer(request, locale),
            *previewed,
        ),
    )


def _answer(request: Request, locale: str) -> Iterable[_Table]:
    """What was answered, or given in place of the tool; secrets are masked in what is stored."""
    decision = request.decision or {}
    if decision.get("verdict") == "answer":
        yield from _given("details.answer", decision.get("data"), locale, known=True)
    elif decision.get("verdict") == "respond":
        yield from _given("details.result", decision.get("result"), locale, known=True)


def _given(key: str, value: Any, locale: str, *, known: bool = False) -> Iterable[_Table]:
    """A value under its title: an object field by field. `known`: None is a value, too."""
    if value is None and not known:
        return
    title = say(key, locale)
    if isinstance(value, Mapping) and value:
        fields = cast("Mapping[str, Any]", value)
        head = (say("record.field", locale), say("record.value", locale))
        rows = tuple((visible(name), _value(part, locale)) for name, part in fields.items())
        yield _Table(head, rows, title)
    else:
        yield _Table((say("record.value", locale),), ((_value(value, locale),),), title)


def _previewed(request: Request, locale: str) -> tuple[list[str], list[_Table]]:
    """Lines and tables of what stood around the call: its preview, and what it reads."""
    teller = Teller(locale, rows=TABLE_ROWS, longest=LONGEST)
    lines = [*teller.changed(request), *teller.reads(request)]
    tables: list[_Table] = []
    if request.preview is not None and (request.decision or {}).get("args") is not None:
        lines.append(say("preview.original", locale))
    for part in teller.preview(request):
        if part.head:
            tables.append(_Table(part.head, part.rows, part.title))
        elif part.text:
            tables.append(_Table((say("preview.name", locale),), ((part.text,),), part.title))
        else:
            lines.append(part.title)
    return lines, tables


def _request_line(request: Request, locale: str) -> _Block:
    return _Block(_title(request, locale), lines=(_verdict_line(request, locale),))


def _title(request: Request, locale: str) -> str:
    if request.kind == "approval" and request.message is not None:
        return say("card.confirm", locale, message=visible(request.message))
    key = "card.input" if request.kind == "input" else "card.approval"
    return say(key, locale, tool=visible(request.message or request.tool_name))


def _verdict_line(request: Request, locale: str) -> str:
    decision, at = request.decision, request.decided_at
    parts: list[str] = []
    if decision is not None and at is not None:
        edited = decision["verdict"] == "approve" and decision.get("args") is not None
        verdict = "approve.edited" if edited else decision["verdict"]
        parts.append(
            say(
                "record.by",
                locale,
                verdict=say(f"after.{verdict}", locale),
                who=visible(request.reviewer or "?"),
                via=_via(request.via, locale),
                time=_time(at),
            )
        )
    if request.state == "pending":
        parts.append(say("record.asked", locale, time=_time(request.created_at)))
    elif request.state not in _SAID_BY_VERDICT:
        key = f"state.{request.state}"
        state = say(key, locale) if known(key) else request.state
        parts.append(say("record.state", locale, state=state))
    parts.append(f"{say('record.fingerprint', locale)}: {request.short_fingerprint}")
    return " · ".join(parts)


def _words(request: Request, locale: str) -> Iterable[str]:
    for key in ("note", "reason"):
        text = (request.decision or {}).get(key)
        if text:
            yield say(f"after.{key}", locale, **{key: visible(str(text))})


def _via(via: str | None, locale: str) -> str:
    key = f"after.via.{via}"
    return say(key, locale) if known(key) else f", {via}"


def _arguments(
    request: Request, locale: str
) -> tuple[tuple[tuple[str, str], ...], tuple[_Table, ...]]:
    """Plain arguments as rows, and tables of those that are described."""
    plain: list[tuple[str, str]] = []
    tables: list[_Table] = []
    for name, value in request.args.items():
        described = _described(value, locale) if request.scope.get("portable") is False else None
        if described is None:
            plain.append((visible(name), _value(value, locale)))
        elif isinstance(described, str):
            plain.append((visible(name), described))
        else:
            tables.append(replace(described, caption=f"{visible(name)}: {described.caption}"))
    return tuple(plain), tuple(tables)


def _described(value: Any, locale: str) -> _Table | str | None:
    """A table, array or file in words; None for an ordinary value."""
    if not isinstance(value, Mapping) or "$described" not in value:
        return None
    told = cast("Mapping[str, Any]", value)
    digest = say("described.digest", locale, digest=str(told.get("sha256"))[:12])
    shape = [*told.get("shape", ())]
    match told["$described"]:
        case "table":
            title = say(
                "described.table",
                locale,
                type=told["type"],
                rows=shape[0],
                columns=len(told["columns"]),
            )
            head = tuple(f"{visible(n)} ({t})" for n, t in told["columns"].items())
            rows = tuple(
                tuple(_value(cell, locale) for cell in row) for row in told["rows"][:TABLE_ROWS]
            )
            if len(rows) < shape[0]:
                shown = say("described.rows", locale, shown=len(rows), all=shape[0])
                title = f"{title}, {shown}"
            return _Table(head, rows, f"{title}, {digest}")
        case "array":
            size = " × ".join(str(n) for n in shape)  # noqa: RUF001
            title = say(
                "described.array", locale, type=told["type"], dtype=told["dtype"], shape=size
            )
            return f"{title}, {digest}"
        case "file":
            title = say("described.file", locale, bytes=told["bytes"])
            return f"{visible(str(told['path']))} ({title}, {digest})"
        case _:
            return None


def _edited(request: Request, locale: str) -> Iterable[_Table]:
    """What a human changed: path, was, now."""
    args = (request.decision or {}).get("args")
    if args is None:
        return
    digests = (request.decision or {}).get("edited", {}).get("digests")
    before = request.digests
    if digests is None:
        before = fingerprint(request.tool_name, request.args).digests
        digests = fingerprint(request.tool_name, args).digests
    changed = diff(before, digests)
    rows = tuple(
        (
            visible(pointer[1:]),
            "" if kind == "added" else _value(lookup(request.args, pointer), locale),
            "" if kind == "removed" else _value(lookup(args, pointer), locale),
        )
        for kind, pointers in changed.items()
        for pointer in pointers
    )
    head = tuple(say(f"record.{name}", locale) for name in ("argument", "was", "now"))
    yield _Table(head, rows, say("record.changed", locale))


def _value(value: Any, locale: str) -> str:
    plain = isinstance(value, str) and not reads_as_json(value)
    text = visible(value if plain else json.dumps(value, ensure_ascii=False))
    if len(text) <= LONGEST:
        return text
    tail = say("record.cut", locale, shown=LONGEST, all=len(text))
    return f"{text[:LONGEST]}{tail}"


def _time(at: datetime) -> str:
    return at.astimezone().isoformat(timespec="seconds")


# -- writing -------------------------------------------------------------------------------------


def _plain(block: _Block) -> str:
    parts = [
        _line(block.title),
        *(_line(f"  - {item}") for item in block.items),
        *(line for table in block.tables for line in _plain_table(table)),
        *(_line(f"  {line}") for line in block.lines),
    ]
    return "\n".join(parts)


def _plain_table(table: _Table) -> Iterable[str]:
    if not table.caption:
        yield from (_line(f"  {name}: {value}") for name, value in table.rows)
        return
    yield _line(f"  {table.caption}")
    yield _line("    " + " | ".join(table.head))
    yield from (_line("    " + " | ".join(row)) for row in table.rows)


def _line(text: str) -> str:
    """Text in the place of one line: none that goes on may pass for a line of ours."""
    return text.replace("\n", "\n      │ ")


def _html(block: _Block) -> str:
    parts = [f"<p><strong>{_esc(block.title)}</strong></p>"]
    if block.items:
        parts.append("<ul>" + "".join(f"<li>{_esc(i)}</li>" for i in block.items) + "</ul>")
    parts += [_html_table(table) for table in block.tables]
    parts += [f"<p>{_esc(line)}</p>" for line in block.lines]
    return "".join(parts)


def _html_table(table: _Table) -> str:
    caption = f"<p>{_esc(table.caption)}</p>" if table.caption else ""
    head = "".join(f"<th>{_esc(name)}</th>" for name in table.head)
    rows = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>"
        for row in table.rows
    )
    return f"{caption}<table><tr>{head}</tr>{rows}</table>"


def _cell(value: str) -> str:
    if value == "":
        return ""
    # Two blanks are two: outside of a pre, HTML draws them as one.
    tag = "code" if value == " ".join(value.split()) else "pre"
    return f"<{tag}>{_esc(value)}</{tag}>"


def _esc(text: str) -> str:
    return html.escape(text)


class Frozen:
    """A record as a cell's last expression, where no widget could be used."""

    def __init__(self, bundle: dict[str, str]) -> None:
        self._bundle = bundle

    def __repr__(self) -> str:
        return self._bundle["text/plain"]

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return self._bundle
