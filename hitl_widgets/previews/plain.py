"""Previews and variables in words: for terminals, saved notebooks and errors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import StaleFingerprint
from ..request import Request
from ..visible import reads_as_json, visible
from ..words import say
from .clean import words_of

E = TypeVar("E", bound=Exception)


@dataclass(frozen=True, slots=True)
class Plain:
    """One part: a title, and a table or a text under it. Nothing in it is hidden (`visible`)."""

    title: str
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    text: str = ""


def told_why(error: E, again: Request) -> E:
    """A `StaleFingerprint` in words: which variable changed, and how, if any did."""
    lines = Teller("en", rows=0, longest=0).changed(again)
    if not lines or not isinstance(error, StaleFingerprint):
        return error
    return type(error)(f"{'. '.join(lines)}. {again.tool_name} did not run: look at it again.")


class Teller:
    """Puts a request's preview and variables in words.

    Parameters
    ----------
    rows
        Rows of a table that are given at most.
    longest
        Characters of a text that are given at most. What is left out is counted.
    """

    def __init__(self, locale: str, *, rows: int, longest: int) -> None:
        self.locale = locale
        self.rows = rows
        self.longest = longest

    def say(self, key: str, /, **values: object) -> str:
        """Words in this teller's language."""
        return say(key, self.locale, **values)

    def preview(self, request: Request) -> list[Plain]:
        """The preview's parts, or what became of it; empty without one."""
        told = request.preview
        if told is None:
            return []
        name = self.say("preview.name")
        if told.get("failed") is not None:
            return [Plain(self.say("preview.failed", words=visible(told["failed"])))]
        if not told["parts"]:
            return [Plain(self.say("preview.empty"))]
        parts = [self._part(part) for part in told["parts"]]
        return [Plain(f"{name}: {p.title}", p.head, p.rows, p.text) for p in parts]

    def reads(self, request: Request) -> list[str]:
        """One line per variable."""
        return [
            f"{self.say('reads.name')} {visible(name)}: {self._read(told)}"
            for name, told in request.reads.items()
        ]

    def changed(self, request: Request) -> list[str]:
        """What changed since this was asked before, a line each."""
        told: Mapping[str, Any] = request.scope.get("changed", {})
        reads: Mapping[str, Any] = told.get("reads", {})
        lines = [self.change(name, was, request.reads[name]) for name, was in reads.items()]
        return [*lines, *([self.say("preview.changed").rstrip(".")] if told.get("preview") else [])]

    def change(self, name: str, change: Mapping[str, Any], now: Mapping[str, Any]) -> str:
        """How a variable changed."""
        was, is_ = self._size(change["was"]), self._size(now)
        parts = [] if was == is_ else [self.say("reads.was", was=was, now=is_)]
        for how in ("added", "removed", "retyped"):
            names = change.get(how)
            if names:
                parts.append(self.say(f"reads.{how}", names=visible(", ".join(names))))
        words = "; ".join(parts) or self.say("reads.content")
        return f"{self.say('reads.changed', name=visible(name))}: {words}"

    def _read(self, told: Mapping[str, Any]) -> str:
        if told.get("missing"):
            return self.say("reads.missing")
        return f"{self._size(told)}, {self._digest(told)}"

    def _size(self, told: Mapping[str, Any]) -> str:
        if told.get("missing"):
            return self.say("reads.missing")
        shape: Sequence[int] | None = told.get("shape")
        if shape is None:
            return visible(f"{told['type']} {told.get('value', '')}".strip())
        return self._shape(told["type"], shape)

    def _shape(self, kind: str, shape: Sequence[int]) -> str:
        if len(shape) != 2:  # noqa: PLR2004  # rows and columns
            return f"{kind} {' × '.join(f'{n:,}' for n in shape)}"  # noqa: RUF001
        rows, columns = shape
        return self.say("described.table", type=kind, rows=rows, columns=columns)

    def _digest(self, told: Mapping[str, Any]) -> str:
        return self.say("described.digest", digest=str(told["sha256"])[:12])

    # -- parts

    def _part(self, part: Mapping[str, Any]) -> Plain:  # noqa: PLR0911  # one per kind
        match part["kind"]:
            case "table":
                return self._table(part)
            case "changes":
                return self._changes(part)
            case "image":
                alt = visible(part["alt"] or self.say("preview.image"))
                return Plain(f"{alt} ({part['mime']}, {part['bytes']:,} B)")
            case "diff":
                title = self.say("preview.diff", added=part["added"], removed=part["removed"])
                return self._text(title, part["text"], part["length"])
            case "sql":
                rows = part["rows"]
                title = self.say("preview.sql.unknown")
                if rows is not None:
                    title = self.say("preview.sql", rows=rows)
                return self._text(title, part["text"], part["length"])
            case "html":
                words = words_of(part["text"])
                return self._text("HTML", words, len(words))
            case _:
                return self._text("", part["text"], part["length"])

    def _text(self, title: str, text: str, length: int) -> Plain:
        shown = visible(text[: self.longest])
        if len(text[: self.longest]) < length:
            cut = self.say("args.cut", shown=min(len(text), self.longest), all=length)
            title = f"{title} ({cut})" if title else cut
        return Plain(title, text=shown)

    def _table(self, part: Mapping[str, Any]) -> Plain:
        index = part["index"]
        head = tuple(visible(f"{name} ({kind})") for name, kind in part["columns"])
        rows = [tuple(_typed(cell) for cell in row) for row in part["rows"][: self.rows]]
        if index is not None:
            head = ("", *head)
            rows = [(_typed(label), *row) for label, row in zip(index, rows, strict=False)]
        cut = self._cut(
            "described.rows", len(rows), part["shape"][0], len(part["columns"]), part["shape"][1]
        )
        title = self._shape(part["type"], part["shape"])
        return Plain(", ".join([title, *cut, self._digest(part)]), head, tuple(rows))

    def _changes(self, part: Mapping[str, Any]) -> Plain:
        counts = {name: part[name] for name in ("removed", "added", "changed")}
        size = {
            name: self.say("preview.size", rows=rows, columns=columns)
            for name, (rows, columns) in (
                ("before", part["shape_before"]),
                ("after", part["shape_after"]),
            )
        }
        title = self.say("preview.changes", **counts)
        title = f"{title} · {self.say('preview.changes.size', **size)}"
        kept = part["rows"][: self.rows]
        rows = tuple(
            (
                self.say(f"preview.how.{row['how']}"),
                visible(row["label"]),
                *(_changed(was, now) for was, now in zip(row["was"], row["now"], strict=True)),
            )
            for row in kept
        )
        every = part["added"] + part["removed"] + part["changed"]
        cut = self._cut(
            "preview.changes.shown", len(kept), every, len(part["columns"]), part["all_columns"]
        )
        head = (self.say("preview.how"), self.say("preview.row"), *map(visible, part["columns"]))
        return Plain(", ".join([title, *cut, self._digest(part)]), head, rows)

    def _cut(self, key: str, rows: int, of_rows: int, columns: int, of_columns: int) -> list[str]:
        said: list[str] = []
        if rows < of_rows:
            said.append(self.say(key, shown=rows, all=of_rows))
        if columns < of_columns:
            said.append(self.say("preview.columns", shown=columns, all=of_columns))
        return said


def _typed(value: Any) -> str:
    """A table's cell: in quotes where a number, a truth value or nothing would look the same."""
    odd = isinstance(value, str) and reads_as_json(value)
    return _cell(json.dumps(value, ensure_ascii=False) if odd else value)


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return visible(text).replace("\n", "\\n")


def _changed(was: str | None, now: str | None) -> str:
    if was is None or now is None:
        return _cell(now if was is None and now is not None else was or "")
    return f"{_cell(was)} → {_cell(now)}"
