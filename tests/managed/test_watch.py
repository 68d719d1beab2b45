"""`watch`: an inbox over sessions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import anthropic
import pytest

import hitl_widgets as hitl
from hitl_widgets.adapters import managed_agents
from hitl_widgets.adapters.managed.double import say, use

from .conftest import ASK_ALL, TOOLSET
from .desk import LONG, pending, seen

HOURS = 3600.0
ONE_ASK = [[use("bash", n=1)], [say("Ok.")]]


@pytest.fixture
async def watch(store: Any, connect: Any) -> AsyncIterator[Callable[..., Any]]:
    """`watch` that lists only when it is told to; closed after the test."""
    made: list[managed_agents.Watch] = []

    def make(double: Any, *args: Any, **options: Any) -> managed_agents.Watch:
        given = {"every": HOURS, "store": store, **options}
        made.append(managed_agents.watch(connect(double), *args, **given))
        return made[-1]

    yield make
    for each in made:
        await each.close()


async def looked(watching: managed_agents.Watch) -> None:
    async with asyncio.timeout(LONG):
        await watching.changed()


@pytest.mark.usefixtures("person")
class TestWatch:
    async def test_only_sessions_that_wait_are_followed(
        self, make_double: Any, watch: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        waiting = [double.new_session(ASK_ALL) for _ in range(2)]
        quiet = double.new_session(ASK_ALL, turns=[[say("Hi.")]])
        double.new_session(message=None)
        for session in (*waiting, quiet):
            await asyncio.to_thread(
                session.log.wait,
                lambda s=session: s.log.events[-1]["type"] == "session.status_idle",
                LONG,
            )
        watching = watch(double)
        asked = await pending(store, 2)
        assert set(watching.sessions) == {s.id for s in waiting}
        assert {r.thread_id for r in asked} == set(watching.sessions)
        await hitl.decide_all([(r, hitl.Approve()) for r in asked])
        await seen(store, lambda rs: all(r.state == "done" for r in rs))
        for live in list(watching.sessions.values()):
            assert await live.until_idle() == "end_turn"
        await watching.look()
        assert watching.sessions == {}, "what waits for nobody is let go"

    async def test_a_webhook_makes_it_look_at_once(
        self, make_double: Any, watch: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        watching = watch(double)
        await looked(watching)
        session = double.new_session(ASK_ALL)
        await asyncio.to_thread(session.log.wait, session.waiting, LONG)
        payload, headers = double.webhook("session.status_idled", session.id)
        await asyncio.to_thread(managed_agents.webhook, payload, headers, double.webhook_key)
        [request] = await pending(store)
        assert request.thread_id == session.id

    async def test_a_rule_serves_all_of_them(
        self, make_double: Any, watch: Any, store: Any
    ) -> None:
        double = make_double(ONE_ASK)
        sessions = [double.new_session(ASK_ALL) for _ in range(3)]
        for session in sessions:
            await asyncio.to_thread(session.log.wait, session.waiting, LONG)
        watch(double, lambda _request: hitl.Approve())
        await seen(store, lambda rs: [r.state for r in rs] == ["done"] * 3)
        assert all(s.ran == [("bash", {"n": 1})] for s in sessions)

    async def test_a_session_at_its_cap_waits_too(
        self, make_double: Any, watch: Any, store: Any
    ) -> None:
        double = make_double([[use("read")], [say("Ok.")]], cost=50)
        cost = {"amount": "50", "currency": "USD"}
        session = double.new_session(
            [{"type": TOOLSET}], budget={"type": "limit", "max_list_cost": cost}
        )
        await asyncio.to_thread(
            session.log.wait, lambda: session.capped and not session.running, LONG
        )
        watch(double)
        [form] = await pending(store)
        assert form.tool_name == "raise_budget"

    async def test_not_allowed_is_said(self, make_double: Any, watch: Any) -> None:
        double = make_double()
        double.fail_next("GET", "/v1/sessions", 403)
        watching = watch(double)
        with pytest.raises(anthropic.PermissionDeniedError):
            await asyncio.wait_for(watching.changed(), LONG)
