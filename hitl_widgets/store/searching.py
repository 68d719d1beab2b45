"""Looking for requests as a person does: by what they are about, in an order, a page at a time.

The order is made from columns alone; the documents of one page are read, however many rows match.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hitl_widgets.request import Request

from .base import Found, Order, Search
from .connection import Tx
from .rows import to_request

_NOTEBOOK = "json_extract(doc, '$.origin.notebook')"

_COLUMNS = {
    "agent_id": "agent_id",
    "thread_id": "thread_id",
    "tool_name": "tool_name",
    "notebook": _NOTEBOOK,
}

_TEXT = f"""(tool_name LIKE :text ESCAPE '!' OR agent_id LIKE :text ESCAPE '!'
    OR thread_id LIKE :text ESCAPE '!' OR fingerprint LIKE :text ESCAPE '!' OR id = :exact
    OR json_extract(doc, '$.message') LIKE :text ESCAPE '!' OR {_NOTEBOOK} LIKE :text ESCAPE '!'
    OR EXISTS (SELECT 1 FROM json_tree(doc, '$.args')
        WHERE atom LIKE :text ESCAPE '!' OR (key LIKE :text ESCAPE '!' AND fullkey != '$.args')))"""

_ORDERS: dict[Order, str] = {
    "oldest": "seq",
    "newest": "seq DESC",
    "tool": "tool_name, seq",
    "agent": "agent_id, seq",
    "expiry": "expires_at IS NULL, expires_at, seq",
    "decided": "decided_at DESC, seq DESC",
}


def find(tx: Tx, search: Search, *, limit: int, offset: int, store: Any) -> Found:
    """One page of what matches, and how many there are in all."""
    where, args = _where(search)
    total: int = tx.rows(f"SELECT COUNT(*) FROM requests WHERE {where}", args)[0][0]
    page = tx.rows(
        f"""SELECT * FROM requests JOIN (SELECT seq AS place FROM requests WHERE {where}
            ORDER BY {_ORDERS[search.order]} LIMIT :limit OFFSET :offset) ON seq = place
            ORDER BY {_ORDERS[search.order]}""",
        {**args, "limit": limit, "offset": offset},
    )
    requests: list[Request] = [to_request(row, store) for row in page]
    return Found(total, requests)


def tally(tx: Tx, states: Sequence[str]) -> dict[str, dict[str, int]]:
    """What can be filtered by: each value there is, and how often."""
    where, args = _where(Search(states=tuple(states)))  # type: ignore[arg-type]
    names = ", ".join(f"{column} AS {name}" for name, column in _COLUMNS.items())
    counts: dict[str, Counter[str]] = {name: Counter() for name in _COLUMNS}
    for row in tx.rows(
        f"SELECT {names}, COUNT(*) AS n FROM requests WHERE {where} GROUP BY 1, 2, 3, 4", args
    ):
        for name, values in counts.items():
            if row[name] is not None:
                values[row[name]] += row["n"]
    return {name: dict(values) for name, values in counts.items()}


def _where(search: Search) -> tuple[str, dict[str, Any]]:
    states = {f"state{i}": state for i, state in enumerate(search.states)}
    parts = [f"state IN ({', '.join(f':{name}' for name in states)})"]
    args: dict[str, Any] = dict(states)
    for name, column in _COLUMNS.items():
        value = getattr(search, name)
        if value is not None:
            parts.append(f"{column} = :{name}")
            args[name] = value
    if search.asked_after is not None:
        parts.append("created_at >= :asked_after")
        args["asked_after"] = search.asked_after
    if search.asked_before is not None:
        parts.append("created_at <= :asked_before")
        args["asked_before"] = search.asked_before
    if search.text:
        parts.append(_TEXT)
        escaped = "".join(f"!{c}" if c in "!%_" else c for c in search.text)
        args |= {"text": f"%{escaped}%", "exact": search.text}
    return " AND ".join(parts), args
