"""What providers receive after each decision, and what their faults do (each on all formats)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

import hitl_widgets as hitl

from .conftest import model_of
from .provider import Call, Provider

if TYPE_CHECKING:
    from .provider import Turn


class City(BaseModel):
    city: str


class Work:
    """An agent's tools, and what they did."""

    def __init__(self, model: Any) -> None:
        self.ran: list[str] = []
        ran = self.ran

        @hitl.tool(require_approval=True)
        async def delete_record(id: str) -> dict[str, str]:  # noqa: A002
            """Delete a record by ID."""
            ran.append(id)
            return {"deleted": id}

        @hitl.tool
        async def count() -> int:
            """Count the records."""
            ran.append("count")
            return 3

        @hitl.tool(resume_schema=City)
        async def weather(*, ctx: hitl.ToolContext) -> str:
            """Tell the weather."""
            if ctx.resume_data is None:
                return await ctx.suspend({"ask": "which city?"})
            return f"sunny in {ctx.resume_data.city}"

        self.tools = [delete_record, count, weather]
        self.agent = hitl.Agent("wired", model=model, tools=self.tools, instructions="Be brief.")


@pytest.fixture
def work(model: Any) -> Work:
    return Work(model)


TURN: Turn = [
    "One moment. ",
    Call("delete_record", {"id": "a"}, "call_1"),
    Call("delete_record", {"id": "b"}, "call_2"),
    Call("count", {}, "call_3"),
]


class TestDecisions:
    async def test_parallel_calls_stream_wait_and_go_back_with_their_own_results(
        self, provider: Provider, work: Work
    ) -> None:
        """R9: approved, declined, free; ids, order and history as the provider sent them."""
        provider.turns = [TURN, ["All done."]]
        stream = await work.agent.stream("Clean up")
        chunks = [c async for c in stream.full_stream]
        texts = [c.payload.text for c in chunks if c.type == "text-delta"]
        assert len(texts) > 1
        assert "".join(texts) == "One moment. "
        assert work.ran == ["count"]
        first, second = await hitl.pending()
        await work.agent.decline_tool_call(
            run_id=stream.run_id, tool_call_id=second.tool_call_id, reason="b stays"
        )
        again = await work.agent.approve_tool_call(
            run_id=stream.run_id, tool_call_id=first.tool_call_id
        )
        words = [t async for t in again.text_stream]
        assert "".join(words) == "All done."
        assert len(words) > 1
        assert work.ran == ["count", "a"]
        told = provider.told
        assert told.calls == [
            ("call_1", "delete_record", {"id": "a"}),
            ("call_2", "delete_record", {"id": "b"}),
            ("call_3", "count", {}),
        ]
        assert list(told.results) == ["call_1", "call_2", "call_3"]
        assert '"deleted":' in told.results["call_1"].replace(" ", "").replace("\\", "")
        assert "declined" in told.results["call_2"]
        assert "b stays" in told.results["call_2"]
        assert "3" in told.results["call_3"]
        assert sorted(told.tools) == ["count", "delete_record", "weather"]
        assert len(provider.bodies) == 2

    async def test_an_edit_is_told_as_it_ran(self, provider: Provider, work: Work) -> None:
        """R10."""
        provider.turns = [[Call("delete_record", {"id": "a"}, "call_1")], ["Done."]]
        with hitl.reviewer(lambda _: hitl.Approve(args={"id": "a-copy"}, note="keep the original")):
            result = await work.agent.run("Clean up")
        assert result.text == "Done."
        assert work.ran == ["a-copy"]
        told = provider.told
        assert told.calls == [("call_1", "delete_record", {"id": "a-copy"})]
        assert "human_changed_arguments" in told.results["call_1"]
        assert "keep the original" in told.results["call_1"]

    async def test_a_response_stands_in_for_the_result(
        self, provider: Provider, work: Work
    ) -> None:
        provider.turns = [[Call("delete_record", {"id": "a"}, "call_1")], ["Done."]]
        allowed = hitl.Respond({"already": "gone"})
        with hitl.reviewer(lambda r: allowed if "respond" in r.allowed else None):
            await work.agent.run("Clean up")
        assert work.ran == []
        assert "gone" in provider.told.results["call_1"]

    async def test_an_answered_suspension_returns_the_tools_own_result(
        self, provider: Provider, work: Work
    ) -> None:
        provider.turns = [[Call("weather", {}, "call_1")], ["Done."]]
        with hitl.reviewer(lambda _: hitl.Answer({"city": "Kyoto"})):
            await work.agent.run("Weather?")
        assert "sunny in Kyoto" in provider.told.results["call_1"]

    async def test_a_run_begun_elsewhere_goes_on_at_this_provider(
        self, provider: Provider, model: Any
    ) -> None:
        """R14: a snapshot holds no provider's own shapes."""
        other = Provider("anthropic")
        other.turns = [TURN]
        out = await Work(model_of("anthropic", other.url)).agent.generate("Clean up")
        other.close()
        assert out.finish_reason == "suspended"
        provider.turns = [["Done."]]
        work = Work(model)
        for request in await hitl.pending():
            out = await work.agent.approve_tool_call_generate(
                run_id=out.run_id, tool_call_id=request.tool_call_id
            )
        assert out.text == "Done."
        assert [c[2] for c in provider.told.calls] == [{"id": "a"}, {"id": "b"}, {}]
        assert len(provider.told.results) == 3


class TestFaults:
    @pytest.mark.parametrize("fault", ["truncated", "dropped"])
    async def test_a_broken_reply_is_not_used_and_the_run_is_kept(
        self, provider: Provider, work: Work, fault: Any
    ) -> None:
        """The SDKs raise nothing for a stream that just ends, and one fakes its ``stop``."""
        provider.turns, provider.faults = [TURN, ["Done."]], [fault]
        with (
            hitl.reviewer(lambda _: hitl.Approve()),
            pytest.raises(Exception, match=r".+") as failed,
        ):
            await work.agent.run("Clean up")
        assert work.ran == []
        assert await hitl.pending() == []
        (note,) = failed.value.__notes__
        run_id = next(w for w in note.split() if w.startswith("run_"))
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await work.agent.attach(run_id)
        assert result.text == "Done."
        assert sorted(work.ran) == ["a", "b", "count"]

    async def test_a_busy_provider_costs_nothing_but_time(
        self, provider: Provider, work: Work
    ) -> None:
        """Some SDKs try again by themselves; where one does not, the run is kept."""
        provider.turns, provider.faults = [["Hello."]], ["busy"]
        try:
            result = await work.agent.run("Hi")
        except Exception as e:  # noqa: BLE001  # the SDK's own
            run_id = next(w for w in e.__notes__[0].split() if w.startswith("run_"))
            result = await work.agent.attach(run_id)
        assert result.text == "Hello."
        assert len(provider.bodies) == 2

    async def test_malformed_arguments_are_told_and_nobody_is_asked(
        self, provider: Provider, work: Work
    ) -> None:
        broken = Call("delete_record", {"id": 7}, "call_1", raw='{"id": "a')
        provider.turns = [[broken], ["Sorry."]]
        result = await work.agent.run("Clean up")
        assert result.text == "Sorry."
        assert work.ran == []
        assert await hitl.pending() == []
        assert "not valid" in provider.told.results["call_1"]
