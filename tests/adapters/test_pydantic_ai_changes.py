"""pydantic-ai: agents that changed, and two who resume at once."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
)
from pydantic_ai.exceptions import UserError

import hitl_widgets as hitl

from .desk import states
from .pyd import delete_agent, returned

BLOCKED = "Tool call blocked: approval did not match delete_file arguments."


class TestChangedAgents:
    """Between pause and resume the code changed."""

    async def paused(self, decision: Any) -> None:
        with pytest.raises(hitl.RunSuspended) as suspended:
            await hitl.run(delete_agent([], "a.csv"), "go", key="k")
        await hitl.decide(suspended.value.requests[0], decision)

    async def test_a_tool_with_another_signature_does_not_run_and_the_model_is_told(self) -> None:
        """R3, F16."""
        await self.paused(hitl.Approve())
        ran: list[str] = []
        agent: Agent[None, Any] = Agent(delete_agent([], "a.csv").model, name="boss")

        @agent.tool_plain(requires_approval=True)
        def delete_file(path: str, force: bool = False, shred: bool = True) -> str:
            ran.append(path)
            return path

        result = await hitl.run(agent, "go", key="k")
        assert ran == []
        assert BLOCKED in returned(result)
        assert states() == [("delete_file", "blocked")]

    async def test_a_tool_that_is_gone_does_not_run(self) -> None:
        await self.paused(hitl.Approve())
        agent: Agent[None, Any] = Agent(delete_agent([], "a.csv").model, name="boss")
        with contextlib.suppress(UserError):
            await hitl.run(agent, "go", key="k")
        assert states()[0][1] in ("approved", "withdrawn", "blocked")

    async def test_a_gate_that_is_gone_lets_no_declined_call_through(self) -> None:
        """F5."""
        await self.paused(hitl.Decline("no"))
        ran: list[str] = []
        agent: Agent[None, Any] = Agent(delete_agent([], "a.csv").model, name="boss")

        @agent.tool_plain
        def delete_file(path: str, force: bool = False) -> str:
            ran.append(path)
            return path

        await hitl.run(agent, "go", key="k")
        assert ran == []
        assert states() == [("delete_file", "declined")]


class TestTwoAtOnce:
    async def test_two_loops_in_two_threads_resume_one_key_and_the_tool_runs_once(self) -> None:
        """R1, R21."""
        ran: list[str] = []
        with pytest.raises(hitl.RunSuspended) as suspended:
            await hitl.run(delete_agent(ran, "a.csv"), "go", key="k")
        await hitl.decide(suspended.value.requests[0], hitl.Approve())
        start = threading.Barrier(2)

        def resume() -> Any:
            start.wait()
            try:
                return asyncio.run(hitl.run(delete_agent(ran, "a.csv"), "go", key="k"))
            except hitl.RunSuspended as e:
                return e

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(resume) for _ in range(2)]
            outcomes = await asyncio.gather(*map(asyncio.wrap_future, jobs))
        assert ran.count("a.csv") == 1
        assert any(not isinstance(o, Exception) for o in outcomes), outcomes

    def test_without_a_loop_it_is_run_by_run_sync(self) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = hitl.run_sync(hitl.run(delete_agent(ran, "a.csv"), "go"))
        assert result.output == "finished"
        assert ran.count("a.csv") == 1
