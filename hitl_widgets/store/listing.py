"""Listing by index: a page of rows in any of some states, in order of opening.

Each state is asked for by itself and the pages are merged: only ``column = ? AND state = ?``
comes out of an index already in order, so that a page of 100,000 waiting rows is read in time
that does not grow with them. Of a run, a call or a fingerprint there are few rows: those are read
and picked from.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from .connection import Tx

_NARROW = ("tool_call_id", "run_id", "fingerprint")
"""Columns of which few rows have one value: their indexes are without the state."""

_WIDE = ("thread_id", "resource_id", "notebook", "agent_id")
"""Columns whose indexes hold the state too; the one with the fewest rows first."""

Filters = Mapping[str, str | int | None]
"""Column → value; a column whose value is None does not count."""


def select(
    tx: Tx,
    table: str,
    states: Sequence[str],
    filters: Filters,
    *,
    limit: int,
    offset: int = 0,
    newest_first: bool = False,
) -> list[sqlite3.Row]:
    """Rows of `table` that match."""
    given = {name: value for name, value in filters.items() if value is not None}
    order = "DESC" if newest_first else "ASC"
    index = next((name for name in (*_NARROW, *_WIDE) if name in given), "")
    # SQLite knows nothing of how many rows a value has, and a unary plus takes a column out of its
    # choice of an index.
    where = "".join(f" AND {'' if name == index else '+'}{name} = ?" for name in given)
    if index in _NARROW:
        marks = ", ".join("?" * len(states))
        return tx.rows(
            f"SELECT * FROM {table} WHERE +state IN ({marks}){where} ORDER BY seq {order} "
            "LIMIT ? OFFSET ?",
            (*states, *given.values(), limit, offset),
        )
    found: list[sqlite3.Row] = []
    for state in dict.fromkeys(states):
        found += tx.rows(
            f"SELECT * FROM {table} WHERE state = ?{where} ORDER BY seq {order} LIMIT ?",
            (state, *given.values(), limit + offset),
        )
    found.sort(key=lambda row: row["seq"], reverse=newest_first)
    return found[offset : offset + limit]
