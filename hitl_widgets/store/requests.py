"""Requests: deciding, claiming, settling, inside a transaction.

A step that finds a request past its time writes that down and *returns* the error: raising it
would roll the change back.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from hitl_widgets.errors import (
    AlreadyDecided,
    Expired,
    NotPermitted,
    SnapshotNotFound,
    StaleFingerprint,
    StoreError,
    ToolChanged,
)
from hitl_widgets.request import Call, Receipt, Request, State, utc

from . import arrows, audit, calls, grants, runs
from .base import Vote
from .connection import Tx
from .listing import Filters, select
from .rows import canonical, dumps, loads, reading, to_request

STATES: tuple[State, ...] = get_args(State)


def find(
    tx: Tx,
    states: Sequence[State] | None,
    filters: Filters,
    *,
    limit: int,
    offset: int,
    newest_first: bool,
    store: Any,
) -> list[Request]:
    """Requests that match, in order of opening."""
    rows = select(
        tx,
        "requests",
        states or STATES,
        filters,
        limit=limit,
        offset=offset,
        newest_first=newest_first,
    )
    return [to_request(row, store) for row in rows]


# -- deciding --------------------------------------------------------------------------------


def decide(tx: Tx, votes: Sequence[Vote]) -> list[Receipt] | Expired:
    """Record votes, all or none."""
    asked = {vote.request_id: arrows.get(tx, vote.request_id) for vote in votes}
    late = [r for r in asked.values() if r.state == "pending" and is_due(tx, r)]
    if late:
        for request in late:
            expire(tx, request)
        return too_late(late[0])
    key = secret_key(tx)
    return [_vote(tx, key, vote, asked) for vote in votes]


def secret_key(tx: Tx) -> bytes:
    """The store's key for secrets."""
    rows = tx.rows("SELECT value FROM meta WHERE name = 'secret_key'")
    with reading("the key for secrets"):
        (key,) = (bytes.fromhex(row[0]) for row in rows)
        return key


def is_due(tx: Tx, request: Request) -> bool:
    """Whether its time is over."""
    return request.expires_at is not None and request.expires_at.timestamp() <= tx.now


def expire(tx: Tx, request: Request) -> Request:
    """Write down that its time is over."""
    return arrows.shift(tx, request, "expire", "expired")


def too_late(request: Request) -> Expired:
    """The error for whoever comes late."""
    when = f" at {request.expires_at:%Y-%m-%d %H:%M:%S} UTC" if request.expires_at else ""
    return Expired(
        f"The time to decide {request.tool_name} ({request.id}) was over{when}. Nothing ran."
    )


def _vote(tx: Tx, key: bytes, vote: Vote, asked: dict[str, Request]) -> Receipt:
    """Record one vote; `asked` has the requests as they are, and then as they are after it."""
    request = asked[vote.request_id]
    _may_vote(request, vote)
    mine = _record(tx, key, vote)
    votes = (*request.votes, mine)
    consenting = sum(v["agrees"] == mine["agrees"] != "" for v in votes)
    declined = vote.target == "declined"
    if declined or consenting >= request.quorum:
        request = _decided(tx, request, vote, votes)
    else:
        request = arrows.revise(tx, request, votes=votes)
        _event(tx, "vote", request, vote, consenting)
    asked[request.id] = request
    return Receipt(
        request_id=request.id,
        state=request.state,
        reviewer=vote.reviewer,
        identity_source=vote.identity_source,
        via=vote.via,
        decided_at=utc(tx.now),
        validated_by=vote.validated_by,  # type: ignore[arg-type]
        votes=sum(v["agrees"] != "" for v in votes) if declined else consenting,
        quorum=request.quorum,
    )


def _may_vote(request: Request, vote: Vote) -> None:
    if request.state == "expired":
        raise too_late(request)
    if request.state != "pending":
        raise arrows.standing(request)
    _is_reviewer(request, vote.reviewer)
    if vote.fingerprint is not None and vote.fingerprint != request.fingerprint:
        raise StaleFingerprint(
            f"{request.tool_name} ({request.id}): the call that was shown "
            f"({vote.fingerprint[:16]}…) is not the one that waits ({request.short_fingerprint}…)."
            " Look at the request again and decide that."
        )
    for earlier in request.votes:
        if earlier["reviewer"] == vote.reviewer:
            raise AlreadyDecided(
                f"{vote.reviewer} has already voted on {request.tool_name} ({request.id}): "
                f"{earlier['verdict']}. The other {request.quorum - 1} of {request.quorum} votes "
                "are somebody else's.",
                by=vote.reviewer,
                at=utc(earlier["at"]),
                state=request.state,
            )


def _is_reviewer(request: Request, name: str) -> None:
    if request.reviewers is not None and name not in request.reviewers:
        raise NotPermitted(
            f"{name} may not decide {request.tool_name} ({request.id}): its reviewers are "
            f"{', '.join(request.reviewers)}."
        )


def _record(tx: Tx, key: bytes, vote: Vote) -> dict[str, Any]:
    """A vote as it is kept. Votes count together when they consent to the same thing."""
    same = [vote.target, (vote.edited or {}).get("fingerprint"), vote.data]
    same += [vote.decision.get("data"), vote.decision.get("result")]
    agrees = hmac.new(key, canonical(same).encode(), hashlib.sha256).hexdigest()[:16]
    return {
        "reviewer": vote.reviewer,
        "identity_source": vote.identity_source,
        "via": vote.via,
        "verdict": vote.decision.get("verdict", vote.target),
        "at": tx.now,
        "fingerprint": vote.fingerprint,
        "agrees": "" if vote.target == "declined" else agrees,
    }


def _decided(tx: Tx, request: Request, vote: Vote, votes: Sequence[Mapping[str, Any]]) -> Request:
    decision = dict(vote.decision)
    if vote.edited is not None:
        decision["edited"] = vote.edited
    changes = {
        "decision": decision,
        "reviewer": vote.reviewer,
        "identity_source": vote.identity_source,
        "via": vote.via,
        "decided_at": tx.now,
        "votes": votes,
    }
    detail = {**_told(tx, request, vote), "votes": votes, "edited": vote.edited}
    after = arrows.shift(tx, request, "decide", vote.target, changes=changes, detail=detail)
    if vote.call_args is not None or vote.data is not None:
        _give_to_call(tx, request, vote)
    if vote.grant is not None:
        grants.add(tx, vote.grant, {"reviewer": vote.reviewer, "via": vote.via})
    return after


def _give_to_call(tx: Tx, request: Request, vote: Vote) -> None:
    row = calls.row_of(tx, request.tool_call_id)
    args, data = row["args"], row["data"]
    if vote.call_args is not None:
        args = dumps(vote.call_args)
    if vote.data is not None:
        with reading(f"call {row['id']}"):
            data = dumps({**loads(data or "{}"), request.id: vote.data})
    tx.rows("UPDATE calls SET args = ?, data = ? WHERE id = ?", (args, data, row["id"]))


def _told(tx: Tx, request: Request, vote: Vote) -> dict[str, Any]:
    """Who, what, when, why (R18)."""
    return {
        "verdict": vote.decision.get("verdict", vote.target),
        "decision": vote.decision,
        "args": request.args,
        "shown": vote.fingerprint or "not shown",
        "reviewer": vote.reviewer,
        "identity_source": vote.identity_source,
        "via": vote.via,
        "validated_by": vote.validated_by,
        "seconds": round(tx.now - request.created_at.timestamp(), 3),
    }


def _event(tx: Tx, kind: str, request: Request, vote: Vote, count: int) -> None:
    doc = {**arrows.told(request), **_told(tx, request, vote), "votes": count}
    audit.append(
        tx,
        kind,
        run_id=request.run_id,
        request_id=request.id,
        call_id=request.tool_call_id,
        doc={**doc, "quorum": request.quorum},
    )


# -- claiming --------------------------------------------------------------------------------


def claim(
    tx: Tx,
    owner: str,
    request_id: str,
    run_token: str,
    call_token: str,
    *,
    fingerprint: str,
    schema_digest: str | None,
) -> Call | Expired:
    """Turn a decision into the right to act once."""
    request = arrows.get(tx, request_id)
    run = runs.held(tx, request.run_id, run_token)
    if request.state == "expired":
        raise too_late(request)
    if request.state not in ("approved", "answered"):
        raise arrows.standing(request)
    if is_due(tx, request):
        expire(tx, request)
        return too_late(request)
    _same_call(request, fingerprint, schema_digest)
    runs.moving(tx, run)
    arrows.shift(tx, request, "claim", "executing", detail={"owner": owner, "runs": fingerprint})
    return calls.start(tx, calls.row_of(tx, request.tool_call_id), owner, call_token)


def approved_fingerprint(request: Request) -> str:
    """Fingerprint of what was approved: the edited call's, where it was edited."""
    edited: dict[str, str] | None = (request.decision or {}).get("edited")
    return request.fingerprint if edited is None else edited["fingerprint"]


def _same_call(request: Request, fingerprint: str, schema_digest: str | None) -> None:
    if request.scope.get("schema_digest") != schema_digest:
        raise ToolChanged(
            f"The input schema of {request.tool_name} changed since {request.id} was approved. "
            "Nothing ran: look at the call again."
        )
    approved = approved_fingerprint(request)
    if fingerprint != approved:
        raise StaleFingerprint(
            f"{request.tool_name} ({request.id}): what would run now ({fingerprint[:16]}…) is not "
            f"what was approved ({approved[:16]}…). Nothing ran: look at the call again."
        )


# -- the other arrows ------------------------------------------------------------------------


def move(
    tx: Tx,
    request_id: str,
    verb: str,
    target: State,
    *,
    opens: Request | None,
    detail: Mapping[str, Any] | None,
    call_result: Mapping[str, Any] | None,
) -> Request:
    """Apply expire, withdraw, make_stale, block or refuse."""
    if verb not in ("expire", "withdraw", "make_stale", "block", "refuse"):
        raise StoreError(f"{verb} is no arrow of its own: the store has a method for it.")
    request = arrows.get(tx, request_id)
    after = arrows.shift(tx, request, verb, target, detail=detail)
    if opens is not None:
        arrows.insert(tx, opens)
    if call_result is not None:
        state = "done" if call_result.get("type") in ("result", "responded") else "failed"
        calls.answer_row(tx, calls.row_of(tx, request.tool_call_id), state, call_result)
    return after


_SETTLED: dict[str, State] = {"happened": "done", "give_up": "failed", "run_again": "withdrawn"}


def settle(
    tx: Tx,
    request_id: str,
    how: str,
    *,
    result: Any,
    by: Mapping[str, str],
    opens: Request | None,
) -> Request:
    """A human says how a call of unknown outcome ended."""
    if how not in _SETTLED:
        raise StoreError(f"settle takes {', '.join(_SETTLED)}, not {how!r}.")
    request = arrows.get(tx, request_id)
    if request.state != "outcome_unknown":
        raise arrows.standing(request)
    for each in arrows.of_call(tx, request.tool_call_id, "outcome_unknown"):
        _is_reviewer(each, by["reviewer"])
        arrows.shift(tx, each, "settle", _SETTLED[how], detail={**by, "how": how})
    row = calls.row_of(tx, request.tool_call_id)
    if how == "run_again":
        _run_again(tx, request, opens)
    elif how == "happened":
        calls.end(tx, row, "done", {"type": "result", "value": result}, "settled")
    else:
        said = "Nobody knows whether this call took effect; a human gave it up."
        calls.end(tx, row, "failed", {"type": "error", "value": said}, "settled")
    return arrows.get(tx, request_id)


def _run_again(tx: Tx, request: Request, opens: Request | None) -> None:
    if opens is None:
        raise StoreError("To run a call again takes a new question: give it as opens=.")
    if runs.get(tx, request.run_id).outcome is not None:
        raise SnapshotNotFound(
            f"The run of {request.tool_name} ({request.id}) has ended: it cannot run again "
            "there. Settle it as happened, or give it up."
        )
    tx.rows("UPDATE calls SET state = 'waiting' WHERE id = ?", (request.tool_call_id,))
    arrows.insert(tx, opens)
