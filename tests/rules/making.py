"""Agents, tools and stores for the tests of the rules: real parts, a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import hitl_widgets as hitl
from hitl_widgets.errors import StoreFull
from hitl_widgets.store.sqlite import SqliteStore


class Witness:
    """What tools really did, outside of any store."""

    def __init__(self) -> None:
        self.did: list[Any] = []

    def deleting(self, **options: Any) -> hitl.Tool:
        """A tool ``delete_record(id)``; gated unless said otherwise."""

        @hitl.tool(**{"require_approval": True, **options})
        async def delete_record(id: str, force: bool = False) -> dict[str, Any]:  # noqa: A002
            "Delete a record by ID."
            self.did.append(id)
            return {"deleted": id}

        return delete_record

    def looking(self, **options: Any) -> hitl.Tool:
        """A free tool ``look(id)``."""

        @hitl.tool(**options)
        async def look(id: str) -> str:  # noqa: A002
            "Look at a record."
            self.did.append(f"look {id}")
            return f"seen {id}"

        return look


def store_at(path: Path) -> SqliteStore:
    """A store object of its own on a file: what another process would have."""
    return SqliteStore(path / "hitl.db")


def agent_on(
    store: Any, turns: Sequence[Any], tools: Sequence[Any] = (), **options: Any
) -> hitl.Agent:
    """The agent ``clerk``."""
    named = options.pop("id", "clerk")
    return hitl.Agent(
        named, model=hitl.ScriptedModel(turns), tools=list(tools), store=store, **options
    )


def last_told(messages: Any) -> Any:
    """What the model was told by the last message: one result, or a list of them."""
    told = [p.content for p in messages[-1].parts]
    return told[0] if len(told) == 1 else told


def tell_back(messages: Any) -> str:
    """A model turn that says what it was told."""
    return f"told: {last_told(messages)}"


async def chunks_of(stream: Any) -> list[Any]:
    """All chunks of a stream."""
    return [chunk async for chunk in stream.full_stream]


def kinds(chunks: Sequence[Any]) -> list[str]:
    """Their types, without text and steps."""
    left_out = ("text-delta", "step-start", "step-finish")
    return [c.type for c in chunks if c.type not in left_out]


async def until(condition: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Wait until something shows that no event announces."""
    async with asyncio.timeout(seconds):
        while not (found := condition()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return found


class FailingStore(SqliteStore):
    """A real store whose disk is full at the methods named in `fails`."""

    fails: frozenset[str] = frozenset()
    when: Callable[..., bool] = staticmethod(lambda *_, **__: True)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in super().__getattribute__("fails"):
            when = super().__getattribute__("when")

            def refuse(*args: Any, **kwargs: Any) -> Any:
                if when(*args, **kwargs):
                    raise StoreFull(f"No space left for {name}.")
                return found(*args, **kwargs)

            return refuse
        return found
