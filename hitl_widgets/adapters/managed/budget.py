"""The question at the cap: by how much to raise a session's budget."""

from __future__ import annotations

from typing import Any

from .history import Event, History, part
from .run import SessionAsk

NAME = "raise_budget"


def _cents(amount: Event) -> int:
    """Hundredths of the currency, as the service writes them: a whole number as text."""
    return int(float(amount.get("amount") or 0))


def _usage(history: History) -> tuple[Event, Event]:
    event: Event = history.usage or {}
    spent = part(part(event, "usage"), "list_cost")
    limit = part(part(event, "budget"), "max_list_cost")
    return spent, limit


def currency(history: History) -> str:
    """The budget's currency."""
    spent, limit = _usage(history)
    return str(limit.get("currency") or spent.get("currency") or "USD")


def args(history: History) -> dict[str, Any]:
    """What was spent, and the limit, in hundredths."""
    spent, limit = _usage(history)
    return {
        "spent_cents": _cents(spent),
        "limit_cents": _cents(limit),
        "currency": currency(history),
    }


def ask(history: History, title: str, *, rules: bool) -> SessionAsk:
    """A form for the new limit. Raising it is what makes the session go on."""
    known = args(history)
    spent, limit = known["spent_cents"] / 100, known["limit_cents"] / 100
    unit = known["currency"]
    return SessionAsk(
        name=NAME,
        args=known,
        agent_path=(title,),
        kind="input",
        allowed=("answer", "decline"),
        message=f"{title} has spent {spent:.2f} of {limit:.2f} {unit}. Raise its budget?",
        resume_schema={
            "type": "object",
            "properties": {
                "cents": {
                    "type": "integer",
                    "title": f"New limit, in hundredths of {unit}",
                    "minimum": max(known["spent_cents"], known["limit_cents"]) + 1,
                }
            },
            "required": ["cents"],
        },
        rules=rules,
    )
