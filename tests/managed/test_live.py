"""`attach`: a session's asks decided from a cell, against the double, with the real SDK."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest

import hitl_widgets as hitl
from hitl_widgets.adapters import managed_agents
from hitl_widgets.adapters.managed.double import custom, delegate, mcp, say, use
from hitl_widgets.screen.timeline import Timeline

from .conftest import ASK_ALL, TOOLSET
from .desk import pending, seen, state_of


def sent(double: Any) -> list[list[dict[str, Any]]]:
    """The events of every request that sent some."""
    posts = [b for m, p, b in double.requests if m == "POST" and p.endswith("/events")]
    return [body["events"] for body in posts]


def drawn(screen: Any) -> list[tuple[str, str, str | None]]:
    """Tool, status and cause of every call that a panel would show."""
    timeline = Timeline()
    for request in screen.drawn.values():
        timeline.request(request)
    for chunk in screen.chunks:
        timeline.add(chunk)
    return [(call.tool, call.status, call.cause) for call in timeline.calls]


@pytest.mark.usefixtures("person")
class TestAsks:
    async def test_approve_allows_and_the_session_goes_on(
        self, make_double: Any, attach: Any, store: Any, person: Any
    ) -> None:
        double = make_double([[say("I will clean up."), use("bash", command="rm x")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        idle = asyncio.create_task(live.until_idle())
        [request] = await pending(store)
        assert (request.tool_name, request.args) == ("bash", {"command": "rm x"})
        assert request.allowed == ("approve", "decline")
        assert request.evaluation is not None
        assert request.evaluation.type == "always_ask"
        assert not idle.done(), "it stays on requires_action"
        await hitl.decide(request, hitl.Approve(), fingerprint=request.fingerprint)
        assert await idle == "end_turn"
        assert session.ran == [("bash", {"command": "rm x"})]
        await state_of(store, request, "done")
        assert person.screens[0].title == "double"
        assert "I will clean up." in person.screens[0].text
        assert "Ok." in person.screens[0].text

    async def test_what_a_tool_failed_with_stands_on_the_panel(
        self, make_double: Any, attach: Any, store: Any, person: Any
    ) -> None:
        def broken(name: str, given: Any) -> str:
            raise OSError(f"{name}: disk\nfull at {given['n']}")

        turns = [[use("bash", n=1), use("bash", n=2)], [say("Ok.")]]
        double = make_double(turns, perform=broken)
        live = attach(double, double.new_session(ASK_ALL))
        fails, declined = await pending(store, 2)
        await hitl.decide(fails, hitl.Approve())
        await hitl.decide(declined, hitl.Decline("No."))
        assert await live.until_idle() == "end_turn"
        assert drawn(person.screens[0]) == [
            ("bash", "failed", "OSError: bash: disk full at 1"),
            ("bash", "declined", None),
        ]

    async def test_a_call_that_the_session_itself_denies_has_not_failed(
        self, make_double: Any, attach: Any, person: Any
    ) -> None:
        auto = {"type": TOOLSET, "default_config": {"permission_policy": {"type": "auto"}}}
        turns = [[use("bash", n=1)], [say("Ok.")]]
        double = make_double(turns, judge=lambda *_: ("deny", "risky"))
        live = attach(double, double.new_session([auto]))
        assert await live.until_idle() == "end_turn"
        assert drawn(person.screens[0]) == [("bash", "declined", None)]

    @pytest.mark.parametrize(("reason", "told"), [("Use trash.", "Use trash."), (None, None)])
    async def test_decline_denies_with_the_reason_or_with_words_that_say_what_to_do(
        self, make_double: Any, attach: Any, store: Any, reason: Any, told: Any
    ) -> None:
        double = make_double([[use("bash", command="rm x")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        await hitl.decide(request, hitl.Decline(reason))
        assert await live.until_idle() == "end_turn"
        assert session.ran == []
        [[answer]] = sent(double)
        assert answer["result"] == "deny"
        if told is None:
            assert "Do not make the same call again" in answer["deny_message"]
        else:
            assert answer["deny_message"] == told

    async def test_several_are_siblings_and_are_decided_in_any_order(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(
            [[use("bash", n=1), use("bash", n=2), mcp("tickets", "close", id=3)], [say("Ok.")]]
        )
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        one, two, three = await pending(store, 3)
        assert len({r.turn for r in (one, two, three)}) == 1
        assert three.tool_name == "tickets/close"
        await hitl.decide(three, hitl.Approve())
        await state_of(store, three, "done")
        await hitl.decide(one, hitl.Decline("no"))
        await hitl.decide(two, hitl.Approve())
        assert await live.until_idle() == "end_turn"
        assert session.ran == [("bash", {"n": 2}), ("close", {"id": 3})]

    async def test_decided_together_they_go_in_one_request(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double([[use("bash", n=1), use("bash", n=2)], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        asked = await pending(store, 2)
        await hitl.decide_all([(r, hitl.Approve()) for r in asked])
        assert await live.until_idle() == "end_turn"
        assert [len(batch) for batch in sent(double)] == [2]
        assert len(session.ran) == 2

    async def test_an_edit_is_refused_and_the_request_stays(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double([[use("bash", command="rm x")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        attach(double, session)
        [request] = await pending(store)
        with pytest.raises(hitl.NotPermitted, match="can not be edited"):
            await hitl.decide(request, hitl.Approve(args={"command": "rm y"}))
        with pytest.raises(hitl.NotAsked):
            await hitl.decide(request, hitl.Respond("done"))
        with pytest.raises(hitl.NotAsked, match="note"):
            await hitl.decide(request, hitl.Approve(note="Be quick."))
        assert (await pending(store))[0].id == request.id
        assert sent(double) == []

    async def test_decline_and_stop_interrupts_the_session(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double([[use("bash", n=1), use("bash", n=2)], [say("never")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        one, two = await pending(store, 2)
        await hitl.decide(one, hitl.Decline("Stop.", stop=True))
        assert await live.until_idle() == "end_turn"
        await state_of(store, two, "withdrawn")
        assert session.ran == []
        assert "never" not in str(session.log.events)


class TestRules:
    async def test_a_rule_answers_and_is_audited_by_its_name(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        def cautious(request: hitl.Request) -> Any:
            if request.args.get("command") == "ls":
                return hitl.Approve()
            return hitl.Decline("Only ls.")

        double = make_double([[use("bash", command="ls"), use("bash", command="rm")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session, cautious)
        assert await live.until_idle() == "end_turn"
        assert session.ran == [("bash", {"command": "ls"})]
        done = await seen(store, lambda rs: {r.state for r in rs} == {"done", "declined"})
        assert {r.via for r in done} == {"rule"}
        assert all(str(r.reviewer).startswith("rule:") for r in done)
        assert all(str(r.reviewer).endswith("cautious") for r in done)

    async def test_none_leaves_it_to_a_card_and_nobody_here_is_said(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double([[use("bash")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session, lambda _request: None)
        with pytest.raises(hitl.RunSuspended, match="Nobody can be asked here"):
            await live.until_idle()
        [request] = await pending(store)
        await hitl.decide(request, hitl.Approve())
        assert await live.until_idle() == "end_turn"

    @pytest.mark.parametrize("answer", [True, "yes", ValueError("broken")])
    async def test_a_broken_rule_decides_nothing_and_a_person_is_asked(
        self, make_double: Any, attach: Any, store: Any, person: Any, answer: Any
    ) -> None:
        """R5, F6, F8."""

        def broken(_request: hitl.Request) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        double = make_double([[use("bash")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session, broken)
        [request] = await pending(store)
        idle = asyncio.create_task(live.until_idle())
        await hitl.decide(request, hitl.Decline("no"))
        assert await idle == "end_turn"
        assert session.ran == []
        assert "could not decide bash" in person.screens[0].text


@pytest.mark.usefixtures("person")
class TestCustomTools:
    async def test_a_local_function_runs_once_and_its_result_goes_back(
        self, make_double: Any, attach: Any
    ) -> None:
        calls: list[str] = []

        def lookup(q: str) -> dict[str, str]:
            calls.append(q)
            return {"answer": q.upper()}

        double = make_double([[custom("lookup", q="x")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session, custom_tools={"lookup": lookup})
        assert await live.until_idle() == "end_turn"
        assert calls == ["x"]
        [[event]] = sent(double)
        assert event["content"] == [{"type": "text", "text": '{"answer": "X"}'}]
        assert event["is_error"] is False

    async def test_arguments_that_do_not_fit_and_errors_are_told_to_the_model(
        self, make_double: Any, attach: Any
    ) -> None:
        async def lookup(q: int) -> None:
            raise RuntimeError(f"no {q}")

        double = make_double([[custom("lookup", q="x"), custom("lookup", q=1)], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session, custom_tools={"lookup": lookup})
        assert await live.until_idle() == "end_turn"
        told = [e["content"][0]["text"] for batch in sent(double) for e in batch]
        assert any("do not fit" in t for t in told)
        assert "RuntimeError: no 1" in told
        assert all(e["is_error"] for batch in sent(double) for e in batch)

    async def test_a_gated_tool_asks_and_tells_the_model_of_an_edit(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        """R10."""
        calls: list[str] = []

        @hitl.tool(require_approval=True, effect="write")
        def lookup(q: str) -> str:
            calls.append(q)
            return q

        double = make_double([[custom("lookup", q="x")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session, custom_tools={"lookup": lookup})
        [request] = await pending(store)
        assert request.effect == "write"
        assert calls == []
        with pytest.raises(hitl.InvalidAnswer):
            await hitl.decide(request, hitl.Approve(args={"q": 3}))
        await hitl.decide(request, hitl.Approve(args={"q": "y"}))
        assert await live.until_idle() == "end_turn"
        assert calls == ["y"]
        text = sent(double)[0][0]["content"][0]["text"]
        assert '"human_changed_arguments": {"from": {"q": "x"}, "to": {"q": "y"}}' in text

    async def test_declined_and_responded(self, make_double: Any, attach: Any, store: Any) -> None:
        @hitl.tool(require_approval=True)
        def lookup(q: str) -> str:
            raise AssertionError(q)

        double = make_double([[custom("lookup", q="a"), custom("lookup", q="b")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session, custom_tools={"lookup": lookup})
        one, two = await pending(store, 2)
        await hitl.decide(one, hitl.Decline("Too dear."))
        await hitl.decide(two, hitl.Respond("it is 7"))
        assert await live.until_idle() == "end_turn"
        told = {e["content"][0]["text"]: e["is_error"] for batch in sent(double) for e in batch}
        assert told.pop("it is 7") is False
        [(text, error)] = told.items()
        assert "Too dear." in text
        assert error

    async def test_a_form_asks_for_the_result(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double([[custom("lookup", q="x"), custom("other", q="y")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session, custom_tools={"lookup": int})
        typed, untyped = await pending(store, 2)
        assert (typed.kind, typed.suspend_payload) == ("input", {"q": "x"})
        with pytest.raises(hitl.InvalidAnswer):
            await hitl.decide(typed, hitl.Answer("seven"))
        await hitl.decide(typed, hitl.Answer(7))
        await hitl.decide(untyped, hitl.Answer({"result": "fine"}))
        assert await live.until_idle() == "end_turn"
        told = [e["content"][0]["text"] for batch in sent(double) for e in batch]
        assert sorted(told) == ["7", "fine"]

    async def test_what_cannot_be_a_tool_is_refused_at_once(self, make_double: Any) -> None:
        session = make_double().new_session(message=None)
        with pytest.raises(hitl.AgentDefinitionError, match="custom_tools"):
            managed_agents.attach(None, session.id, custom_tools={"lookup": 3})


@pytest.mark.usefixtures("person")
class TestClients:
    async def test_a_synchronous_client_is_accepted(self, make_double: Any, store: Any) -> None:
        double = make_double([[use("bash")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        client = anthropic.Anthropic(base_url=double.url, api_key=double.key)
        async with managed_agents.attach(client, session.id, store=store) as live:
            [request] = await pending(store)
            await hitl.decide(request, hitl.Approve())
            assert await live.until_idle() == "end_turn"
        client.close()

    async def test_anything_else_is_not(self, store: Any) -> None:
        with pytest.raises(TypeError, match="AsyncAnthropic"):
            managed_agents.attach("client", "sesn_1", store=store)

    def test_without_a_loop_it_says_what_to_do(self) -> None:
        with pytest.raises(RuntimeError, match="event loop"):
            managed_agents.attach("client", "sesn_1")

    async def test_close_leaves_the_session_waiting_and_ends_the_cards(
        self, make_double: Any, attach: Any, store: Any, person: Any
    ) -> None:
        double = make_double([[use("bash")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        await live.close()
        await state_of(store, request, "withdrawn")
        assert session.waiting()
        assert person.screens[0].end is not None
        with pytest.raises(hitl.HitlError):
            await hitl.decide(request, hitl.Approve())

    async def test_attaching_again_takes_the_place_of_the_first(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        """R22: a cell that runs again does not ask twice."""
        double = make_double([[use("bash")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        attach(double, session)
        [first] = await pending(store)
        live = attach(double, session)
        await state_of(store, first, "withdrawn")
        [second] = await pending(store)
        await hitl.decide(second, hitl.Approve())
        assert await live.until_idle() == "end_turn"
        assert len(session.ran) == 1

    async def test_the_panels_cancel_interrupts_the_session(
        self, make_double: Any, attach: Any, store: Any, person: Any
    ) -> None:
        double = make_double([[use("bash")], [say("never")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        idle = asyncio.create_task(live.until_idle())
        person.screens[0].cancel()
        assert await idle == "end_turn"
        await state_of(store, request, "withdrawn")
        assert session.ran == []

    async def test_a_sub_agents_ask_names_its_agent(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(
            {"double": [[delegate("cleaner", "x")], [say("Ok.")]], "cleaner": [[use("bash")]]}
        )
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        assert request.agent_path == ("double", "cleaner")
        assert request.scope["thread"] == session.waiting()[0].thread.id
        await hitl.decide(request, hitl.Approve())
        assert await live.until_idle() == "end_turn"
        [[answer]] = sent(double)
        assert "session_thread_id" not in answer
