"""A decision as a value: whether it is one, whose it is, its JSON form."""

from __future__ import annotations

import getpass
import os
from dataclasses import fields
from typing import Any

from . import given
from .errors import AlreadyDecided, HitlError, InvalidAnswer, NotAsked
from .request import (
    DECISIONS,
    Answer,
    Approve,
    Decision,
    Decline,
    Request,
    Respond,
    Reviewer,
)


def default_reviewer() -> Reviewer:
    """Who is at this machine: the JupyterHub user, else the operating system's."""
    hub = os.environ.get("JUPYTERHUB_USER")
    if hub:
        return Reviewer(hub, "jupyterhub")
    try:
        return Reviewer(getpass.getuser(), "os")
    except (KeyError, OSError):  # no such user in a container
        return Reviewer(f"uid-{os.getuid()}" if hasattr(os, "getuid") else "unknown", "os")


def as_reviewer(reviewer: Reviewer | str | None) -> Reviewer:
    """A `Reviewer` from a name (then only claimed) or None (then `default_reviewer`)."""
    if reviewer is None:
        return default_reviewer()
    return reviewer if isinstance(reviewer, Reviewer) else Reviewer(reviewer, "claimed")


def check_kind(request: Request, decision: Any) -> None:
    """Refuse whatever is not one of the decisions that this request takes (F7, F8)."""
    if not isinstance(decision, DECISIONS):
        raise _not_a_decision(
            "A decision is hitl.Approve, hitl.Decline, hitl.Answer or hitl.Respond; "
            f"got {decision!r}."
        )
    given.check(
        _not_a_decision,
        type(decision).__name__,
        **{f.name: getattr(decision, f.name) for f in fields(decision)},
    )
    if decision.verdict not in request.allowed:
        raise NotAsked(
            f"{request.tool_name} ({request.id}) takes {', '.join(request.allowed)}, "
            f"not {decision.verdict}."
        )
    if isinstance(decision, Approve) and decision.note and request.scope.get("notes") is False:
        raise NotAsked(
            f"{request.tool_name} ({request.id}) runs where no note can be delivered with a yes: "
            "approve it without one, or decline it with a reason."
        )


def _not_a_decision(words: str) -> InvalidAnswer:
    fault: dict[str, Any] = {"path": [], "message": words, "type": "not_a_decision"}
    return InvalidAnswer([fault], "This is no decision")


def not_json(result: Any) -> InvalidAnswer:
    """The error for a result that no store could keep."""
    fault: dict[str, Any] = {"path": [], "message": f"got {type(result).__name__}", "type": "json"}
    return InvalidAnswer([fault], "A result is any JSON value")


def already(request: Request) -> HitlError:
    """The error that says who was first."""
    who = request.reviewer or "nobody"
    when = f" at {request.decided_at:%Y-%m-%d %H:%M:%S} UTC" if request.decided_at else ""
    return AlreadyDecided(
        f"{request.tool_name} ({request.id}) is already {request.state}, by {who}{when}. "
        "Nothing was changed.",
        by=request.reviewer,
        at=request.decided_at,
        state=request.state,
    )


def as_json(decision: Decision) -> dict[str, Any]:
    """A decision as its JSON object; `Answer` data is left to whoever masks it."""
    match decision:
        case Approve(args=args, note=note):
            more: dict[str, Any] = {"args": args, "note": note}
        case Decline(reason=reason, stop=stop):
            more = {"reason": reason, "stop": stop or None}
        case Respond(result=result):
            return {"verdict": "respond", "result": result}
        case Answer():
            more = {}
    return {"verdict": decision.verdict, **{k: v for k, v in more.items() if v is not None}}
