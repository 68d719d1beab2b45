"""Supervisors: an agent as a tool of another, its frame inside the other's run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import SnapshotNotFound
from ..policy import FUNCTION, ApprovalContext, Policy, Predicate, ask_function
from ..request import Call
from ..schema import shape_of_parameters
from . import models
from .snapshot import Frame
from .tools import Tool

if TYPE_CHECKING:
    from .agent import Agent
    from .frames import FrameRun


def as_tool(agent: Agent) -> Tool:
    """An agent as a tool of its supervisor."""

    def delegate(prompt: str) -> None: ...

    return Tool(
        id=f"agent-{agent.id}",
        description=agent.description or f"Delegate to the agent {agent.name}.",
        function=None,
        shape=shape_of_parameters(delegate),
        agent=agent,
    )


async def runner(parent: FrameRun, agent: Agent, call: Call) -> FrameRun:
    """The nested agent of a call: where it was, or at its beginning."""
    from .frames import FrameRun  # noqa: PLC0415  # the two know each other

    key = f"{call.run_id}/{call.id}"
    try:
        state = Frame.load(await parent.driver.read("frame", key))
    except SnapshotNotFound:
        state = Frame(
            key=key,
            agent_id=agent.id,
            agent_path=(*parent.state.agent_path, agent.id),
            messages=[models.user_message(call.args["prompt"], agent.instructions)],
            policy=Policy(_rule(parent, agent), {n: e.rule for n, e in agent.entries.items()}),
        )
    return FrameRun(parent.driver, agent, state, parent)


def _rule(parent: FrameRun, agent: Agent) -> Any:
    """The stricter of the supervisor's run-level rule and the nested agent's own default."""
    rules = (parent.state.policy.run, agent.defaults.run_rule)
    if any(rule is True for rule in rules):
        return True
    return FUNCTION if FUNCTION in rules else False


def predicate(parent: FrameRun, agent: Agent) -> Predicate | None:
    """The functions behind `_rule` as one: any of them may ask, one that is gone does."""
    functions: list[Predicate | None] = []
    if parent.state.policy.run == FUNCTION:
        functions.append(parent.predicate)
    if agent.defaults.predicate is not None:
        functions.append(agent.defaults.predicate)
    return any_of(functions)


def any_of(functions: Sequence[Predicate | None]) -> Predicate | None:
    """Functions as one: any of them may ask, and one that is gone does."""
    if len(functions) <= 1:
        return functions[0] if functions else None

    async def ask_all(context: ApprovalContext) -> bool:
        for function in functions:
            if function is None or await ask_function(function, context) is not False:
                return True
        return False

    return ask_all
