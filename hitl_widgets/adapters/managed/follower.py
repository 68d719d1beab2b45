"""A session's events as they come: the stream, opened again whenever it ends, and listings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .history import Event, History
from .service import TRANSIENT, GarbledError, Service, fault

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
"""Seconds between attempts to reach the service."""


class Follower:
    """Keeps a `History` in step with the service.

    Parameters
    ----------
    news
        Called after each event and each listing.
    show
        Called with every event that is new; of what came before it began, only with the events of
        the turn that was going on.
    """

    def __init__(
        self,
        service: Service,
        history: History,
        *,
        news: Callable[[], None],
        show: Callable[[Event], None],
    ) -> None:
        self.history = history
        self._service = service
        self._news = news
        self._show = show
        self._looking = asyncio.Lock()
        self._began = False

    async def begin(self) -> Event:
        """The session object, however long the service does not answer."""
        pause = FIRST_PAUSE
        while True:
            try:
                return await self._service.retrieve()
            except TRANSIENT as e:
                # Never understood once, it would not be by waiting: a wrong address.
                if fault(e) != "again" or isinstance(e, GarbledError):
                    raise
            await asyncio.sleep(pause)
            pause = longer(pause)

    async def follow(self) -> None:
        """Read until the session is over: open the stream, then list, then read.

        In this order nothing is missed: the stream replays nothing, and what it says twice is
        known by its id.
        """
        pause = FIRST_PAUSE
        while self.history.gone is None:
            try:
                async with self._service.stream() as events:
                    await self.look()
                    async for event in events:
                        pause = FIRST_PAUSE
                        self.take(event)
                        if self.history.gone is not None:
                            return
            except TRANSIENT as e:
                self._judge(e)
            await self._alive()
            await asyncio.sleep(pause)
            pause = longer(pause)

    async def look(self) -> None:
        """List every event and put the history in its order."""
        async with self._looking:
            new = self.history.merge(await self._service.list())
        seen = new if self._began else self.history.this_turn()
        self._began = True
        for event in seen:
            self._show(event)
        self._news()

    async def surely_look(self) -> None:
        """`look`, however long the service does not answer."""
        pause = FIRST_PAUSE
        while self.history.gone is None:
            try:
                await self.look()
            except TRANSIENT as e:
                self._judge(e)
            else:
                return
            await asyncio.sleep(pause)
            pause = longer(pause)

    def take(self, event: Event) -> None:
        """One event."""
        if self.history.take(event):
            self._show(event)
        self._news()

    async def _alive(self) -> None:
        """A stream that ended says nothing: an archived session has no event to say so."""
        try:
            session = await self._service.retrieve()
        except TRANSIENT as e:
            self._judge(e)
            return
        if session.get("archived_at") is not None:
            self._gone("archived")
        elif session.get("status") == "terminated":
            self._gone("terminated")

    def _judge(self, error: Exception) -> None:
        """Go on after what may pass; raise what will not."""
        if fault(error) == "gone":
            self._gone("deleted")
        elif fault(error) != "again":
            raise error

    def _gone(self, how: str) -> None:
        self.history.end(how)
        self._news()


def longer(pause: float) -> float:
    """The next pause after one that did not help."""
    return min(2 * pause, LONGEST_PAUSE)
