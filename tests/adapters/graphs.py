"""LangGraph graphs and LangChain agents that follow a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool

MODES = pytest.mark.parametrize("mode", ["per_call", "batched"])
THREAD = {"configurable": {"thread_id": "t"}}

Turn = str | Sequence[tuple[str, dict[str, Any]]]


class Scripted(BaseChatModel):
    """A chat model whose place in its script is the number of its messages in the history."""

    turns: list[Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Any tools will do."""
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        place = sum(isinstance(m, AIMessage) for m in messages)
        turn = self.turns[place]
        if isinstance(turn, str):
            said = AIMessage(turn)
        else:
            named = [
                {"name": n, "args": a, "id": f"c{place}-{i}", "type": "tool_call"}
                for i, (n, a) in enumerate(turn)
            ]
            said = AIMessage("", tool_calls=named)
        return ChatResult(generations=[ChatGeneration(message=said)])


def tool(function: Callable[..., Any], name: str) -> StructuredTool:
    """A tool from a sync or async function."""
    import inspect

    both: dict[str, Any] = {"func": function}
    if inspect.iscoroutinefunction(function):
        both = {"coroutine": function, "func": _blocking(function)}
    return StructuredTool.from_function(**both, name=name, description=f"The tool {name}.")


def _blocking(function: Callable[..., Any]) -> Callable[..., Any]:
    import asyncio
    import functools

    @functools.wraps(function)
    def blocking(**kwargs: Any) -> Any:
        return asyncio.run(function(**kwargs))

    return blocking


def agent(
    saver: Any,
    tools: Sequence[StructuredTool],
    *turns: Turn,
    gated: Any = None,
    mode: Any = "per_call",
    name: str = "boss",
) -> Any:
    """A LangChain agent under human review."""
    review = HumanInTheLoopMiddleware(gated or {"delete_file": True}, interrupt_mode=mode)
    return create_agent(
        Scripted(turns=list(turns)), list(tools), middleware=[review], checkpointer=saver, name=name
    )


def delete_graph(
    saver: Any, *paths: str, delete: Callable[..., Any], mode: Any = "per_call", gated: Any = None
) -> Any:
    """An agent that wants to delete `paths` in one turn, and reads r.csv without asking."""

    def read(path: str) -> str:
        return f"contents of {path}"

    wants = [("delete_file", {"path": p}) for p in paths]
    return agent(
        saver,
        [tool(delete, "delete_file"), tool(read, "read_file")],
        [*wants, ("read_file", {"path": "r.csv"})],
        "finished",
        gated=gated,
        mode=mode,
    )


def returned(result: Any) -> list[str]:
    """What the model got from its tools, in the order of its calls."""
    messages = result["messages"]
    order = [c["id"] for m in messages if isinstance(m, AIMessage) for c in m.tool_calls]
    told = {m.tool_call_id: m.content for m in messages if m.type == "tool"}
    return [told[i] for i in order if i in told]
