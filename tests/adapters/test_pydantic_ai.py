"""pydantic-ai's agents: approve, decline, edit, respond, questions, siblings, nesting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr
from pydantic_ai import Agent, CallDeferred, ModelRetry, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UserError

import hitl_widgets as hitl
from hitl_widgets.adapters.pydantic_ai import HumanApproval

from .desk import calls, nobody_decides, runs, states, store
from .pyd import BOTH, delete_agent, returned, scripted


class TestDecisions:
    @BOTH
    async def test_an_approved_call_runs_once_and_its_true_result_is_kept(
        self, key: str | None
    ) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(delete_agent(ran, "a.csv"), "go", key=key)
        assert result.output == "finished"
        assert sorted(ran) == ["a.csv", "read r.csv"]
        assert returned(result).count("deleted a.csv") == 1
        assert states() == [("delete_file", "done")]
        assert calls() == [("delete_file", "done", "deleted a.csv")]
        assert runs() == ["completed"]

    @BOTH
    async def test_a_declined_call_does_not_run_and_the_model_is_told_why(
        self, key: str | None
    ) -> None:
        """R11."""
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Decline("we still need it")):
            result = await hitl.run(delete_agent(ran, "a.csv"), "go", key=key)
        assert ran == ["read r.csv"]
        told = next(t for t in returned(result) if "declined" in t)
        assert "we still need it" in told
        assert "Do not make the same call again" in told
        assert states() == [("delete_file", "declined")]

    @BOTH
    async def test_an_edit_runs_as_edited_and_everybody_is_told_the_truth(
        self, key: str | None
    ) -> None:
        """R10: pydantic-ai's own history keeps the model's arguments."""
        ran: list[str] = []
        with hitl.reviewer(
            lambda _: hitl.Approve(args={"path": "copy.csv"}, note="a copy will do")
        ):
            result = await hitl.run(delete_agent(ran, "a.csv"), "go", key=key)
        assert "copy.csv" in ran
        assert "a.csv" not in ran
        told = next(t for t in returned(result) if isinstance(t, dict))
        assert told["result"] == "deleted copy.csv"
        assert told["human_changed_arguments"]["from"]["path"] == "a.csv"
        assert told["human_changed_arguments"]["to"]["path"] == "copy.csv"
        assert told["note_from_human"] == "a copy will do"
        (request,) = store().requests()
        assert request.args["path"] == "a.csv"
        assert request.decision["args"]["path"] == "copy.csv"
        assert request.decision["edited"]["fingerprint"] != request.fingerprint

    @BOTH
    async def test_an_edit_that_the_tool_does_not_take_decides_nothing(
        self, key: str | None
    ) -> None:
        """R4: pydantic-ai itself would send it to the model and not ask the human again."""
        ran: list[str] = []
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(delete_agent(ran, "a.csv"), "go", key=key))
            request = await seen.get()
            with pytest.raises(hitl.InvalidAnswer) as refused:
                await hitl.decide(request, hitl.Approve(args={"path": ["not", "text"]}))
            assert refused.value.errors[0]["path"] == ["path"]
            assert states() == [("delete_file", "pending")]
            receipt = await hitl.decide(
                request, hitl.Approve(args={"path": "b.csv", "force": "yes"})
            )
            assert receipt.validated_by == "model"
            await running
        assert "b.csv force" in ran

    @BOTH
    async def test_a_response_stands_in_for_the_tool(self, key: str | None) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Respond({"already": "gone"})):
            result = await hitl.run(delete_agent(ran, "a.csv"), "go", key=key)
        assert ran == ["read r.csv"]
        assert {"already": "gone"} in returned(result)
        assert calls() == [("delete_file", "done", {"already": "gone"})]

    @BOTH
    async def test_declining_to_stop_ends_the_run(self, key: str | None) -> None:
        ran: list[str] = []
        with (
            hitl.reviewer(lambda _: hitl.Decline("stop it", stop=True)),
            pytest.raises(hitl.Declined, match="stop it"),
        ):
            await hitl.run(delete_agent(ran, "a.csv"), "go", key=key)
        assert ran == ["read r.csv"]
        assert runs() == ["declined"]

    @BOTH
    async def test_the_third_decline_of_the_same_call_ends_the_run(self, key: str | None) -> None:
        """R11, F22: a model that does not listen."""
        ran: list[str] = []
        again = [("delete_file", {"path": "a.csv"})]
        agent: Agent[None, Any] = Agent(scripted(again, again, again, again, "?"), name="stubborn")

        @agent.tool_plain(requires_approval=True)
        def delete_file(path: str) -> str:
            ran.append(path)
            return path

        with hitl.reviewer(lambda _: hitl.Decline()), pytest.raises(hitl.Declined):
            await hitl.run(agent, "go", key=key)
        assert [r.declined_before for r in store().requests()] == [0, 1, 2]
        assert ran == []

    async def test_a_verdict_is_never_something_else_that_is_true(self) -> None:
        """R4, F8."""
        ran: list[str] = []
        with hitl.reviewer(lambda _: True), pytest.raises(hitl.InvalidAnswer):
            await hitl.run(delete_agent(ran, "a.csv"), "go")
        assert "a.csv" not in ran


class TestQuestions:
    def asker(self) -> Agent[None, Any]:
        agent: Agent[None, Any] = Agent(scripted([("which", {"q": "column?"})], "thanks"), name="q")
        schema = {
            "type": "object",
            "properties": {"column": {"type": "string"}},
            "required": ["column"],
        }

        @agent.tool_plain
        def which(q: str) -> str:
            raise CallDeferred(metadata={"resume_schema": schema}, kind="question")

        return agent

    @BOTH
    async def test_a_deferred_question_is_a_form_and_its_answer_the_result(
        self, key: str | None
    ) -> None:
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(self.asker(), "go", key=key))
            request = await seen.get()
            assert (request.kind, request.allowed) == ("input", ("answer", "decline"))
            with pytest.raises(hitl.InvalidAnswer):
                await hitl.decide(request, hitl.Answer({"column": 7}))
            await hitl.decide(request, hitl.Answer({"column": "age"}))
            result = await running
        assert returned(result) == [{"column": "age"}]
        assert states() == [("which", "done")]

    @BOTH
    async def test_declining_a_question_is_told(self, key: str | None) -> None:
        with hitl.reviewer(lambda _: hitl.Decline("none of your business")):
            result = await hitl.run(self.asker(), "go", key=key)
        assert "none of your business" in returned(result)[0]


class TestSeveral:
    @BOTH
    async def test_siblings_wait_together_and_are_decided_in_any_order(
        self, key: str | None
    ) -> None:
        """R9: two calls of one tool, never confused (F10)."""
        ran: list[str] = []
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(
                hitl.run(delete_agent(ran, "a.csv", "b.csv", "c.csv"), "go", key=key)
            )
            asked = [await seen.get() for _ in range(3)]
            assert len({r.turn for r in asked}) == 1
            assert len({r.run_id for r in asked}) == 1
            assert states() == [("delete_file", "pending")] * 3
            by_path = {r.args["path"]: r for r in asked}
            await hitl.decide(by_path["c.csv"], hitl.Approve())
            await hitl.decide(by_path["a.csv"], hitl.Decline())
            await hitl.decide(by_path["b.csv"], hitl.Approve(args={"path": "b2.csv"}))
            await running
        assert sorted(ran) == ["b2.csv", "c.csv", "read r.csv"]

    @BOTH
    async def test_of_two_decisions_at_once_one_counts(self, key: str | None) -> None:
        """R1, F1."""
        ran: list[str] = []
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(delete_agent(ran, "a.csv"), "go", key=key))
            request = await seen.get()
            decisions = [hitl.Approve(), hitl.Approve(), hitl.Decline()]
            outcomes = await asyncio.gather(
                *(hitl.decide(request, d) for d in decisions), return_exceptions=True
            )
            await running
        assert sum(isinstance(o, hitl.Receipt) for o in outcomes) == 1
        assert sum(isinstance(o, hitl.AlreadyDecided) for o in outcomes) == 2
        assert ran.count("a.csv") <= 1


class TestNested:
    def family(self, ran: list[str], *, capable: bool = True) -> Agent[None, Any]:
        capabilities = [HumanApproval()] if capable else []

        def child(name: str, path: str) -> Agent[None, Any]:
            made: Agent[None, Any] = Agent(
                scripted([("delete_file", {"path": path})], f"{name} done"),
                name=name,
                capabilities=capabilities,
            )

            @made.tool_plain(requires_approval=True)
            def delete_file(path: str) -> str:
                ran.append(path)
                return f"deleted {path}"

            return made

        children = {"left": child("left", "l.csv"), "right": child("right", "r.csv")}
        asks = [("delegate", {"to": "left"}), ("delegate", {"to": "right"})]
        boss: Agent[None, Any] = Agent(scripted(asks, "finished"), name="boss")

        @boss.tool
        async def delegate(ctx: RunContext[None], to: str) -> str:
            return (await children[to].run("clean up")).output

        return boss

    async def test_requests_of_nested_agents_are_decided_at_the_top(self) -> None:
        """Both branches at once; their provider's ids are the same."""
        ran: list[str] = []
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(self.family(ran), "go"))
            asked = [await seen.get() for _ in range(2)]
            assert {r.agent_path for r in asked} == {("boss", "left"), ("boss", "right")}
            assert len({r.run_id for r in asked}) == 1
            assert {r.agent_id for r in asked} == {"pydantic-ai:boss"}
            for request in asked:
                left = request.agent_path[-1] == "left"
                await hitl.decide(request, hitl.Approve() if left else hitl.Decline())
            result = await running
        assert result.output == "finished"
        assert returned(result) == ["left done", "right done"]
        assert ran == ["l.csv"]

    async def test_under_a_key_nested_agents_park_in_place(self) -> None:
        """Their requests die with the process, the run above them does not."""
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(self.family(ran), "go", key="k")
        assert sorted(ran) == ["l.csv", "r.csv"]
        assert result.output == "finished"
        assert [r.resumable for r in store().requests()] == [False, False]

    async def test_a_nested_agent_without_the_capability_fails_with_the_remedy(self) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(UserError) as failed:
            await hitl.run(self.family(ran, capable=False), "go")
        assert any("HumanApproval()" in note for note in failed.value.__notes__)
        assert ran == []


class TestBound:
    async def test_arguments_changed_after_the_approval_do_not_run(self) -> None:
        """R3, F20: the model is told in the fixed words."""
        ran: list[str] = []

        class Meddling(AbstractCapability[Any]):
            async def wrap_tool_execute(self, _ctx: Any, **given: Any) -> Any:
                handler, args = given["handler"], given["args"]
                return await handler({**args, "force": True} if "force" in args else args)

        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(delete_agent(ran, "a.csv"), "go", capabilities=[Meddling()])
        assert ran == ["read r.csv"]
        blocked = "Tool call blocked: approval did not match delete_file arguments."
        assert blocked in returned(result)
        assert states() == [("delete_file", "blocked")]

    async def test_what_is_shown_is_what_runs_defaults_included(self) -> None:
        """F19: validated arguments, not the model's."""
        ran: list[str] = []
        reviewer = hitl.testing.scripted(lambda _: hitl.Approve())
        with hitl.reviewer(reviewer):
            await hitl.run(delete_agent(ran, "a.csv"), "go")
        (request,) = reviewer.seen
        assert request.args == {"path": "a.csv", "force": False}
        assert request.input_schema["properties"].keys() == {"path", "force"}

    @BOTH
    async def test_a_secret_reaches_the_tool_and_nobody_else(self, key: str | None) -> None:
        """R17."""
        got: list[str] = []
        agent: Agent[None, Any] = Agent(
            scripted([("login", {"user": "ann", "password": "hunter2"})], "in"), name="s"
        )

        @agent.tool_plain(requires_approval=True)
        def login(user: str, password: SecretStr) -> str:
            got.append(password.get_secret_value())
            return "ok"

        reviewer = hitl.testing.scripted(lambda _: hitl.Approve())
        with hitl.reviewer(reviewer):
            await hitl.run(agent, "go", key=key)
        assert got == ["hunter2"]
        assert reviewer.seen[0].args == {"user": "ann", "password": "••••"}
        assert "hunter2" not in repr(store().requests()) + repr(store().events())
        assert all(
            "hunter2" not in repr(c) for run in store().runs() for c in store().calls(run.id)
        )


class TestFailing:
    @BOTH
    async def test_a_tool_that_raises_is_kept_as_failed(self, key: str | None) -> None:
        agent: Agent[None, Any] = Agent(scripted([("explode", {})], "?"), name="e")

        @agent.tool_plain(requires_approval=True)
        def explode() -> str:
            raise ZeroDivisionError("boom")

        with hitl.reviewer(lambda _: hitl.Approve()), pytest.raises(ZeroDivisionError):
            await hitl.run(agent, "go", key=key)
        assert calls() == [("explode", "failed", "ZeroDivisionError: boom")]

    async def test_a_retry_asks_a_human_again(self) -> None:
        tries: list[str] = []
        again = [("fetch", {"url": "x"})]
        agent: Agent[None, Any] = Agent(scripted(again, again, "got it"), name="r")

        @agent.tool_plain(requires_approval=True)
        def fetch(url: str) -> str:
            tries.append(url)
            if len(tries) == 1:
                raise ModelRetry("once more")
            return "content"

        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(agent, "go")
        assert result.output == "got it"
        assert states() == [("fetch", "failed"), ("fetch", "done")]


class TestDirectly:
    async def test_an_agent_with_the_capability_asks_wherever_it_is_run(self) -> None:
        ran: list[str] = []
        agent = delete_agent(ran, "a.csv")
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await agent.run("go", capabilities=[HumanApproval()])
        assert result.output == "finished"
        assert "a.csv" in ran
        assert runs() == ["completed"]

    async def test_bringing_the_capability_twice_asks_once(self) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(delete_agent(ran, "a.csv"), "go", capabilities=[HumanApproval()])
        assert states() == [("delete_file", "done")]
        assert ran.count("a.csv") == 1
