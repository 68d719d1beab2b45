"""Reviewers with a script, for testing one's own agents; the pytest fixture ``hitl_reviewer``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, cast

from .deciders import consult, reviewer
from .request import Approve, Decision, Request

Decide = Callable[[Request], Awaitable[Decision | None] | Decision | None]


class AutoApprove:
    """Approves whatever is asked. To be asked for by name; it is recorded as a test's doing."""

    via = "test"
    __qualname__ = "AutoApprove"

    def __call__(self, request: Request) -> Decision | None:
        """Approve an approval; pass on an input."""
        return Approve() if request.kind == "approval" else None


class ScriptedReviewer:
    """Decides by a script and remembers what it was asked.

    Parameters
    ----------
    rules
        Tried in order; the first that gives a decision counts. A rule is a function of the
        request, or a decision (used once), or a pair ``(tool name, decision)`` (used always).
        When none decides, the request waits for another decider.

    Attributes
    ----------
    seen
        Every request it was asked, in order.
    """

    via = "test"
    __qualname__ = "ScriptedReviewer"

    def __init__(self, *rules: Decide | Decision | tuple[str, Decision]) -> None:
        self._rules: list[Any] = list(rules)
        self.seen: list[Request] = []

    async def __call__(self, request: Request) -> Decision | None:
        """Decide one request."""
        self.seen.append(request)
        for rule in self._rules:
            decision = await self._apply(rule, request)
            if decision is not None:
                return decision
        return None

    async def _apply(self, rule: Any, request: Request) -> Decision | None:
        if isinstance(rule, Decision):
            self._rules.remove(rule)
            return rule
        if isinstance(rule, tuple):
            name, decision = cast("tuple[str, Decision]", rule)
            return decision if name == request.tool_name else None
        return await consult(rule, request)


def scripted(*rules: Decide | Decision | tuple[str, Decision]) -> ScriptedReviewer:
    """A `ScriptedReviewer`, for ``with hitl.reviewer(scripted(...)):``."""
    return ScriptedReviewer(*rules)


try:
    import pytest
except ImportError:  # the package is used outside tests
    pass
else:

    @pytest.fixture
    def hitl_reviewer() -> Generator[Callable[..., ScriptedReviewer], None, None]:
        """Call it with rules: that scripted reviewer is in force for the rest of the test."""
        entered: list[Any] = []

        def use(*rules: Any) -> ScriptedReviewer:
            made = ScriptedReviewer(*rules)
            block = reviewer(made)
            block.__enter__()
            entered.append(block)
            return made

        yield use
        for block in reversed(entered):
            block.__exit__(None, None, None)
