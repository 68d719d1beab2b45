"""What a screen needs of the desk, and the one way a person's decision gets there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..request import Answer, Approve, Decision, Decline, Receipt, Request, Respond
from .hub import SESSION
from .messages import Ack, AnswerDoc, ApproveDoc, Decide, DeclineDoc, ReceiptDoc, RespondDoc
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

    def subscribe(self, callback: Callable[[Request], None], /) -> Callable[[], None]:
        """Call back, on any thread, with each request that changed."""
        ...


def desk_of(store: Any) -> DeskPort:
    """The desk on `store`."""
    from .. import desk  # noqa: PLC0415  (views and records are usable without a desk)

    return desk.desk_of(store)


async def decide(desk: DeskPort, message: Decide, *, via: str = "card") -> Receipt:
    """Bring a decision from the page to the desk."""
    return await desk.decide(
        message.request_id, decision_of(message), fingerprint=message.fingerprint, via=via
    )


def ack(id_: str, receipt: Receipt) -> Ack:
    """The page's answer to a decision that counted."""
    return Ack(type="ack", id=id_, session=SESSION, receipt=receipt_doc(receipt))


def decision_of(message: Decide) -> Decision:
    """The page's decision in the desk's words."""
    match message.decision:
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
