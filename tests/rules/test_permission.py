"""R5, R6 and the table of permission, through a whole agent: who is asked, and who says so."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

import hitl_widgets as hitl
from hitl_widgets.deciders import settings
from hitl_widgets.policy import functions
from tests.adapters import graphs, pyd

from .making import Witness, agent_on, chunks_of, store_at, tell_back

GO = [[hitl.call("delete_record", id="abc")], tell_back]


async def judged(agent: hitl.Agent, **options: Any) -> tuple[str, Any]:
    heard = await chunks_of(await agent.stream("go", **options))
    (call,) = [c for c in heard if c.type == "tool-call"]
    (row,) = agent.store.calls(call.run_id)
    assert (row.permission, row.evaluation) == (
        call.payload.evaluated_permission,
        call.payload.evaluation,
    )
    return call.payload.evaluated_permission, call.payload.evaluation


def yes(_: hitl.ApprovalContext) -> bool:
    return True


async def no(_: hitl.ApprovalContext) -> bool:
    return False


def verdict(permission: Any, code: str | None = None) -> Any:
    return hitl.auto(lambda _: hitl.Verdict(permission, code))


CASES: list[Any] = [
    ("disabled", {"enabled": False}, None, {}, "deny", None),
    ("auto deny is final", {"require_approval": True}, verdict("deny", "pii"), {}, "deny", "auto"),
    ("run True over tool False", {"require_approval": False}, None, {"run": True}, "ask", "run"),
    ("tool True", {"require_approval": True}, None, {}, "ask", "tool"),
    ("tool function yes", {"require_approval": yes}, None, {}, "ask", "function"),
    ("tool no, run yes", {"require_approval": no}, None, {"run": yes}, "allow", "function"),
    ("tool False, run yes", {"require_approval": False}, None, {"run": yes}, "allow", "tool"),
    ("run function yes", {"require_approval": None}, None, {"run": yes}, "ask", "function"),
    ("run function no", {"require_approval": None}, None, {"run": no}, "allow", "function"),
    ("destructive", {"require_approval": None, "effect": "destructive"}, None, {}, "ask", "effect"),
    ("False", {"require_approval": False, "effect": "destructive"}, None, {}, "allow", "tool"),
    ("always_ask", {"require_approval": None}, "always_ask", {}, "ask", "always_ask"),
    ("always_ask over False", {"require_approval": False}, "always_ask", {}, "ask", "always_ask"),
    ("auto ask", {"require_approval": None}, verdict("ask"), {}, "ask", "auto"),
    ("auto allow", {"require_approval": None}, verdict("allow", "benign"), {}, "allow", "auto"),
    ("plain", {"require_approval": None}, None, {}, "allow", "always_allow"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
async def test_the_table(tmp_path: Path, case: Any) -> None:
    """Nine rows, strictness wins; the chunk and the stored call say the same."""
    name, tool, toolset, run, permission, kind = case
    made: Any = Witness().deleting(**tool)
    made = made if toolset is None else hitl.Toolset([made], policy=toolset)
    agent = agent_on(store_at(tmp_path), GO, [made])
    options = {"require_tool_approval": run["run"]} if run else {}
    said, evaluation = await judged(agent, **options)
    assert said == permission, name
    assert (None if evaluation is None else evaluation.type) == kind


async def test_reason_codes_are_nested_and_reachable(tmp_path: Path) -> None:
    made = hitl.Toolset([Witness().deleting(require_approval=None)], policy=verdict("ask", "pii"))
    _, evaluation = await judged(agent_on(store_at(tmp_path), GO, [made]))
    assert evaluation == {
        "type": "auto",
        "evaluated_permission": {"type": "ask", "reason_code": "pii"},
    }
    assert evaluation.reason_code == "pii"


async def test_unknown_tools_are_denied_and_the_model_is_told(tmp_path: Path) -> None:
    """Row 1: `evaluation` is None; deciding it is NotAsked."""
    agent = agent_on(store_at(tmp_path), [[hitl.call("nothere", x=1)], tell_back])
    stream = await agent.stream("go")
    heard = await chunks_of(stream)
    (call,) = [c for c in heard if c.type == "tool-call"]
    assert (call.payload.evaluated_permission, call.payload.evaluation) == ("deny", None)
    assert "no tool named 'nothere'" in (await stream.result()).text


async def test_deciding_a_denied_call_is_not_asked(tmp_path: Path) -> None:
    turns = [[hitl.call("delete_record", id="a"), hitl.call("gated", id="b")], "end"]
    saw = Witness()
    denied = hitl.Toolset([saw.deleting()], policy=verdict("deny"))
    gated = saw.deleting(id="gated")
    agent = agent_on(store_at(tmp_path), turns, [denied, gated])
    run = await agent.generate("go")
    row = next(c for c in agent.store.calls(run.run_id) if c.permission == "deny")
    with pytest.raises(hitl.NotAsked):
        await agent.approve_tool_call(run_id=run.run_id, tool_call_id=row.id)
    assert saw.did == []


def _raises(_: Any) -> bool:
    raise RuntimeError("broken rule")


async def _slow(_: Any) -> bool:
    await asyncio.Event().wait()
    return False


@pytest.mark.parametrize("where", ["tool", "run"])
@pytest.mark.parametrize(
    "broken",
    [_raises, _slow, lambda _: None, lambda _: 0, lambda _: "no"],
    ids=["raises", "never returns", "None", "zero", "text"],
)
async def test_a_broken_rule_asks(
    tmp_path: Path, broken: Any, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R5, F6, F8: anything but a clear False."""
    monkeypatch.setattr(functions, "TIMEOUT", 0.05)
    saw = Witness()
    tool = saw.deleting(require_approval=broken if where == "tool" else None)
    options = {"require_tool_approval": broken} if where == "run" else {}
    said, _ = await judged(agent_on(store_at(tmp_path), GO, [tool]), **options)
    assert said == "ask"
    assert saw.did == []


@pytest.mark.parametrize(
    "broken", [_raises, lambda _: "allow", lambda _: True], ids=["raises", "text", "True"]
)
async def test_a_broken_evaluator_asks(tmp_path: Path, broken: Any) -> None:
    """R5, F6."""
    made = hitl.Toolset([Witness().deleting(require_approval=None)], policy=hitl.auto(broken))
    said, evaluation = await judged(agent_on(store_at(tmp_path), GO, [made]))
    assert said == "ask"
    assert evaluation.reason_code == "indeterminate"


async def test_functions_are_told_of_the_call_and_the_users_words_only(tmp_path: Path) -> None:
    """The context: name, validated arguments, request context, workspace, user's messages."""
    seen: list[hitl.ApprovalContext] = []

    def rule(context: hitl.ApprovalContext) -> bool:
        seen.append(context)
        return False

    saw = Witness()
    turns = [
        [hitl.call("look", id="secret tool result")],
        [hitl.call("delete_record", id="a")],
        "e",
    ]
    agent = agent_on(
        store_at(tmp_path), turns, [saw.looking(), saw.deleting(require_approval=rule)]
    )
    desk = object()
    await agent.generate("please", request_context={"tier": 1}, workspace=desk)
    (context,) = seen
    assert context.tool_name == "delete_record"
    assert context.args == {"id": "a", "force": False}
    assert context.request_context == {"tier": 1}
    assert context.workspace is desk
    assert context.agent_path == ("clerk",)
    assert context.user_messages == ("please",)


async def test_a_run_level_function_judges_on_after_an_approval_in_this_process(
    tmp_path: Path,
) -> None:
    turns = [[hitl.call("delete_record", id="1")], [hitl.call("look", id="2")], "end"]
    saw = Witness()
    agent = agent_on(store_at(tmp_path), turns, [saw.deleting(), saw.looking()])
    run = await agent.generate("go", require_tool_approval=no)
    done = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert done.finish_reason == "stop"
    assert saw.did == ["1", "look 2"]


async def test_a_run_resumed_without_its_function_asks_for_all_it_judged(tmp_path: Path) -> None:
    """R5, F5: after a restart the function is gone; another one does not take its place."""
    turns = [[hitl.call("delete_record", id="1")], [hitl.call("look", id="2")], "end"]
    saw = Witness()
    tools = [saw.deleting(), saw.looking()]
    run = await agent_on(store_at(tmp_path), turns, tools).generate("go", require_tool_approval=no)
    later = agent_on(store_at(tmp_path), turns, tools)
    again = await later.approve_tool_call_generate(run_id=run.run_id)
    assert again.finish_reason == "suspended"
    assert again.requests[0].evaluation.type == "function"
    assert saw.did == ["1"]


async def test_a_function_among_the_agents_defaults_is_there_again_after_a_restart(
    tmp_path: Path,
) -> None:
    turns = [[hitl.call("delete_record", id="1")], [hitl.call("look", id="2")], "end"]
    saw = Witness()
    tools, defaults = [saw.deleting(), saw.looking()], hitl.RunOptions(require_tool_approval=no)
    run = await agent_on(store_at(tmp_path), turns, tools, defaults=defaults).generate("go")
    later = agent_on(store_at(tmp_path), turns, tools, defaults=defaults)
    done = await later.approve_tool_call_generate(run_id=run.run_id)
    assert done.finish_reason == "stop"


class TestAdministrator:
    """The administrator's file can only tighten, and a broken one stops everything (R5)."""

    @pytest.fixture
    def write(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        def write(text: str) -> None:
            (tmp_path / "policy.json").write_text(text)
            monkeypatch.setenv("HITL_POLICY", str(tmp_path / "policy.json"))

        return write

    async def test_always_ask(self, tmp_path: Path, write: Any) -> None:
        write('{"always_ask": ["delete_record"]}')
        tool = Witness().deleting(require_approval=False)
        said, evaluation = await judged(agent_on(store_at(tmp_path), GO, [tool]))
        assert said == "ask"
        assert evaluation == {"type": "always_ask", "by": "administrator"}

    async def test_forbid(self, tmp_path: Path, write: Any) -> None:
        write('{"forbid": ["delete_record"]}')
        agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
        assert await judged(agent) == ("deny", None)
        assert agent.specs == []

    async def test_it_does_not_loosen(self, write: Any) -> None:
        write('{"headless": "suspend", "record": "full"}')
        hitl.configure(headless="error", record="none")
        try:
            assert (settings().headless, settings().record) == ("error", "none")
            write('{"headless": "decline", "record": "short"}')
            hitl.configure(headless="suspend", record="full")
            assert (settings().headless, settings().record) == ("decline", "short")
        finally:
            hitl.configure(headless="suspend", record="full")

    @pytest.mark.parametrize(
        "text",
        [
            "{",
            "[]",
            '{"allow": ["x"]}',
            '{"grants": true}',
            '{"always_ask": "x"}',
            '{"headless": 1}',
        ],
    )
    async def test_a_broken_file_stops_everything(
        self, tmp_path: Path, write: Any, text: str
    ) -> None:
        agent = agent_on(store_at(tmp_path), GO, [Witness().deleting(require_approval=False)])
        write(text)
        with pytest.raises(hitl.AgentDefinitionError, match=r"policy\.json"):
            await agent.generate("go")
        assert agent.store.runs() == []

    @pytest.mark.parametrize("asks", ["ask", "confirm", "gated", "pydantic-ai", "langgraph"])
    async def test_a_broken_one_stops_whatever_else_asks_before_a_store_is_opened(
        self, tmp_path: Path, write: Any, asks: str
    ) -> None:
        path, ran = tmp_path / "not-yet" / "requests.db", list[str]()

        def remove(path: str) -> None:
            "Delete a file."
            ran.append(path)

        async def asking() -> None:
            match asks:
                case "ask":
                    await hitl.ask(bool, "Go on?", store=path)
                case "confirm":
                    await hitl.confirm("Go on?", store=path)
                case "gated":
                    hitl.require_approval(store=path)(remove)("a")
                case "pydantic-ai":
                    await hitl.run(pyd.delete_agent(ran, "a"), "go", store=path)
                case _:
                    graph = graphs.delete_graph(InMemorySaver(), "a", delete=remove)
                    await hitl.run(graph, "go", config=graphs.THREAD, store=path)

        write('{"forbid": ')
        with (
            hitl.reviewer(lambda _: hitl.Approve()),
            pytest.raises(hitl.AgentDefinitionError, match=r"policy\.json"),
        ):
            await asking()
        assert ran == []
        assert not path.parent.exists()

    async def test_a_named_file_that_is_missing_stops_everything(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agent = agent_on(store_at(tmp_path), GO, [Witness().deleting(require_approval=False)])
        monkeypatch.setenv("HITL_POLICY", str(tmp_path / "gone.json"))
        with pytest.raises(hitl.AgentDefinitionError, match=r"gone\.json"):
            await agent.generate("go")
