"""A request with every kind of preview, for both test suites."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hitl_widgets import previews
from hitl_widgets.request import Request

DOT = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
TABLE: dict[str, Any] = {
    "kind": "table",
    "type": "pandas.DataFrame",
    "shape": [4210, 41],
    "columns": [["order", "int64"], ["customer", "str"], ["total", "float64"]],
    "index": [0, 7, 9],
    "rows": [[101, "Ada", 19.9], [108, "Ada", 5.0], [110, "Ada\u202e", 2**60 + 1]],
    "sha256": "3f" * 32,
}
CHANGES: dict[str, Any] = {
    "kind": "changes",
    "columns": ["customer", "total"],
    "all_columns": 2,
    "shape_before": [4, 2],
    "shape_after": [4, 2],
    "added": 1,
    "removed": 1,
    "changed": 1,
    "rows": [
        {"how": "removed", "label": "0", "was": ["Ada", "19.9"], "now": [None, None]},
        {"how": "changed", "label": "1", "was": [None, "5.0"], "now": ["Bob", "7.5"]},
        {"how": "added", "label": "9", "was": [None, None], "now": ["Cy", "1.0"]},
    ],
    "sha256": "c4" * 32,
}
PARTS: list[dict[str, Any]] = [
    TABLE,
    CHANGES,
    previews.text("Two tables, <b>one</b> schema").part,
    previews.diff("name: old\nsize: 1\n", "name: new\nsize: 1\n", "config.yaml").part,
    previews.sql("DELETE FROM orders WHERE customer = 'Ada'", rows=4210).part,
    previews.markdown("# Plan\n\n- first *this*\n- then `that`").part,
    previews.html(
        "<style>th{color:#00f}</style><table><tr><th>Cost</th><td>12</td></tr></table>"
    ).part,
    {"kind": "image", "mime": "image/png", "data": DOT, "alt": "Totals by month", "bytes": 70},
]
ORDERS: dict[str, Any] = {
    "type": "pandas.DataFrame",
    "shape": [10_000, 3],
    "columns": {"order": "int64", "customer": "str", "total": "float64"},
    "sha256": "9a" * 32,
}


def previewed(request: Request, parts: list[dict[str, Any]] = PARTS, **more: Any) -> Request:
    """Give `request` a preview, a variable that it reads, and what changed in it."""
    made = {
        "made_at": request.created_at.isoformat(),
        "seconds": 0.2,
        "digest": "ab" * 32,
        "bound": True,
        "parts": parts,
        **more,
    }
    was = {**ORDERS, "shape": [9_998, 2], "sha256": "77" * 32}
    changed = {"orders": {"was": was, "added": ["total"], "removed": [], "retyped": []}}
    scope = {**request.scope, "changed": {"reads": changed, "preview": True}}
    return replace(request, preview=made, reads={"orders": ORDERS}, scope=scope)
