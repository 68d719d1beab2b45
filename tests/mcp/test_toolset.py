"""`MCPToolset`: a real server's tools behind the gate."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client, StdioServerParameters

import hitl_widgets as hitl
from hitl_widgets.request import Request


def agent_of(store: Any, toolset: Any, *turns: Any, **options: Any) -> hitl.Agent:
    model = hitl.ScriptedModel([*turns, "Done."])
    return hitl.Agent("clerk", model=model, tools=[toolset], store=store, **options)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
class TestAsked:
    async def test_a_tool_asks_by_default_and_runs_once_when_approved(
        self, store: Any, toolset: Any, ledger: Any, mode: str
    ) -> None:
        agent = agent_of(store, toolset(mode=mode), hitl.call("peek", id="a"))
        out = await agent.generate("Look.")
        assert out.finish_reason == "suspended"
        [request] = out.requests
        assert (request.tool_name, request.args) == ("peek", {"id": "a"})
        assert request.evaluation == {"type": "always_ask"}
        assert ledger.ran == []
        out = await agent.approve_tool_call_generate(run_id=out.run_id)
        assert (out.finish_reason, out.text) == ("stop", "Done.")
        assert ledger.ran == ["peek a"]

    async def test_a_tool_added_while_running_asks_too(
        self, store: Any, toolset: Any, ledger: Any, mode: str
    ) -> None:
        """In that very run: it is not in the run's frozen policy."""
        tools = toolset(policy="always_allow", mode=mode)
        agent = agent_of(store, tools, hitl.call("grow"), hitl.call("extra", id="z"))
        out = await agent.generate("Grow.")
        assert out.finish_reason == "suspended"
        assert [r.tool_name for r in out.requests] == ["extra"]
        assert out.requests[0].evaluation == {"type": "always_ask"}
        assert ledger.ran == ["grow"]
        out = await agent.approve_tool_call_generate(run_id=out.run_id)
        assert out.finish_reason == "stop"
        assert ledger.ran == ["grow", "extra z"]

    async def test_added_later_and_asked_by_default_in_the_next_run(
        self, store: Any, toolset: Any, ledger: Any, mode: str
    ) -> None:
        tools = toolset(configs={"grow": "always_allow"}, mode=mode)
        out = await agent_of(store, tools, hitl.call("grow")).generate("Grow.")
        assert out.finish_reason == "stop"
        out = await agent_of(store, tools, hitl.call("extra", id="z")).generate("Use it.")
        assert out.finish_reason == "suspended"
        assert ledger.ran == ["grow"]


class TestPolicy:
    async def test_configs_name_the_servers_tools(
        self, store: Any, toolset: Any, ledger: Any
    ) -> None:
        tools = toolset(configs={"peek": "always_allow", "delete": hitl.disabled})
        agent = agent_of(store, tools, [hitl.call("peek", id="a"), hitl.call("delete", id="a")])
        out = await agent.generate("Look.")
        assert out.finish_reason == "stop"
        assert ledger.ran == ["peek a"]

    async def test_what_says_that_it_destroys_asks_even_when_allowed(
        self, store: Any, toolset: Any, ledger: Any
    ) -> None:
        tools = toolset(policy="always_allow")
        agent = agent_of(store, tools, [hitl.call("delete", id="a"), hitl.call("plain", id="b")])
        out = await agent.generate("Delete.")
        assert [r.tool_name for r in out.requests] == ["delete"]
        assert ledger.ran == ["plain b"]

    async def test_annotations_are_effects_and_absent_is_not_safe(self, toolset: Any) -> None:
        async with toolset() as tools:
            effects = {name: e.rule.effect for name, e in tools.entries.items()}
        assert effects["peek"] == "read"
        assert effects["note"] == "write"
        assert effects["delete"] == "destructive"
        assert effects["plain"] == "unknown"
        assert effects["muddled"] == "destructive"

    async def test_an_evaluator_judges(self, store: Any, toolset: Any, ledger: Any) -> None:
        def judge(context: hitl.ApprovalContext) -> hitl.Verdict:
            return hitl.Verdict("deny" if context.args["id"] == "b" else "allow")

        tools = toolset(policy=hitl.auto(judge))
        calls = [hitl.call("plain", id="a"), hitl.call("plain", id="b")]
        out = await agent_of(store, tools, calls).generate("Go.")
        assert out.finish_reason == "stop"
        assert ledger.ran == ["plain a"]

    def test_wrong_policies_are_refused_at_once(self, toolset: Any) -> None:
        with pytest.raises(hitl.AgentDefinitionError, match="policy='maybe'"):
            toolset(policy="maybe")
        with pytest.raises(hitl.AgentDefinitionError, match="peek="):
            toolset(configs={"peek": True})

    async def test_configs_for_a_tool_that_is_not_there(self, store: Any, toolset: Any) -> None:
        agent = agent_of(store, toolset(configs={"peak": "always_allow"}))
        with pytest.raises(hitl.AgentDefinitionError, match="'peak'"):
            await agent.generate("Look.")

    async def test_two_tools_of_one_name_need_a_prefix(
        self, store: Any, toolset: Any, ledger: Any
    ) -> None:
        def peek(id: str) -> str:  # noqa: A002  # the server calls it so
            return id

        model = hitl.ScriptedModel([hitl.call("ledger-peek", id="a"), "Done."])
        agent = hitl.Agent("two", model=model, tools=[toolset(), peek], store=store)
        with pytest.raises(hitl.AgentDefinitionError, match="prefix"):
            await agent.generate("Look.")
        tools = toolset(prefix="ledger-", configs={"peek": "always_allow"})
        agent = hitl.Agent("two", model=model, tools=[tools, peek], store=store)
        assert (await agent.generate("Look.")).finish_reason == "stop"
        assert ledger.ran == ["peek a"]


class TestResults:
    async def test_structured_text_and_errors(self, store: Any, toolset: Any) -> None:
        async with toolset() as tools:
            assert await tools.call("plain", {"id": "a"}) == {"ran": "plain a"}
            assert await tools.call("peek", {"id": "a"}) == {"result": "peek a"}
        tools = toolset(policy="always_allow")
        seen: list[Any] = []
        agent = agent_of(
            store, tools, hitl.call("fail"), lambda messages: seen.append(messages) or "Ok."
        )
        out = await agent.generate("Fail.")
        assert out.finish_reason == "stop"
        assert "no such ledger" in str(seen)

    async def test_a_server_that_dies_is_said_and_started_again(
        self, store: Any, toolset: Any, ledger: Any
    ) -> None:
        tools = toolset(policy="always_allow")
        agent = agent_of(store, tools, hitl.call("crash"), hitl.call("plain", id="b"))
        out = await agent.generate("Crash.")
        assert out.finish_reason == "stop"
        assert ledger.ran == ["crash", "plain b"]

    @pytest.mark.parametrize("server", ["no-such-command-here", "http://127.0.0.1:9/mcp"])
    async def test_a_server_that_is_not_there(self, store: Any, toolset: Any, server: str) -> None:
        with pytest.raises(hitl.AgentDefinitionError, match="can not be reached"):
            await agent_of(store, toolset(server)).generate("Look.")


class TestHttp:
    async def test_streamable_http(
        self, store: Any, toolset: Any, ledger: Any, over_http: str
    ) -> None:
        agent = agent_of(store, toolset(over_http), hitl.call("peek", id="a"))
        out = await agent.generate("Look.")
        assert [r.tool_name for r in out.requests] == ["peek"]
        out = await agent.approve_tool_call_generate(run_id=out.run_id)
        assert out.finish_reason == "stop"
        assert ledger.ran == ["peek a"]


class TestRestart:
    async def test_a_pending_call_is_decided_by_a_new_agent_over_a_new_connection(
        self, store: Any, toolset: Any, ledger: Any
    ) -> None:
        """R14."""
        first = toolset()
        out = await agent_of(store, first, hitl.call("delete", id="a")).generate("Delete.")
        await first.close()
        agent = agent_of(store, toolset(), hitl.call("delete", id="a"))
        [run] = await agent.list_suspended_runs()
        assert [r.effect for r in run.tool_calls] == ["destructive"]
        out = await agent.approve_tool_call_generate(run_id=out.run_id)
        assert out.finish_reason == "stop"
        assert ledger.ran == ["delete a"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
class TestElicitation:
    async def test_a_form_is_an_input_request(
        self, store: Any, toolset: Any, ledger: Any, mode: str
    ) -> None:
        """Submitted, declined, and not decided by anybody: three different answers."""
        asked: list[Request] = []
        answers = [hitl.Answer({"city": "Kyoto", "nights": 3}), hitl.Decline("Not now."), None]

        def person(request: Request) -> Any:
            if request.kind == "approval":
                return hitl.Approve()
            asked.append(request)
            answer = answers[len(asked) - 1]
            if answer is None:
                raise hitl.NoReviewer("gone")
            return answer

        tools = toolset(mode=mode)
        with hitl.reviewer(person):
            for _ in answers:
                out = await agent_of(store, tools, hitl.call("book")).run("Book.")
                assert out.finish_reason == "stop"
        assert ledger.ran == ["book Kyoto 3", "book decline", "book cancel"]
        assert {(r.kind, r.message) for r in asked} == {("input", "Which city?")}
        assert asked[0].args == {"server": "ledger"}
        assert asked[0].resume_schema is not None
        assert set(asked[0].resume_schema["properties"]) == {"city", "nights"}

    async def test_an_address_is_shown_with_its_host_and_not_opened(
        self, store: Any, toolset: Any, ledger: Any, mode: str
    ) -> None:
        asked: list[Request] = []
        answers = [hitl.Answer({}), hitl.Decline()]

        def person(request: Request) -> Any:
            if request.kind == "approval":
                return hitl.Approve()
            asked.append(request)
            return answers[len(asked) - 1]

        tools = toolset(mode=mode)
        with hitl.reviewer(person):
            for _ in answers:
                await agent_of(store, tools, hitl.call("sign_in")).run("Sign in.")
        assert ledger.ran == ["sign_in accept", "sign_in decline"]
        assert asked[0].args["host"] == "login.example.com"
        assert asked[0].args["url"].startswith("https://login.example.com/authorize")

    async def test_the_callback_serves_anyones_client(
        self, store: Any, ledger: Any, mode: str
    ) -> None:
        command, *args = ledger.command
        target = StdioServerParameters(command=command, args=args)
        callback = hitl.adapters.mcp.elicitation_callback(name="my ledger")
        with hitl.reviewer(lambda _r: hitl.Answer({"city": "Oslo"})):
            async with Client(target, elicitation_callback=callback, mode=mode) as client:
                result = await client.call_tool("book", {})
        assert result.content[0].text == "book Oslo 1"
        assert [r.args for r in store.requests()] == [{"server": "my ledger"}]


class TestNobodyHere:
    async def test_nobody_here_is_cancel_not_decline(
        self, store: Any, toolset: Any, ledger: Any
    ) -> None:
        """And it is kept with the agent's run, whatever the default store is."""
        hitl.configure(store=":memory:")
        agent = agent_of(store, toolset(policy="always_allow"), hitl.call("book"))
        out = await agent.generate("Book.")
        assert out.finish_reason == "stop"
        assert ledger.ran == ["book cancel"]
        assert [r.state for r in store.requests()] == ["withdrawn"]


class TestWhoWouldBeAsked:
    async def test_the_table_names_a_server_that_was_not_asked_for_its_tools_yet(
        self, store: Any, toolset: Any
    ) -> None:
        agent = agent_of(store, toolset(configs={"grow": "always_allow"}), "Hi.")
        (row,) = hitl.policy_table(agent).rows
        assert (row.tool_name[:9], row.permission) == ("(tools of", "ask")
        assert "not connected" in row.warning
        await agent.generate("Hello.")
        rows = {row.tool_name: row.permission for row in hitl.policy_table(agent).rows}
        assert (rows["peek"], rows["grow"]) == ("ask", "allow")

    async def test_explaining_a_call_connects(self, store: Any, toolset: Any) -> None:
        agent = agent_of(store, toolset(), "Hi.")
        assert (await hitl.explain(agent, "peek", {"id": "a"})).permission == "ask"
