"""What a client may send to a session, and when: the service's refusals."""

from __future__ import annotations

from typing import Any

from .agents import ApiError, check_keys, type_of
from .log import Event, new_id
from .session import Session
from .threads import Call

ANSWERS = ("user.tool_confirmation", "user.custom_tool_result", "user.tool_result")
FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "user.message": ({"content"}, set()),
    "user.interrupt": (set(), {"session_thread_id"}),
    # No session_thread_id: the service routes by tool_use_id alone.
    "user.tool_confirmation": ({"tool_use_id", "result"}, {"deny_message"}),
    "user.custom_tool_result": ({"custom_tool_use_id"}, {"content", "is_error"}),
    "user.tool_result": ({"tool_use_id"}, {"content", "is_error"}),
    "system.message": ({"content"}, set()),
}


def receive(session: Session, given: Any) -> list[Event]:
    """Check a batch and keep it: all of it, or nothing.

    Raises
    ------
    ApiError
        400, naming the event that is wrong.
    """
    body = check_keys(given, "body", {"events"}, set())
    if session.archived_at or session.terminated:
        state = "archived" if session.archived_at else "terminated"
        raise ApiError(400, f"Session {session.id} is {state} and accepts no events")
    if not body["events"]:
        raise ApiError(400, "events: List should have at least 1 item")
    checked = [_check(e, f"events[{i}]") for i, e in enumerate(body["events"])]
    _check_order(session, checked)
    kept = [e for e in checked if not _ignored(session, e)]
    for event in kept:
        session.accept(event)
    return kept or checked


def _check(given: Any, where: str) -> Event:
    kind = type_of(given)
    if kind is None or kind not in FIELDS:
        raise ApiError(400, f"{where}.type: {kind!r} can not be sent")
    required, optional = FIELDS[kind]
    check_keys(given, where, required | {"type"}, optional)
    if kind == "user.message" and not isinstance(given["content"], list):
        raise ApiError(400, f"{where}.content: Input should be a valid list")
    if kind == "user.tool_confirmation":
        if given["result"] not in ("allow", "deny"):
            raise ApiError(400, f"{where}.result: Input should be 'allow' or 'deny'")
        if given.get("deny_message") is not None and given["result"] != "deny":
            raise ApiError(400, f"{where}.deny_message: only with result 'deny'")
    return {"id": new_id("sevt"), **given, "processed_at": None}


def _check_order(session: Session, events: list[Event]) -> None:
    """What the session's state allows, with every answer reserved only when all are good."""
    waiting = [c.event["id"] for c in session.waiting() if not c.reserved]
    reserving: list[tuple[Call, str]] = []
    for index, event in enumerate(events):
        kind = event["type"]
        where = f"Invalid {kind} event at events[{index}]"
        if kind in ANSWERS:
            call = _target(session, event, where)
            if any(c is call and k == kind for c, k in reserving):
                raise ApiError(400, f"{where}: answered twice in one request")
            reserving.append((call, kind))
        elif kind == "user.message" and waiting:
            raise ApiError(
                400,
                f"{where}: waiting on responses to events [{' '.join(waiting)}]; only "
                "user.tool_confirmation, user.custom_tool_result, user.tool_result, or "
                "user.interrupt may be sent",
            )
        elif kind != "user.interrupt" and session.capped:
            raise ApiError(400, f"{where}: the session has reached its budget")
    for call, kind in reserving:
        call.reserved.add(kind)


def _target(session: Session, event: Event, where: str) -> Call:
    kind = event["type"]
    custom = kind == "user.custom_tool_result"
    name = "custom_tool_use_id" if custom else "tool_use_id"
    target = event[name]
    call = session.call(target)
    if call is None or (call.kind == "custom") is not custom:
        asked = "agent.custom_tool_use" if custom else "agent.tool_use"
        raise ApiError(
            400, f'`{name}` "{target}" does not match any `{asked}` event in this session'
        )
    if kind == "user.tool_confirmation" and call.permission != "ask":
        raise ApiError(
            400, f"{where}: {target} was evaluated to {call.permission!r} and takes no confirmation"
        )
    if kind == "user.tool_result" and not call.client_runs:
        raise ApiError(400, f"{where}: {target} runs in this session's environment")
    if not call.thread.alive:
        raise ApiError(400, f"{where}: the thread of {target} has terminated")
    if call.closed or kind in call.reserved or target not in call.thread.open:
        raise ApiError(400, f"{where}: {target} already has a response")
    return call


def _ignored(session: Session, event: Event) -> bool:
    """An interrupt of a session that stands at its cap is accepted and never stored."""
    return event["type"] == "user.interrupt" and session.capped and not session.waiting()
