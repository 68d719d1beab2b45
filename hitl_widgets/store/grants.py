"""Standing grants (R20): kept with the approval that gave them, listed, ended."""

from __future__ import annotations

import sqlite3
from typing import Any

from . import audit
from .connection import Tx
from .rows import dumps, loads, reading


def add(tx: Tx, grant: dict[str, Any], by: dict[str, str]) -> None:
    """Keep a grant."""
    tx.rows(
        "INSERT INTO grants(id, tool_name, expires_at, doc) VALUES(?, ?, ?, ?)",
        (grant["id"], grant["tool_name"], grant.get("expires_at"), dumps({**grant, **by})),
    )
    audit.append(tx, "grant", run_id=grant.get("run_id"), doc={"grant": grant, **by})


def listed(tx: Tx, tool_name: str | None, *, revoked: bool) -> list[dict[str, Any]]:
    """Grants in force, or all there ever were, oldest first."""
    where, args = ("AND tool_name = ?", [tool_name]) if tool_name is not None else ("", [])
    if not revoked:
        where += " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"
        args.append(tx.now)  # type: ignore[arg-type]
    rows = tx.rows(f"SELECT * FROM grants WHERE 1 {where} ORDER BY seq", args)
    return [to_grant(row) for row in rows]


def to_grant(row: sqlite3.Row) -> dict[str, Any]:
    """A grant from its row."""
    what = f"grant {row['id']}"
    with reading(what):
        return {**loads(row["doc"], what), "revoked_at": row["revoked_at"]}


def revoke(tx: Tx, grant_id: str, by: dict[str, str]) -> bool:
    """End a grant; False when it is not in force."""
    changed = tx.change(
        "UPDATE grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (tx.now, grant_id)
    )
    if changed:
        audit.append(tx, "revoke", doc={"grant_id": grant_id, **by})
    return changed == 1
