"""The table of rules: `ROWS`, in order; strictness wins (deny over ask over allow)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..request import Evaluation
from .admin import administrator
from .functions import answer_of
from .terms import (
    FUNCTION,
    ApprovalContext,
    Functions,
    Grant,
    Judgement,
    Permission,
    Policy,
    Predicate,
    ToolRule,
    Verdict,
)


@dataclass(slots=True)
class _Case:
    """One call on its way through the table; functions are asked once and only when needed."""

    context: ApprovalContext
    rule: ToolRule
    policy: Policy
    functions: Functions
    _auto: Verdict | None = None

    async def auto(self) -> Verdict:
        if self._auto is None:
            self._auto = await self._ask_evaluator()
        return self._auto

    async def _ask_evaluator(self) -> Verdict:
        answer = await answer_of(self.functions.evaluator, self.context)
        return answer if isinstance(answer, Verdict) else Verdict("ask", "indeterminate")

    async def says_yes(self, function: Predicate | None) -> bool:
        """Whether a predicate wants a human; anything but a clear False does."""
        return await answer_of(function, self.context) is not False


Row = tuple[int, Permission, str, Callable[[_Case], Awaitable[bool]]]


async def _denied_by_auto(c: _Case) -> bool:
    return c.rule.toolset == "auto" and (await c.auto()).permission == "deny"


async def _run_level(c: _Case) -> bool:
    return c.policy.run is True


async def _tool_level(c: _Case) -> bool:
    rule = c.rule.require_approval
    return rule is True or (rule == FUNCTION and await c.says_yes(c.functions.tool))


async def _run_function(c: _Case) -> bool:
    return (
        c.rule.require_approval is None
        and c.policy.run == FUNCTION
        and await c.says_yes(c.functions.run)
    )


async def _destructive(c: _Case) -> bool:
    return c.rule.require_approval is None and c.rule.effect == "destructive"


async def _toolset(c: _Case) -> bool:
    rule = c.rule
    return rule.toolset == "always_ask" or (
        rule.toolset == "auto" and (await c.auto()).permission == "ask"
    )


_RUN_LEVEL = 3
_NO_FUNCTIONS = Functions()

ROWS: tuple[Row, ...] = (
    (2, "deny", "auto", _denied_by_auto),
    (3, "ask", "run", _run_level),
    (4, "ask", "tool", _tool_level),
    (5, "ask", "function", _run_function),
    (6, "ask", "effect", _destructive),
    (7, "ask", "toolset", _toolset),
)
"""Number, permission, kind of evaluation, condition. Row 1 (unknown or disabled: deny) comes
before, row 9 (a grant lifts rows 4-7) and row 8 (otherwise allow) after."""


async def evaluate(
    context: ApprovalContext,
    policy: Policy,
    functions: Functions = _NO_FUNCTIONS,
    grants: Sequence[Grant] = (),
) -> Judgement:
    """Judge one call.

    Parameters
    ----------
    context
        The call.
    policy
        The run's frozen policy.
    functions
        Its functions, as far as this process has them.
    grants
        Standing grants that cover this call.
    """
    rule = policy.tools.get(context.tool_name)
    if rule is None or not rule.enabled:
        return Judgement("deny", None)
    case = _Case(context, rule, policy, functions)
    return administrator().judge(context.tool_name, await _by_rows(case, grants))


async def _by_rows(case: _Case, grants: Sequence[Grant]) -> Judgement:
    for number, permission, kind, holds in ROWS:
        if await holds(case):
            if permission == "ask" and number > _RUN_LEVEL and grants:
                first = grants[0]
                lifted = Evaluation(type="grant", grant=first.id, words=first.words)
                return Judgement("allow", lifted, first)
            return Judgement(permission, await _evaluation(case, kind))
    return Judgement("allow", await _allowed(case))


async def _evaluation(case: _Case, kind: str) -> Evaluation:
    rule = case.rule
    if kind == "tool" and rule.require_approval == FUNCTION:
        kind = "function"
    if kind == "toolset":
        kind = "auto" if rule.toolset == "auto" else "always_ask"
    if kind != "auto":
        return Evaluation(type=kind)
    return _auto_evaluation(await case.auto())


async def _allowed(case: _Case) -> Evaluation:
    """What to say of a call that nothing stopped: the most specific rule that let it through."""
    rule = case.rule
    if rule.toolset == "auto":
        return _auto_evaluation(await case.auto())
    if rule.require_approval == FUNCTION:
        return Evaluation(type="function")
    if rule.require_approval is False:
        return Evaluation(type="tool")
    if case.policy.run == FUNCTION:
        return Evaluation(type="function")
    return Evaluation(type="always_allow")


def _auto_evaluation(verdict: Verdict) -> Evaluation:
    nested: dict[str, Any] = {"type": verdict.permission}
    if verdict.reason_code is not None:
        nested["reason_code"] = verdict.reason_code
    return Evaluation(type="auto", evaluated_permission=nested)
