"""What a run can be given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from pydantic_core import PydanticSerializationError, to_jsonable_python

from .. import given
from ..errors import AgentDefinitionError
from ..policy import FUNCTION, Predicate
from ..schema import shape_of
from .budget import Budget

_BUDGET = given.Kind(lambda value: isinstance(value, Budget), "a hitl.Budget").or_none()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of `run`, `start`, `stream` and `generate`; an agent's ``defaults=`` too.

    Attributes
    ----------
    require_tool_approval
        True, False, or a function of `ApprovalContext` for tools that say nothing themselves.
    request_context
        Any JSON; kept over a restart.
    workspace
        Any object; not kept: give it again on resume.
    thread_id, resource_id
        The conversation, and whose it is.
    max_steps
        Model turns at most, per agent.
    auto_resume_suspended_tools
        Let a chat message fill in a waiting input (never a consent). Needs memory, thread and
        resource.
    pending
        What a new message does while something is pending on its thread: ``"error"`` or
        ``"decline"``.
    output_type
        A type that the final answer must have.
    message_history
        Messages (pydantic-ai) to begin with.
    expires
        Seconds that this run's requests wait.
    """

    require_tool_approval: bool | Predicate = False
    request_context: Any = None
    workspace: Any = None
    thread_id: str | None = None
    resource_id: str | None = None
    max_steps: int | None = None
    auto_resume_suspended_tools: bool = False
    pending: Literal["error", "decline"] = "error"
    budget: Budget | None = None
    output_type: Any = None
    message_history: Any = None
    expires: float | None = None

    def __post_init__(self) -> None:
        options = {f.name: getattr(self, f.name) for f in fields(self)}
        given.check(AgentDefinitionError, "A run", **options)
        given.check_one(AgentDefinitionError, "A run", "budget", self.budget, _BUDGET)

    def with_given(self, others: Mapping[str, Any]) -> RunOptions:
        """These options with others in place of some.

        Raises
        ------
        AgentDefinitionError
            An unknown name.
        """
        known = {f.name for f in fields(self)}
        unknown = sorted(others.keys() - known)
        if unknown:
            raise AgentDefinitionError(
                f"A run has no option {', '.join(unknown)}; it takes {', '.join(sorted(known))}."
            )
        return replace(self, **others)

    @property
    def run_rule(self) -> bool | Literal["function"]:
        """The serialisable part of `require_tool_approval`."""
        required = self.require_tool_approval
        return required if isinstance(required, bool) else FUNCTION

    @property
    def predicate(self) -> Predicate | None:
        """The function given as `require_tool_approval`."""
        required = self.require_tool_approval
        return required if callable(required) else None

    def to_json(self) -> dict[str, Any]:
        """The part that a snapshot keeps."""
        try:
            context = to_jsonable_python(self.request_context)
        except PydanticSerializationError as e:
            raise AgentDefinitionError(
                f"request_context has no JSON form ({e}); put objects into workspace=."
            ) from e
        return {
            "request_context": context,
            "max_steps": self.max_steps,
            "output_schema": None
            if self.output_type is None
            else shape_of(self.output_type).json_schema,
            "budget": asdict(self.budget) if self.budget else None,
            "expires": self.expires,
        }
