"""Looking for requests as a person does: filters, text, orders, pages."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from hitl_widgets.request import Request
from hitl_widgets.store.base import Order, Search, Store

from .making import a_call, a_run, a_vote, ago, gated

BEGAN = ago(0)
"""One moment for all: a test may run long after it was collected."""


def before(seconds: float) -> datetime:
    """So long before that moment."""
    return BEGAN - timedelta(seconds=seconds)


@pytest.fixture
def busy(store: Store) -> Store:
    """Four requests of two agents, in two notebooks, asked one after the other."""
    _ask(
        store,
        1,
        "drop_table",
        {"table": "orders", "why": "100% stale"},
        agent="ada",
        book="a.ipynb",
    )
    _ask(store, 2, "send_mail", {"to": "bob", "text": "Grüße"}, agent="ada", book="b.ipynb")
    _ask(store, 3, "drop_table", {"nested": {"list": ["users"]}}, agent="clerk", book="b.ipynb")
    _ask(store, 4, "ask", {}, agent="clerk", message="May I?", thread_id="t-4")
    return store


def _ask(
    store: Store, n: int, tool: str, args: Any, *, agent: str, book: str | None = None, **more: Any
) -> None:
    call = a_call(f"call_{n}", f"run_{n}", tool_name=tool, args=args)
    expires = {1: -5000.0, 3: -9000.0}.get(n)
    asked = gated(
        call,
        f"req_{n}",
        agent_id=agent,
        origin={} if book is None else {"notebook": book},
        created_at=before(100 - 10 * n),
        expires_at=None if expires is None else before(expires),
        **more,
    )
    store.open_run(a_run(f"run_{n}", agent_id=agent), frames={f"run_{n}": {}}, calls=[asked])


def _found(store: Store, limit: int = 10, offset: int = 0, **search: Any) -> list[str]:
    found = store.search(Search(**{"states": ("pending",), **search}), limit=limit, offset=offset)
    return [request.id for request in found.requests]


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ({"agent_id": "ada"}, ["req_1", "req_2"]),
        ({"thread_id": "t-4"}, ["req_4"]),
        ({"tool_name": "drop_table"}, ["req_1", "req_3"]),
        ({"notebook": "b.ipynb"}, ["req_2", "req_3"]),
        ({"asked_before": before(75).timestamp()}, ["req_1", "req_2"]),
        ({"asked_after": before(75).timestamp()}, ["req_3", "req_4"]),
        ({"agent_id": "ada", "notebook": "b.ipynb"}, ["req_2"]),
        ({"states": ("approved",)}, []),
        ({"text": "ORDERS"}, ["req_1"]),
        ({"text": "users"}, ["req_3"]),
        ({"text": "Grüße"}, ["req_2"]),
        ({"text": "nested"}, ["req_3"]),
        ({"text": "may i"}, ["req_4"]),
        ({"text": "drop"}, ["req_1", "req_3"]),
        ({"text": "0%"}, ["req_1"]),
        ({"text": "%"}, ["req_1"]),
        ({"text": "_"}, ["req_1", "req_2", "req_3"]),
        ({"text": "effect"}, []),
        ({"text": "args"}, []),
        ({"text": "req_4"}, ["req_4"]),
    ],
)
def test_finds_what_is_looked_for_and_nothing_else(
    busy: Store, search: dict[str, Any], expected: list[str]
) -> None:
    assert _found(busy, **search) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("oldest", "1234"),
        ("newest", "4321"),
        ("tool", "4132"),
        ("agent", "1234"),
        ("expiry", "1324"),
    ],
)
def test_stands_in_the_order_that_was_asked_for_page_by_page(
    busy: Store, order: Order, expected: str
) -> None:
    ids = [f"req_{n}" for n in expected]
    assert _found(busy, order=order) == ids
    assert _found(busy, limit=2, offset=1, order=order) == ids[1:3]


def test_what_was_decided_last_comes_first(busy: Store) -> None:
    for n in (2, 1, 4):
        busy.decide([a_vote(f"req_{n}", "declined")])
    assert _found(busy, states=("declined",), order="decided") == ["req_4", "req_1", "req_2"]


def test_says_how_many_match_and_hands_out_whole_requests(busy: Store) -> None:
    found = busy.search(Search(states=("pending",), agent_id="ada"), limit=1)
    assert (found.total, len(found.requests)) == (2, 1)
    [one] = found.requests
    assert isinstance(one, Request)
    assert one == busy.request("req_1")
    assert one.store is busy


def test_counts_the_values_that_can_be_filtered_by(busy: Store) -> None:
    assert busy.tally(("pending", "outcome_unknown")) == {
        "agent_id": {"ada": 2, "clerk": 2},
        "thread_id": {"t-4": 1},
        "tool_name": {"drop_table": 2, "send_mail": 1, "ask": 1},
        "notebook": {"a.ipynb": 1, "b.ipynb": 2},
    }
    assert busy.tally(("approved",))["tool_name"] == {}


def test_a_secret_is_not_found(store: Store) -> None:
    """R17: what is searched holds no secret."""
    call = a_call("call_1", args={"password": "hunter2"})
    asked = gated(call, "req_1", args={"password": "••••"}, secrets=("/password",))
    store.open_run(a_run(), frames={"run_1": {}}, calls=[asked])
    assert _found(store, text="hunter2") == []
    assert _found(store, text="password") == ["req_1"]
