"""`hitl.explain`, `hitl.policy_table` and `hitl.model_evaluator`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

import hitl_widgets as hitl


def tool(name: str, **options: Any) -> hitl.Tool:
    @hitl.tool(id=name, **options)
    async def act(n: int = 0) -> None:
        "Act."

    return act


def agent(tmp_path: Path, tools: Any, **options: Any) -> hitl.Agent:
    return hitl.Agent(
        "clerk", model=hitl.ScriptedModel(["end"]), tools=tools, store=tmp_path / "a.db", **options
    )


async def test_explain_says_who_would_be_asked_and_makes_no_call(tmp_path: Path) -> None:
    clerk = agent(
        tmp_path,
        [tool("gated", require_approval=lambda c: c.args["n"] > 1), tool("off", enabled=False)],
    )
    small, big = [await hitl.explain(clerk, "gated", {"n": n}) for n in (1, 2)]
    assert (small.permission, big.permission) == ("allow", "ask")
    assert big.evaluation.type == "function"
    assert str(big) == "gated: ask, because a policy function judged it."
    assert (await hitl.explain(clerk, "off", {})).permission == "deny"
    assert (await hitl.explain(clerk, "nothere", {})).because == "there is no such tool"
    every = await hitl.explain(clerk, "gated", {"n": 1}, require_tool_approval=True)
    assert every.evaluation.type == "run"
    with pytest.raises(hitl.InvalidAnswer):
        await hitl.explain(clerk, "gated", {"n": "x"})
    assert clerk.store.runs() == []


def test_the_policy_table_reads_the_rules_and_warns(tmp_path: Path) -> None:
    judged = hitl.auto(lambda _: hitl.Verdict("allow"))
    below = hitl.Agent(
        "below", model=hitl.ScriptedModel([]), tools=[tool("deep", require_approval=True)],
        store=tmp_path / "a.db",
    )  # fmt: skip
    clerk = agent(
        tmp_path,
        [
            tool("free"),
            tool("wipe", effect="destructive"),
            tool("loose", effect="destructive", require_approval=False),
            hitl.Toolset([tool("judged", effect="destructive", require_approval=False)], judged),
            hitl.Toolset([tool("broad", require_approval=False)], "always_ask"),
            hitl.Toolset([tool("off")], configs={"off": hitl.disabled}),
        ],
        agents=[below],
    )
    table = hitl.policy_table(clerk)
    assert {r.tool_name: r.permission for r in table.rows} == {
        "free": "allow",
        "wipe": "ask",
        "loose": "allow",
        "judged": "depends",
        "broad": "ask",
        "off": "deny",
        "agent-below": "allow",
        "below > deep": "ask",
    }
    warned = {w.split(":")[0] for w in table.warnings}
    assert warned == {"loose", "judged", "broad"}
    assert "<table>" in table._repr_html_()
    assert "wipe" in str(table)
    shadowed = hitl.policy_table(clerk, require_tool_approval=lambda _: True)
    assert any("never asked about this tool" in w for w in shadowed.warnings)


def test_html_in_names_is_text(tmp_path: Path) -> None:
    table = hitl.PolicyTable("<script>", hitl.policy_table(agent(tmp_path, [tool("a")])).rows)
    assert "<script>" not in table._repr_html_()


@pytest.mark.parametrize(
    ("said", "permission"),
    [
        ('{"permission": "allow", "reason_code": "benign"}', "allow"),
        ('{"permission": "deny"}', "deny"),
        ('{"permission": "yes"}', "ask"),
        ("{}", "ask"),
        (None, "ask"),
    ],
    ids=["allow", "deny", "nonsense", "empty", "words"],
)
async def test_a_model_evaluator_judges_and_anything_odd_asks(
    said: str | None, permission: str
) -> None:
    """R5; it sees the user's words and the call, never a tool result."""
    shown: list[Any] = []

    async def judge(messages: Any, info: AgentInfo) -> AsyncIterator[Any]:
        shown.extend(p.content for m in messages for p in m.parts)
        yield "hm" if said is None else {0: DeltaToolCall("fill_in", said, tool_call_id="x")}

    evaluate = hitl.model_evaluator(FunctionModel(stream_function=judge))
    context = hitl.ApprovalContext("wipe", {"n": 1}, user_messages=("tidy up",))
    verdict = await evaluate(context)  # type: ignore[misc]
    assert verdict.permission == permission
    assert len(shown) == 1
    assert "tidy up" in shown[0]
    assert "wipe" in shown[0]
