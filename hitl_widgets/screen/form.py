"""A question for data as a widget of its own."""

from __future__ import annotations

from typing import Any

from ..request import Request
from .card import ApprovalCard

__all__ = ["RequestForm"]


class RequestForm(ApprovalCard):
    """A form that shows one request for data and lets a person answer it.

    An ordinary widget: put it in an ``HBox``, observe its `state`. Takes and has what
    `ApprovalCard` takes and has.

    Raises
    ------
    ValueError
        The request asks for a decision, not for data.
    """

    def __init__(self, request: Request, **kwargs: Any) -> None:
        if request.kind != "input":
            raise ValueError(
                f"{request.tool_name} ({request.id}) asks for approval, not for data: show it "
                "with hitl.ApprovalCard."
            )
        super().__init__(request, **kwargs)
