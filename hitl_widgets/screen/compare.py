"""Which other calls a request is worth comparing with."""

from __future__ import annotations

from typing import Any, Literal

from ..request import Request

Label = Literal["last", "earlier", "original"]
_DECIDED = (
    "approved",
    "executing",
    "parked",
    "done",
    "failed",
    "outcome_unknown",
)
_TURNED_DOWN = ("declined", "stale", "withdrawn", "refused", "expired")


def comparable(request: Request) -> list[tuple[Label, Request]]:
    """The tool's last approved call and its last proposal that did not run, in this run or thread.

    Only for a pending approval: whoever decided already has nothing to compare any more.
    """
    store = request.store
    if store is None or request.kind != "approval" or request.state != "pending":
        return []
    found: list[tuple[Label, Request]] = []
    kinds: tuple[tuple[Label, tuple[str, ...]], ...] = (
        ("last", _DECIDED),
        ("earlier", _TURNED_DOWN),
    )
    for label, states in kinds:
        other = _newest(store, request, states)
        if other is not None:
            found.append((label, other))
    return found


def _newest(store: Any, request: Request, states: tuple[str, ...]) -> Request | None:
    where = {"run_id": request.run_id}
    if request.thread_id is not None:
        where = {"thread_id": request.thread_id}
    rows = store.requests(
        states=states, tool_name=request.tool_name, newest_first=True, limit=2, **where
    )
    return next((row for row in rows if row.id != request.id), None)
