"""Reviewers with a script, for testing one's own agents; the pytest fixture ``hitl_reviewer``."""

from __future__ import annotations

import asyncio
import html
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
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
    delay
        Seconds before each decision, as a person takes.

    Attributes
    ----------
    seen
        Every request it was asked, in order.
    """

    via = "test"
    __qualname__ = "ScriptedReviewer"

    def __init__(
        self, *rules: Decide | Decision | tuple[str, Decision], delay: float = 0.0
    ) -> None:
        self._rules: list[Any] = list(rules)
        self._delay = delay
        self.seen: list[Request] = []

    async def __call__(self, request: Request) -> Decision | None:
        """Decide one request."""
        self.seen.append(request)
        if self._delay:
            await asyncio.sleep(self._delay)
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


def scripted(
    *rules: Decide | Decision | tuple[str, Decision], delay: float = 0.0
) -> ScriptedReviewer:
    """A `ScriptedReviewer`, for ``with hitl.reviewer(scripted(...)):``."""
    return ScriptedReviewer(*rules, delay=delay)


@dataclass(frozen=True, slots=True)
class Exercise:
    """How far an exercise is solved; shows itself in a cell, and is true when solved.

    Attributes
    ----------
    checks
        What was looked at, and whether it holds.
    """

    name: str
    checks: dict[str, bool]

    def __bool__(self) -> bool:
        return all(self.checks.values())

    def __str__(self) -> str:
        head = f"Exercise {self.name}: " + ("solved ✓" if self else "not yet")
        return "\n".join([head, *(f"  {'✓' if ok else '○'} {w}" for w, ok in self.checks.items())])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        items = "".join(
            f"<li>{'✓' if ok else '○ not yet:'} {html.escape(w)}</li>"
            for w, ok in self.checks.items()
        )
        head = "solved ✓" if self else "not yet"
        ticked = '<ul style="list-style: none; padding-left: 1em">'
        return f"<strong>Exercise {html.escape(self.name)}: {head}</strong>{ticked}{items}</ul>"


def check_exercise(name: str, checks: Mapping[str, bool | Callable[[], bool]]) -> Exercise:
    """Check an exercise of the course.

    Parameters
    ----------
    name
        Such as ``"4a"``.
    checks
        Words for a student → whether it holds, or a function that says so. A function that
        raises says no: an exercise that was not begun is no error.

    Returns
    -------
    Exercise
        Make it a cell's last expression.
    """
    return Exercise(name, {words: _holds(check) for words, check in checks.items()})


def _holds(check: bool | Callable[[], bool]) -> bool:  # noqa: FBT001  # the answer itself
    if isinstance(check, bool):
        return check
    try:
        return bool(check())
    except Exception:  # noqa: BLE001  # a student's half-done code
        return False


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
