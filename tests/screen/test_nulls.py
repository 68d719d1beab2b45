"""A page whose Python runs beside it gets ``null`` for None, and its ``null`` is None again.

The object that stands for ``null`` is made up here; in a browser it is Pyodide's own, and the
lesson of the static site is run with it (tests/lite).
"""

from __future__ import annotations

from typing import Any

import pytest

from hitl_widgets.screen import nulls
from hitl_widgets.screen.card import ApprovalCard
from scripts.message_examples import DELETE

from .fakes import FakeDesk, answers, say, sent

NULL = object()


@pytest.fixture
def null(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(nulls, "NULL", NULL)
    return NULL


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    return [value]


class TestWherePythonRunsInThePage:
    def test_a_view_holds_null_where_python_has_none(self, null: object) -> None:
        card = ApprovalCard(DELETE, desk=FakeDesk(DELETE))
        state = card.comm.__dict__["sent"][0][1]["state"]
        assert None in _leaves(card.view)
        assert null in _leaves(state["view"])
        assert None not in _leaves(state["view"])

    async def test_a_message_with_null_is_understood_and_answered(self, null: object) -> None:
        card = ApprovalCard(DELETE, desk=FakeDesk(DELETE))
        say(
            card,
            {
                "type": "decide",
                "id": "m1",
                "request_id": DELETE.id,
                "fingerprint": DELETE.fingerprint,
                "decision": {"verdict": "approve", "note": null},
                "visible_ms": 900,
            },
        )
        await sent(card, lambda: answers(card))
        [answer] = answers(card)
        assert answer["type"] == "ack"
        assert None not in _leaves(answer)


def test_elsewhere_nothing_is_copied() -> None:
    view = {"a": None, "b": [None, 1]}
    assert nulls.to_page(view) is view
    assert nulls.from_page(view) is view
