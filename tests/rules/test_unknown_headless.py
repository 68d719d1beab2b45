"""An unknown outcome under a scripted reviewer: said, never waited for without end (R5, R13)."""

from __future__ import annotations

import asyncio

import pytest

import hitl_widgets as hitl
from hitl_widgets.testing import AutoApprove


@hitl.tool(require_approval=True, timeout=0.05)
async def slow() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return "never"


async def test_a_timed_out_call_is_raised_and_settled_by_a_person() -> None:
    model = hitl.ScriptedModel([[hitl.call("slow")], lambda m: str(m[-1].parts[-1].content)])
    agent = hitl.Agent("slow-agent", tools=[slow], model=model)
    with hitl.reviewer(AutoApprove()), pytest.raises(hitl.RunSuspended, match=r"hitl\.settle"):
        await agent.run("go")
    (unknown,) = await hitl.pending()
    assert unknown.state == "outcome_unknown"
    await hitl.settle(unknown, "happened", "it did")
    result = await agent.attach(unknown.run_id)
    assert result.text == "it did"
