"""What a screen needs of the desk, and the one way a person's decision gets there."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, cast

from ..request import Answer, Approve, Decision, Decline, Receipt, Request, Respond, Reviewer
from ..standing import Rule
from . import formdata, prepare
from .hub import SESSION
from .messages import (
    Ack,
    AnswerDoc,
    ApproveDoc,
    Decide,
    DecideAll,
    DecisionDoc,
    DeclineDoc,
    Prepare,
    ReceiptDoc,
    RespondDoc,
    Settle,
)
from .views import iso


class DeskPort(Protocol):
    """The part of `desk.Desk` that a screen uses."""

    async def decide(
        self,
        request: Request | str,
        decision: Decision,
        /,
        *,
        fingerprint: str | None = None,
        via: str = "api",
        always: Rule | None = None,
    ) -> Receipt:
        """Record a decision, once, and the standing grant that goes with it."""
        ...

    async def look_up(self, request_id: str, /) -> Request:
        """The request as it is now."""
        ...

    async def check_edit(
        self, request: Request | str, edited: Mapping[str, Any], /
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """What an edit would run (secrets masked), and its digests; nothing is decided."""
        ...

    async def preview_edit(
        self, request: Request | str, edited: Mapping[str, Any], /
    ) -> dict[str, Any] | None:
        """What the tool's preview shows of an edit; None: it has none, or is not known here."""
        ...

    async def decide_all(
        self,
        decisions: Sequence[tuple[Request | str, Decision, str | None]],
        /,
        *,
        via: str = "api",
    ) -> list[Receipt]:
        """Record several decisions, all or none."""
        ...

    async def settle(
        self,
        request: Request | str,
        how: str,
        /,
        *,
        result: Any = None,
        reviewer: Reviewer,
        via: str = "api",
    ) -> Request:
        """Record how an ``outcome_unknown`` call ended."""
        ...

    def subscribe(
        self, callback: Callable[[Request], None], run_id: str | None = None, /
    ) -> Callable[[], None]:
        """Call back, on any thread, with each request (of a run) that changed."""
        ...


def desk_of(store: Any) -> DeskPort:
    """The desk on `store`."""
    from .. import desk  # noqa: PLC0415  (views and records are usable without a desk)

    return desk.desk_of(store)


Act = Decide | DecideAll | Prepare | Settle


async def answer(desk: DeskPort, message: Act, *, via: str) -> tuple[Ack, Receipt | None]:
    """Do what a person did; the page's answer, and the receipt of a single decision."""
    if isinstance(message, Prepare):
        form, prepared = await prepare.prepare(desk, message)
        return Ack(type="ack", id=message.id, session=SESSION, form=form, prepared=prepared), None
    receipt = await _act(desk, message, via)
    told = None if receipt is None else receipt_doc(receipt)
    return Ack(type="ack", id=message.id, session=SESSION, receipt=told), receipt


async def _act(desk: DeskPort, message: Decide | DecideAll | Settle, via: str) -> Receipt | None:
    """Bring what a person did to the desk; the receipt of a single decision."""
    match message:
        case Decide(decision=AnswerDoc(edited=bool())):
            return await _answer(desk, message, via)
        case Decide():
            decision, always = _meant(message)
            return await desk.decide(
                message.request_id,
                decision,
                fingerprint=message.fingerprint,
                via=via,
                always=always,
            )
        case DecideAll():
            decision = decision_of(message.decision)
            shown = [(one.request_id, decision, one.fingerprint) for one in message.requests]
            await desk.decide_all(shown, via=via)
        case Settle():
            from ..decisions import default_reviewer  # noqa: PLC0415  (as in `desk_of`)

            await desk.settle(
                message.request_id,
                message.how,
                result=None if message.text is None else typed(message.text),
                reviewer=default_reviewer(),
                via=via,
            )
    return None


async def _answer(desk: DeskPort, message: Decide, via: str) -> Receipt:
    """Bring what stands in a form to the desk, and the desk's errors to its fields."""
    given = cast("AnswerDoc", message.decision)
    answer = formdata.answer(message.request_id, given.data, edited=given.edited is True)
    with formdata.errors_in_page(message.request_id):
        return await desk.decide(
            message.request_id, answer, fingerprint=message.fingerprint, via=via
        )


def _meant(message: Decide) -> tuple[Decision, Rule | None]:
    """The decision, and what was prepared on the card if that is approved."""
    match message.decision:
        case ApproveDoc(prepared=str(key), note=note):
            approval, rule = prepare.prepared(message.request_id, key)
            return replace(approval, note=note), rule
        case doc:
            return decision_of(doc), None


def typed(text: str) -> Any:
    """What a person typed: JSON where it is JSON (no number is rounded), else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def decision_of(doc: DecisionDoc) -> Decision:
    """The page's decision in the desk's words."""
    match doc:
        case ApproveDoc(note=note):
            return Approve(note=note)
        case DeclineDoc(reason=reason, stop=stop):
            return Decline(reason=reason, stop=stop)
        case AnswerDoc(data=data):
            return Answer(data)
        case RespondDoc(text=text):
            return Respond(typed(text))


def receipt_doc(receipt: Receipt) -> ReceiptDoc:
    """A receipt as the page's JSON."""
    return ReceiptDoc(
        request_id=receipt.request_id,
        state=receipt.state,
        reviewer=receipt.reviewer,
        via=receipt.via,
        decided_at=iso(receipt.decided_at),
        votes=receipt.votes,
        quorum=receipt.quorum,
    )
