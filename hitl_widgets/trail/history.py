"""Decisions as a list of dicts that exports itself, and shows itself in a cell."""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from ..deciders import settings
from ..request import Request
from ..words import say
from .display import html_of, verdict_of
from .patterns import Blind, Repeated, find

# The last four are their full-width forms, which spreadsheets take in Japanese, for one.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class History(list[dict[str, Any]]):
    """Decisions, oldest first: dicts, see `hitl_widgets.history`.

    In a cell it shows what stands out, two plots and a table.
    """

    def __init__(self, requests: Iterable[Request] = ()) -> None:
        self._requests = tuple(requests)
        super().__init__(_row(request) for request in self._requests)

    @cached_property
    def patterns(self) -> list[Blind | Repeated]:
        """What stands out: approvals in under a second, the same call approved many times."""
        return find(self._requests)

    # -- exports -----------------------------------------------------------------------------

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Give CSV text, and write it to `path` if one is given (a new file: mode 0600).

        Times are ISO 8601, nested values JSON. A text that a spreadsheet would take for a formula
        gets an apostrophe in front.
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([_plain(row[name]) for name in COLUMNS] for row in self)
        return _written(out.getvalue(), path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Give a JSON array of objects, and write it to `path` (a new one: mode 0600) if given."""
        text = json.dumps(list(self), ensure_ascii=False, indent=1, default=_iso)
        return _written(text + "\n", path)

    def to_frame(self) -> Any:
        """Give a `pandas.DataFrame` (extra ``pandas``).

        Raises
        ------
        ImportError
            pandas is not installed.
        """
        try:
            pandas: Any = importlib.import_module("pandas")
        except ImportError as e:
            raise ImportError(
                "A history as a DataFrame needs pandas: pip install 'hitl-widgets[pandas]'."
            ) from e
        return pandas.DataFrame(list(self), columns=list(COLUMNS))

    # -- showing -----------------------------------------------------------------------------

    def __repr__(self) -> str:
        counted = Counter(verdict_of(row) for row in self)
        told = ", ".join(f"{n} {say(f'history.{v}')}" for v, n in counted.most_common())
        return f"<History of {len(self)}{': ' if told else ''}{told}>"

    def _repr_html_(self) -> str:
        said = settings()
        return html_of(self, self.patterns, locale=said.locale or "en", level=said.record)


_READ: dict[str, Callable[[Request], Any]] = {
    "asked_at": lambda r: r.created_at,
    "decided_at": lambda r: r.decided_at,
    "seconds": lambda r: _seconds(r),  # noqa: PLW0108  # it stands further down
    "tool": lambda r: r.tool_name,
    "args": lambda r: r.args,
    "verdict": lambda r: (r.decision or {}).get("verdict"),
    "decision": lambda r: r.decision,
    "reviewer": lambda r: r.reviewer,
    "identity_source": lambda r: r.identity_source,
    "via": lambda r: r.via,
    "state": lambda r: r.state,
    "fingerprint": lambda r: r.fingerprint,
    "evaluation": lambda r: r.evaluation,
    "agent_id": lambda r: r.agent_id,
    "agent_path": lambda r: r.agent_path,
    "run_id": lambda r: r.run_id,
    "request_id": lambda r: r.id,
    "origin": lambda r: r.origin,
}

COLUMNS = tuple(_READ)
"""Keys of every row, in order."""


def _row(request: Request) -> dict[str, Any]:
    return {name: read(request) for name, read in _READ.items()}


def _seconds(request: Request) -> float | None:
    if request.decided_at is None:
        return None
    return round((request.decided_at - request.created_at).total_seconds(), 3)


def _iso(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"a history holds no {type(value).__name__}")


def _plain(value: Any) -> Any:
    """A value as a cell of a CSV file."""
    match value:
        case None:
            return ""
        case datetime():
            return value.isoformat()
        case str():
            return f"'{value}" if value.startswith(_FORMULA) else value
        case int() | float():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        file = os.open(Path(cast("str", path)).expanduser(), flags, 0o600)
        with os.fdopen(file, "w", encoding="utf-8", newline="") as out:
            out.write(text)
    return text
