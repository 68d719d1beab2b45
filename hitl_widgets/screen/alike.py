"""Which requests may be decided together: calls that differ in their arguments' values only.

A table shows such calls one under the other with nothing left out. Anything else that a person
weighs (the tool, who asks, what it does, what it takes to decide) must be the same in all of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from ..errors import NotAsked
from ..request import Request
from .compare import asked_before

__all__ = ["approvable", "check_alike", "likeness"]


def likeness(request: Request) -> str:
    """A short text that is the same for requests that are alike."""
    weighed = [
        request.kind,
        request.tool_name,
        request.agent_path,
        request.effect,
        sorted(request.allowed),
        sorted(request.args),
        request.scope.get("schema_digest"),
        request.scope.get("how"),
        request.scope.get("portable"),
        request.on_expire,
        request.expires_at is not None,
        request.quorum,
        request.reviewers,
        _why(request),
        _asks_again(request),
    ]
    return hashlib.sha256(json.dumps(weighed).encode()).hexdigest()[:16]


def _why(request: Request) -> list[object]:
    """What asked: its words stand above the table once."""
    told = request.evaluation
    return [] if told is None else [told.get("type"), (told.evaluated_permission or {}).get("type")]


def _asks_again(request: Request) -> bool:
    """Whether the call was asked before: only its card shows what is another now."""
    return asked_before(request.store, request) is not None


def approvable(request: Request) -> bool:
    """Whether it can be approved together with others."""
    return (
        request.kind == "approval"
        and request.state == "pending"
        and "approve" in request.allowed
        and not _asks_again(request)
    )


def check_alike(requests: Sequence[Request]) -> None:
    """Refuse an approval of requests that no one table can show.

    Raises
    ------
    NotAsked
        They are not alike, or one of them takes no plain approval.
    """
    # One that was decided meanwhile is for whoever decides to tell.
    waiting = [request for request in requests if request.state == "pending"]
    other = next((request for request in waiting if not approvable(request)), None)
    if other is not None:
        raise NotAsked(f"{other.tool_name} ({other.id}) cannot be approved together with others.")
    if len({likeness(request) for request in waiting}) > 1:
        raise NotAsked("These calls are not alike: approve those of each kind by themselves.")
