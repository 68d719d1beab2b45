"""The vocabulary and the table of states."""

from __future__ import annotations

from typing import get_args

from hitl_widgets.request import (
    ARROWS,
    DECISIONS,
    TERMINAL,
    Evaluation,
    State,
    from_row,
    new_id,
    sources,
    to_doc,
)
from tests.store.making import a_call, a_request


def test_every_state_is_reached_and_only_terminal_ones_are_never_left() -> None:
    reached = {"pending"} | {target for arrow in ARROWS for target in arrow.targets}
    left = {source for arrow in ARROWS for source in arrow.sources}
    assert reached == set(get_args(State))
    assert reached - left == TERMINAL


def test_a_decision_leads_only_from_pending_to_its_own_state() -> None:
    (decide,) = [a for a in ARROWS if a.verb == "decide"]
    assert decide.sources == ("pending",)
    assert {d.state for d in DECISIONS} == set(decide.targets)


def test_nothing_runs_but_what_was_approved_or_answered() -> None:
    """F5, F24: no arrow leads from declined, expired or pending to executing."""
    into = {s for a in ARROWS if "executing" in a.targets for s in a.sources}
    assert into == {"approved", "answered", "parked"}
    assert sources("expire") == ("pending", "approved", "answered")


def test_a_request_survives_its_row() -> None:
    request = a_request(
        call=a_call(), secrets=("/a",), reviewers=("ada",), evaluation=Evaluation(type="tool")
    )
    columns = {n: getattr(request, n) for n in request.__slots__ if n not in to_doc(request)}
    columns.pop("store")
    times = {n: v.timestamp() for n, v in columns.items() if hasattr(v, "timestamp")}
    assert from_row({**columns, **times}, to_doc(request)) == request


def test_ids_are_unique_and_easy_to_type() -> None:
    ids = {new_id("r") for _ in range(1000)}
    assert len(ids) == 1000
    assert all(i.startswith("r_") and i[2:].isalnum() and i.islower() for i in ids)


def test_an_evaluation_reads_as_dict_and_by_attribute_and_keeps_what_it_does_not_know() -> None:
    said = Evaluation(type="auto", evaluated_permission={"type": "ask", "reason_code": "x"}, new=1)
    assert (said.type, said.reason_code, said["new"]) == ("auto", "x", 1)
    assert Evaluation(type="tool").reason_code is None
