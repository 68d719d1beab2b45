"""Requests that were decided, made up: their times and reviewers are what is looked at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import hitl_widgets as hitl
from hitl_widgets.fingerprint import fingerprint

BEGAN = datetime(2026, 12, 1, 9, tzinfo=UTC)


def decided(number: int, tool: str = "send_mail", **given: Any) -> hitl.Request:
    """The `number`th request of a day, approved on a card by ada after four seconds."""
    args = given.pop("args", {"to": f"{number}@example.com"})
    verdict = given.pop("verdict", "approve")
    asked = BEGAN + timedelta(minutes=number)
    seconds = given.pop("seconds", 4.0)
    over = None if seconds is None else asked + timedelta(seconds=seconds)
    fields: dict[str, Any] = {
        "id": f"r_{number}",
        "run_id": f"u_{number}",
        "tool_call_id": f"c_{number}",
        "ordinal": 0,
        "kind": "approval",
        "tool_name": tool,
        "args": args,
        "fingerprint": fingerprint(tool, args).text,
        "state": "done" if verdict == "approve" else "declined",
        "agent_id": "office",
        "agent_path": ("office",),
        "created_at": asked,
        "effect": "write",
        "evaluation": {"type": "tool"},
        "scope": {"how": "gate", "schema_digest": "d1"},
        "decision": None if verdict is None else {"verdict": verdict},
        "reviewer": "ada",
        "identity_source": "os",
        "via": "card",
        "decided_at": over,
    }
    return hitl.Request(**{**fields, **given})


def a_day() -> list[hitl.Request]:
    """What a busy day leaves: blind approvals, the same call again and again, some declines."""
    made: list[hitl.Request] = []
    for n in range(64):
        if n % 4 == 0:
            made.append(decided(n, args={"to": "team@example.com"}, seconds=2 + n % 7))
        elif n % 4 == 1:
            made.append(decided(n, "train_a_very_large_model", args={"hours": n}, seconds=40 * n))
        elif n % 4 == 2:
            verdict = "decline" if n % 8 == 2 else "approve"
            made.append(
                decided(n, "delete_table", args={"name": f"t{n}"}, verdict=verdict, seconds=9)
            )
        elif n % 16 == 3:
            over = {"verdict": None, "seconds": 600, "state": "expired", "via": None}
            made.append(decided(n, **over, reviewer=None, identity_source=None))
        else:
            made.append(decided(n, reviewer="chris", seconds=0.4, identity_source="claimed"))
    return made
