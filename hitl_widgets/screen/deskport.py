"""What a screen needs of the desk, and the one way a person's decision gets there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

from ..request import Answer, Approve, Decision, Decline, Receipt, Request, Respond, Reviewer
from . import formdata
from .hub import SESSION
from .messages import (
    Ack,
    AnswerDoc,
    ApproveDoc,
    Decide,
    DecideAll,
    DecisionDoc,
    DeclineDoc,
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
    ) -> Receipt:
        """Record a decision, once."""
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

    def subscribe(self, callback: Callable[[Request], None], /) -> Callable[[], None]:
        """Call back, on any thread, with each request that changed."""
        ...


def desk_of(store: Any) -> DeskPort:
    """The desk on `store`."""
    from .. import desk  # noqa: PLC0415  (views and records are usable without a desk)

    return desk.desk_of(store)


Act = Decide | DecideAll | Settle


async def act(desk: DeskPort, message: Act, *, via: str) -> Receipt | None:
    """Bring what a person did to the desk; the receipt of a single decision."""
    match message:
        case Decide(decision=AnswerDoc(edited=bool())):
            return await _answer(desk, message, via)
        case Decide():
            return await desk.decide(
                message.request_id,
                decision_of(message.decision),
                fingerprint=message.fingerprint,
                via=via,
            )
        case DecideAll():
            decision = decision_of(message.decision)
            shown = [(one.request_id, decision, one.fingerprint) for one in message.requests]
            await desk.decide_all(shown, via=via)
        case Settle():
            from ..desk import default_reviewer  # noqa: PLC0415  (as in `desk_of`)

            await desk.settle(
                message.request_id,
                message.how,
                result=message.result,
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


def ack(id_: str, receipt: Receipt | None) -> Ack:
    """The page's answer to what counted."""
    told = None if receipt is None else receipt_doc(receipt)
    return Ack(type="ack", id=id_, session=SESSION, receipt=told)


def decision_of(doc: DecisionDoc) -> Decision:
    """The page's decision in the desk's words."""
    match doc:
        case ApproveDoc(args=args, note=note):
            return Approve(args=args, note=note)
        case DeclineDoc(reason=reason, stop=stop):
            return Decline(reason=reason, stop=stop)
        case AnswerDoc(data=data):
            return Answer(data)
        case RespondDoc(result=result):
            return Respond(result)


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
