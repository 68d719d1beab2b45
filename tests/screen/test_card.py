"""A card on a real desk and store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from ipywidgets import HBox

from hitl_widgets.desk import desk_of
from hitl_widgets.request import Receipt
from hitl_widgets.screen.card import ApprovalCard
from hitl_widgets.screen.compare import comparable
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import a_call, a_vote, gated, waiting

from .fakes import answers, say


def press(card: ApprovalCard, decision: dict[str, Any], **more: Any) -> dict[str, Any]:
    message = {
        "type": "decide",
        "id": "m1",
        "request_id": card.request.id,
        "fingerprint": card.request.fingerprint,
        "decision": decision,
        "visible_ms": 900,
        **more,
    }
    say(card, message)
    return answers(card)[-1]


@pytest.mark.parametrize(
    ("decision", "state"),
    [
        ({"verdict": "approve"}, "approved"),
        ({"verdict": "decline", "reason": "use staging"}, "declined"),
        ({"verdict": "respond", "text": "[" * 100_000}, "responded"),
    ],
)
def test_a_press_decides_the_stored_request(
    store: SqliteStore, decision: dict[str, Any], state: str
) -> None:
    asked = waiting(store, allowed=("approve", "decline", "respond"))
    receipts: list[Receipt] = []
    card = ApprovalCard(asked, on_decide=receipts.append)
    seen: list[str] = []
    card.observe(lambda change: seen.append(change["new"]), "state")
    answer = press(card, decision)
    assert answer["type"] == "ack", answer
    now = store.request(asked.id)
    assert (now.state, now.via) == (state, "card")
    assert [receipt.state for receipt in receipts] == [state]
    assert seen == [state]
    assert card.view["decided"]["verdict"] == decision["verdict"]
    card.close()


def test_a_decision_on_something_else_than_was_shown_changes_nothing(store: SqliteStore) -> None:
    """R3, F2."""
    asked = waiting(store)
    card = ApprovalCard(asked)
    answer = press(card, {"verdict": "approve"}, fingerprint="hf1:other")
    assert answer["code"] == "StaleFingerprint"
    assert store.request(asked.id).state == "pending"
    card.close()


@pytest.mark.parametrize(
    ("decision", "state"),
    [({"verdict": "approve"}, "approved"), ({"verdict": "decline"}, "declined")],
)
def test_several_are_decided_as_they_were_shown_or_not_at_all(
    store: SqliteStore, decision: dict[str, Any], state: str
) -> None:
    """R1, R3."""
    one = waiting(store)
    store.save("run_1", "lease", calls=[gated(a_call("call_2"), "req_2")])
    two = store.request("req_2")
    card = ApprovalCard(one)
    shown = [{"request_id": r.id, "fingerprint": r.fingerprint} for r in (one, two)]
    other = [shown[0], {**shown[1], "fingerprint": "hf1:other"}]
    for requests, code, after in ((other, "StaleFingerprint", "pending"), (shown, None, state)):
        message = {"type": "decide-all", "id": "m1", "requests": requests, "decision": decision}
        say(card, {**message, "visible_ms": 900})
        assert answers(card)[-1].get("code") == code
        assert [store.request(r.id).state for r in (one, two)] == [after, after]
    assert {store.request(r.id).via for r in (one, two)} == {"card"}
    card.close()


def test_whoever_was_first_elsewhere_is_shown(store: SqliteStore) -> None:
    """R1: decided in the same process through the store's desk."""
    asked = waiting(store)
    card = ApprovalCard(asked)
    desk_of(store).write_now(store.decide, [a_vote(asked.id, "declined")])
    assert card.state == "declined"
    assert press(card, {"verdict": "approve"})["code"] == "AlreadyDecided"
    card.close()


def test_a_card_is_an_ordinary_widget(store: SqliteStore) -> None:
    card = ApprovalCard(waiting(store))
    box = HBox([card])
    assert box.children == (card,)
    box.close()
    card.close()


def test_a_first_call_has_nothing_to_be_compared_with(store: SqliteStore) -> None:
    assert comparable(waiting(store)) == []


def test_a_later_call_can_be_compared_with_the_last_one_that_ran_and_the_last_that_did_not(
    store: SqliteStore,
) -> None:
    waiting(store, call=a_call("call_1"))
    for number in (2, 3):
        asked = gated(a_call(f"call_{number}"), f"req_{number}")
        store.save("run_1", "lease", state="suspended", calls=[asked])
    store.decide([a_vote("req_1", "approved"), a_vote("req_2", "declined")])
    found = comparable(store.request("req_3"))
    assert [(label, other.id) for label, other in found] == [
        ("last", "req_1"),
        ("earlier", "req_2"),
    ]


def test_a_call_that_is_asked_again_is_compared_with_what_was_approved(store: SqliteStore) -> None:
    """R3: stale with diff."""
    asked = waiting(store)
    store.decide([a_vote(asked.id, "approved")])
    again = replace(
        store.request(asked.id),
        id="req_again",
        ordinal=1,
        state="pending",
        fingerprint="hf1:other",
        decision=None,
        decided_at=None,
        created_at=asked.created_at + timedelta(seconds=5),
    )
    store.move(asked.id, "make_stale", "stale", opens=again)
    found = comparable(store.request("req_again"))
    assert [(label, other.id) for label, other in found] == [("original", asked.id)]
    card = ApprovalCard(store.request("req_again"))
    assert [other["label"] for other in card.view["compare"]] == ["original"]
    card.close()
