"""pydantic-ai: other capabilities, hostile values, stubborn tools, odd outputs."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import math
import threading
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    BinaryContent,
    CallDeferred,
    DeferredToolRequests,
    RunContext,
)
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UserError
from pydantic_ai.output import NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.usage import UsageLimits

import hitl_widgets as hitl

from .desk import calls, nobody_decides, runs, states
from .pyd import delete_agent, returned, scripted

BOTH = pytest.mark.parametrize("key", [None, "k"], ids=["parked", "resumed"])

BLOCKED = "Tool call blocked: approval did not match delete_file arguments."


def one_tool(function: Any, args: dict[str, Any], **options: Any) -> Agent[None, Any]:
    """An agent that calls one gated tool once."""
    name = function.__name__
    agent: Agent[None, Any] = Agent(scripted([(name, args)], "finished"), name="boss", **options)
    agent.tool_plain(requires_approval=True)(function)
    return agent


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


def nested(depth: int) -> Any:
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    return value


HOSTILE = {
    "not a number": math.nan,
    "infinity": math.inf,
    "huge": 10**400,
    "deep": nested(100),
    "no text": "",
    "direction marks": "\u202egnp.exe",
    "null byte": "a\x00b",
}


class TestHostileArguments:
    @BOTH
    @pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
    async def test_they_are_asked_about_and_run_as_they_are(
        self, key: str | None, value: Any
    ) -> None:
        got: list[Any] = []

        def take(value: Any) -> str:
            got.append(value)
            return "taken"

        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(one_tool(take, {"value": value}), "go", key=key)
        assert repr(got) == repr([value])
        assert returned(result) == ["taken"]
        assert calls() == [("take", "done", "taken")]


class Row(BaseModel):
    name: str
    ids: list[int]


class Silent:
    def __repr__(self) -> str:
        raise ValueError("no words")


def ring() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


RESULTS = {
    "bytes": b"\xff\xfe",
    "an image": BinaryContent(data=b"\x89PNG\xff", media_type="image/png"),
    "lone surrogate": "\ud800",
    "not a number": math.nan,
    "deep": nested(300),
    "odd keys": {(1, 2): 3},
}


class TestHostileResults:
    @BOTH
    @pytest.mark.parametrize("value", RESULTS.values(), ids=RESULTS)
    async def test_what_a_tool_did_is_kept_whatever_it_returns(
        self, key: str | None, value: Any
    ) -> None:
        """R13: its effect has happened."""
        ran: list[str] = []

        def act() -> Any:
            ran.append("act")
            return value

        may = contextlib.suppress(ValueError, TypeError)  # the framework may not take it
        with hitl.reviewer(lambda _: hitl.Approve()), may:
            await hitl.run(one_tool(act, {}), "go", key=key)
        assert ran == ["act"]
        ((_, state, _),) = calls()
        assert state == "done"

    @pytest.mark.parametrize("value", [ring(), Silent()], ids=["a ring", "no repr"])
    async def test_even_what_has_no_form(self, value: Any) -> None:
        ran: list[str] = []

        def act() -> Any:
            ran.append("act")
            return value

        may = contextlib.suppress(ValueError)  # the framework cannot take it
        with hitl.reviewer(lambda _: hitl.Approve()), may:
            await hitl.run(one_tool(act, {}), "go")
        assert ran == ["act"]
        ((_, state, _),) = calls()
        assert state == "done"


class TestStubbornTools:
    @BOTH
    async def test_one_that_swallows_a_cancellation_keeps_its_true_result(
        self, key: str | None
    ) -> None:
        """R8, R13."""
        begun = asyncio.Event()
        ran: list[str] = []

        async def act() -> str:
            begun.set()
            try:
                await asyncio.Event().wait()
            except BaseException:  # noqa: BLE001
                ran.append("act")
            return "done all the same"

        with hitl.reviewer(lambda _: hitl.Approve()):
            running = asyncio.ensure_future(hitl.run(one_tool(act, {}), "go", key=key))
            await begun.wait()
            running.cancel()
            await asyncio.wait([running])
        assert ran == ["act"]
        assert calls() == [("act", "done", "done all the same")]

    @BOTH
    async def test_a_cancelled_one_has_an_unknown_outcome(self, key: str | None) -> None:
        begun = asyncio.Event()

        async def act() -> str:
            begun.set()
            await asyncio.Event().wait()
            return "never"

        with hitl.reviewer(lambda _: hitl.Approve()):
            running = asyncio.ensure_future(hitl.run(one_tool(act, {}), "go", key=key))
            await begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
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


class Verdict(BaseModel):
    text: str


class TestOutputs:
    """With a key, `DeferredToolRequests` has to stand beside the agent's own output."""

    def agent(self, ran: list[str], output: Any) -> Agent[None, Any]:
        from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
        from pydantic_ai.models.function import FunctionModel

        def answer(messages: list[Any], info: Any) -> ModelResponse:
            if not any(isinstance(m, ModelResponse) for m in messages):
                return ModelResponse(
                    parts=[ToolCallPart("delete_file", {"path": "a.csv"}, tool_call_id="c0")]
                )
            if info.output_tools:
                name = info.output_tools[0].name
                return ModelResponse(parts=[ToolCallPart(name, {"text": "fine"})])
            return ModelResponse(parts=[TextPart('{"text": "fine"}')])

        from pydantic_ai.profiles import ModelProfile

        profile = ModelProfile(supports_json_schema_output=True)
        agent: Agent[None, Any] = Agent(
            FunctionModel(answer, profile=profile), name="boss", output_type=output
        )

        @agent.tool_plain(requires_approval=True)
        def delete_file(path: str) -> str:
            ran.append(path)
            return path

        return agent

    @BOTH
    @pytest.mark.parametrize(
        "output",
        [
            Verdict,
            ToolOutput(Verdict),
            NativeOutput(Verdict),
            PromptedOutput(Verdict),
            Verdict | int,
        ],
        ids=["model", "tool", "native", "prompted", "union"],
    )
    async def test_any_output_type_goes_with_a_key(self, key: str | None, output: Any) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(self.agent(ran, output), "go", key=key)
        assert result.output == Verdict(text="fine")
        assert ran == ["a.csv"]

    @BOTH
    async def test_output_validators_are_heard(self, key: str | None) -> None:
        """With a key the agent itself has to name `DeferredToolRequests`; the error says so."""
        ran: list[str] = []
        heard: list[Any] = []

        def made(output: Any) -> Agent[None, Any]:
            agent = self.agent(ran, output)

            @agent.output_validator
            def hear(output: Any) -> Any:
                heard.append(output)
                return output

            return agent

        with hitl.reviewer(lambda _: hitl.Approve()):
            if key is not None:
                with pytest.raises(UserError) as failed:
                    await hitl.run(made(Verdict), "go", key=key)
                assert any("DeferredToolRequests" in note for note in failed.value.__notes__)
                assert ran == []
            output = Verdict if key is None else [Verdict, DeferredToolRequests]
            result = await hitl.run(made(output), "go", key=key)
        assert result.output == Verdict(text="fine")
        assert Verdict(text="fine") in heard

    @BOTH
    async def test_a_limit_counts_over_the_pauses(self, key: str | None) -> None:
        ran: list[str] = []
        again = [("delete_file", {"path": "a.csv"})]
        agent: Agent[None, Any] = Agent(scripted(again, again, again, "finished"), name="boss")

        @agent.tool_plain(requires_approval=True)
        def delete_file(path: str) -> str:
            ran.append(path)
            return path

        from pydantic_ai.exceptions import UsageLimitExceeded

        limits = UsageLimits(request_limit=2)
        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(UsageLimitExceeded):
            await hitl.run(agent, "go", key=key, usage_limits=limits)
        assert len(ran) == 2

    @BOTH
    async def test_usage_is_that_of_the_whole_run(self, key: str | None) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(delete_agent(ran, "a.csv"), "go", key=key)
        assert result.usage.requests == 2


class TestPrompts:
    @BOTH
    async def test_a_prompt_with_an_image(self, key: str | None) -> None:
        ran: list[str] = []
        image = BinaryContent(data=b"\x89PNG\xff\x00", media_type="image/png")
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(delete_agent(ran, "a.csv"), ["What is it?", image], key=key)
        assert result.output == "finished"
        assert "a.csv" in ran

    @BOTH
    async def test_a_prompt_with_a_lone_surrogate(self, key: str | None) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(delete_agent(ran, "a.csv"), "a \ud800", key=key)
        assert "a.csv" in ran


class TestStreaming:
    def agent(self, ran: list[str]) -> Agent[None, Any]:
        from pydantic_ai.models.function import DeltaToolCall, FunctionModel

        from hitl_widgets.adapters.pydantic_ai import HumanApproval

        base = delete_agent(ran, "a.csv")

        async def stream(messages: list[Any], info: Any) -> Any:
            said = base.model.function(messages, info)
            for i, part in enumerate(said.parts):
                if hasattr(part, "tool_name"):
                    yield {
                        i: DeltaToolCall(
                            part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id
                        )
                    }
                else:
                    yield part.content

        base.model = FunctionModel(base.model.function, stream_function=stream)
        made: Agent[None, Any] = base
        self.capable = [HumanApproval()]
        return made

    @pytest.mark.parametrize("form", ["run", "iter", "events", "handler"])
    async def test_an_agent_run_by_itself_asks_in_every_form(self, form: str) -> None:
        ran: list[str] = []
        agent = self.agent(ran)
        kw: dict[str, Any] = {"capabilities": self.capable}
        with hitl.reviewer(lambda _: hitl.Approve()):
            if form == "run":
                output = (await agent.run("go", **kw)).output
            elif form == "iter":
                async with agent.iter("go", **kw) as run:
                    async for _ in run:
                        pass
                assert run.result is not None
                output = run.result.output
            elif form == "events":
                from pydantic_ai import AgentRunResultEvent

                async with agent.run_stream_events("go", **kw) as events:
                    found = [e async for e in events]
                output = next(e for e in found if isinstance(e, AgentRunResultEvent)).result.output
            else:

                async def hear(_: Any, events: Any) -> None:
                    async for _e in events:
                        pass

                output = (await hitl.run(agent, "go", event_stream_handler=hear)).output
        assert output == "finished"
        assert sorted(ran) == ["a.csv", "read r.csv"]
        assert states() == [("delete_file", "done")]
        assert runs() == ["completed"]

    async def test_run_stream_takes_a_deferred_call_for_its_end_and_nothing_runs(self) -> None:
        """pydantic-ai's own limit."""
        ran: list[str] = []
        agent = self.agent(ran)

        async def read() -> None:
            async with agent.run_stream("go", capabilities=self.capable) as streamed:
                await streamed.get_output()

        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(UserError, match="deferred"):
            await read()
        assert "a.csv" not in ran
        assert "executing" not in dict(states()).values()

    async def test_a_run_that_is_left_in_the_middle_ends_its_request(self) -> None:
        ran: list[str] = []
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        agent = self.agent(ran)

        async def walk() -> None:
            async with agent.iter("go", capabilities=self.capable) as run:
                async for _ in run:
                    pass

        with nobody_decides(seen):
            running = asyncio.ensure_future(walk())
            await seen.get()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        assert states() == [("delete_file", "withdrawn")]
        assert "a.csv" not in ran


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"config": {}}, "config"),
            ({"store": 5}, "store"),
        ],
        ids=["unknown", "store"],
    )
    async def test_a_wrong_option_is_named(self, options: dict[str, Any], said: str) -> None:
        ran: list[str] = []
        with pytest.raises((TypeError, hitl.HitlError), match=said):
            await hitl.run(delete_agent(ran, "a.csv"), "go", **options)
        assert ran == []


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


class TestEdits:
    @BOTH
    async def test_nested_arguments_are_judged_by_the_tools_own_model(
        self, key: str | None
    ) -> None:
        """R4: each fault by its path; what passes runs as edited."""
        got: list[Any] = []

        def take(rows: list[Row]) -> str:
            got.append(rows)
            return "taken"

        agent = one_tool(take, {"rows": [{"name": "a", "ids": [1]}]})
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(agent, "go", key=key))
            request = await seen.get()
            with pytest.raises(hitl.InvalidAnswer) as refused:
                await hitl.decide(
                    request, hitl.Approve(args={"rows": [{"name": "b", "ids": [2, "x"]}]})
                )
            assert refused.value.errors[0]["path"] == ["rows", 0, "ids", 1]
            await hitl.decide(request, hitl.Approve(args={"rows": [{"name": "b", "ids": [2, 3]}]}))
            await running
        assert got == [[Row(name="b", ids=[2, 3])]]
