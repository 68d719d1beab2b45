"""Custom tools of a session: run here, behind the local gate if they have one, or filled in."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...errors import AgentDefinitionError, InvalidAnswer
from ...external import notes_for_model, plain
from ...policy import FUNCTION, ApprovalContext, Functions, Judgement, Policy, ToolRule, evaluate
from ...request import Effect, Request
from ...schema import Shape, shape_of, shape_of_parameters
from .history import Event

TEXT: dict[str, Any] = {
    "type": "object",
    "properties": {"result": {"type": "string", "title": "Result"}},
    "required": ["result"],
}
"""The form for a result of which nothing is known."""


@dataclass(frozen=True)
class Local:
    """A custom tool that runs in this process.

    Attributes
    ----------
    rule, predicate
        Its local policy (see `policy.evaluate`).
    """

    name: str
    function: Callable[..., Any]
    shape: Shape
    rule: ToolRule
    predicate: Any = None
    declared_secrets: tuple[str, ...] = ()
    repeatable: bool = False

    @property
    def effect(self) -> Effect:
        """What it does to the world."""
        return self.rule.effect

    def check(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arguments as they would run, as JSON; `InvalidAnswer` when they do not fit."""
        return self.shape.dump(self.shape.validate(args))

    async def judge(self, args: Mapping[str, Any], path: tuple[str, ...]) -> Judgement:
        """Its local policy on a call."""
        context = ApprovalContext(self.name, args, self.effect, path)
        policy = Policy(tools={self.name: self.rule})
        return await evaluate(context, policy, Functions(tool=self.predicate))

    async def run(self, args: dict[str, Any]) -> Any:
        """Run it on checked arguments."""
        value = self.shape.validate(args)
        keywords = _fields(value)
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**keywords)
        result = await asyncio.to_thread(self.function, **keywords)
        return await result if inspect.isawaitable(result) else result


@dataclass(frozen=True)
class Form:
    """A custom tool whose result a person fills in."""

    shape: Shape


Custom = Local | Form | None
"""None: another client answers it."""


def _fields(value: Any) -> dict[str, Any]:
    """Keyword arguments from what a shape validated: a mapping, or a pydantic model."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, Any]", value))
    fields = cast("Any", type(value)).model_fields
    return {name: getattr(value, name) for name in fields}


def custom_tools(given: Mapping[str, Any]) -> dict[str, Custom]:
    """What `attach` was given, checked.

    Raises
    ------
    AgentDefinitionError
        Something that is neither a function, a tool, a type, a schema nor None.
    """
    return {name: _custom(name, value) for name, value in given.items()}


def _custom(name: str, given: Any) -> Custom:
    if given is None:
        return None
    if isinstance(given, dict | type):
        return Form(shape_of(given))
    if hasattr(given, "require_approval") and hasattr(given, "shape"):
        return _of_tool(name, given)
    if callable(given):
        shape = shape_of_parameters(given)
        return Local(name, given, shape, ToolRule(schema_digest=shape.digest))
    raise AgentDefinitionError(
        f"custom_tools[{name!r}] is a {type(given).__name__}: give a function, a hitl.tool, a type "
        "or JSON Schema (a form for its result), or None (another client answers it)."
    )


def _of_tool(name: str, tool: Any) -> Local:
    if tool.context_parameters:
        raise AgentDefinitionError(
            f"custom_tools[{name!r}] takes a ToolContext, which a session has not: give a tool "
            "without one."
        )
    if tool.function is None:
        raise AgentDefinitionError(
            f"custom_tools[{name!r}] has no body: give a type or schema, and a form asks for it."
        )
    wanted = tool.require_approval
    rule = ToolRule(
        require_approval=FUNCTION if callable(wanted) else wanted,
        effect=tool.effect,
        enabled=tool.enabled,
        schema_digest=tool.shape.digest,
    )
    return Local(
        name,
        tool.function,
        tool.shape,
        rule,
        predicate=wanted if callable(wanted) else None,
        declared_secrets=tool.declared_secrets,
        repeatable=tool.idempotent or tool.effect == "read",
    )


def result_event(event_id: str, value: Any, *, error: bool = False) -> Event:
    """A custom tool's result as the service takes it."""
    text = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
    return {
        "type": "user.custom_tool_result",
        "custom_tool_use_id": event_id,
        "content": [{"type": "text", "text": text or "(no output)"}],
        "is_error": error,
    }


def edited(request: Request, value: Any) -> Any:
    """A result with what a human changed before it: the model is told the truth (R10)."""
    notes = notes_for_model(request)
    return {"result": plain(value), **notes} if notes else value


def does_not_fit(error: InvalidAnswer) -> str:
    """What the model is told of arguments that its call can not have."""
    return f"The arguments do not fit the tool's schema, and it did not run: {error}"
