"""Listing by index: a page of rows in any of some states, in order of opening.

Each state is asked for by itself and the pages are merged: only ``column = ? AND state = ?``
comes out of an index already in order, so that a page of 100,000 waiting rows is read in time
that does not grow with them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from .connection import Tx

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
    where = "".join(f" AND {name} = ?" for name in given)
    order = "DESC" if newest_first else "ASC"
    found: list[sqlite3.Row] = []
    for state in dict.fromkeys(states):
        found += tx.rows(
            f"SELECT * FROM {table} WHERE state = ?{where} ORDER BY seq {order} LIMIT ?",
            (state, *given.values(), limit + offset),
        )
    found.sort(key=lambda row: row["seq"], reverse=newest_first)
    return found[offset : offset + limit]
