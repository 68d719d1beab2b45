"""What a caller gives is judged where it is given, and nothing was made, asked or decided."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl

MODEL = hitl.ScriptedModel(["done"])
TOOL, AGENT = hitl.ToolDefinitionError, hitl.AgentDefinitionError


def run(x: int, token: str = "") -> int:
    """Do it."""
    return x


def tool(**options: Any) -> Callable[[], object]:
    return lambda: hitl.tool(**options)(run)


def gate(**options: Any) -> Callable[[], object]:
    return lambda: hitl.require_approval(**options)(run)


def agent(**options: Any) -> Callable[[], object]:
    given: dict[str, Any] = {"id": "a", "model": MODEL, "store": ":memory:", **options}
    return lambda: hitl.Agent(**given)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"expires": -1}, "seconds, more than 0"),
        ({"expires": float("inf")}, "seconds, more than 0"),
        ({"expires": True}, "seconds, more than 0"),
        ({"on_expire": "approve"}, "'decline', 'withdraw'"),
        ({"reviewers": "bob"}, "a list of names"),
        ({"reviewers": []}, "a list of names"),
        ({"reviewers": ["ada", 5]}, "a list of names"),
        ({"quorum": "2"}, "1 or more"),
        ({"quorum": 0}, "1 or more"),
        ({"quorum": 2, "reviewers": ["ada"]}, "nobody could decide"),
        ({"secret": "/token"}, "JSON Pointers"),
        ({"secret": ["token"]}, "JSON Pointers"),
        ({"secret": ["/token~2"]}, "JSON Pointers"),
        ({"secret": ["/tokn"]}, "names no argument; there is x, token"),
        ({"effect": "unknown"}, "one of"),
        ({"effect": ["read"]}, "one of"),
        ({"record": "all"}, "'full', 'short', 'none'"),
    ],
)
def test_an_option_of_a_tool_and_of_a_gate(option: dict[str, Any], says: str) -> None:
    with pytest.raises(TOOL, match=says):
        tool(**option)()
    with pytest.raises(AGENT, match=f"require_approval on run: .*{says}"):
        gate(**option)()


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (tool(timeout=0), TOOL, "seconds, more than 0"),
        (tool(idempotent="no"), TOOL, "True or False"),
        (tool(max_declines=0), TOOL, "1 or more"),
        (tool(id=5), TOOL, "Tool id 5"),
        (tool(description=5), TOOL, "give text"),
        (gate(key=""), AGENT, "text, not empty"),
        (gate(message=5), AGENT, "give text"),
        (agent(id=None), AGENT, "1 to 48"),
        (agent(id=5), AGENT, "1 to 48"),
        (agent(name=5), AGENT, "text, not empty"),
        (agent(instructions=["be nice"]), AGENT, "give text"),
        (agent(tools=run), AGENT, "a list of tools"),
        (agent(agents=[5]), AGENT, "a list of agents"),
        (agent(memory=True), AGENT, "hitl.Memory"),
        (agent(budget=5), AGENT, "hitl.Budget"),
        (agent(defaults={"max_steps": 2}), AGENT, "hitl.RunOptions"),
        (lambda: hitl.RunOptions(max_steps="a"), AGENT, "1 or more"),  # type: ignore[arg-type]
        (lambda: hitl.RunOptions(max_steps=0), AGENT, "1 or more"),
        (lambda: hitl.RunOptions(thread_id=7), AGENT, "text, not empty"),  # type: ignore[arg-type]
        (lambda: hitl.RunOptions(pending="wait"), AGENT, "'error', 'decline'"),  # type: ignore[arg-type]
        (lambda: hitl.Budget(max_cost="1"), AGENT, "0 or more"),  # type: ignore[arg-type]
        (lambda: hitl.Budget(max_tokens=-1), AGENT, "0 or more"),
        (lambda: hitl.configure(reviewer=5), ValueError, "a function of a Request"),
        (lambda: hitl.configure(store=5), TypeError, "takes a path"),
        (lambda: hitl.configure(store=""), ValueError, "needs a path"),
        (lambda: hitl.confirm_sync(None), AGENT, "text, not empty"),  # type: ignore[arg-type]
        (lambda: hitl.confirm_sync("Go?", key=""), AGENT, "text, not empty"),
        (lambda: hitl.ask_sync(int, expires=0), AGENT, "seconds, more than 0"),
        (lambda: hitl.ask_sync(int, on_expire="answer"), AGENT, "'decline', 'withdraw'"),
    ],
    ids=itertools.count(),
)
def test_what_cannot_be_meant(make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make()


def test_a_secret_of_any_further_argument_is_taken() -> None:
    """Where any name may come, none can be called a slip of the pen."""

    @hitl.require_approval(secret=["/token"])
    def anything(**more: str) -> None: ...

    open_schema = {"type": "object", "additionalProperties": True}
    assert callable(anything)
    assert hitl.tool(secret=["/token", "/*/key"], input_schema=open_schema)(run).declared_secrets


@pytest.mark.parametrize(
    ("decision", "says"),
    [
        (hitl.Decline(5), "reason=5; give text"),  # type: ignore[arg-type]
        (hitl.Decline(stop="yes"), "stop='yes'; give True or False"),  # type: ignore[arg-type]
        (hitl.Approve(note=5), "note=5; give text"),  # type: ignore[arg-type]
        (hitl.Approve(args=[1]), "give the whole arguments"),  # type: ignore[arg-type]
        ("yes", "hitl.Approve, hitl.Decline"),
    ],
)
async def test_what_is_no_decision_decides_nothing(
    decision: Any, says: str, tmp_path: Path
) -> None:
    gated = hitl.tool(require_approval=True)(run)
    made = hitl.Agent(
        "a",
        model=hitl.ScriptedModel([[hitl.call("run", x=1)], "done"]),
        tools=[gated],
        store=tmp_path / "requests.db",
    )
    (request,) = (await made.generate("go")).requests
    with pytest.raises(hitl.InvalidAnswer, match=says):
        await hitl.decide(request, decision)
    (still,) = await hitl.pending(made.store)
    assert still.state == "pending"


async def test_a_state_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="give one of pending, approved"):
        await hitl.pending(tmp_path / "requests.db", state="zz")  # type: ignore[arg-type]
