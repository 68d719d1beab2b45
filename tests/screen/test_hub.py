"""One bundle per kernel, and exactly one answer to every message."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from dataclasses import replace
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.errors import InvalidAnswer, StoreBusy
from hitl_widgets.screen import hub
from hitl_widgets.screen.card import ApprovalCard
from hitl_widgets.screen.panel import RunPanel
from scripts.message_examples import DELETE

from .fakes import FakeDesk, PageComm, answers, say, sent

DECIDE = {
    "type": "decide",
    "id": "m1",
    "request_id": DELETE.id,
    "fingerprint": DELETE.fingerprint,
    "decision": {"verdict": "approve"},
    "visible_ms": 900,
}


def card(desk: FakeDesk | None = None, **more: Any) -> ApprovalCard:
    return ApprovalCard(DELETE, desk=desk or FakeDesk(DELETE), **more)


class TestTheBundle:
    def test_goes_to_the_page_once_however_many_cards_there_are(self, page: list[PageComm]) -> None:
        cards = [card() for _ in range(20)]
        sizes = [len(str(c.__dict__["sent"][0])) for c in page]
        bundle = hub.BUNDLE.stat().st_size
        assert sum(size > bundle // 2 for size in sizes) == 1
        assert sum(sizes) < bundle + 120_000
        assert cards[0].comm.__dict__["sent"][0][1]["state"]["_hub"].startswith("anywidget:")

    def test_a_card_costs_less_than_five_kilobytes(self, page: list[PageComm]) -> None:
        card()
        before = len(page)
        card()
        own = sum(len(str(c.__dict__["sent"])) for c in page[before:])
        assert own < 5_000 + len(str(card().view))

    def test_comes_again_when_all_widgets_were_closed(self) -> None:
        first = hub.hub()
        first.close()
        assert hub.hub() is not first
        assert hub.hub().comm is not None


class TestUnknownArguments:
    @pytest.mark.parametrize("name", ["titel", "on_decided"])
    def test_are_refused_with_their_name(self, name: str) -> None:
        with pytest.raises(TypeError, match=name):
            card(**{name: 1})

    def test_a_widgets_own_arguments_are_not(self) -> None:
        assert card(tooltip="x").tooltip == "x"


class TestOneAnswer:
    async def answered(self, widget: Any, count: int = 1) -> list[dict[str, Any]]:
        await sent(widget, lambda: len(answers(widget)) >= count)
        for _ in range(20):  # a second answer would come now
            await asyncio.sleep(0)
        return answers(widget)

    async def test_a_ping_is_acknowledged_with_the_kernels_session(self) -> None:
        made = card()
        say(made, {"type": "ping", "id": "p1"})
        (told,) = await self.answered(made)
        given = {key: value for key, value in told.items() if value is not None}
        assert given == {"type": "ack", "id": "p1", "session": hub.SESSION}

    async def test_a_decision_is_acknowledged_with_its_receipt(self) -> None:
        desk = FakeDesk(DELETE)
        made = card(desk)
        say(made, DECIDE)
        (answer,) = await self.answered(made)
        assert (answer["type"], answer["id"]) == ("ack", "m1")
        assert answer["receipt"]["state"] == "approved"
        assert [(id_, seen, via) for id_, _, seen, via in desk.decisions] == [
            (DELETE.id, DELETE.fingerprint, "card")
        ]

    async def test_the_second_of_two_presses_is_told_who_was_first(self) -> None:
        """R1."""
        desk = FakeDesk(DELETE)
        made = card(desk)
        say(made, DECIDE)
        say(made, {**DECIDE, "id": "m2"})
        told = {a["id"]: a for a in await self.answered(made, 2)}
        assert [told["m1"]["type"], told["m2"]["type"]] == ["ack", "error"]
        assert told["m2"]["code"] == "AlreadyDecided"
        assert len(desk.decisions) == 1

    async def test_an_error_of_ours_is_told_in_its_words(self) -> None:
        desk = FakeDesk(DELETE)
        desk.fault = StoreBusy("the store is busy")
        made = card(desk)
        say(made, DECIDE)
        (answer,) = await self.answered(made)
        assert (answer["code"], answer["words"]) == ("StoreBusy", "the store is busy")

    async def test_faults_of_an_answer_are_told_per_field(self) -> None:
        desk = FakeDesk(DELETE)
        desk.fault = InvalidAnswer([{"path": ["days", 0], "message": "too big", "type": "x"}])
        made = card(desk)
        say(made, DECIDE)
        (answer,) = await self.answered(made)
        assert answer["errors"] == [{"path": ["days", 0], "message": "too big"}]

    async def test_a_fault_nobody_foresaw_is_told_and_logged(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        desk = FakeDesk(DELETE)
        desk.fault = ZeroDivisionError("division by zero")
        made = card(desk)
        with caplog.at_level(logging.ERROR):
            say(made, DECIDE)
            (answer,) = await self.answered(made)
        assert answer["code"] == "Unexpected"
        assert "division by zero" in answer["words"]
        assert "division by zero" in caplog.text

    @pytest.mark.parametrize("message", [{"type": "decide", "id": "m9"}, {"id": "m9"}], ids=str)
    async def test_a_message_of_another_version_is_told_so(self, message: object) -> None:
        made = card()
        say(made, message)
        (answer,) = await self.answered(made)
        assert (answer["id"], answer["code"]) == ("m9", "BadMessage")

    async def test_a_cancel_reaches_the_run_once(self) -> None:
        cancelled: list[bool] = []
        panel = RunPanel(
            run_id="r", title="a", desk=FakeDesk(), cancel=lambda: cancelled.append(True)
        )
        say(panel, {"type": "cancel", "id": "c1"})
        assert [a["id"] for a in await self.answered(panel)] == ["c1"]
        assert cancelled == [True]


class TestThreads:
    async def test_what_arrives_on_another_thread_is_done_on_the_loop_that_made_the_card(
        self,
    ) -> None:
        desk = FakeDesk(DELETE)
        made = card(desk)
        await asyncio.to_thread(say, made, DECIDE)
        await sent(made, lambda: answers(made))
        assert desk.loops == [asyncio.get_running_loop()]

    def test_without_a_loop_it_is_done_at_once(self) -> None:
        desk = FakeDesk(DELETE)
        made = card(desk)
        say(made, DECIDE)
        assert [a["type"] for a in answers(made)] == ["ack"]

    def test_after_its_loop_has_closed_a_card_still_decides(self) -> None:
        desk = FakeDesk(DELETE)

        async def make() -> ApprovalCard:
            return card(desk)

        made = asyncio.run(make())
        say(made, DECIDE)
        assert [a["type"] for a in answers(made)] == ["ack"]

    async def test_a_change_heard_on_another_thread_is_drawn_on_the_loops_own(self) -> None:
        desk = FakeDesk(DELETE)
        made = card(desk)
        drawn: list[threading.Thread] = []
        made.observe(lambda _: drawn.append(threading.current_thread()), "state")
        await asyncio.to_thread(desk.change, _gone())
        await sent(made, lambda: drawn)
        assert drawn == [threading.current_thread()]


def _gone() -> Any:
    return replace(DELETE, state="withdrawn")


class TestHello:
    def test_pages_are_known_once_they_said_hello(self) -> None:
        heard: list[str] = []
        stop = hub.on_hello(lambda hello: heard.append(hello.page))
        say(hub.hub(), {"type": "hello", "id": "h1", "page": "p1", "locale": "ja"})
        stop()
        say(hub.hub(), {"type": "hello", "id": "h2", "page": "p2", "locale": "en"})
        assert heard == ["p1"]
        assert [hello.page for hello in hub.pages()] == ["p1", "p2"]
        assert [a["id"] for a in answers(hub.hub())] == ["h1", "h2"]

    def test_the_language_that_was_set_reaches_the_page(self) -> None:
        hub.hub()
        hitl.configure(locale="ja")
        try:
            assert hub.hub().locale == "ja"
            assert hub.locale() == "ja"
        finally:
            hitl.configure(locale=None)
        assert hub.hub().locale is None


class TestLeaks:
    def test_a_decided_card_is_heard_of_no_more(self) -> None:
        desk = FakeDesk(DELETE)
        made = card(desk)
        desk.change(_gone())
        assert made.state == "withdrawn"
        assert desk.listeners == []

    def test_a_closed_card_leaves_no_listener(self) -> None:
        desk = FakeDesk(DELETE)
        card(desk).close()
        assert desk.listeners == []

    def test_the_desk_keeps_no_card_alive(self) -> None:
        desk = FakeDesk(DELETE)
        made = card(desk)
        made.close()
        PageComm.all.clear()
        ref = weakref.ref(made)
        del made
        gc.collect()
        assert ref() is None
