"""Tables for a preview: their first rows as text, what was left out, and what would change."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar, cast

from ..describe import describe_table
from ..visible import reads_as_json
from .masks import hides, masked

Row = TypeVar("Row")

ROWS = 50
"""Rows that are kept to be looked at."""
COLUMNS = 30
"""Columns that are kept to be looked at."""
BYTES = 60_000
"""Of a table's rows as JSON: with long cells fewer rows are kept."""
CELL = 200
"""Characters of one cell that are kept; it says how many there were."""


def table(value: Any) -> dict[str, Any]:
    """A pandas or polars table or series: shape, columns, first rows, digest of all of it."""
    told = describe_table(value)
    names, index, rows = _pandas(value) if told["type"].startswith("pandas") else _polars(value)
    shown = _fitting([[_cell(v) for v in row] for row in rows])
    return {
        "kind": "table",
        "type": told["type"],
        "shape": [told["shape"][0], len(names)],
        "columns": [[_cell(str(name)), str(kind)] for name, kind in names[:COLUMNS]],
        "index": None if index is None else index[: len(shown)],
        "rows": shown,
        "sha256": _sha(value),
    }


def _sha(value: Any) -> str:
    """Digest of all of a table; of what may be shown of it, where something is hidden.

    An open digest of the rest would be searched for a short secret.
    """
    told = describe_table(value)
    if not hides():
        return str(told["sha256"])
    names = [[_open(name), kind] for name, kind in told["columns"].items()]
    content = hashlib.sha256(json.dumps([told["type"], told["shape"], names]).encode())
    for row in _rows(value):
        content.update(repr([_open(cell) for cell in row]).encode("utf-8", "surrogatepass"))
    return content.hexdigest()


def _rows(value: Any) -> Iterable[Sequence[Any]]:
    """All rows of a table, with their labels if they have any."""
    if type(value).__module__.startswith("pandas"):
        frame = value.to_frame() if type(value).__name__ == "Series" else value
        return frame.itertuples(index=True, name=None)
    frame = value.collect() if type(value).__name__ == "LazyFrame" else value
    frame = frame.to_frame() if type(frame).__name__ == "Series" else frame
    return frame.iter_rows()


def _open(cell: Any) -> Any:
    """A cell as it may be told: itself, or its text without what is hidden."""
    cell = cell.tolist() if hasattr(cell, "tolist") else cell
    text = str(cell)
    shown = masked(text)
    return cell if shown == text else shown


def _fitting(rows: list[Row]) -> list[Row]:
    """Half of the rows, and half again, until they are small enough to be shown."""
    while len(rows) > 1 and len(json.dumps(rows)) > BYTES:
        rows = rows[: len(rows) // 2]
    return rows


def _pandas(value: Any) -> tuple[list[tuple[Any, Any]], list[Any] | None, list[Any]]:
    frame = value.to_frame() if type(value).__name__ == "Series" else value
    names = list(zip(frame.columns, frame.dtypes, strict=True))
    head = frame.iloc[:ROWS, :COLUMNS]
    index = [_cell(label) for label in head.index]
    return names, index, list(head.itertuples(index=False, name=None))


def _polars(value: Any) -> tuple[list[tuple[Any, Any]], list[Any] | None, list[Any]]:
    frame = value.collect() if type(value).__name__ == "LazyFrame" else value
    frame = frame.to_frame() if type(frame).__name__ == "Series" else frame
    names = list(frame.schema.items())
    return names, None, frame[:, :COLUMNS].head(ROWS).rows()


def _cell(value: Any) -> Any:
    """A cell as JSON that shows it exactly; long ones are cut, and say so."""
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item() if getattr(value, "ndim", 1) == 0 else repr(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    text = masked(value if isinstance(value, str) else str(value))
    return text if len(text) <= CELL else f"{text[:CELL]}… ({len(text):,} characters)"


# -- what changes --------------------------------------------------------------------------------


def changes(before: Any, after: Any) -> dict[str, Any]:
    """Compare two pandas tables row by row, by index."""
    for frame, which in ((before, "before"), (after, "after")):
        if not frame.index.is_unique or not frame.columns.is_unique:
            raise ValueError(
                f"the table {which} has two rows or columns of one name: they can not be told apart"
            )
    columns = [*before.columns, *(c for c in after.columns if c not in before.columns)]
    old, new = _texts(before), _texts(after)
    rows = _changed(old, new, columns)
    kept = _fitting(list(islice(rows, ROWS)))
    left = _counts(old, new)
    digest = hashlib.sha256(f"{_sha(before)}{_sha(after)}".encode()).hexdigest()
    return {
        "kind": "changes",
        "columns": [_cell(str(c)) for c in columns[:COLUMNS]],
        "all_columns": len(columns),
        "shape_before": [*before.shape],
        "shape_after": [*after.shape],
        "rows": kept,
        **left,
        "sha256": digest,
    }


Texts = dict[Any, dict[Any, Any]]


def _texts(frame: Any) -> Texts:
    """Label → column → cell, of a whole table."""
    columns = list(frame.columns)
    rows: Iterable[Sequence[Any]] = frame.itertuples(index=True, name=None)
    return {row[0]: dict(zip(columns, row[1:], strict=True)) for row in rows}


def _counts(old: Texts, new: Texts) -> dict[str, int]:
    both = [label for label in old if label in new]
    return {
        "removed": len(old) - len(both),
        "added": len(new) - len(both),
        "changed": sum(not _same_row(old[label], new[label]) for label in both),
    }


def _same_row(old: dict[Any, Any], new: dict[Any, Any]) -> bool:
    return old.keys() == new.keys() and all(_same(old[c], new[c]) for c in old)


def _same(a: Any, b: Any) -> bool:
    """Of one type and equal, or both not a number: compared as they are, not as they are shown.

    To Python 1, 1.0 and True are equal, and to whatever reads the table they are three values.
    """
    a, b = (v.tolist() if hasattr(v, "tolist") else v for v in (a, b))  # numpy's, exactly
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        items = cast("Sequence[Any]", a)
        return len(items) == len(b) and all(map(_same, items, b))
    if isinstance(a, dict):
        parts = cast("dict[Any, Any]", a)
        return parts.keys() == b.keys() and all(_same(parts[key], b[key]) for key in parts)
    try:
        return bool(a == b) or (a != a and b != b)  # noqa: PLR0124  # NaN is not itself
    except (TypeError, ValueError):  # pandas.NA
        return repr(a) == repr(b)


def _changed(old: Texts, new: Texts, columns: Sequence[Any]) -> Iterable[dict[str, Any]]:
    for label, row in old.items():
        if label not in new:
            yield _row("removed", label, columns, row, {})
        elif not _same_row(row, new[label]):
            yield _row("changed", label, columns, row, new[label])
    for label, row in new.items():
        if label not in old:
            yield _row("added", label, columns, {}, row)


_NONE = object()


def _row(
    how: str, label: Any, columns: Sequence[Any], old: dict[Any, Any], new: dict[Any, Any]
) -> dict[str, Any]:
    was: list[Any] = []
    now: list[Any] = []
    for column in columns[:COLUMNS]:
        before, after = old.get(column, _NONE), new.get(column, _NONE)
        same = before is not _NONE and after is not _NONE and _same(before, after)
        was.append(None if before is _NONE or same else _word(before))
        now.append(None if after is _NONE else _word(after))
    return {"how": how, "label": _word(label), "was": was, "now": now}


def _word(value: Any) -> str:
    """A cell as text: in quotes where a number, a truth value or nothing would look the same."""
    cell = _cell(value)
    plain = isinstance(cell, str) and not (isinstance(value, str) and reads_as_json(cell))
    return cell if plain else json.dumps(cell, ensure_ascii=False)
