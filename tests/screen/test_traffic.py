"""What cards cost on the wire, and that decided ones leave nothing behind."""

from __future__ import annotations

import gc
import gzip
import json
import tracemalloc
import weakref
from dataclasses import replace
from typing import Any

import pytest
from ipywidgets.widgets.widget import _instances

from hitl_widgets.screen import hub
from hitl_widgets.screen.card import ApprovalCard
from hitl_widgets.screen.panel import RunPanel
from scripts.message_examples import DELETE

from .fakes import FakeDesk, PageComm, answers, say

BUNDLE, ZIPPED = 320_000, 105_000
"""Bytes of the bundle, plain and compressed."""
CARD = 5_000
"""Bytes of one card beside its data."""
TWENTY = 120_000
"""Bytes of twenty cards beside the bundle."""


def traffic() -> int:
    """Bytes that went to the page so far."""
    sent = [message for comm in PageComm.all for message in comm.__dict__["sent"]]
    return len(json.dumps(sent, ensure_ascii=False).encode())


def asked(number: int) -> Any:
    return replace(DELETE, id=f"r_{number}", tool_call_id=f"c_{number}")


def press(widget: Any, request: Any, verdict: str = "approve") -> None:
    message = {
        "type": "decide",
        "id": f"m_{request.id}",
        "request_id": request.id,
        "fingerprint": request.fingerprint,
        "decision": {"verdict": verdict},
        "visible_ms": 900,
    }
    say(widget, message)


class TestTheWire:
    def test_the_bundle_is_no_larger_than_it_may_be(self) -> None:
        code = hub.BUNDLE.read_bytes()
        assert len(code) < BUNDLE
        assert len(gzip.compress(code, 9)) < ZIPPED

    @pytest.mark.parametrize("many", [1, 20])
    def test_the_bundle_travels_once_and_cards_are_small(self, many: int) -> None:
        desk = FakeDesk(*(asked(n) for n in range(many)))
        bundle = hub.BUNDLE.read_text("utf-8")
        cards = [ApprovalCard(desk.rows[f"r_{n}"], desk=desk) for n in range(many)]
        data = sum(len(json.dumps(card.view)) for card in cards)
        beside = traffic() - len(json.dumps(bundle, ensure_ascii=False).encode())
        assert beside < min(TWENTY, data + (many + 1) * CARD)

    def test_a_decision_costs_little_more_than_its_views(self) -> None:
        desk = FakeDesk(asked(0))
        card = ApprovalCard(asked(0), desk=desk)
        before = traffic()
        press(card, card.request)
        assert answers(card)[-1]["type"] == "ack"
        assert traffic() - before < CARD + len(json.dumps(card.view))

    def test_streamed_text_does_not_send_arguments_again(self) -> None:
        """A panel's requests travel on their own."""
        large = replace(asked(0), args={"text": "x" * 100_000})
        desk = FakeDesk(large)
        panel = RunPanel(run_id=large.run_id, title="agent", desk=desk)
        panel.request(large)
        before = traffic()
        for _ in range(20):
            panel._flush()
        assert traffic() - before < 20 * CARD


class TestNothingStays:
    def open_decide_close(self, numbers: range, desk: FakeDesk) -> None:
        for n in numbers:
            request = asked(n)
            desk.rows[request.id] = request
            card = ApprovalCard(request, desk=desk)
            press(card, request)
            assert card.state == "approved"
            card.freeze()
            card.layout.close()
            card.close()
            del desk.rows[request.id]
            desk.decisions.clear()
            desk.loops.clear()

    def test_of_a_thousand_cards_opened_and_decided(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(PageComm, "publish_msg", lambda *_a, **_k: None)
        desk = FakeDesk()
        hub.hub()
        models = len(_instances)
        self.open_decide_close(range(100), desk)
        gc.collect()
        tracemalloc.start()
        first, _ = tracemalloc.get_traced_memory()
        self.open_decide_close(range(100, 1000), desk)
        gc.collect()
        last, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(_instances) == models
        assert desk.listeners == []
        assert last - first < 300_000  # bytes; one card alone is more than 10,000

    def test_of_a_card_that_nobody_holds_any_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(PageComm, "publish_msg", lambda *_a, **_k: None)
        desk = FakeDesk(asked(0))
        card = ApprovalCard(asked(0), desk=desk)
        gone = weakref.ref(card)
        card.layout.close()
        card.close()
        del card
        gc.collect()
        assert gone() is None
        desk.change(replace(asked(0), state="withdrawn"))
