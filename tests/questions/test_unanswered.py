"""A question that was not awaited is no answer."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from tests.rules.making import agent_on, store_at

ASKS = pytest.mark.parametrize(
    ("name", "ask"),
    [("hitl.confirm", lambda: hitl.confirm("Delete it?")), ("hitl.ask", lambda: hitl.ask(bool))],
)


@ASKS
def test_it_is_neither_true_nor_false(name: str, ask: Callable[[], Any]) -> None:
    """``if hitl.confirm(…): delete()`` must not delete."""
    asking = ask()
    with pytest.raises(TypeError, match=rf"nobody was asked: write `await {name}"):
        bool(asking)
    assert f"await {name}(…)" in repr(asking)
    asking.close()


async def test_in_a_tool_the_call_fails_and_does_nothing(tmp_path: Path) -> None:
    done: list[str] = []

    @hitl.tool
    async def tidy(ctx: hitl.ToolContext) -> None:
        "Tidy up."
        asking = ctx.confirm("Delete all?")
        try:
            if asking:
                done.append("deleted")
        finally:
            asking.close()

    agent = agent_on(store_at(tmp_path), [[hitl.call("tidy")], "end"], [tidy])
    run = await agent.generate("go")
    assert (run.finish_reason, done) == ("stop", [])
    (call,) = agent.store.calls(run.run_id)
    assert "nobody was asked: write `await ctx.confirm(…)`" in (call.result or {})["value"]


@ASKS
def test_it_is_a_coroutine_to_everything_else(name: str, ask: Callable[[], Any]) -> None:
    async def everywhere() -> list[Any]:
        loop = asyncio.get_running_loop()
        elsewhere = asyncio.run_coroutine_threadsafe(ask(), loop)
        return [
            await ask(),
            *await asyncio.gather(ask(), asyncio.create_task(ask())),
            await asyncio.wait_for(ask(), 10),
            await asyncio.wrap_future(elsewhere),
        ]

    def yes(request: hitl.Request) -> hitl.Decision:
        return hitl.Approve() if request.kind == "approval" else hitl.Answer(data=True)

    with hitl.reviewer(yes):
        assert asyncio.run(everywhere()) == [True] * 5
        assert asyncio.run(ask()) is True
        assert hitl.run_sync(ask()) is True
    function = getattr(hitl, name.removeprefix("hitl."))
    assert inspect.iscoroutinefunction(function) == (sys.version_info >= (3, 12))
    assert "message" in inspect.signature(function).parameters
