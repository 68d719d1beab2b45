"""pydantic-ai: every form of running and of output."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
)
from pydantic_ai.exceptions import UserError
from pydantic_ai.output import NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.usage import UsageLimits

import hitl_widgets as hitl

from .desk import nobody_decides, runs, states
from .pyd import BOTH, delete_agent, scripted


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

    async def test_usage_before_a_restart_counts_too(self) -> None:
        with pytest.raises(hitl.RunSuspended) as suspended:
            await hitl.run(delete_agent([], "a.csv"), "go", key="k")
        await hitl.decide(suspended.value.requests[0], hitl.Approve())
        result = await hitl.run(delete_agent([], "a.csv"), "go", key="k")
        assert result.usage.requests == 2

    @BOTH
    async def test_usage_is_that_of_the_whole_run(self, key: str | None) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(delete_agent(ran, "a.csv"), "go", key=key)
        assert result.usage.requests == 2


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
