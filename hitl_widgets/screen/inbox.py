"""Every request that waits in a store, wherever it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import traitlets

from ..deciders import settings
from ..request import Request
from . import deskport
from .card import subscribe
from .hub import HubWidget, locale
from .messages import Ack, InboxView
from .record import record
from .views import request_view

__all__ = ["Inbox"]


class Inbox(HubWidget):
    """A live list of cards.

    Parameters
    ----------
    requests
        What waits now, as `hitl.pending` gives it.
    location
        The store, in words.
    desk
        Where decisions go, and from where changes are heard.

    Attributes
    ----------
    requests : list of dict
        See `screen.messages.RequestView`.
    """

    requests: Any = cast("Any", traitlets.List()).tag(sync=True)

    def __init__(
        self, requests: Sequence[Request], *, location: str, desk: deskport.DeskPort, **kwargs: Any
    ) -> None:
        self._desk = desk
        self._shown = {request.id: request for request in requests}
        super().__init__(
            shows="inbox",
            view=InboxView(store=location).model_dump(mode="json"),
            requests=self._views(),
            **kwargs,
        )
        self._unsubscribe = subscribe(desk, self)

    def show(self, request: Request) -> None:
        """Hear of a change at the desk: a new question, or one that was decided."""
        self._soon(lambda: self._show(request))

    def _show(self, request: Request) -> None:
        if request.id in self._shown or request.state in ("pending", "outcome_unknown"):
            self._shown[request.id] = request
            self.requests = self._views()

    def _views(self) -> list[dict[str, Any]]:
        return [request_view(request) for request in self._shown.values()]

    async def _handle(self, message: Any) -> Ack:
        if isinstance(message, deskport.Act):
            told, _ = await deskport.answer(self._desk, message, via="inbox")
            return told
        return await super()._handle(message)

    def record(self) -> dict[str, str]:
        """What stays in a saved notebook."""
        return record(list(self._shown.values()), locale=locale(), level=settings().record)
