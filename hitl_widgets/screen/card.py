"""One request as a widget of its own."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import traitlets

from ..deciders import settings
from ..request import TERMINAL, Receipt, Request
from . import deskport
from .compare import comparable
from .hub import HubWidget, locale
from .messages import Ack
from .record import record
from .views import request_view

__all__ = ["ApprovalCard"]


class ApprovalCard(HubWidget):
    """A card that shows one request and lets a person decide it.

    An ordinary widget: put it in an ``HBox``, observe its `state`.

    Parameters
    ----------
    request
        The request, as `hitl.pending` gives it.
    on_decide
        Called with the `Receipt` of each decision made on this card.
    desk
        Where decisions go; by default the desk on the request's own store.

    Attributes
    ----------
    state : str
        The request's state as last seen here; observe it with ``card.observe(f, "state")``.
    view : dict
        What is shown, see `screen.messages.RequestView`.
    """

    state = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        request: Request,
        *,
        on_decide: Callable[[Receipt], object] | None = None,
        desk: deskport.DeskPort | None = None,
        **kwargs: Any,
    ) -> None:
        self.request = request
        self._desk = desk if desk is not None else deskport.desk_of(request.store)
        self._on_decide = on_decide
        super().__init__(shows="card", view=_view(request), state=request.state, **kwargs)
        self._unsubscribe = subscribe(self._desk, self, request.run_id)

    def show(self, request: Request) -> None:
        """Redraw after a change; safe on any thread."""
        if request.id == self.request.id:
            self._soon(lambda: self._show(request))

    def _show(self, request: Request) -> None:
        self.request = request
        with self.hold_sync():
            self.view = _view(request)
            self.state = request.state
        if request.state in TERMINAL:
            self._unsubscribe()

    async def _handle(self, message: Any) -> Ack:
        if not isinstance(message, deskport.Act):
            return await super()._handle(message)
        told, receipt = await deskport.answer(self._desk, message, via="card")
        if receipt is not None and self._on_decide is not None:
            self._on_decide(receipt)
        return told

    def record(self) -> dict[str, str]:
        """What stays in a saved notebook."""
        return record([self.request], locale=locale(), level=settings().record)


def _view(request: Request) -> dict[str, Any]:
    return request_view(request, compare=comparable(request))


def subscribe(desk: deskport.DeskPort, shower: Any, run_id: str) -> Callable[[], None]:
    """Let `shower.show` hear of a run's requests while it lives, without keeping it alive."""
    ref = weakref.WeakMethod(shower.show)

    def heard(request: Request) -> None:
        show = ref()
        if show is None:
            stop()
        else:
            show(request)

    stop = desk.subscribe(heard, run_id)
    return stop
