"""Changes of a request's state: the only place that writes one.

Every change is one compare-and-set, guarded by `request.ARROWS`, with its event beside it in
the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hitl_widgets.errors import AlreadyDecided, HitlError, RequestNotFound, StoreError
from hitl_widgets.request import ARROWS, Request, State, to_doc

from . import audit
from .connection import Tx
from .rows import REQUEST_COLUMNS, dumps, request_values, to_request

OPEN: tuple[State, ...] = next(a.sources for a in ARROWS if a.verb == "withdraw")
"""States in which a request waits for somebody: taken back when its call or run ends."""


def get(tx: Tx, request_id: str) -> Request:
    """Read a request; `RequestNotFound` when there is none."""
    rows = tx.rows("SELECT * FROM requests WHERE id = ?", (request_id,))
    if not rows:
        raise RequestNotFound(
            f"There is no request {request_id} in {tx.database.path}. "
            "hitl.pending() lists those that wait."
        )
    return to_request(rows[0])


def of_call(tx: Tx, call_id: str, *states: State) -> list[Request]:
    """Requests about a call in any of `states`, in order of opening."""
    marks = ", ".join("?" * len(states))
    rows = tx.rows(
        f"SELECT * FROM requests WHERE tool_call_id = ? AND +state IN ({marks}) ORDER BY seq",
        (call_id, *states),
    )
    return [to_request(row) for row in rows]


def insert(tx: Tx, request: Request, kind: str = "opened", why: str | None = None) -> None:
    """Keep a new request."""
    values = request_values(request)
    names = ", ".join(values)
    marks = ", ".join("?" * len(values))
    tx.rows(
        f"INSERT INTO requests({names}) VALUES({marks})",
        tuple(values.values()),
    )
    doc = {**told(request), "args": request.args, "suspend_payload": request.suspend_payload}
    _event(tx, kind, request, {**doc, "expires_at": values["expires_at"], "why": why})


def shift(
    tx: Tx,
    request: Request,
    verb: str,
    target: State,
    *,
    changes: Mapping[str, Any] | None = None,
    detail: Mapping[str, Any] | None = None,
) -> Request:
    """Apply an arrow to `request`, read in this transaction.

    Parameters
    ----------
    changes
        New values of fields of the request (`decided_at` in POSIX seconds).
    detail
        More for the audit trail.

    Raises
    ------
    AlreadyDecided
        The request is in no state from which `verb` goes.
    """
    arrow = next(a for a in ARROWS if a.verb == verb)
    if target not in arrow.targets:
        raise StoreError(f"{verb} never leads to {target}, only to {', '.join(arrow.targets)}.")
    changes = dict(changes or {})
    doc = {**to_doc(request), **{k: v for k, v in changes.items() if k not in REQUEST_COLUMNS}}
    columns = {"state": target, **{k: v for k, v in changes.items() if k in REQUEST_COLUMNS}}
    names = ", ".join(f"{name} = ?" for name in columns)
    marks = ", ".join("?" * len(arrow.sources))
    changed = tx.change(
        f"UPDATE requests SET {names}, doc = ? WHERE id = ? AND state IN ({marks})",
        (*columns.values(), dumps(doc), request.id, *arrow.sources),
    )
    if changed != 1:
        raise standing(get(tx, request.id))
    after = get(tx, request.id)
    kind = target if verb == "decide" else verb
    _event(tx, kind, after, {**told(after), "from": request.state, "to": target, **(detail or {})})
    return after


def revise(tx: Tx, request: Request, **changes: Any) -> Request:
    """Keep new values of fields outside the columns, the state being what it was when read."""
    changed = tx.change(
        "UPDATE requests SET doc = ? WHERE id = ? AND state = ?",
        (dumps({**to_doc(request), **changes}), request.id, request.state),
    )
    if changed != 1:
        raise standing(get(tx, request.id))
    return get(tx, request.id)


def told(request: Request) -> dict[str, Any]:
    """What every event about a request says."""
    return {
        "tool_name": request.tool_name,
        "kind": request.kind,
        "fingerprint": request.fingerprint,
        "agent_id": request.agent_id,
        "thread_id": request.thread_id,
        "evaluation": request.evaluation,
        "origin": request.origin,
    }


def standing(request: Request) -> HitlError:
    """The error that says in what state a request is, and who brought it there."""
    who = f", by {request.reviewer} ({request.via})" if request.reviewer else ""
    when = f" at {request.decided_at:%Y-%m-%d %H:%M:%S} UTC" if request.decided_at else ""
    return AlreadyDecided(
        f"{request.tool_name} ({request.id}) is already {request.state}{who}{when}. "
        "Nothing was changed.",
        by=request.reviewer,
        at=request.decided_at,
        state=request.state,
    )


def _event(tx: Tx, kind: str, request: Request, doc: Mapping[str, Any]) -> None:
    audit.append(
        tx,
        kind,
        run_id=request.run_id,
        request_id=request.id,
        call_id=request.tool_call_id,
        doc={k: v for k, v in doc.items() if v is not None},
    )
