"""Rows and JSON text: how runs, calls, requests and documents stand in the tables.

JSON is ASCII text, so that lone surrogates survive; numbers that JSON has no words for are
written as ``{"$float": "nan"}``. A value that is not text (a BLOB, a pickle) is refused.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, cast

from hitl_widgets.errors import StoreCorrupt
from hitl_widgets.request import COLUMNS, Call, Evaluation, Request, Run, from_row, to_doc, utc

Row = sqlite3.Row | Mapping[str, Any]
"""A row of the file, or one that is not there yet."""

_FLOAT = "$float"
_LITERAL = "$literal"
_NUMBERS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def dumps(value: Any) -> str:
    """JSON text of a value; keys in their given order."""
    try:
        text = _json(value)
    except ValueError:  # a number that is not finite, or a cycle (found again below)
        return _json(_tagged(value))
    if f'"{_FLOAT}"' in text or f'"{_LITERAL}"' in text:
        return _json(_tagged(value))
    return text


def canonical(value: Any) -> str:
    """JSON text with sorted keys: the form that the audit chain hashes."""
    return json.dumps(
        _tagged(value), ensure_ascii=True, allow_nan=False, separators=(",", ":"), sort_keys=True
    )


@contextmanager
def reading(what: str) -> Generator[None]:
    """Refuse a row that is not as this package writes it: edited by hand, or by something else.

    Raises
    ------
    StoreCorrupt
        Reading it failed.
    """
    try:
        yield
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, OSError) as error:
        raise StoreCorrupt(
            f"{what} is not as this package writes it ({error!r}): refused. Restore the file from "
            "a backup."
        ) from error


def _texts(row: Row, names: Iterable[str]) -> None:
    """Refuse a BLOB or a number where a name stands."""
    for name in names:
        if not isinstance(row[name], str | None):
            raise TypeError(f"{name} is no text")


def loads(text: Any, what: str = "a stored value") -> Any:
    """A value from its JSON text.

    Raises
    ------
    StoreCorrupt
        It is not text, or not JSON. Nothing but JSON is ever read: no pickle, no BLOB.
    """
    if not isinstance(text, str):
        raise StoreCorrupt(
            f"{what} is not JSON text but {type(text).__name__}: refused. Only this package may "
            "write the file; restore it from a backup."
        )
    try:
        value = json.loads(text)
    except ValueError as error:
        raise StoreCorrupt(f"{what} is not valid JSON ({error}). Restore a backup.") from error
    return _untagged(value) if _FLOAT in text or _LITERAL in text else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _tagged(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(value)}
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        inner = {k: _tagged(v) for k, v in items.items()}
        return {_LITERAL: inner} if inner.keys() in ({_FLOAT}, {_LITERAL}) else inner
    if isinstance(value, list | tuple):
        return [_tagged(v) for v in cast("list[Any]", value)]
    return value


def _untagged(value: Any) -> Any:
    if isinstance(value, dict):
        found = cast("dict[str, Any]", value)
        if found.keys() == {_FLOAT} and found[_FLOAT] in _NUMBERS:
            return _NUMBERS[found[_FLOAT]]
        if found.keys() == {_LITERAL}:
            found = found[_LITERAL]
        return {k: _untagged(v) for k, v in found.items()}
    if isinstance(value, list):
        return [_untagged(v) for v in cast("list[Any]", value)]
    return value


# -- runs ------------------------------------------------------------------------------------

RUN_COLUMNS = [
    "id",
    "kind",
    "agent_id",
    "key",
    "key_digest",
    "thread_id",
    "resource_id",
    "notebook",
    "state",
    "owner",
    "token",
    "resumable",
    "created_at",
    "updated_at",
    "outcome",
    "origin",
]


_RUN_TEXTS = RUN_COLUMNS[:11]


def run_values(run: Run) -> dict[str, Any]:
    """Columns of a run."""
    values = {name: getattr(run, name) for name in RUN_COLUMNS}
    return {
        **values,
        "resumable": int(run.resumable),
        "created_at": run.created_at.timestamp(),
        "updated_at": run.updated_at.timestamp(),
        "outcome": None if run.outcome is None else dumps(run.outcome),
        "origin": dumps(run.origin),
    }


def to_run(row: sqlite3.Row) -> Run:
    """A run from its row."""
    values: dict[str, Any] = {name: row[name] for name in RUN_COLUMNS}
    what = f"run {row['id']}"
    with reading(what):
        _texts(row, _RUN_TEXTS)
        values.update(
            resumable=bool(row["resumable"]),
            created_at=utc(row["created_at"]),
            updated_at=utc(row["updated_at"]),
            outcome=None if row["outcome"] is None else dict(loads(row["outcome"], what)),
            origin=dict(loads(row["origin"], what)),
        )
        return Run(**values)


# -- requests --------------------------------------------------------------------------------

REQUEST_COLUMNS = tuple(sorted(COLUMNS))
_TIMES = ("created_at", "expires_at", "decided_at")
_REQUEST_TEXTS = tuple(name for name in REQUEST_COLUMNS if name not in (*_TIMES, "ordinal"))


def request_values(request: Request) -> dict[str, Any]:
    """Columns of a request, and its ``doc``."""
    values = {name: getattr(request, name) for name in REQUEST_COLUMNS}
    for name in _TIMES:
        values[name] = None if values[name] is None else values[name].timestamp()
    return {**values, "doc": dumps(to_doc(request))}


def to_request(row: sqlite3.Row, store: Any = None) -> Request:
    """A request from its row."""
    columns = {name: row[name] for name in REQUEST_COLUMNS}
    what = f"request {row['id']}"
    with reading(what):
        _texts(row, _REQUEST_TEXTS)
        return from_row(columns, dict(loads(row["doc"], what)), store)


# -- calls -----------------------------------------------------------------------------------


_CALL_TEXTS = ("id", "run_id", "frame", "turn", "tool_name", "state", "owner", "token")


def to_call(row: Row) -> Call:
    """A call from its row."""
    what = f"call {row['id']}"
    with reading(what):
        _texts(row, _CALL_TEXTS)
        doc = loads(row["doc"], what)
        evaluation = doc["evaluation"]
        return Call(
            id=row["id"],
            run_id=row["run_id"],
            tool_name=row["tool_name"],
            args=dict(loads(row["args"], what)),
            state=row["state"],
            frame=row["frame"],
            turn=row["turn"],
            index=int(row["place"]),
            provider_id=doc["provider_id"],
            permission=doc["permission"],
            evaluation=None if evaluation is None else Evaluation(evaluation),
            owner=row["owner"],
            token=row["token"],
            result=None if row["result"] is None else dict(loads(row["result"], what)),
            notes=doc["notes"],
        )


def call_doc(call: Call) -> str:
    """JSON of what a call keeps outside its columns."""
    return dumps(
        {
            "provider_id": call.provider_id,
            "permission": call.permission,
            "evaluation": call.evaluation,
            "notes": call.notes,
        }
    )
