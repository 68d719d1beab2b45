"""One function, one answer: a call may run, or a human is asked, or it is refused.

`ROWS` is the table of `evaluate`, in order; strictness wins (deny over ask over allow). The words
`evaluated_permission`, `evaluation`, ``always_allow``, ``always_ask`` and ``auto`` follow the
Managed Agents API; tool- and run-level functions follow Mastra's ``requireToolApproval``.
"""

from __future__ import annotations

from .admin import Administrator, administrator, policy_file
from .functions import ask_function
from .table import ROWS, evaluate
from .terms import (
    FUNCTION,
    ApprovalContext,
    Auto,
    Evaluator,
    Functions,
    Grant,
    Judgement,
    Permission,
    Policy,
    Predicate,
    ToolRule,
    ToolsetPolicy,
    Verdict,
    auto,
    disabled,
)

__all__ = [
    "FUNCTION",
    "ROWS",
    "Administrator",
    "ApprovalContext",
    "Auto",
    "Evaluator",
    "Functions",
    "Grant",
    "Judgement",
    "Permission",
    "Policy",
    "Predicate",
    "ToolRule",
    "ToolsetPolicy",
    "Verdict",
    "administrator",
    "ask_function",
    "auto",
    "disabled",
    "evaluate",
    "policy_file",
]
