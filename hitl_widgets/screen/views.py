"""From stored requests to what a page shows of them: pure functions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from ..fingerprint import steps
from ..request import Evaluation, Request, effect_of
from ..standing import grantable
from .formdata import form_doc
from .messages import Cell, Compared, Decided, RequestView, Why
from .preview_views import preview_doc, read_changes, read_docs

STRIP_CELLS = 48
"""At most so many cells: more would be too small to tell apart."""

_CELL_DIGEST = 16


Comparable = Sequence[tuple[Literal["last", "earlier", "original"], Request]]


def request_view(request: Request, *, compare: Comparable = ()) -> dict[str, Any]:
    """What a card shows of `request`, as JSON: see `request_doc`."""
    return request_doc(request, compare=compare).model_dump(mode="json")


def request_doc(request: Request, *, compare: Comparable = ()) -> RequestView:
    """What a card shows of `request`.

    Parameters
    ----------
    request
        As the store has it.
    compare
        Calls that it can be compared with, each with what it is to this one.
    """
    decided = _decided(request)
    return RequestView(
        id=request.id,
        run_id=request.run_id,
        tool_call_id=request.tool_call_id,
        kind=request.kind,
        state=request.state,
        tool=text(request.tool_name),
        agent_path=list(request.agent_path),
        message=None if request.message is None else text(request.message),
        effect=effect_of(request),
        why=_why(request.evaluation),
        args=json_text(request.args),
        secrets=secret_digests(request),
        payload=None if request.suspend_payload is None else json_text(request.suspend_payload),
        resume_schema=request.resume_schema,
        fingerprint=request.fingerprint,
        strip=strip(request.digests),
        allowed=list(request.allowed),
        created_at=iso(request.created_at),
        expires_at=None if request.expires_at is None else iso(request.expires_at),
        on_expire=request.on_expire,
        quorum=request.quorum,
        votes=[str(vote.get("reviewer", "?")) for vote in request.votes],
        declined_before=request.declined_before,
        turn=request.turn,
        decided=decided,
        compare=[_compared(label, other) for label, other in compare],
        form=form_doc(request),
        described=request.scope.get("portable") is False,
        editable=is_editable(request),
        always=[*grantable(request)] if request.state == "pending" else [],
        reviewers=None if request.reviewers is None else [*request.reviewers],
        notes=request.scope.get("notes") is not False,
        preview=preview_doc(request),
        reads=read_docs(request),
        reads_changed=read_changes(request),
        preview_changed=bool(request.scope.get("changed", {}).get("preview")),
    )


def is_editable(request: Request) -> bool:
    """Whether a form of its arguments can be opened."""
    return (
        request.kind == "approval"
        and request.state == "pending"
        and request.scope.get("how", "gate") == "gate"
        and "approve" in request.allowed
        and bool(request.args)
        and request.input_schema is not None
    )


def json_text(value: Any) -> str:
    """JSON in pure ASCII: no number is rounded and no character lost on the way to the page."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def text(words: str) -> str:
    """`words` as a page can receive them: a lone surrogate, which no UTF-8 holds, is spelt out."""
    return words.encode("utf-8", "backslashreplace").decode()


def iso(at: datetime) -> str:
    """UTC to the millisecond."""
    return at.isoformat(timespec="milliseconds")


def secret_digests(request: Request, digests: Mapping[str, str] | None = None) -> dict[str, str]:
    """JSON Pointer → digest of every secret: they can be compared, never read.

    `digests` are those of other arguments than the request's own.
    """
    patterns = [steps(secret) for secret in request.secrets]
    return {
        text(pointer): digest
        for pointer, digest in (request.digests if digests is None else digests).items()
        if any(_matches(steps(pointer), pattern) for pattern in patterns)
    }


def _matches(pointer: Sequence[str], pattern: Sequence[str]) -> bool:
    return len(pointer) == len(pattern) and all(
        p in (step, "*") for p, step in zip(pattern, pointer, strict=True)
    )


def strip(digests: Mapping[str, str]) -> list[Cell]:
    """The small picture of a call: one cell per leaf of its arguments.

    With more leaves than fit, neighbours share a cell; its digest still changes when any of them
    does.
    """
    leaves = list(digests)
    size = -(-len(leaves) // STRIP_CELLS) or 1
    return [_cell(leaves[i : i + size], digests) for i in range(0, len(leaves), size)]


def _cell(leaves: Sequence[str], digests: Mapping[str, str]) -> Cell:
    if len(leaves) == 1:
        return Cell(label=text(leaves[0]), digest=digests[leaves[0]][:_CELL_DIGEST])
    joined = "\n".join(f"{leaf}\0{digests[leaf]}" for leaf in leaves)
    digest = hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
    return Cell(label=text(f"{leaves[0]} … {leaves[-1]}"), digest=digest[:_CELL_DIGEST])


def _why(evaluation: Evaluation | None) -> Why | None:
    if evaluation is None:
        return None
    judged = evaluation.evaluated_permission or {}
    code = evaluation.reason_code
    return Why(
        type=str(evaluation.get("type", "unknown")),
        checked=None if judged.get("type") is None else str(judged["type"]),
        reason_code=None if code is None else str(code),
    )


def _decided(request: Request) -> Decided | None:
    decision, at = request.decision, request.decided_at
    if decision is None or at is None:
        return None
    edited = decision.get("args")
    given = {"answer": "data", "respond": "result"}.get(decision["verdict"])
    identity: dict[str, Any] = decision.get("edited") or {}
    return Decided(
        verdict=decision["verdict"],
        reviewer=request.reviewer or "?",
        via=request.via or "?",
        at=iso(at),
        seconds=round((at - request.created_at).total_seconds(), 1),
        note=decision.get("note"),
        reason=decision.get("reason"),
        stop=bool(decision.get("stop")),
        given=None if given is None else json_text(decision.get(given)),
        edited=None if edited is None else json_text(edited),
        edited_secrets=secret_digests(request, identity.get("digests", {})),
        edited_fingerprint=identity.get("fingerprint"),
    )


def _compared(label: Literal["last", "earlier", "original"], other: Request) -> Compared:
    return Compared(
        label=label,
        at=iso(other.decided_at or other.created_at),
        args=json_text(other.args),
        secrets=secret_digests(other),
        strip=strip(other.digests),
        fingerprint=other.fingerprint,
    )
