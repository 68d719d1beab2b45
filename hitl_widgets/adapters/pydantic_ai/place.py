"""Where a pydantic-ai run is: which run at the desk it belongs to, and its calls of this turn."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from pydantic_ai import DeferredToolRequests
from pydantic_ai.agent import AbstractAgent

from ...describe import Description
from ...external import Check, External
from ...request import Request

LIBRARY = f"pydantic-ai-slim {version('pydantic-ai-slim')}"

if not hasattr(DeferredToolRequests, "kind"):
    raise ImportError(f"{LIBRARY} has no DeferredToolRequests.kind")


@dataclass
class RunningCall:
    """An approved call on its way to its body.

    Attributes
    ----------
    owner
        The capability that runs it: an agent may have been given two.
    token
        Of the claim, once it is made.
    """

    request: Request
    owner: object
    token: str | None = None


@dataclass
class Calls:
    """Calls of one agent's turn, by pydantic-ai's call id.

    Attributes
    ----------
    told
        Validated arguments, as a person is shown them.
    validators
        By tool name: how the framework would read edited arguments.
    approved
        Calls that may run once.
    running
        Those of them that do.
    stored
        Results that stand in for a call's run.
    spent
        Calls whose approval or stored result was used: nothing of them runs again.
    """

    told: dict[str, Description] = field(default_factory=dict[str, Description])
    validators: dict[str, Check] = field(default_factory=dict[str, Check])
    approved: dict[str, Request] = field(default_factory=dict[str, Request])
    running: dict[str, RunningCall] = field(default_factory=dict[str, RunningCall])
    stored: dict[str, Any] = field(default_factory=dict[str, Any])
    spent: set[str] = field(default_factory=set[str])


@dataclass
class Place:
    """The run at the desk that what happens here belongs to.

    Attributes
    ----------
    path
        Names of the agents from the root down to here.
    bubbles
        Whether the root's requests end its run (`Resumable`) instead of parking it.
    known
        What is known of the root's calls of this turn.
    """

    external: External
    path: tuple[str, ...] = ()
    bubbles: bool = False
    known: Calls = field(default_factory=Calls)


_place: ContextVar[Place | None] = ContextVar("hitl_pydantic_ai_place", default=None)


def current() -> Place | None:
    """Where the running code is; None outside of any run at the desk."""
    return _place.get()


@contextmanager
def within(place: Place) -> Generator[None]:
    """Have what runs inside belong to `place`."""
    token = _place.set(place)
    try:
        yield
    finally:
        _place.reset(token)


def external_of(agent: AbstractAgent[Any, Any], prompt: Any, **options: Any) -> External:
    """A run at the desk for an agent."""
    name = agent.name or "agent"
    return External(agent_id=f"pydantic-ai:{name}", title=name, prompt=prompt, **options)
