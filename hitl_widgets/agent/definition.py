"""What an agent's definition must be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .. import given
from ..errors import AgentDefinitionError
from .hooks import Hooks
from .memory import Memory
from .options import RunOptions

_ID = given.Kind(
    lambda value: (
        isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,48}", value) is not None
    ),
    "1 to 48 letters, digits, '_' and '-'",
)


def check(id_: Any, agent: type[Any], /, **options: Any) -> None:
    """Refuse at the definition what a run would stumble over; `agent` is the class."""
    given.check_one(AgentDefinitionError, "Agent", "id", id_, _ID)
    where = f"Agent {id_!r}"
    given.check(AgentDefinitionError, where, **options)
    if options["model"] is None:
        raise AgentDefinitionError(
            f"{where} has no model: give model='provider:name' or a hitl.ScriptedModel."
        )
    for name, kind in {**_KINDS, "agents": _all(agent, "a list of agents")}.items():
        given.check_one(AgentDefinitionError, where, name, options[name], kind)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _all(kind: type[Any], words: str) -> given.Kind:
    def fits(value: Any) -> bool:
        return _is_list(value) and all(isinstance(each, kind) for each in value)

    return given.Kind(fits, words)


def _one(kind: type[Any], words: str) -> given.Kind:
    return given.Kind(lambda value: isinstance(value, kind), words)


_KINDS = {
    "tools": _all(object, "a list of tools, functions, toolsets or MCP servers"),
    "memory": _one(Memory, "a hitl.Memory").or_none(),
    "hooks": _one(Hooks, "hitl.Hooks"),
    "defaults": _one(RunOptions, "hitl.RunOptions"),
}
