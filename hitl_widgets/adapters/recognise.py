"""``hitl.run(their_agent, …)``: whose agent it is, told without importing any framework."""

from __future__ import annotations

import importlib
from typing import Any, cast

from ..errors import AgentDefinitionError

_KNOWN = {
    ("pydantic_ai", "AbstractAgent"): "pydantic_ai",
    ("langgraph", "PregelProtocol"): "langchain",
}
"""(top package, class) anywhere among an object's classes → the adapter."""

_OURS = "hitl_widgets.agent.agent"

_SUPPORTED = (
    "a hitl.Agent, a pydantic-ai Agent, or a LangGraph graph compiled with a checkpointer "
    "(LangChain's create_agent makes one)"
)


async def run(agent: Any, prompt: Any = None, **kwargs: Any) -> Any:
    """Run another framework's agent; its approvals and questions come to this desk.

    Parameters
    ----------
    agent
        A pydantic-ai agent, a LangGraph graph or LangChain agent, or a `hitl.Agent`.
    prompt
        What that framework takes as its input.
    **kwargs
        That framework's own, and ``key=`` and ``store=``; see `hitl.adapters.pydantic_ai.run` and
        `hitl.adapters.langchain.run`.

    Returns
    -------
    object
        That framework's own result.

    Raises
    ------
    AgentDefinitionError
        Nothing that is known here, or of a version that is not.
    RunSuspended, NoReviewer
        Nobody can be asked here.
    """
    adapter = _adapter(agent)
    if adapter is None:
        return await agent.run(prompt, **kwargs)
    try:
        module = importlib.import_module(f".{adapter}", __package__)
    except ImportError as e:
        extra = "hitl-widgets[langchain]" if adapter == "langchain" else "hitl-widgets"
        raise AgentDefinitionError(
            f"This agent's library is too old or too new for hitl.run ({e}): "
            f"pip install --upgrade '{extra}'"
        ) from e
    return await module.run(agent, prompt, **kwargs)


def _adapter(agent: Any) -> str | None:
    """The adapter's name; None for an agent of our own."""
    kind = cast("type[Any]", type(agent))
    for base in kind.__mro__:
        if base.__module__ == _OURS and base.__name__ == "Agent":
            return None
        found = _KNOWN.get((base.__module__.partition(".")[0], base.__name__))
        if found is not None:
            return found
    if isinstance(agent, type):
        hint = f" {agent.__name__} is a class: give one made from it."
    elif kind.__name__ == "StateGraph":
        hint = " A StateGraph is not yet a graph that runs: give graph.compile(checkpointer=…)."
    else:
        hint = ""
    raise AgentDefinitionError(
        f"hitl.run does not know a {kind.__module__}.{kind.__name__}: give {_SUPPORTED}.{hint} "
        "For anything else, gate its tools: @hitl.require_approval."
    )
