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
    """What a pending approval can be compared with, each with what it is to this one.

    The same call as it was asked before (its approval did not fit any more, or its edit was
    refused), and the tool's last approved call and last proposal that did not run, in this run or
    thread. Whoever decided already has nothing to compare any more.
    """
    store = request.store
    if store is None or request.kind != "approval" or request.state != "pending":
        return []
    found: list[tuple[Label, Request]] = []
    original = asked_before(store, request)
    if original is not None:
        found.append(("original", original))
    kinds: tuple[tuple[Label, tuple[str, ...]], ...] = (
        ("last", _DECIDED),
        ("earlier", _TURNED_DOWN),
    )
    for label, states in kinds:
        other = _newest(store, request, states)
        if other is not None and (original is None or other.id != original.id):
            found.append((label, other))
    return found


def asked_before(store: Any, request: Request) -> Request | None:
    """The same call's last request before this one, if this one asks again."""
    if store is None or request.ordinal == 0:
        return None
    rows = store.requests(run_id=request.run_id, tool_name=request.tool_name)
    same = [
        row
        for row in rows
        if row.tool_call_id == request.tool_call_id
        and row.kind == "approval"
        and row.message == request.message
        and row.ordinal < request.ordinal
    ]
    return max(same, key=lambda row: row.ordinal, default=None)


def _newest(store: Any, request: Request, states: tuple[str, ...]) -> Request | None:
    where = {"run_id": request.run_id}
    if request.thread_id is not None:
        where = {"thread_id": request.thread_id}
    rows = store.requests(
        states=states, tool_name=request.tool_name, newest_first=True, limit=2, **where
    )
    return next((row for row in rows if row.id != request.id), None)
