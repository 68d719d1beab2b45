"""The service through the `anthropic` SDK: the only place that touches it."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal, cast

import anthropic
import httpx2

from .history import Event


class GarbledError(Exception):
    """What came is no answer of the service: something between it and here answered."""


TRANSIENT: tuple[type[Exception], ...] = (httpx2.HTTPError, anthropic.APIError, GarbledError)
"""A cut connection and a silent one are not the SDK's errors: both families are needed."""

Fault = Literal["again", "refused", "gone", "fatal"]


def fault(error: Exception) -> Fault:
    """What an error means for who met it.

    ``again``: unknown whether it was done, or not now; ``refused``: the service said no to this;
    ``gone``: there is no such session; ``fatal``: this caller may not.
    """
    if isinstance(error, anthropic.APIResponseValidationError):
        return "fatal"
    status = getattr(error, "status_code", None)
    # An "error" frame in a stream is raised with the stream's own status, 200.
    if not isinstance(status, int) or not _CLIENT[0] <= status < _CLIENT[1] or status in _LATER:
        return "again"
    return _FAULTS.get(status, "refused")


_MOVING = ("running", "rescheduling")
_CLIENT = (400, 500)
_LATER = (408, 409, 429)
_FAULTS: dict[int, Fault] = {401: "fatal", 403: "fatal", 404: "gone"}


def as_async(client: Any) -> anthropic.AsyncAnthropic:
    """An asynchronous client; of a synchronous one, its twin.

    Raises
    ------
    TypeError
        It is neither.
    """
    if isinstance(client, anthropic.AsyncAnthropic):
        return client
    if not isinstance(client, anthropic.Anthropic):
        raise TypeError(
            f"attach({type(client).__name__}): give an anthropic.AsyncAnthropic or "
            "anthropic.Anthropic client."
        )
    theirs = cast("Any", client)
    return anthropic.AsyncAnthropic(
        api_key=theirs.api_key,
        auth_token=theirs.auth_token,
        webhook_key=theirs.webhook_key,
        base_url=theirs.base_url,
        timeout=theirs.timeout,
        max_retries=theirs.max_retries,
        default_headers=theirs._custom_headers,  # noqa: SLF001  # the SDK has no other way
        default_query=theirs._custom_query,  # noqa: SLF001
        _strict_response_validation=theirs._strict_response_validation,  # noqa: SLF001
    )


def plain(model: Any) -> Event:
    """One of the SDK's objects as the JSON that came, whatever class the SDK took it for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cast("Event", model.to_dict(mode="json", exclude_unset=True, warnings=False))


@contextmanager
def _understood(client: Any) -> Generator[None]:
    """The SDK's loose reading of what it does not know fails anywhere: as one error."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as e:
        raise GarbledError(
            f"What came from {client.base_url} is no answer of the service ({type(e).__name__}: "
            f"{e}). Check the client's base_url, and what stands in between (a proxy, a sign-in "
            "page)."
        ) from e


def _events(models: Iterable[Any]) -> list[Event]:
    """Those that say what they are; others say nothing that could be acted on."""
    return [e for e in map(plain, models) if _told(e)]


def _told(event: Event) -> bool:
    return isinstance(event.get("type"), str) and isinstance(event.get("id", ""), str)


class Service:
    """One session of the service.

    Parameters
    ----------
    silence
        Seconds without any byte, heartbeats included, after which a stream counts as dead.
    """

    def __init__(self, client: Any, session_id: str, *, silence: float = 60.0) -> None:
        self.client = as_async(client)
        self.owned = self.client is not client
        self.id = session_id
        # A confirmation must not be repeated behind our back: its lost reply would look like a
        # refusal of our own answer.
        once = self.client.with_options(max_retries=0)
        self._once = once.beta.sessions
        self._sessions = self.client.beta.sessions
        self._silence = anthropic.Timeout(30.0, read=silence)

    async def retrieve(self) -> Event:
        """The session object."""
        with _understood(self.client):
            session = plain(await self._sessions.retrieve(self.id))
            # What is read of it elsewhere is there.
            return {**session, "status": session["status"], "agent": {**session["agent"]}}

    async def list(self) -> list[Event]:
        """Every event so far, in order."""
        with _understood(self.client):
            return _events([e async for e in self._sessions.events.list(self.id, limit=100)])

    async def last_stop(self) -> Event | None:
        """The last idle's stop reason."""
        with _understood(self.client):
            found = self._sessions.events.list(
                self.id, types=["session.status_idle"], order="desc", limit=1
            )
            async for event in found:
                return cast("Event", plain(event).get("stop_reason"))
        return None

    @asynccontextmanager
    async def stream(self) -> AsyncGenerator[AsyncGenerator[Event]]:
        """Events from now on. It replays nothing: open it first, then list."""
        opened = await self._once.events.stream(self.id, timeout=self._silence)
        async with opened as events:
            yield self._each(aiter(events))

    async def _each(self, events: Any) -> AsyncGenerator[Event]:
        while True:
            with _understood(self.client):
                try:
                    event = plain(await anext(events))
                except StopAsyncIteration:
                    return
            if _told(event):
                yield event

    async def send(self, events: Sequence[Event]) -> list[Event]:
        """Send events, once; what the service kept."""
        with _understood(self.client):
            answer = await self._once.events.send(self.id, events=cast("Any", list(events)))
            return _events(answer.data or ())

    async def set_budget(self, cents: int, currency: str) -> None:
        """Raise the budget to so many of the currency's hundredths."""
        cost = {"amount": str(cents), "currency": currency}
        budget = cast("Any", {"type": "limit", "max_list_cost": cost})
        await self._sessions.update(self.id, budget=budget)

    async def settled(self, seconds: float = 0.2) -> Event:
        """The session once it no longer says ``running``: its object lags behind its events."""
        while (session := await self.retrieve())["status"] in _MOVING:  # noqa: ASYNC110
            await asyncio.sleep(seconds)  # no event tells when
        return session

    async def archive(self) -> None:
        """Archive it, once it has settled."""
        await self.settled()
        await self._sessions.archive(self.id)

    async def close(self) -> None:
        """Close what was opened here."""
        if self.owned:
            await self.client.close()
