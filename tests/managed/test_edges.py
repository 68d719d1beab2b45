"""The 26 edge cases that a client of this API must survive, by number.

Strict validation is on, except where something is injected that the SDK itself would refuse.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import httpx2
import pytest

import hitl_widgets as hitl
from hitl_widgets.adapters import managed_agents
from hitl_widgets.adapters.managed.double import custom, delegate, say, stop, use

from .conftest import ASK_ALL, TOOLSET
from .desk import LONG, pending, seen, state_of
from .test_live import sent

pytestmark = pytest.mark.usefixtures("person")
ONE_ASK = [[use("bash", n=1)], [say("Ok.")]]
ALLOW_ALL = [{"type": TOOLSET}]


def confirm(request: hitl.Request | str, session: Any, result: str = "allow") -> dict[str, Any]:
    """Another client's verdict."""
    del request
    return {
        "type": "user.tool_confirmation",
        "tool_use_id": session.waiting()[0].event["id"],
        "result": result,
    }


async def until(session: Any, holds: Any) -> None:
    """Wait on the double without blocking this loop."""
    await asyncio.to_thread(session.log.wait, holds, LONG)


async def following(session: Any, count: int = 1) -> None:
    """Wait until so many streams were opened, and one is open."""
    await until(session, lambda: session.log.opened >= count and session.log.followers)


async def approve(store: Any) -> hitl.Request:
    [request] = await pending(store)
    await hitl.decide(request, hitl.Approve())
    return request


class TestStreams:
    async def test_01_an_ask_missed_while_disconnected_is_found_in_the_history(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL, message=None)
        live = attach(double, session)
        await following(session)
        session.log.muted = True
        double.say(session, "Go.")
        await until(session, session.waiting)
        session.log.muted = False
        session.drop()
        await approve(store)
        assert await live.until_idle() == "end_turn"
        order = [p.rsplit("/", 1)[-1] for m, p, _ in double.requests if m == "GET"]
        assert order.index("stream") < order.index("events"), "open first, then list"

    @pytest.mark.parametrize("clean", [True, False])
    async def test_02_a_stream_that_ends_is_opened_again(
        self, make_double: Any, attach: Any, store: Any, clean: bool
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        for times in (2, 3):
            session.drop(clean=clean)
            await following(session, times)
        assert (await pending(store))[0].id == request.id, "the same card, all along"
        await approve(store)
        assert await live.until_idle() == "end_turn"

    async def test_03_the_same_event_twice_changes_nothing(
        self, make_double: Any, attach: Any, store: Any, person: Any
    ) -> None:
        double = make_double([[say("Once."), use("bash", n=1)], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        await pending(store)
        for event in list(session.log.events):
            session.rebroadcast(event["id"])
        await approve(store)
        assert await live.until_idle() == "end_turn"
        await live.close()
        assert len(store.requests()) == 1
        assert person.screens[0].text.count("Once.") == 1

    async def test_03_a_termination_is_seen_even_on_an_event_known_before(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        session.inject({"type": "session.status_running", "id": "sevt_same"})
        live = attach(double, session)
        await pending(store)
        session.log.find("sevt_same")["type"] = "session.status_terminated"
        session.rebroadcast("sevt_same")
        assert await live.until_idle() == "terminated"

    async def test_04_repeated_idles_open_nothing_again(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double([[use("bash", n=1), use("bash", n=2)], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        one, two = await pending(store, 2)
        ids = [c.event["id"] for c in session.waiting()]
        session.repeat_idle()
        await hitl.decide(one, hitl.Approve())
        await state_of(store, one, "done")
        session.repeat_idle(ids)  # names what was just answered
        session.repeat_idle(ids[:1])
        await hitl.decide(two, hitl.Approve())
        assert await live.until_idle() == "end_turn"
        assert len(store.requests()) == 2

    async def test_05_an_idle_that_names_an_unseen_call_makes_it_list_until_it_is_there(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL, message=None)
        session.log.muted = True
        double.say(session, "Go.")
        await until(session, session.waiting)
        session.log.muted = False
        session.log.hidden.add(session.waiting()[0].event["id"])
        live = attach(double, session)
        await following(session)
        await until(session, lambda: double.asked("GET", "/events") >= 3)
        assert store.requests() == []
        session.log.hidden.clear()
        await approve(store)
        assert await live.until_idle() == "end_turn"

    async def test_22_a_silent_stream_counts_as_dead(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK, heartbeat=None)
        session = double.new_session(ASK_ALL, message=None)
        live = attach(double, session, silence=0.3)
        await following(session)
        session.log.muted = True
        double.say(session, "Go.")
        await until(session, session.waiting)
        await following(session, 2)
        session.log.muted = False
        await approve(store)
        assert await live.until_idle() == "end_turn"

    async def test_23_cancelling_the_reader_closes_the_connection(
        self, make_double: Any, attach: Any
    ) -> None:
        double = make_double(heartbeat=0.05)
        session = double.new_session(message=None)
        live = attach(double, session)
        await following(session)
        await live.close()
        await until(session, lambda: session.log.followers == 0)

    async def test_23_an_interrupted_cell_leaves_the_session_followed(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        """R16."""
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        await pending(store)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(live.until_idle(), 0.1)
        await approve(store)
        assert await live.until_idle() == "end_turn"

    @pytest.mark.parametrize("status", [401, 403])
    async def test_24_not_allowed_is_fatal(
        self, make_double: Any, attach: Any, status: int
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        double.fail_next("GET", "/stream", status)
        live = attach(double, session)
        with pytest.raises(anthropic.APIStatusError) as raised:
            await live.until_idle()
        assert raised.value.status_code == status

    async def test_24_no_such_session(self, make_double: Any, attach: Any) -> None:
        double = make_double()
        session = double.new_session(message=None)
        session.deleted = True
        with pytest.raises(anthropic.NotFoundError):
            await attach(double, session).until_idle()

    @pytest.mark.parametrize("status", [408, 409, 429, 500, 529])
    async def test_24_everything_else_is_tried_again(
        self, make_double: Any, attach: Any, store: Any, status: int
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        double.fail_next("GET", "/stream", status)
        live = attach(double, session)
        await approve(store)
        assert await live.until_idle() == "end_turn"


class TestWhatIsAsked:
    async def test_06_only_what_is_ours_is_answered(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(
            [[use("read", path="a"), use("bash", n=1), custom("lookup", q="x")], [say("Ok.")]]
        )
        tools = [
            {
                "type": TOOLSET,
                "configs": [{"name": "bash", "permission_policy": {"type": "always_ask"}}],
            },
            ASK_ALL[2],
        ]
        session = double.new_session(tools, environment="self_hosted")
        live = attach(double, session, custom_tools={"lookup": None})
        [request] = await pending(store)
        assert request.tool_name == "bash"
        await hitl.decide(request, hitl.Approve())
        await state_of(store, request, "done")
        hosted = [c for c in session.waiting() if c.kind == "tool"]
        for call in hosted:
            double.send(session, {"type": "user.tool_result", "tool_use_id": call.event["id"]})
        await until(session, lambda: len(session.waiting()) == 1)
        other = session.waiting()
        assert [c.kind for c in other] == ["custom"]
        result = {"type": "user.custom_tool_result", "custom_tool_use_id": other[0].event["id"]}
        double.send(session, result)
        assert await live.until_idle() == "end_turn"
        assert [[e["type"] for e in b] for b in sent(double)] == [["user.tool_confirmation"]]

    async def test_07_an_unknown_permission_is_held_like_ask(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double()
        session = double.new_session(message=None)
        live = attach(double, session, strict=False)
        await following(session)
        session.inject({"type": "session.status_running"})
        session.inject({"type": "agent.levitated", "height": 3})
        session.inject(
            {
                "type": "agent.tool_use",
                "name": "bash",
                "input": {"n": 1},
                "evaluated_permission": "escalate",
                "evaluation": {"type": "committee", "size": 3},
            }
        )
        [request] = await pending(store)
        assert request.evaluation == {"type": "committee", "size": 3}
        session.inject({"type": "session.status_idle", "stop_reason": {"type": "went_fishing"}})
        assert await live.until_idle() == "went_fishing"
        assert (await pending(store))[0].id == request.id, "an ask is not dropped silently"

    @pytest.mark.parametrize(
        ("permission", "evaluation", "asked"),
        [
            ("ask", None, True),
            ("allow", None, False),
            ("deny", None, False),
            (None, {"type": "always_ask"}, True),
            (None, {"type": "committee"}, True),
            (None, {"type": "auto", "evaluated_permission": {"type": "ask"}}, True),
            (None, {"type": "auto", "evaluated_permission": {"type": "deny"}}, False),
            (None, None, False),
        ],
    )
    async def test_08_old_events_without_evaluation(
        self,
        *,
        make_double: Any,
        attach: Any,
        store: Any,
        permission: Any,
        evaluation: Any,
        asked: bool,
    ) -> None:
        double = make_double()
        session = double.new_session(message=None)
        session.inject({"type": "session.status_running"})
        event: dict[str, Any] = {"type": "agent.tool_use", "name": "bash", "input": {}}
        if permission is not None:
            event["evaluated_permission"] = permission
        if evaluation is not None:
            event["evaluation"] = evaluation
        session.inject(event)
        live = attach(double, session, strict=False)
        if asked:
            await pending(store)
        session.inject({"type": "session.status_idle", "stop_reason": {"type": "end_turn"}})
        assert await live.until_idle() == "end_turn"
        await live.close()
        assert len(store.requests()) == int(asked)

    async def test_17_an_answer_before_the_idle(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double()
        session = double.new_session(message=None)
        live = attach(double, session)
        await following(session)
        session.inject({"type": "session.status_running"})
        event = session.inject(
            {
                "type": "agent.tool_use",
                "name": "bash",
                "input": {},
                "evaluated_permission": "ask",
                "evaluation": {"type": "always_ask"},
            }
        )
        [request] = await pending(store)
        double.fail_next("POST", "/events", 400)  # the double itself does not know this call
        session.inject(
            {
                "type": "user.tool_confirmation",
                "tool_use_id": event["id"],
                "result": "allow",
            }
        )
        await state_of(store, request, "done")
        session.inject({"type": "session.status_idle", "stop_reason": {"type": "end_turn"}})
        assert await live.until_idle() == "end_turn"

    async def test_25_any_input_is_shown_as_it_is(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        huge = {"text": "x" * 300_000, "deep": [{"a": [None, 1.5, {"\u202e": "\u0000"}]}]}
        odd = ["not", "an", "object"]
        double = make_double()
        session = double.new_session(message=None)
        session.inject({"type": "session.status_running"})
        for given in (huge, odd):
            session.inject(
                {
                    "type": "agent.tool_use",
                    "name": "bash",
                    "input": given,
                    "evaluated_permission": "ask",
                }
            )
        attach(double, session, strict=False)
        first, second = await pending(store, 2)
        assert first.args == huge
        assert second.args == {"input": odd}
        assert first.fingerprint != second.fingerprint

    async def test_26_catching_up_is_by_id_so_queued_events_are_not_lost(
        self, make_double: Any, attach: Any
    ) -> None:
        double = make_double([[say("One.")], [say("Two.")]])
        session = double.new_session(ALLOW_ALL)
        live = attach(double, session)
        assert await live.until_idle() == "end_turn"
        session.frozen = True
        double.say(session, "More.")
        idle = asyncio.create_task(live.until_idle())
        await following(session)
        assert not idle.done(), "a queued message is work to come"
        session.thaw()
        assert await idle == "end_turn"
        assert not any("created_at" in p for _, p, _ in double.requests)


class TestAnswers:
    @pytest.mark.parametrize("result", ["allow", "deny"])
    async def test_09_answered_elsewhere_is_shown_as_such(
        self, make_double: Any, attach: Any, store: Any, result: str
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        double.send(session, confirm(request, session, result))
        over = await state_of(store, request, "done" if result == "allow" else "declined")
        assert over.reviewer == "another client of the session"
        assert over.identity_source == "service"
        with pytest.raises(hitl.AlreadyDecided):
            await hitl.decide(request, hitl.Approve())
        assert await live.until_idle() == "end_turn"
        assert sent(double) == []

    async def test_09_a_400_is_settled_by_the_history_not_by_its_words(
        self, make_double: Any, attach: Any, store: Any, person: Any
    ) -> None:
        """Another client was first, and this one had not heard of it yet."""
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        session.log.muted = True
        double.send(session, confirm(request, session, "deny"))
        await until(session, lambda: not session.running and not session.waiting())
        session.log.muted = False
        await hitl.decide(request, hitl.Approve())
        over = await state_of(store, request, "failed")
        assert over.state == "failed"
        assert "another client answered first: deny" in person.screens[0].text
        assert await live.until_idle() == "end_turn"
        assert session.ran == []

    async def test_09_refused_for_another_reason_the_card_comes_again(
        self, make_double: Any, attach: Any, store: Any, person: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        double.fail_next("POST", "/events", 400)
        await hitl.decide(request, hitl.Approve())
        await state_of(store, request, "failed")
        assert "told to answer 400" in person.screens[0].text
        [again] = await pending(store)
        assert again.fingerprint == request.fingerprint
        await hitl.decide(again, hitl.Approve())
        assert await live.until_idle() == "end_turn"
        assert len(session.ran) == 1

    async def test_09_a_rule_does_not_repeat_what_was_refused(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        double.fail_next("POST", "/events", 400)
        attach(double, session, lambda _request: hitl.Approve())
        await seen(store, lambda rs: [r.state for r in rs] == ["failed", "pending"])
        assert len(sent(double)) == 1

    async def test_10_a_lost_reply_counts_as_given_and_is_not_sent_twice(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        double.lose_reply()
        await hitl.decide(request, hitl.Approve())
        await state_of(store, request, "done")
        assert await live.until_idle() == "end_turn"
        assert len(sent(double)) == 1
        assert len(session.ran) == 1

    async def test_10_a_request_that_never_arrived_is_sent_again(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        double.fail_next("POST", "/events", 503)
        await hitl.decide(request, hitl.Approve())
        assert await live.until_idle() == "end_turn"
        assert len(sent(double)) == 2
        assert len(session.ran) == 1

    async def test_10_a_message_is_never_sent_twice(self, make_double: Any, attach: Any) -> None:
        double = make_double([[say("Hi.")], [say("never")]])
        session = double.new_session(message=None)
        live = attach(double, session)
        double.lose_reply()
        await live.send("Hello")
        assert await live.until_idle() == "end_turn"
        double.fail_next("POST", "/events", 503)
        with pytest.raises(anthropic.APIStatusError):
            await live.send("Again")
        said = [e for e in session.log.events if e["type"] == "user.message"]
        assert [e["content"][0]["text"] for e in said] == ["Hello"]

    async def test_11_two_decisions_one_counts(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        """R1, F1."""
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        both = await asyncio.gather(
            hitl.decide(request, hitl.Approve()),
            hitl.decide(request, hitl.Decline("no")),
            return_exceptions=True,
        )
        assert sum(isinstance(b, hitl.AlreadyDecided) for b in both) == 1
        assert await live.until_idle() == "end_turn"
        assert [len(batch) for batch in sent(double)] == [1]

    @pytest.mark.parametrize("mine", [True, False])
    async def test_12_an_interrupt_closes_the_card(
        self, make_double: Any, attach: Any, store: Any, mine: bool
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        if mine:
            await live.interrupt()
        else:
            double.send(session, {"type": "user.interrupt"})
        await state_of(store, request, "withdrawn")
        assert await live.until_idle() == "end_turn"
        with pytest.raises(hitl.AlreadyDecided):
            await hitl.decide(request, hitl.Approve())

    async def test_12_a_click_that_comes_after_an_unheard_interrupt(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        session.log.muted = True
        double.send(session, {"type": "user.interrupt"})
        await until(session, lambda: not session.waiting())
        session.log.muted = False
        await hitl.decide(request, hitl.Approve())
        await state_of(store, request, "failed")
        assert await live.until_idle() == "end_turn"
        assert session.ran == []

    @pytest.mark.parametrize("how", ["terminate", "archive", "delete"])
    async def test_13_the_session_ends_while_asking(
        self, make_double: Any, attach: Any, store: Any, person: Any, how: str
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        await following(session)
        getattr(session, how)()
        assert await live.until_idle() == "terminated"
        await state_of(store, request, "withdrawn")
        assert person.screens[0].end is not None

    @pytest.mark.parametrize("how", ["terminate", "archive", "delete"])
    async def test_13_a_click_that_comes_after_an_unheard_end(
        self, make_double: Any, attach: Any, store: Any, how: str
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        await following(session)
        ends, session.log.end_streams = session.log.end_streams, lambda *_: None
        session.log.muted = True
        getattr(session, how)()
        await hitl.decide(request, hitl.Approve())
        await seen(store, lambda rs: rs[0].state in ("failed", "withdrawn"))
        session.log.end_streams = ends
        session.drop(clean=True)
        assert await live.until_idle() == "terminated"
        assert session.ran == []

    async def test_14_a_sub_agents_thread_ends_while_asking(
        self, make_double: Any, attach: Any, store: Any, connect: Any
    ) -> None:
        double = make_double({"double": [[delegate("cleaner", "x")]], "cleaner": [[use("bash")]]})
        session = double.new_session(ASK_ALL)
        attach(double, session)
        [request] = await pending(store)
        thread = session.waiting()[0].thread
        await connect(double).beta.sessions.threads.archive(thread.id, session_id=session.id)
        await state_of(store, request, "withdrawn")


class TestTheSession:
    def budget(self, cents: int) -> dict[str, Any]:
        return {"type": "limit", "max_list_cost": {"amount": str(cents), "currency": "USD"}}

    async def test_15_an_ask_outranks_the_cap_and_the_cap_offers_a_raise(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK, cost=50)
        session = double.new_session(ASK_ALL, budget=self.budget(50))
        live = attach(double, session)
        await approve(store)
        assert await live.until_idle() == "budget_reached"
        with pytest.raises(hitl.NotPermitted, match="raise the budget"):
            await live.send("More.")
        [form] = await pending(store)
        assert (form.tool_name, form.kind) == ("raise_budget", "input")
        assert form.args == {"spent_cents": 50, "limit_cents": 50, "currency": "USD"}
        with pytest.raises(hitl.InvalidAnswer):
            await hitl.decide(form, hitl.Answer({"cents": 50}))
        await hitl.decide(form, hitl.Answer({"cents": 200}))
        await state_of(store, form, "done")
        assert await live.until_idle() == "end_turn"
        assert not any(e["type"] == "user.message" for b in sent(double) for e in b)

    async def test_15_raised_elsewhere_the_form_closes(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double([[use("read")], [say("Ok.")]], cost=50)
        session = double.new_session(ALLOW_ALL, budget=self.budget(50))
        live = attach(double, session)
        [form] = await pending(store)
        with double.changed:
            session.set_budget(self.budget(500))
        await state_of(store, form, "withdrawn")
        assert await live.until_idle() == "end_turn"

    async def test_16_a_message_while_waiting_is_refused_before_sending(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        with pytest.raises(hitl.RunSuspended, match="interrupt") as raised:
            await live.send("Hello?")
        assert [r.id for r in raised.value.requests] == [request.id]
        assert sent(double) == []

    @pytest.mark.parametrize("reason", ["refusal", "retries_exhausted"])
    async def test_18_other_ends(self, make_double: Any, attach: Any, reason: str) -> None:
        double = make_double([[stop(reason)]])
        session = double.new_session()
        assert await attach(double, session).until_idle() == reason

    async def test_18_retrying_and_rescheduled_are_not_the_end(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        idle = asyncio.create_task(live.until_idle())
        session.say_error("retrying")
        session.say_rescheduled()
        session.drop()
        await following(session, 2)
        assert not idle.done()
        assert (await pending(store))[0].id == request.id
        await approve(store)
        assert await idle == "end_turn"

    async def test_19_archiving_waits_until_the_object_says_idle(
        self, make_double: Any, attach: Any
    ) -> None:
        double = make_double([[say("Hi.")]])
        session = double.new_session()
        live = attach(double, session)
        assert await live.until_idle() == "end_turn"
        session.lag = 2
        await live.archive()
        assert session.archived_at is not None

    async def test_20_a_restarted_kernel_attaches_again(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        """R14: what waited before is listed as lost here, and asked anew from the session."""
        double = make_double([[use("bash", n=1), use("bash", n=2)], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        first = attach(double, session)
        one, two = await pending(store, 2)
        await hitl.decide(one, hitl.Approve())
        await state_of(store, one, "done")
        await first.close()
        await state_of(store, two, "withdrawn")
        live = attach(double, session)
        [again] = await pending(store)
        assert again.args == {"n": 2}
        await hitl.decide(again, hitl.Approve())
        assert await live.until_idle() == "end_turn"
        assert session.ran == [("bash", {"n": 1}), ("bash", {"n": 2})]
        verdicts = [r.state for r in store.requests()]
        assert verdicts == ["done", "withdrawn", "done"], "the audit is kept"

    async def test_21_webhooks_are_hints_and_repeats_do_nothing(
        self, make_double: Any, attach: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL, message=None)
        live = attach(double, session)
        await following(session)
        session.log.muted = True
        double.say(session, "Go.")
        await until(session, session.waiting)
        payload, headers = double.webhook("session.status_idled", session.id)
        for changed in (payload.replace("idled", "other"), json.dumps({})):
            with pytest.raises(hitl.NotPermitted):
                managed_agents.webhook(changed, headers, double.webhook_key)
        hint = managed_agents.webhook(payload, headers, double.webhook_key)
        assert hint is not None
        assert (hint.kind, hint.session_id) == ("session.status_idled", session.id)
        [request] = await pending(store)
        assert managed_agents.webhook(payload, headers, double.webhook_key) is None
        for kind in ("session.status_run_started", "session.requires_action", "vault.created"):
            managed_agents.webhook(*double.webhook(kind, session.id), double.webhook_key)
        session.log.muted = False
        await hitl.decide(request, hitl.Approve())
        assert await live.until_idle() == "end_turn"
        assert len(store.requests()) == 1


def test_the_sdk_raises_two_families_of_errors() -> None:
    """Why both are caught: a cut or silent stream is none of the SDK's own errors."""
    assert not issubclass(httpx2.RemoteProtocolError, anthropic.APIError)
    assert not issubclass(httpx2.ReadTimeout, anthropic.APIError)
