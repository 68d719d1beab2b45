"""The compare-and-set beneath every change (R1): what was read before it must still be true."""

from __future__ import annotations

from typing import get_args

import pytest

from hitl_widgets.errors import AlreadyDecided, StoreError
from hitl_widgets.request import ARROWS, Arrow, State
from hitl_widgets.store import arrows
from hitl_widgets.store.connection import Tx
from hitl_widgets.store.sqlite import SqliteStore

from .making import waiting

STATES: tuple[State, ...] = get_args(State)


@pytest.fixture
def store() -> SqliteStore:
    store = SqliteStore(":memory:")
    waiting(store)
    return store


def _put(tx: Tx, state: str) -> None:
    tx.rows("UPDATE requests SET state = ?", (state,))


@pytest.mark.parametrize("arrow", ARROWS, ids=lambda a: a.verb)
def test_an_arrow_goes_from_its_sources_alone(store: SqliteStore, arrow: Arrow) -> None:
    """Whatever state the caller believes the request to be in."""
    pending = store.request("req_1")
    for state in STATES:
        for target in arrow.targets:

            def step(tx: Tx, state: State = state, target: State = target) -> None:
                _put(tx, state)
                arrows.shift(tx, pending, arrow.verb, target)

            events = store.last_seq()
            if state in arrow.sources:
                store._write(step)
                assert store.request("req_1").state == target
                store._db.write(lambda tx: _put(tx, "pending"))
            else:
                with pytest.raises(AlreadyDecided, match=f"is already {state}") as caught:
                    store._write(step)
                assert caught.value.state == state
                assert store.request("req_1").state == "pending"
                assert store.last_seq() == events


@pytest.mark.parametrize("arrow", ARROWS, ids=lambda a: a.verb)
def test_an_arrow_leads_to_its_targets_alone(store: SqliteStore, arrow: Arrow) -> None:
    request = store.request("req_1")
    for target in set(STATES) - set(arrow.targets):
        with pytest.raises(StoreError, match="never leads to"):
            store._db.write(lambda tx, target=target: arrows.shift(tx, request, arrow.verb, target))
    assert store.request("req_1").state == "pending"


def test_a_vote_is_added_to_what_was_read_alone(store: SqliteStore) -> None:
    """Two votes at once: none is written over the other's decision."""
    pending = store.request("req_1")

    def step(tx: Tx) -> None:
        _put(tx, "declined")
        arrows.revise(tx, pending, votes=[{"reviewer": "ada"}])

    with pytest.raises(AlreadyDecided, match="declined"):
        store._write(step)
    assert store.request("req_1").votes == ()
