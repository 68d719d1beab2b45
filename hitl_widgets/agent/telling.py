"""What the model is told about its calls: truthfully, whatever a human did to them (R10, R11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import deciders
from ..request import Call, Request
from ..waiting import names_of

_DECLINED = "The human declined this call of {0}.{1} Do not call {0} again with the same arguments."
_DECLINED_INPUT = "The human declined to answer {0}.{1} Do not ask the same again."
_EXPIRED = "Nobody decided {0} in time, so it did not run. Do not call it again by yourself."


def refusal(call: Call, request: Request) -> str:
    """Of a request that was declined, or that nobody decided in time."""
    if request.state == "expired":
        return _EXPIRED.format(call.tool_name)
    given = (request.decision or {}).get("reason")
    reason = f" Their reason: {given}" if given else ""
    words = _DECLINED if request.kind == "approval" else _DECLINED_INPUT
    return words.format(call.tool_name, reason)


def edited_args(asked: list[Request]) -> dict[str, Any] | None:
    """The arguments that a human put in place of the model's, if they took effect."""
    for request in reversed(asked):
        if request.state in ("done", "failed", "outcome_unknown"):
            edited = (request.decision or {}).get("args")
            if edited is not None:
                return edited
    return None


def told(call: Call, asked: list[Request]) -> Any:
    """What the model gets as the call's result."""
    result = call.result or {}
    value = result.get("value")
    if result.get("type") == "error":
        value = f"Error: {value}"
    notes: dict[str, Any] = {}
    for request in asked:
        decision = request.decision or {}
        if decision.get("verdict") != "approve":
            continue
        if decision.get("args") is not None and request.state in ("done", "failed"):
            notes["human_changed_arguments"] = {"from": request.args, "to": decision["args"]}
        if decision.get("note"):
            notes["note_from_human"] = decision["note"]
    return {"result": value, **notes} if notes else value


def how_to_decide(agent_id: str, location: str, run_id: str, requests: Sequence[Request]) -> str:
    """What a person reads when a run waits and nobody can be asked here (R5)."""
    attach = f"await agent.attach({run_id!r})"
    pending = [r for r in requests if r.state == "pending"]
    unknown = [r for r in requests if r.state == "outcome_unknown"]
    lines = [f"Run {run_id} of agent {agent_id!r} waits, and nobody can be asked here."]
    if pending:
        lines += [f"Pending: {names_of(pending)}.", deciders.how_to_decide(pending, location)]
    if unknown:
        lines.append(
            f"Nobody knows how these calls ended: {names_of(unknown)}. Say so with "
            f"await hitl.settle({unknown[0].id!r}, 'happened' | 'run_again' | 'give_up', "
            f"store={location!r})"
        )
    lines.append(f"Then get the result with: {attach}")
    return "\n".join(lines)
