"""What the double's agents say and call: their turns, in place of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Say:
    """A message of the agent."""

    text: str


@dataclass(frozen=True, slots=True)
class Use:
    """A tool call.

    Attributes
    ----------
    kind
        ``"tool"`` (the built-in toolset), ``"mcp"`` or ``"custom"``.
    server
        The MCP server's name.
    """

    name: str
    input: Any
    kind: Literal["tool", "mcp", "custom"] = "tool"
    server: str | None = None


@dataclass(frozen=True, slots=True)
class Delegate:
    """A sub-agent's thread begins, with the turns of that agent."""

    agent: str
    message: str


@dataclass(frozen=True, slots=True)
class Stop:
    """The turn ends for another reason than that there is nothing left to do."""

    reason: Literal["refusal", "retries_exhausted"]


Item = Say | Use | Delegate | Stop
Turn = Sequence[Item] | Callable[[list[dict[str, Any]]], Sequence[Item]]
"""One model turn: items, or a function of the thread's events so far that gives them."""


def say(text: str) -> Say:
    """A message."""
    return Say(text)


def use(name: str, /, **given: Any) -> Use:
    """A call of a built-in tool: ``use("bash", command="ls")``."""
    return Use(name, given)


def mcp(server: str, name: str, /, **given: Any) -> Use:
    """A call of an MCP server's tool."""
    return Use(name, given, "mcp", server)


def custom(name: str, /, **given: Any) -> Use:
    """A call of a custom tool, whose result the client gives."""
    return Use(name, given, "custom")


def delegate(agent: str, message: str) -> Delegate:
    """Hand a part of the work to a sub-agent."""
    return Delegate(agent, message)


def stop(reason: Literal["refusal", "retries_exhausted"]) -> Stop:
    """End the turn: the model refuses, or its provider does not answer any more."""
    return Stop(reason)
