"""pydantic-ai: other capabilities, stubborn tools, calls that look the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    RunContext,
)
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UserError

import hitl_widgets as hitl

from .desk import Hanging, calls, nobody_decides, states
from .pyd import BOTH, delete_agent, one_tool, returned, scripted

BLOCKED = "Tool call blocked: approval did not match delete_file arguments."


class Twice(AbstractCapability[Any]):
    """Executes every tool call a second time, as a retrying capability does."""

    async def wrap_tool_execute(self, _ctx: Any, **given: Any) -> Any:
        await given["handler"](given["args"])
        return await given["handler"](given["args"])


class TestOtherCapabilities:
    @BOTH
    async def test_a_call_that_is_executed_twice_runs_once(self, key: str | None) -> None:
        """R1: the approval is used up by the first."""
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(
                delete_agent(ran, "a.csv"), "go", key=key, capabilities=[Twice()]
            )
        assert ran.count("a.csv") == 1
        assert any("used up" in str(told) for told in returned(result))
        assert calls() == [("delete_file", "done", "deleted a.csv")]

    @BOTH
    async def test_a_responded_call_that_is_executed_twice_never_runs(
        self, key: str | None
    ) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Respond("gone already")):
            result = await hitl.run(
                delete_agent(ran, "a.csv"), "go", key=key, capabilities=[Twice()]
            )
        assert "a.csv" not in ran
        assert any("used up" in str(told) for told in returned(result))

    @BOTH
    async def test_arguments_changed_by_the_last_hook_do_not_run(self, key: str | None) -> None:
        """R3, F20: `before_tool_execute` runs inside of every `wrap_tool_execute`."""
        ran: list[str] = []

        class Late(AbstractCapability[Any]):
            async def before_tool_execute(self, _ctx: Any, **given: Any) -> Any:
                args = given["args"]
                return {**args, "force": True} if "force" in args else args

        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(
                delete_agent(ran, "a.csv"), "go", key=key, capabilities=[Late()]
            )
        assert ran == ["read r.csv"]
        assert BLOCKED in returned(result)
        assert states() == [("delete_file", "blocked")]

    async def test_one_that_answers_instead_of_the_tool_is_kept_as_it_was(self) -> None:
        ran: list[str] = []

        class Cache(AbstractCapability[Any]):
            async def wrap_tool_execute(self, _ctx: Any, **given: Any) -> Any:
                if given["tool_def"].name == "delete_file":
                    return "from the cache"
                return await given["handler"](given["args"])

        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(delete_agent(ran, "a.csv"), "go", capabilities=[Cache()])
        assert ran == ["read r.csv"]
        assert "from the cache" in returned(result)
        assert "executing" not in dict(states()).values()

    @BOTH
    async def test_one_call_id_in_two_turns_is_two_calls(self, key: str | None) -> None:
        """F11: some providers count from zero in each turn."""
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel

        ran: list[str] = []
        turns = [("delete_file", "a.csv"), ("delete_file", "b.csv"), ("read_file", "a.csv")]

        def answer(messages: list[Any], _: Any) -> ModelResponse:
            place = sum(isinstance(m, ModelResponse) for m in messages)
            if place == len(turns):
                return ModelResponse(parts=[TextPart("finished")])
            name, path = turns[place]
            return ModelResponse(parts=[ToolCallPart(name, {"path": path}, tool_call_id="call_0")])

        agent: Agent[None, Any] = Agent(FunctionModel(answer), name="boss")

        @agent.tool_plain(requires_approval=True)
        def delete_file(path: str) -> str:
            ran.append(path)
            return f"deleted {path}"

        @agent.tool_plain
        def read_file(path: str) -> str:
            ran.append(f"read {path}")
            return path

        decisions = iter([hitl.Approve(), hitl.Decline("no")])
        with hitl.reviewer(lambda _: next(decisions)):
            result = await hitl.run(agent, "go", key=key)
        assert result.output == "finished"
        assert ran == ["a.csv", "read a.csv"]
        assert states() == [("delete_file", "done"), ("delete_file", "declined")]


class TestSameCallTwice:
    @BOTH
    async def test_equal_calls_in_one_turn_are_two(self, key: str | None) -> None:
        """F10."""
        ran: list[str] = []
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(
                hitl.run(delete_agent(ran, "a.csv", "a.csv"), "go", key=key)
            )
            first, second = await seen.get(), await seen.get()
            await hitl.decide(first, hitl.Decline("once is enough"))
            await hitl.decide(second, hitl.Approve())
            result = await running
        assert ran.count("a.csv") == 1
        assert sum("once is enough" in str(t) for t in returned(result)) == 1
        assert states() == [("delete_file", "declined"), ("delete_file", "done")]


class TestStubbornTools:
    @BOTH
    async def test_one_that_swallows_a_cancellation_keeps_its_true_result(
        self, key: str | None
    ) -> None:
        """R8, R13."""
        hanging = Hanging(stubborn=True)
        await hanging.cancel(hitl.run(one_tool(hanging.act, {}), "go", key=key))
        assert hanging.ran == ["act"]
        assert calls() == [("act", "done", "done all the same")]

    @BOTH
    async def test_a_cancelled_one_has_an_unknown_outcome(self, key: str | None) -> None:
        hanging = Hanging()
        await hanging.cancel(hitl.run(one_tool(hanging.act, {}), "go", key=key))
        assert states() == [("act", "outcome_unknown")]

    @pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
    async def test_one_that_raises_what_ends_a_process_is_kept_as_failed(
        self, error: type[BaseException]
    ) -> None:
        """In a loop of its own, which such an error ends."""

        async def act() -> str:
            raise error

        def elsewhere() -> None:
            with hitl.reviewer(lambda _: hitl.Approve()):
                asyncio.run(hitl.run(one_tool(act, {}), "go", key="k"))

        with pytest.raises(BaseException):  # noqa: B017, PT011
            await asyncio.to_thread(elsewhere)
        ((_, state, value),) = calls()
        assert (state, value) == ("failed", f"{error.__name__}: ")

    async def test_an_approved_tool_that_asks_for_data_gets_it(self) -> None:
        """One call, two questions: pydantic-ai takes the second in the resumed form only."""
        ran: list[str] = []
        agent: Agent[None, Any] = Agent(scripted([("act", {})], "finished"), name="boss")

        @agent.tool
        def act(ctx: RunContext[None]) -> str:
            if not ctx.tool_call_approved:
                raise ApprovalRequired
            ran.append("act")
            raise CallDeferred

        answers = iter([hitl.Approve(), hitl.Answer("seven")])
        with hitl.reviewer(lambda _: next(answers)):
            with pytest.raises(UserError) as failed:
                await hitl.run(agent, "go")
            assert any("needs key=" in note for note in failed.value.__notes__)
            ran.clear()
            answers = iter([hitl.Approve(), hitl.Answer("seven")])
            result = await hitl.run(agent, "go", key="k")
        assert ran == ["act"]
        assert returned(result) == ["seven"]
        assert [s for _, s in states()] == ["done", "done", "done"]
