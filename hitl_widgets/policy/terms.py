"""What a policy is made of: the call it judges, its rules, and the answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ..fingerprint import digest
from ..request import Effect, Evaluation

Permission = Literal["allow", "ask", "deny"]
ToolsetPolicy = Literal["always_allow", "always_ask", "auto"]
FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class ApprovalContext:
    """What a policy function is told about a call.

    Attributes
    ----------
    args
        The validated arguments (JSON values).
    agent_path
        Ids of the agents from the root to the asker, inclusive.
    request_context, workspace
        As given to the run.
    user_messages
        The user's own messages, oldest first; never tool results.
    """

    tool_name: str
    args: Mapping[str, Any]
    effect: Effect = "unknown"
    agent_path: tuple[str, ...] = ()
    request_context: Any = None
    workspace: Any = None
    user_messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """An `auto` evaluator's answer."""

    permission: Permission
    reason_code: str | None = None

    def __post_init__(self) -> None:
        if self.permission not in ("allow", "ask", "deny"):
            raise ValueError(
                f"Verdict({self.permission!r}): the permission is 'allow', 'ask' or 'deny'."
            )


Predicate = Callable[[ApprovalContext], bool | Awaitable[bool]]
Evaluator = Callable[[ApprovalContext], Verdict | Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class Auto:
    """Toolset policy: an evaluator judges each call. Not a human checkpoint."""

    evaluator: Evaluator


def auto(evaluator: Evaluator) -> Auto:
    """Let `evaluator(ApprovalContext) -> Verdict` judge a toolset's calls.

    What it allows runs before anyone sees it; what it denies is final. When it raises, takes too
    long or returns anything else, a human is asked.
    """
    return Auto(evaluator)


class _Disabled:
    def __repr__(self) -> str:
        return "hitl.disabled"


disabled = _Disabled()
"""Toolset config for a tool that may not be called at all."""


@dataclass(frozen=True, slots=True)
class ToolRule:
    """The serialisable part of one tool's policy."""

    require_approval: bool | Literal["function"] | None = None
    effect: Effect = "unknown"
    toolset: ToolsetPolicy = "always_allow"
    enabled: bool = True
    schema_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The serialisable policy of a run, frozen into it."""

    run: bool | Literal["function"] = False
    tools: Mapping[str, ToolRule] = field(default_factory=dict[str, ToolRule])

    def to_json(self) -> dict[str, Any]:
        """JSON for the snapshot."""
        return {"run": self.run, "tools": {n: asdict(r) for n, r in self.tools.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Policy:
        """Back from the snapshot."""
        return cls(data["run"], {n: ToolRule(**r) for n, r in data["tools"].items()})

    @property
    def version(self) -> str:
        """SHA-256 (hex) of the frozen policy."""
        return digest(self.to_json())


@dataclass(frozen=True, slots=True)
class Functions:
    """The parts of a policy that live in code; any may be gone after a restart (then: ask)."""

    tool: Predicate | None = None
    run: Predicate | None = None
    evaluator: Evaluator | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A standing grant that covers a call. Which grants apply, the caller finds out."""

    id: str
    words: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer, and who gave it."""

    permission: Permission
    evaluation: Evaluation | None
    grant: Grant | None = None
