"""The double is as strict as the service: the real SDK, with strict validation, against it."""

from __future__ import annotations

import time
from typing import Any

import anthropic
import httpx2
import pytest
import standardwebhooks

from hitl_widgets.adapters.managed.double import custom, delegate, mcp, say, stop, use

from .conftest import ASK_ALL, TOOLSET

ALLOW_ALL = [{"type": TOOLSET}]


def text(words: str) -> dict[str, Any]:
    return {"type": "user.message", "content": [{"type": "text", "text": words}]}


def confirm(call: Any, result: str = "allow", **more: Any) -> dict[str, Any]:
    return {
        "type": "user.tool_confirmation",
        "tool_use_id": call if isinstance(call, str) else call.event["id"],
        "result": result,
        **more,
    }


def types(session: Any) -> list[str]:
    return [e["type"] for e in session.log.events if not e["type"].startswith("span.")]


def stopped(session: Any, reason: str) -> list[dict[str, Any]]:
    """Wait until the session idles for a reason; its events."""

    def holds() -> bool:
        idles = [e for e in session.log.events if e["type"] == "session.status_idle"]
        return bool(idles) and idles[-1]["stop_reason"]["type"] == reason

    session.log.wait(holds)
    return session.log.events


class TestCallers:
    async def test_agent_environment_and_session_are_made_through_the_api(
        self, make_double: Any, connect: Any
    ) -> None:
        double = make_double([[say("Hello.")]])
        client = connect(double)
        agent = await client.beta.agents.create(name="helper", model="claude-x", tools=ASK_ALL)
        assert [t.type for t in agent.tools] == [TOOLSET, "mcp_toolset", "custom"]
        assert agent.tools[1].default_config.permission_policy.type == "always_ask"
        assert (await client.beta.agents.retrieve(agent.id)).id == agent.id
        environment = await client.beta.environments.create(name="e", config={"type": "cloud"})
        session = await client.beta.sessions.create(
            agent=agent.id, environment_id=environment.id, initial_events=[text("Hi")]
        )
        stopped(double.session(session.id), "end_turn")
        events = [e async for e in client.beta.sessions.events.list(session.id)]
        assert "agent.message" in [e.type for e in events]
        assert [s.id async for s in client.beta.sessions.list()] == [session.id]

    async def test_a_wrong_key_gets_401_and_a_missing_beta_404(
        self, make_double: Any, connect: Any
    ) -> None:
        double = make_double()
        session = double.new_session(message=None)
        wrong = connect(double, max_retries=0).with_options(api_key="other")
        with pytest.raises(anthropic.AuthenticationError):
            await wrong.beta.sessions.retrieve(session.id)
        async with httpx2.AsyncClient() as plain:
            headers = {"x-api-key": double.key, "anthropic-version": "2026-10-21"}
            answer = await plain.get(f"{double.url}/v1/sessions/{session.id}", headers=headers)
        assert answer.status_code == 404

    async def test_a_policy_on_a_custom_tool_is_refused(
        self, make_double: Any, connect: Any
    ) -> None:
        client = connect(make_double())
        tool = {**ASK_ALL[2], "permission_policy": {"type": "always_ask"}}
        with pytest.raises(anthropic.BadRequestError, match="permission_policy"):
            await client.beta.agents.create(name="n", model="m", tools=[tool])


class TestPermission:
    def test_config_then_toolset_default_then_the_kinds_default(self, make_double: Any) -> None:
        double = make_double(
            [[use("bash"), use("read"), use("glob"), mcp("tickets", "close"), mcp("none", "x")]],
            judge=lambda *_: ("deny", "high_risk"),
        )
        tools = [
            {
                "type": TOOLSET,
                "default_config": {"permission_policy": {"type": "always_ask"}},
                "configs": [
                    {"name": "read", "permission_policy": {"type": "auto"}},
                    {"name": "glob", "enabled": False},
                ],
            },
            {"type": "mcp_toolset", "mcp_server_name": "tickets"},
        ]
        events = stopped(double.new_session(tools), "requires_action")
        said = [
            (e["evaluated_permission"], (e.get("evaluation") or {}).get("type"))
            for e in events
            if e["type"].endswith("tool_use")
        ]
        asked = ("ask", "always_ask")
        assert said == [asked, ("deny", "auto"), ("deny", None), asked, ("deny", None)]

    def test_what_the_judge_denies_does_not_run_and_takes_no_confirmation(
        self, make_double: Any
    ) -> None:
        double = make_double([[use("bash")]], judge=lambda *_: ("deny", "high_risk"))
        auto = {"permission_policy": {"type": "auto"}}
        session = double.new_session([{"type": TOOLSET, "default_config": auto}])
        events = stopped(session, "end_turn")
        call = next(e for e in events if e["type"] == "agent.tool_use")
        result = next(e for e in events if e["type"] == "agent.tool_result")
        assert result["content"][0]["text"] == "Permission to use bash has been denied."
        assert result["is_error"]
        assert session.ran == []
        with pytest.raises(Exception, match="takes no confirmation"):
            double.send(session, confirm(call["id"]))


class TestFlow:
    def test_events_come_in_the_services_order(self, make_double: Any) -> None:
        double = make_double([[use("bash")], [say("Done.")]])
        session = double.new_session(ASK_ALL)
        stopped(session, "requires_action")
        double.send(session, confirm(session.waiting()[0]))
        stopped(session, "end_turn")
        idle = ["session.thread_status_idle", "session.usage", "session.status_idle"]
        assert types(session) == [
            "user.message",
            "session.status_running",
            "session.thread_status_running",
            "agent.tool_use",
            *idle,
            "user.tool_confirmation",
            "session.status_running",
            "agent.tool_result",
            "session.thread_status_running",
            "agent.message",
            *idle,
        ]
        assert session.ran == [("bash", {})]

    async def test_a_clients_event_is_told_twice_with_one_id(
        self, make_double: Any, connect: Any
    ) -> None:
        double = make_double([[say("Hi.")]])
        session = double.new_session(message=None)
        async with await connect(double).beta.sessions.events.stream(session.id) as stream:
            double.say(session, "Hello")
            said = []
            async for event in stream:
                said.append(event)
                if event.type == "session.status_idle":
                    break
        echoes = [e for e in said if e.type == "user.message"]
        assert [e.processed_at is None for e in echoes] == [True, False]
        assert len({e.id for e in echoes}) == 1

    def test_a_batch_is_followed_by_idles_that_name_what_was_just_answered(
        self, make_double: Any
    ) -> None:
        double = make_double([[use("bash", n=1), use("bash", n=2), custom("lookup", q="x")]])
        session = double.new_session(ASK_ALL)
        stopped(session, "requires_action")
        one, two, three = session.waiting()
        double.send(session, confirm(one), confirm(two, "deny", deny_message="Not that."))
        result = {"type": "user.custom_tool_result", "custom_tool_use_id": three.event["id"]}
        double.send(session, {**result, "content": [{"type": "text", "text": "42"}]})
        events = stopped(session, "end_turn")
        idles = [e["stop_reason"] for e in events if e["type"] == "session.status_idle"]
        ids = [c.event["id"] for c in (one, two, three)]
        assert [i.get("event_ids") for i in idles] == [ids, ids[1:], ids[2:], None]
        assert session.ran == [("bash", {"n": 1})]
        errors = [e for e in events if e["type"] == "agent.tool_result" and e["is_error"]]
        assert [e["content"][0]["text"] for e in errors] == ["Not that."]

    def test_refused_answers(self, make_double: Any) -> None:
        double = make_double([[use("bash"), custom("lookup")]])
        session = double.new_session(ASK_ALL)
        stopped(session, "requires_action")
        ask, lookup = session.waiting()
        for event, why in (
            (confirm("sevt_unknown"), "does not match any `agent.tool_use` event"),
            (confirm(lookup), "does not match any `agent.tool_use` event"),
            (confirm(ask, "maybe"), "'allow' or 'deny'"),
            (confirm(ask, "allow", deny_message="no"), "only with result 'deny'"),
            (confirm(ask, session_thread_id="sthr_1"), "Extra inputs are not permitted"),
            (text("Hello?"), "only user.tool_confirmation, user.custom_tool_result"),
            ({"type": "user.tool_result", "tool_use_id": ask.event["id"]}, "environment"),
        ):
            with pytest.raises(Exception, match=why):
                double.send(session, event)
        double.send(session, confirm(ask))
        with pytest.raises(Exception, match="already has a response"):
            double.send(session, confirm(ask, "deny"))

    def test_an_interrupt_closes_what_waits_with_an_error(self, make_double: Any) -> None:
        double = make_double([[use("bash")], [say("never")]])
        session = double.new_session(ASK_ALL)
        stopped(session, "requires_action")
        call = session.waiting()[0]
        double.send(session, {"type": "user.interrupt"})
        events = stopped(session, "end_turn")
        result = next(e for e in events if e["type"] == "agent.tool_result")
        assert result["content"][0]["text"].startswith("Tool execution was interrupted")
        assert "agent.message" not in types(session)
        with pytest.raises(Exception, match="already has a response"):
            double.send(session, confirm(call))

    def test_a_self_hosted_call_waits_for_a_clients_result(self, make_double: Any) -> None:
        double = make_double([[use("bash")], [say("Done.")]])
        session = double.new_session(ALLOW_ALL, environment="self_hosted")
        stopped(session, "requires_action")
        call = session.waiting()[0]
        content = [{"type": "text", "text": "ok"}]
        double.send(
            session,
            {"type": "user.tool_result", "tool_use_id": call.event["id"], "content": content},
        )
        stopped(session, "end_turn")
        assert session.ran == []

    @pytest.mark.parametrize("reason", ["refusal", "retries_exhausted"])
    def test_other_ends(self, make_double: Any, reason: str) -> None:
        events = stopped(make_double([[stop(reason)]]).new_session(), reason)
        details = events[-1]["stop_details"]
        assert (details is not None) == (reason == "refusal")


class TestBudget:
    def budget(self, cents: int) -> dict[str, Any]:
        return {"type": "limit", "max_list_cost": {"amount": str(cents), "currency": "USD"}}

    def test_an_ask_outranks_the_cap_and_the_answer_starts_no_model_request(
        self, make_double: Any
    ) -> None:
        double = make_double([[use("bash")], [say("Done.")]], cost=50)
        session = double.new_session(ASK_ALL, budget=self.budget(50))
        stopped(session, "requires_action")
        double.send(session, confirm(session.waiting()[0]))
        stopped(session, "budget_reached")
        assert session.ran == [("bash", {})]
        assert types(session).count("agent.message") == 0
        with pytest.raises(Exception, match="budget"):
            double.say(session, "More.")
        kept = len(session.log.events)
        double.send(session, {"type": "user.interrupt"})
        assert len(session.log.events) == kept, "an interrupt at the cap is not stored"

    async def test_raising_goes_on_by_itself(self, make_double: Any, connect: Any) -> None:
        double = make_double([[use("bash")], [say("Done.")]], cost=50)
        session = double.new_session(ALLOW_ALL, budget=self.budget(50))
        client = connect(double)
        stopped(session, "budget_reached")
        with pytest.raises(anthropic.BadRequestError, match="budget_not_raised"):
            await client.beta.sessions.update(session.id, budget=self.budget(50))
        await client.beta.sessions.update(session.id, budget=self.budget(200))
        stopped(session, "end_turn")
        free = double.new_session(ALLOW_ALL)
        with pytest.raises(anthropic.BadRequestError, match="budget_create_only"):
            await client.beta.sessions.update(free.id, budget=self.budget(1))


class TestThreads:
    async def test_a_sub_agents_ask_is_cross_posted_and_its_result_is_not(
        self, make_double: Any, connect: Any
    ) -> None:
        double = make_double(
            {
                "double": [[delegate("cleaner", "clean up")], [say("All done.")]],
                "cleaner": [[use("bash", n=1)], [say("Clean.")]],
            }
        )
        session = double.new_session(ASK_ALL)
        stopped(session, "requires_action")
        child = next(t for t in session.threads.values() if t.parent)
        asked = next(e for e in session.log.events if e["type"] == "agent.tool_use")
        assert asked["session_thread_id"] == child.id
        double.send(session, confirm(asked["id"]))
        events = stopped(session, "end_turn")
        assert not [e for e in events if e["type"] == "agent.tool_result"]
        assert session.ran == [("bash", {"n": 1})]
        client = connect(double)
        threads = [t async for t in client.beta.sessions.threads.list(session.id)]
        assert [t.parent_thread_id for t in threads] == [None, session.primary.id]
        own = client.beta.sessions.threads.events.list(child.id, session_id=session.id)
        kinds = [e.type async for e in own]
        assert "agent.tool_result" in kinds

    async def test_an_archived_threads_call_takes_no_answer(
        self, make_double: Any, connect: Any
    ) -> None:
        double = make_double({"double": [[delegate("cleaner", "x")]], "cleaner": [[use("bash")]]})
        session = double.new_session(ASK_ALL)
        stopped(session, "requires_action")
        call = session.waiting()[0]
        await connect(double).beta.sessions.threads.archive(call.thread.id, session_id=session.id)
        assert "session.thread_status_terminated" in types(session)
        with pytest.raises(Exception, match="terminated"):
            double.send(session, confirm(call))


class TestFaults:
    async def test_a_cut_stream_raises_and_a_clean_end_does_not(
        self, make_double: Any, connect: Any
    ) -> None:
        double = make_double(heartbeat=0.05)
        session = double.new_session(message=None)
        client = connect(double)
        for clean in (True, False):
            async with await client.beta.sessions.events.stream(session.id) as stream:
                session.drop(clean=clean)
                if clean:
                    assert [e async for e in stream] == []
                else:
                    with pytest.raises(httpx2.RemoteProtocolError):
                        _ = [e async for e in stream]

    async def test_silence_ends_in_a_read_timeout(self, make_double: Any, connect: Any) -> None:
        double = make_double(heartbeat=None)
        session = double.new_session(message=None)
        events = connect(double).beta.sessions.events
        with pytest.raises(httpx2.ReadTimeout):
            async with await events.stream(session.id, timeout=0.2) as stream:
                _ = [e async for e in stream]

    async def test_a_lost_reply_has_done_its_work(self, make_double: Any, connect: Any) -> None:
        double = make_double([[use("bash")]])
        session = double.new_session(ASK_ALL)
        stopped(session, "requires_action")
        call = session.waiting()[0]
        double.lose_reply()
        client = connect(double, max_retries=0)
        with pytest.raises(anthropic.APIConnectionError):
            await client.beta.sessions.events.send(session.id, events=[confirm(call)])
        stopped(session, "end_turn")
        assert session.ran == [("bash", {})]

    async def test_listings_page_and_filter(self, make_double: Any, connect: Any) -> None:
        double = make_double([[say(str(n)) for n in range(50)]])
        session = double.new_session(ALLOW_ALL)
        stopped(session, "end_turn")
        events = connect(double).beta.sessions.events
        said = [e async for e in events.list(session.id, types=["agent.message"], limit=7)]
        assert [e.content[0].text for e in said] == [str(n) for n in range(50)]
        session.frozen = True
        double.say(session, "queued")
        later = events.list(session.id, created_at_gt=session.log.events[-2]["processed_at"])
        assert [e.type async for e in later] == [], "a queued event has no time"

    async def test_unknown_events_pass_unchecked(self, make_double: Any, connect: Any) -> None:
        double = make_double()
        session = double.new_session(message=None)
        session.inject({"type": "agent.levitated", "height": 3})
        listed = connect(double, strict=False).beta.sessions.events.list(session.id)
        assert [e.type async for e in listed] == ["agent.levitated"]

    def test_webhooks_are_signed(self, make_double: Any) -> None:
        double = make_double()
        session = double.new_session(message=None)
        client = anthropic.Anthropic(api_key="x", base_url=double.url)
        payload, headers = double.webhook("session.status_idled", session.id)
        event = client.beta.webhooks.unwrap(payload, headers=headers, key=double.webhook_key)
        assert (event.data.type, event.data.id) == ("session.status_idled", session.id)
        old, stale = double.webhook("session.status_idled", session.id, at=time.time() - 3600)
        for body, head in ((payload + " ", headers), (old, stale)):
            with pytest.raises(standardwebhooks.WebhookVerificationError):
                client.beta.webhooks.unwrap(body, headers=head, key=double.webhook_key)
        client.close()

    async def test_archive_and_delete_wait_for_idle(self, make_double: Any, connect: Any) -> None:
        double = make_double([[say("Hi.")]])
        session = double.new_session()
        stopped(session, "end_turn")
        session.lag = 2
        client = connect(double)
        assert (await client.beta.sessions.retrieve(session.id)).status == "running"
        with pytest.raises(anthropic.BadRequestError):
            await client.beta.sessions.archive(session.id)
        assert (await client.beta.sessions.retrieve(session.id)).status == "running"
        assert (await client.beta.sessions.retrieve(session.id)).status == "idle"
        assert (await client.beta.sessions.archive(session.id)).archived_at is not None
        await client.beta.sessions.delete(session.id)
        with pytest.raises(anthropic.NotFoundError):
            await client.beta.sessions.retrieve(session.id)
