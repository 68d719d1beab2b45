"""pydantic-ai agents that follow a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

BOTH = pytest.mark.parametrize("key", [None, "k"], ids=["parked", "resumed"])
"""Each behaviour in both forms: parked in place, and stopped and resumed."""

Turn = str | Sequence[tuple[str, dict[str, Any]]]


def scripted(*turns: Turn) -> FunctionModel:
    """A model whose place in its script is the number of its turns in the history.

    A turn is text, or tool calls: their ids are ``c<turn>-<index>``, the same in every agent.
    """

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        place = sum(isinstance(m, ModelResponse) for m in messages)
        turn = turns[place]
        if isinstance(turn, str):
            return ModelResponse(parts=[TextPart(turn)])
        return ModelResponse(
            parts=[
                ToolCallPart(name, args, tool_call_id=f"c{place}-{i}")
                for i, (name, args) in enumerate(turn)
            ]
        )

    return FunctionModel(answer)


def returned(result: Any) -> list[Any]:
    """What the model got from its tools, in order."""
    return [
        part.content
        for message in result.all_messages()
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


def delete_agent(ran: list[str], *paths: str, name: str = "boss") -> Agent[None, Any]:
    """An agent that wants to delete `paths` in one turn, and reads r.csv without asking."""
    wants: Turn = [("delete_file", {"path": p}) for p in paths]
    agent: Agent[None, Any] = Agent(
        scripted([*wants, ("read_file", {"path": "r.csv"})], "finished"), name=name
    )

    @agent.tool_plain(requires_approval=True)
    def delete_file(path: str, force: bool = False) -> str:
        """Delete a file."""
        ran.append(f"{path} force" if force else path)
        return f"deleted {path}"

    @agent.tool_plain
    def read_file(path: str) -> str:
        """Read a file."""
        ran.append(f"read {path}")
        return f"contents of {path}"

    return agent


def one_tool(function: Callable[..., Any], args: dict[str, Any]) -> Agent[None, Any]:
    """An agent that calls one gated tool once."""
    agent: Agent[None, Any] = Agent(scripted([(function.__name__, args)], "finished"), name="boss")
    agent.tool_plain(requires_approval=True)(function)
    return agent
