"""Examples of everything that travels between kernel and page, for both test suites."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hitl_widgets.fingerprint import fingerprint, mask
from hitl_widgets.request import Evaluation, Request
from hitl_widgets.schema import Form, shape_of
from hitl_widgets.screen.formdata import document
from hitl_widgets.screen.views import json_text, request_view, secret_digests
from scripts.preview_examples import previewed

AT = datetime(2026, 3, 4, 11, 4, 2, 800_000, tzinfo=UTC)
_KEY = b"k" * 32


def request(tool: str, args: dict[str, Any], **more: Any) -> Request:
    """Make a pending request for `tool` with true fingerprints."""
    secrets = more.pop("secrets", ())
    made = fingerprint(tool, args, secrets=secrets, key=_KEY)
    values: dict[str, Any] = {
        "id": "req_example",
        "run_id": "run_example",
        "tool_call_id": "call_example",
        "ordinal": 0,
        "kind": "approval",
        "state": "pending",
        "agent_id": "data-agent",
        "agent_path": ("data-agent",),
        "created_at": AT,
        "effect": "write",
        "allowed": ("approve", "decline", "respond"),
        "evaluation": Evaluation(type="tool"),
        "scope": {"how": "gate"},
        **more,
    }
    return Request(
        tool_name=tool,
        args=mask(args, secrets),
        fingerprint=made.text,
        digests=made.digests,
        secrets=secrets,
        **values,
    )


def decided(asked: Request, state: str, verdict: str, **decision: Any) -> Request:
    """Make `asked` as it is after a decision by user-17, 8.2 s later."""
    values: dict[str, Any] = {
        "state": state,
        "decision": {"verdict": verdict, **decision},
        "reviewer": "user-17",
        "identity_source": "os",
        "via": "card",
        "decided_at": asked.created_at + timedelta(seconds=8.2),
    }
    return replace(asked, **values)


DELETE = request(
    "delete_record",
    {
        "id": "abc-123",
        "table": "orders",
        "where": {"status": "stale", "older_than": 90},
        "token": "s3cret",
    },
    agent_path=("supervisor", "data-agent"),
    effect="destructive",
    secrets=("/token",),
    input_schema={
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "table": {"type": "string"},
            "where": {
                "type": "object",
                "properties": {"status": {"type": "string"}, "older_than": {"type": "integer"}},
            },
            "token": {"type": "string"},
        },
        "required": ["id", "table", "where", "token"],
    },
)
REFUND = request(
    "issue_refund",
    {"order": "A-1009", "amount": 400.0, "note": "Customer asked twice.\n" * 150},
    id="req_refund",
    agent_id="billing",
    agent_path=("billing",),
    evaluation=Evaluation(type="function"),
)
REFUND_BEFORE = decided(
    request(
        "issue_refund",
        {"order": "A-1009", "amount": 40.0, "note": "Customer asked twice.\n" * 150},
        created_at=AT - timedelta(minutes=3),
    ),
    "done",
    "approve",
)
CONFIRM = request(
    "train",
    {},
    id="req_confirm",
    agent_path=("train",),
    message="Train for 3 h on the GPU?",
    effect="costly",
    evaluation=None,
    allowed=("approve", "decline"),
)
HOSTILE = request(
    "send_mail",
    {
        "to": "p\u0430ypal@example.org",
        "html": "<img src=x onerror=alert(1)><script>alert(2)</script>",
        "link": "javascript:alert(1)",
        "markdown": "![x](https://example.org/x.png)",
        "rtl": "invoice\u202efdp.exe",
        "nul": "a\x00b\x1b[31m",
        "invisible": "pay\u200b\u00adme",
        "lone": "x\ud800y",
        "big": 12345678901234567890123,
        "float": 0.1,
        "one": 1.0,
        "__proto__": {"polluted": True},
        "10": "first",
        "2": "second",
        "empty": "",
        "nothing": None,
    },
    id="req_hostile",
    evaluation=Evaluation(
        type="auto", evaluated_permission={"type": "ask", "reason_code": "exfiltration_risk"}
    ),
)
FRAME = request(
    "upload",
    {
        "frame": {
            "$described": "table",
            "type": "pandas.DataFrame",
            "shape": [10_000, 3],
            "columns": {"order": "object", "amount": "float64", "paid": "bool"},
            "rows": [[f"A-10{n:02}", n * 12.5, n % 2 == 0] for n in range(20)],
            "sha256": "3f" * 32,
        },
        "weights": {
            "$described": "array",
            "type": "numpy.ndarray",
            "dtype": "float32",
            "shape": [64, 64],
            "first": [n / 8 for n in range(20)],
            "sha256": "c4" * 32,
        },
        "report": {
            "$described": "file",
            "path": "out/report.pdf",
            "bytes": 81_344,
            "sha256": "9a" * 32,
        },
    },
    id="req_frame",
    agent_id="upload",
    agent_path=(),
    effect="costly",
    scope={"how": "verb", "portable": False},
)
VOTED = replace(
    DELETE,
    id="req_voted",
    quorum=2,
    votes=({"reviewer": "user-04"},),
    reviewers=("user-04", "user-17"),
)
ASK = request(
    "get_weather",
    {},
    id="req_ask",
    kind="input",
    message="Which city would you like the weather for?",
    evaluation=None,
    effect="read",
    allowed=("answer", "decline"),
    resume_schema={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
)

FIXTURES: dict[str, Any] = {
    "approval": request_view(DELETE),
    "compare": request_view(REFUND, compare=[("last", REFUND_BEFORE)]),
    "confirm": request_view(CONFIRM),
    "described": request_view(FRAME),
    "previewed": request_view(previewed(DELETE)),
    "voted": request_view(VOTED),
    "hostile": request_view(HOSTILE),
    "input": request_view(ASK),
    "approved": request_view(decided(DELETE, "done", "approve")),
    "answered": request_view(
        decided(
            replace(ASK, args={"city": None}, suspend_payload={"message": "Which city?"}),
            "done",
            "answer",
            data={"city": "Berlin"},
        )
    ),
    "edited": request_view(
        decided(
            DELETE,
            "done",
            "approve",
            args={
                "id": "abc-123",
                "table": "orders_staging",
                "where": {"status": "stale", "older_than": 90},
                "token": "••••",
            },
            edited={"fingerprint": f"hf1:{'b' * 52}", "digests": DELETE.digests},
        )
    ),
    "declined": request_view(decided(DELETE, "declined", "decline", reason="use staging")),
    "expired": request_view(
        replace(DELETE, state="expired", expires_at=AT + timedelta(minutes=5), on_expire="decline")
    ),
    "withdrawn": request_view(replace(DELETE, state="withdrawn")),
    "stale": request_view(decided(DELETE, "stale", "approve")),
    "unknown": request_view(decided(DELETE, "outcome_unknown", "approve")),
    "page-messages": [
        {"type": "hello", "id": "m1", "page": "p1", "locale": "en-GB"},
        {"type": "ping", "id": "m2"},
        {
            "type": "decide",
            "id": "m3",
            "request_id": "req_example",
            "fingerprint": DELETE.fingerprint,
            "decision": {"verdict": "approve"},
            "visible_ms": 1200,
        },
        {
            "type": "decide",
            "id": "m4",
            "request_id": "req_example",
            "fingerprint": DELETE.fingerprint,
            "decision": {"verdict": "approve", "note": "only this once"},
            "visible_ms": 1200,
        },
        {
            "type": "decide",
            "id": "m5",
            "request_id": "req_example",
            "fingerprint": DELETE.fingerprint,
            "decision": {"verdict": "decline", "reason": "use staging", "stop": True},
            "visible_ms": 1200,
        },
        {"type": "cancel", "id": "m6"},
        {
            "type": "decide-all",
            "id": "m8",
            "requests": [{"request_id": "req_example", "fingerprint": DELETE.fingerprint}],
            "decision": {"verdict": "approve"},
            "visible_ms": 1200,
        },
        {"type": "settle", "id": "m9", "request_id": "req_example", "how": "run_again"},
        {
            "type": "prepare",
            "id": "m10",
            "request_id": "req_example",
            "locale": "en",
            "draft": {"kind": "open-edit"},
        },
        {
            "type": "prepare",
            "id": "m11",
            "request_id": "req_example",
            "locale": "en",
            "draft": {"kind": "edit", "data": {"id": "abc-124"}},
        },
        {
            "type": "prepare",
            "id": "m12",
            "request_id": "req_example",
            "locale": "en",
            "draft": {
                "kind": "always",
                "covers": "fixed",
                "fixed": ["table"],
                "reach": "until",
                "until": "2026-03-05T11:04:00.000Z",
            },
        },
        {
            "type": "decide",
            "id": "m13",
            "request_id": "req_example",
            "fingerprint": DELETE.fingerprint,
            "decision": {"verdict": "approve", "prepared": "p_example"},
            "visible_ms": 1200,
        },
        {"type": "focus", "id": "m7", "inside": True},
    ],
    "kernel-messages": [
        {
            "type": "ack",
            "id": "m3",
            "session": "s1",
            "receipt": {
                "request_id": "req_example",
                "state": "approved",
                "reviewer": "user-17",
                "via": "card",
                "decided_at": "2026-03-04T11:04:11.000+00:00",
                "votes": 1,
                "quorum": 1,
            },
        },
        {
            "type": "error",
            "id": "m3",
            "code": "AlreadyDecided",
            "words": "user-04 declined it in the inbox at 11:06:40 UTC.",
            "errors": [],
        },
        {
            "type": "ack",
            "id": "m3",
            "session": "s1",
            "form": document(
                Form(shape_of(DELETE.input_schema or {}), DELETE.args, secrets=DELETE.secrets)
            ).model_dump(mode="json"),
        },
        {
            "type": "ack",
            "id": "m3",
            "session": "s1",
            "prepared": {
                "key": "p_example",
                "args": json_text({**DELETE.args, "table": "orders_staging"}),
                "secrets": secret_digests(DELETE),
            },
        },
    ],
}
