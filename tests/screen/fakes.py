"""A page and a desk for tests of widgets: they keep what they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from comm.base_comm import BaseComm

from hitl_widgets.errors import AlreadyDecided, RequestNotFound
from hitl_widgets.request import Decision, Receipt, Request
from scripts.message_examples import AT, decided


class PageComm(BaseComm):
    """A comm whose messages to the page are kept."""

    all: ClassVar[list[PageComm]] = []

    def publish_msg(self, msg_type: str, data: Any = None, **_more: Any) -> None:
        self.__dict__.setdefault("sent", []).append((msg_type, data))
        for event in self.__dict__.get("events", []):
            event.set()
        if msg_type == "comm_open":
            PageComm.all.append(self)


def answers(widget: Any) -> list[dict[str, Any]]:
    """Custom messages that `widget` has sent to the page."""
    sent = widget.comm.__dict__.get("sent", [])
    return [data["content"] for kind, data in sent if kind == "comm_msg" and "content" in data]


async def sent(widget: Any, enough: Callable[[], object]) -> None:
    """Wait until so much was sent to the page that `enough` says so."""
    event = asyncio.Event()
    widget.comm.__dict__.setdefault("events", []).append(event)
    async with asyncio.timeout(5):
        while not enough():
            event.clear()
            await event.wait()


def updates(widget: Any, name: str) -> list[Any]:
    """Every value of one trait that went to the page after the widget was opened."""
    sent = widget.comm.__dict__.get("sent", [])
    states = [data["state"] for kind, data in sent if kind == "comm_msg" and "state" in data]
    return [state[name] for state in states if name in state]


def say(widget: Any, message: object) -> None:
    """Let the page send a custom message, on the calling thread."""
    data = {"method": "custom", "content": message}
    widget._handle_msg({"content": {"data": data}, "buffers": []})


class FakeDesk:
    """Decides each request once and tells its listeners."""

    def __init__(self, *requests: Request) -> None:
        self.rows = {request.id: request for request in requests}
        self.decisions: list[tuple[str, Decision, str | None, str]] = []
        self.listeners: list[Callable[[Request], None]] = []
        self.loops: list[asyncio.AbstractEventLoop] = []
        self.fault: Exception | None = None

    def subscribe(
        self, callback: Callable[[Request], None], run_id: str | None = None, /
    ) -> Callable[[], None]:
        def heard(request: Request) -> None:
            if run_id in (None, request.run_id):
                callback(request)

        self.listeners.append(heard)
        return lambda: self.listeners.remove(heard) if heard in self.listeners else None

    def change(self, request: Request) -> None:
        self.rows[request.id] = request
        for listener in list(self.listeners):
            listener(request)

    async def decide_all(self, decisions: Any, /, *, via: str = "api") -> list[Receipt]:
        return [await self.decide(id_, d, fingerprint=f, via=via) for id_, d, f in decisions]

    async def look_up(self, request_id: str, /) -> Request:
        return self.rows[request_id]

    async def check_edit(self, request: Any, edited: Any, /) -> Any:
        raise NotImplementedError

    async def settle(self, request: Any, how: str, /, **_more: Any) -> Request:
        self.settled = (request, how)
        return self.rows[request]

    async def decide(
        self,
        request: Request | str,
        decision: Decision,
        /,
        *,
        fingerprint: str | None = None,
        via: str = "api",
        always: Any = None,  # noqa: ARG002
    ) -> Receipt:
        self.loops.append(asyncio.get_running_loop())
        if self.fault is not None:
            raise self.fault
        id_ = request if isinstance(request, str) else request.id
        if id_ not in self.rows:
            raise RequestNotFound(f"no request {id_}")
        row = self.rows[id_]
        if row.state != "pending":
            raise AlreadyDecided(f"{row.tool_name} is already {row.state}, by {row.reviewer}.")
        self.decisions.append((id_, decision, fingerprint, via))
        self.change(decided(row, decision.state, decision.verdict))
        return Receipt(id_, decision.state, "user-17", "os", via, AT)
