"""Prompts of one run: one for each request that waits, taken away when nobody waits any more."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from ..request import Request
from ..waiting import on_loop


class Prompts:
    """Belongs to the loop that it is made on; its methods may be called on any thread.

    Parameters
    ----------
    ask
        Puts one request to the person, as long as it is not cancelled.
    """

    def __init__(self, ask: Callable[[Request], Coroutine[Any, Any, object]]) -> None:
        self._ask = ask
        self._loop = asyncio.get_running_loop()
        self._asked: dict[str, asyncio.Task[object]] = {}

    def put(self, request: Request) -> None:
        """Ask, once, if it waits."""
        on_loop(self._loop, lambda: self._begin(request))

    def close(self) -> None:
        """Take the prompts away; the requests stay as they are."""
        on_loop(self._loop, self._cancel)

    def _begin(self, request: Request) -> None:
        if request.state == "pending" and request.id not in self._asked:
            self._asked[request.id] = self._loop.create_task(self._ask(request))

    def _cancel(self) -> None:
        for task in self._asked.values():
            task.cancel()
