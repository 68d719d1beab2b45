"""What stands between a session and its client, and who writes to a webhook, may be anybody."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import anthropic
import httpx2
import pytest

import hitl_widgets as hitl
from hitl_widgets.adapters import managed_agents
from hitl_widgets.adapters.managed.double import custom, say, use
from hitl_widgets.adapters.managed.service import GarbledError

from .conftest import ASK_ALL
from .desk import LONG, pending, seen

pytestmark = pytest.mark.usefixtures("person")
ONE_ASK = [[use("bash", n=1)], [say("Ok.")]]
Answers = Callable[[httpx2.Request], httpx2.Response | None]


class Between(httpx2.AsyncHTTPTransport):
    """The real network, and something on the way that answers a request now and then itself."""

    def __init__(self, answers: Answers, times: int) -> None:
        super().__init__()
        self.answers = answers
        self.left = times

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        answer = self.answers(request) if self.left else None
        if answer is None:
            return await super().handle_async_request(request)
        self.left -= 1
        return answer


def sign_in_page(path_ends: str) -> Answers:
    """A page for people, with status 200."""

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if request.method != "GET" or not request.url.path.endswith(path_ends):
            return None
        return httpx2.Response(200, headers={"content-type": "text/html"}, content=b"<html>")

    return answers


def frame(data: str, kind: str = "agent.message") -> Answers:
    """A stream of one frame."""

    def answers(request: httpx2.Request) -> httpx2.Response | None:
        if not request.url.path.endswith("/events/stream"):
            return None
        sent = f"event: {kind}\ndata: {data}\n\n".encode()
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=sent)

    return answers


@pytest.fixture
async def through(store: Any) -> AsyncIterator[Callable[..., managed_agents.Live]]:
    """`attach` over a network that is not always the service; as lenient as a plain client."""
    made: list[tuple[managed_agents.Live, anthropic.AsyncAnthropic]] = []

    def make(double: Any, session: Any, answers: Answers, times: int = 1) -> managed_agents.Live:
        http = httpx2.AsyncClient(transport=Between(answers, times), base_url=double.url)
        client = anthropic.AsyncAnthropic(base_url=double.url, api_key=double.key, http_client=http)
        made.append((managed_agents.attach(client, session.id, store=store), client))
        return made[-1][0]

    yield make
    for live, client in made:
        if not live.done:
            await live.close()
        await client.close()


class TestOnTheWay:
    @pytest.mark.parametrize(
        "answers",
        [
            sign_in_page("/events"),
            sign_in_page("/events/stream"),
            frame("{broken"),
            frame("[1]"),
            frame('{"type":"agent.message","id":"sevt_x","content":["a",3]}'),
            frame('{"type":"agent.message","id":"sevt_x","content":"words"}'),
            frame('{"id":"sevt_x"}', "odd"),
            frame('{"type":"agent.message","id":7,"content":[]}'),
        ],
        ids=["list", "stream", "broken", "no-object", "no-block", "words", "no-type", "no-id"],
    )
    async def test_what_is_not_the_services_ends_nothing(
        self, make_double: Any, through: Any, store: Any, answers: Answers
    ) -> None:
        double = make_double(ONE_ASK)
        live = through(double, double.new_session(ASK_ALL), answers, times=2)
        [request] = await pending(store)
        await hitl.decide(request, hitl.Approve())
        assert await asyncio.wait_for(live.until_idle(), LONG) == "end_turn"

    async def test_a_wrong_address_is_said_at_once(self, make_double: Any, through: Any) -> None:
        double = make_double(ONE_ASK)
        live = through(double, double.new_session(ASK_ALL), sign_in_page(""), times=99)
        with pytest.raises(GarbledError, match="base_url"):
            await asyncio.wait_for(live.until_idle(), LONG)


class TestWhatIsTyped:
    @pytest.mark.parametrize("reason", ["\ud800 no", "x" * 200_000, "a\x00b"])
    async def test_a_reason_arrives_whatever_it_holds(
        self, make_double: Any, attach: Any, store: Any, reason: str
    ) -> None:
        double = make_double(ONE_ASK)
        session = double.new_session(ASK_ALL)
        live = attach(double, session)
        [request] = await pending(store)
        await hitl.decide(request, hitl.Decline(reason))
        assert await asyncio.wait_for(live.until_idle(), LONG) == "end_turn"
        told = next(e for e in session.log.events if e["type"] == "user.tool_confirmation")
        assert told["deny_message"] == reason.replace("\ud800", "?")


class TestWhatBreaks:
    async def test_an_answer_that_breaks_on_the_way_is_said_and_asked_again(
        self, make_double: Any, attach: Any, store: Any, person: Any, monkeypatch: Any
    ) -> None:
        """Nothing waits unseen. The fault is put in: no input is known that would cause one."""
        double = make_double([[custom("lookup", q="a")], [say("Ok.")]])
        live = attach(double, double.new_session(ASK_ALL))
        [request] = await pending(store)
        give = live._answers.give

        async def breaks(_event: Any) -> Any:
            monkeypatch.setattr(live._answers, "give", give)
            raise RuntimeError("out of order")

        monkeypatch.setattr(live._answers, "give", breaks)
        await hitl.decide(request, hitl.Answer({"result": "x"}))
        again = (await seen(store, lambda rs: [r for r in rs if r.state == "pending"]))[-1]
        assert again.id != request.id
        assert "Not carried out: out of order" in person.screens[0].text
        await hitl.decide(again, hitl.Answer({"result": "y"}))
        assert await asyncio.wait_for(live.until_idle(), LONG) == "end_turn"


KEY = "whsec_" + base64.b64encode(b"k" * 24).decode()


def signed(body: bytes, *, at: str | None = None, signature: str | None = None) -> dict[str, str]:
    at = str(int(time.time())) if at is None else at
    mac = hmac.new(b"k" * 24, f"msg_h.{at}.".encode() + body, hashlib.sha256).digest()
    mine = "v1," + base64.b64encode(mac).decode()
    return {
        "webhook-id": "msg_h",
        "webhook-timestamp": at,
        "webhook-signature": mine if signature is None else signature,
    }


class TestWebhooks:
    @pytest.mark.parametrize(
        ("body", "headers", "key"),
        [
            (b"{}", signed(b"{}", signature="v1"), KEY),
            (b"{}", signed(b"{}", signature="v1,\xe9"), KEY),
            (b"{}", signed(b"{}", signature="v1,a,b"), KEY),
            (b"\xff", signed(b"\xff"), KEY),
            (b"{}", signed(b"{}", at="soon"), KEY),
            (b"{}", signed(b"{}", at="9" * 400), KEY),
            (b"{}", {}, KEY),
            (b"[]", signed(b"[]"), KEY),
            (b"no", signed(b"no"), KEY),
            (b"{}", signed(b"{}"), "whsec_!!!"),
            (b"{}", signed(b"{}"), ""),
        ],
    )
    def test_whatever_anybody_sends_is_refused_in_one_way(
        self, body: bytes, headers: dict[str, str], key: str
    ) -> None:
        with pytest.raises(hitl.NotPermitted):
            managed_agents.webhook(body, headers, key)
