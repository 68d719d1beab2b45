"""Answers on their way to the service, until it is certain what became of each."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from .history import Event, History, Waiting
from .service import TRANSIENT, Service, fault

GATHER = 1.0
"""Seconds at most that an answer waits for those that were decided together with it."""

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an answer.

    Attributes
    ----------
    how
        ``sent``; ``elsewhere`` (another client was first: `event` is its answer); ``closed`` (it
        is not asked any more: `why`); ``refused`` (the service does not take it: `why`, and the
        call still waits).
    """

    how: Literal["sent", "elsewhere", "closed", "refused"]
    why: str = ""
    event: Event | None = None


class Answers:
    """Sends answers; several that come together go in one request.

    Parameters
    ----------
    look
        Lists the session's events anew into `history`.
    """

    def __init__(
        self, service: Service, history: History, look: Callable[[], Awaitable[None]]
    ) -> None:
        self._service = service
        self._history = history
        self._look = look
        self._queue: list[tuple[Event, asyncio.Future[Fate]]] = []
        self._sending: asyncio.Task[None] | None = None
        self._expected: set[str] = set()
        self._all_here = asyncio.Event()

    @contextmanager
    def expected(self, call_id: str) -> Generator[None]:
        """An answer to this call is on its way: those before it wait, to go in one request."""
        self._expected.add(call_id)
        self._all_here.clear()
        try:
            yield
        finally:
            self._arrived(call_id)

    def _arrived(self, call_id: str) -> None:
        self._expected.discard(call_id)
        if not self._expected:
            self._all_here.set()

    async def give(self, event: Event) -> Fate:
        """Send one answer."""
        event = _as_utf8(event)
        fate: asyncio.Future[Fate] = asyncio.get_running_loop().create_future()
        self._queue.append((event, fate))
        self._arrived(target_of(event))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())
        return await fate

    def stop(self) -> None:
        """Nothing more is sent."""
        if self._sending is not None:
            self._sending.cancel()
        for _, fate in self._queue:
            fate.cancel()

    async def _send(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._all_here.wait(), GATHER)
        while self._queue:
            batch, self._queue = self._queue, []
            try:
                await self._batch(batch)
            except asyncio.CancelledError:
                for _, fate in batch:
                    fate.cancel()
                raise
            except Exception as e:  # noqa: BLE001  # told to whoever waits for its fate
                for _, fate in batch:
                    if not fate.done():
                        fate.set_exception(e)

    async def _batch(self, batch: list[tuple[Event, asyncio.Future[Fate]]]) -> None:
        events = [event for event, _ in batch]
        try:
            await self._service.send(events)
        except TRANSIENT as error:
            if len(batch) == 1:
                batch[0][1].set_result(await self._certain(events[0], error))
                return
            # One bad answer refuses the whole request: each by itself, those that still wait.
            for event, fate in batch:
                fate.set_result(await self._certain(event, error, sent_alone=False))
            return
        for _, fate in batch:
            fate.set_result(Fate("sent"))

    async def _certain(self, event: Event, error: Exception, *, sent_alone: bool = True) -> Fate:
        """After an error: read the history, and send again only what has no answer there."""
        pause = FIRST_PAUSE
        while True:
            fate = await self._read(event, error, definite=sent_alone)
            if fate is not None:
                return fate
            if sent_alone:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            sent_alone = True
            try:
                await self._service.send([event])
            except TRANSIENT as again:
                error = again
            else:
                return Fate("sent")

    async def _read(self, event: Event, error: Exception, *, definite: bool) -> Fate | None:
        """What the history says of an answer that met `error`; None: it has to be sent again.

        The error's text is not read: its wording may change. What counts is what was kept.
        """
        kind = fault(error)
        if kind in ("again", "refused"):
            try:
                await self._look()
            except TRANSIENT as looking:
                kind = "gone" if fault(looking) == "gone" else "again"
        call = self._history.calls.get(target_of(event))
        if call is not None and not call.waits:
            return _fate_of(call, event)
        if kind == "gone":
            return Fate("closed", "there is no such session any more")
        if kind == "fatal" or (kind == "refused" and definite):
            return Fate("refused", str(error))
        return None


def _as_utf8(event: Event) -> Event:
    """Without halves of characters, which no request can carry."""
    return json.loads(json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))


def target_of(event: Event) -> str:
    """The call that an answer names."""
    return str(event.get("tool_use_id") or event.get("custom_tool_use_id"))


def _fate_of(call: Waiting, mine: Event) -> Fate:
    if call.answer is None:
        return Fate("closed", call.closed or "")
    said = ("type", "result", "deny_message") if "result" in mine else ("type", "content")
    if all(call.answer.get(n) == mine.get(n) for n in said):
        # The same verdict, whoever's request carried it: ours was kept, or it changes nothing.
        return Fate("sent", event=call.answer)
    return Fate("elsewhere", event=call.answer)
