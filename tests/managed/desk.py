"""A person at the desk, and a surface that remembers what it was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from hitl_widgets.desk import desk_of
from hitl_widgets.request import Request

LONG = 20
"""Seconds after which a test gives up waiting for an event."""


class Screen:
    """One run's output."""

    def __init__(self, run_id: str, title: str, cancel: Callable[[], None] | None) -> None:
        self.run_id, self.title, self.cancel = run_id, title, cancel
        self.chunks: list[Any] = []
        self.drawn: dict[str, Request] = {}
        self.end: tuple[str, dict[str, Any]] | None = None
        self.drew = asyncio.Event()

    def chunk(self, chunk: Any) -> None:
        self.chunks.append(chunk)

    def request(self, request: Request) -> None:
        self.drawn[request.id] = request
        self.drew.set()

    def paused(self) -> None: ...

    def ended(self, state: str, outcome: dict[str, Any]) -> None:
        self.end = (state, outcome)

    @property
    def text(self) -> str:
        """Everything said in words, errors too."""
        return "".join(
            str(getattr(c.payload, "text", getattr(c.payload, "error", "")))
            for c in self.chunks
            if c.type in ("text-delta", "error")
        )


class Surface:
    """A surface where a person can always be asked."""

    def __init__(self) -> None:
        self.screens: list[Screen] = []

    def can_ask(self, *, background: bool = False) -> bool:  # noqa: ARG002  # the port's
        return True

    def waiting(self) -> Any:
        return nullcontext()

    def blocking(self) -> Any:
        return nullcontext()

    def remember_cell(self) -> None: ...

    def run_started(self, *, run_id: str, title: str, cancel: Any, **_: Any) -> Screen:
        found = self.screen_of(run_id)
        if found is None:
            found = Screen(run_id, title, cancel)
            self.screens.append(found)
        return found

    def screen_of(self, run_id: str) -> Screen | None:
        return next((s for s in self.screens if s.run_id == run_id), None)

    def origin(self) -> dict[str, Any]:
        return {}


async def seen(store: Any, holds: Callable[[list[Request]], Any]) -> list[Request]:
    """Wait until the store's requests are as `holds` says; all of them."""
    desk = desk_of(store)
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()
    stop = desk.subscribe(lambda _request: loop.call_soon_threadsafe(changed.set))
    try:
        async with asyncio.timeout(LONG):
            while True:
                changed.clear()
                found = await desk.read(store.requests)
                if holds(found):
                    return found
                await changed.wait()
    finally:
        stop()


async def pending(store: Any, count: int = 1) -> list[Request]:
    """Wait until so many requests wait; those."""
    found = await seen(store, lambda rs: sum(r.state == "pending" for r in rs) == count)
    return [r for r in found if r.state == "pending"]


async def state_of(store: Any, request: Request, state: str) -> Request:
    """Wait until a request is in a state; as it is then."""
    found = await seen(store, lambda rs: any(r.id == request.id and r.state == state for r in rs))
    return next(r for r in found if r.id == request.id)
