"""Runs, calls and requests for tests, with as little said as each test needs."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hitl_widgets.request import Call, Request, Run, State, new_id, to_doc
from hitl_widgets.store.base import NewCall, Vote

FINGERPRINT = "hf1:asshown"


def now() -> datetime:
    return datetime.now(UTC)


def a_run(run_id: str = "run_1", **more: Any) -> Run:
    kind = more.pop("kind", "agent")
    return Run(
        run_id, kind, more.pop("agent_id", "agent"), "running", now(), now(), token="lease", **more
    )


def a_call(call_id: str = "call_1", run_id: str = "run_1", **more: Any) -> Call:
    fields: dict[str, Any] = {
        "tool_name": "delete_record",
        "args": {"id": "abc-123"},
        "state": "waiting",
        "frame": run_id,
        "turn": "turn_1",
        "index": 0,
    }
    return Call(id=call_id, run_id=run_id, **{**fields, **more})


def a_request(request_id: str = "req_1", call: Call | None = None, **more: Any) -> Request:
    call = call or a_call()
    fields: dict[str, Any] = {
        "ordinal": 0,
        "kind": "approval",
        "args": call.args,
        "fingerprint": FINGERPRINT,
        "state": "pending",
        "agent_id": "agent",
        "agent_path": ("agent",),
        "created_at": now(),
        "scope": {"schema_digest": "sd"},
    }
    return Request(
        id=request_id,
        run_id=call.run_id,
        tool_call_id=call.id,
        tool_name=call.tool_name,
        **{**fields, **more},
    )


def gated(call: Call | None = None, request_id: str = "req_1", **more: Any) -> NewCall:
    """A waiting call with its pending request."""
    call = call or a_call()
    request = a_request(request_id, call, **more)
    return NewCall(call, {**to_doc(request), "kind": request.kind}, request)


def free(call_id: str = "call_free", run_id: str = "run_1", **more: Any) -> NewCall:
    """An executing call without a request, under the token ``"call"``."""
    template = more.pop("template", {})
    call = a_call(call_id, run_id, **{"state": "executing", "token": "call", **more})
    doc = to_doc(a_request(call=call))
    return NewCall(call, {**doc, "kind": "approval", "fingerprint": FINGERPRINT, **template})


def a_vote(request_id: str = "req_1", target: State = "approved", **more: Any) -> Vote:
    verbs = {"approved": "approve", "declined": "decline", "answered": "answer"}
    fields: dict[str, Any] = {
        "decision": {"verdict": verbs.get(target, "respond")},
        "reviewer": "ada",
        "identity_source": "os",
        "via": "test",
    }
    return Vote(request_id, target, **{**fields, **more})


def waiting(store: Any, **more: Any) -> Request:
    """A store's run ``run_1`` with call ``call_1``, on which ``req_1`` is pending."""
    call = more.pop("call", None)
    run = more.pop("run", {})
    store.open_run(a_run(**run), frames={"run_1": {"messages": ["hello"]}})
    store.save("run_1", "lease", state="suspended", calls=[gated(call, **more)])
    return store.request("req_1")


def claim(store: Any, request_id: str = "req_1", by: str = "call", **more: Any) -> Call:
    fields: dict[str, Any] = {"fingerprint": FINGERPRINT, "schema_digest": "sd"}
    return store.claim(request_id, "lease", by, **{**fields, **more})


def running(store: Any, **more: Any) -> Call:
    """`waiting`, approved and claimed."""
    waiting(store, **more)
    store.decide([a_vote()])
    return claim(store)


def again(request: Request, **more: Any) -> Request:
    """A new question in place of an old one."""
    fresh: dict[str, Any] = {"id": new_id("req"), "state": "pending", "created_at": now()}
    undecided = {"decision": None, "reviewer": None, "decided_at": None, "votes": ()}
    return replace(request, **{**fresh, **undecided, **more})


def ago(seconds: float) -> datetime:
    return now() - timedelta(seconds=seconds)


RESULT = {"type": "result", "value": 1}
OUTCOME = {"text": "done", "output": None, "finish_reason": "stop", "usage": {}}
