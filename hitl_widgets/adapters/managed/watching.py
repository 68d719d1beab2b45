"""Many sessions at once: an inbox over them, and webhooks that say where to look."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self, cast

from ...deciders import Decide
from ...errors import NotPermitted
from .custom import custom_tools
from .history import Event, part
from .live import Live, attach, lives
from .service import TRANSIENT, Service, as_async, fault, plain

REMEMBERED = 10_000
"""Delivery ids of webhooks that are kept to tell repeats."""

_watches: weakref.WeakSet[Watch] = weakref.WeakSet()
_seen: OrderedDict[str, None] = OrderedDict()


class Watch:
    """Follows sessions that wait for somebody; made by `watch`.

    Attributes
    ----------
    sessions
        Session id → its `Live`, while it is followed.
    """

    def __init__(
        self,
        client: Any,
        decide: Decide | None,
        tools: dict[str, Any],
        *,
        agent_id: str | None,
        every: float,
        store: Any,
    ) -> None:
        custom_tools(tools)  # refused now, not at the first session
        self.sessions: dict[str, Live] = {}
        self._client = as_async(client)
        self._owned = self._client is not client
        self._decide, self._tools = decide, tools
        self._agent_id, self._every, self._store = agent_id, every, store
        self._due = asyncio.Event()
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.ensure_future(self._watch())
        _watches.add(self)

    def __repr__(self) -> str:
        return f"Watch({', '.join(map(repr, self.sessions.values()))})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def look(self) -> None:
        """List the sessions now and follow those that wait.

        Raises
        ------
        anthropic.APIError, httpx2.HTTPError
            They can not be listed.
        """
        given: Any = {} if self._agent_id is None else {"agent_id": self._agent_id}
        async for session in self._client.beta.sessions.list(**given):
            shown = plain(session)
            if shown["status"] != "terminated" and shown.get("archived_at") is None:
                await self._consider(shown["id"])
        await self._leave()
        self._notify()

    async def changed(self) -> None:
        """Wait until the sessions were looked at once more.

        Raises
        ------
        anthropic.APIStatusError
            This client may not list them: nothing is followed any more.
        """
        looked = asyncio.ensure_future(self._changed.wait())
        await asyncio.wait({looked, self._task}, return_when=asyncio.FIRST_COMPLETED)
        looked.cancel()
        if self._task.done():
            self._task.result()

    async def close(self) -> None:
        """Stop following all of them."""
        self._task.cancel()
        # What ended it is told by `changed`; closing goes on whatever it was.
        await asyncio.wait({self._task})
        for live in list(self.sessions.values()):
            await live.close()
        self.sessions.clear()
        if self._owned:
            await self._client.close()

    def hint(self, _session_id: str) -> None:
        """Look soon. Callable on any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._due.set)

    async def _watch(self) -> None:
        while True:
            try:
                await self.look()
            except TRANSIENT as e:
                if fault(e) != "again":
                    raise
            with suppress(TimeoutError):
                await asyncio.wait_for(self._due.wait(), self._every)
            self._due.clear()

    async def _consider(self, session_id: str) -> None:
        if session_id in self.sessions:
            return
        if await self._waits(session_id):
            self.sessions[session_id] = attach(
                self._client, session_id, self._decide, self._tools, store=self._store
            )

    async def _waits(self, session_id: str) -> bool:
        """Whether its last idle waits for somebody: the session object does not say why."""
        last = Service(self._client, session_id)
        stop = await last.last_stop()
        return stop is not None and stop.get("type") in ("requires_action", "budget_reached")

    async def _leave(self) -> None:
        for session_id, live in list(self.sessions.items()):
            if live.done or live.resting:
                await live.close()
                del self.sessions[session_id]

    def _notify(self) -> None:
        before, self._changed = self._changed, asyncio.Event()
        before.set()


@dataclass(frozen=True, slots=True)
class Hint:
    """What a webhook told.

    Attributes
    ----------
    kind
        The event's type, such as ``session.status_idled``; it never says why.
    event_id
        Of the delivery; repeats carry the same.
    """

    kind: str
    session_id: str
    event_id: str


def webhook(payload: str | bytes, headers: Any, key: str) -> Hint | None:
    """See `hitl_widgets.adapters.managed_agents.webhook`."""
    event = _verified(payload, headers, key)
    data = part(event, "data")
    hint = Hint(str(data.get("type")), str(data.get("id")), str(event.get("id")))
    if hint.event_id in _seen:
        return None
    _seen[hint.event_id] = None
    if len(_seen) > REMEMBERED:
        _seen.popitem(last=False)
    if hint.kind.startswith("session."):
        _go_and_look(hint.session_id)
    return hint


def _verified(payload: str | bytes, headers: Any, key: str) -> Event:
    from standardwebhooks import Webhook, WebhookVerificationError  # noqa: PLC0415
    from standardwebhooks.webhooks import EmptyWebhookSecretError  # noqa: PLC0415

    given = {str(k).lower(): str(v) for k, v in dict(headers).items()}
    try:
        hook = Webhook(key)
    except (EmptyWebhookSecretError, ValueError, RuntimeError) as e:
        raise NotPermitted(f"The webhook's signing key is none ({e}): it begins whsec_.") from e
    try:
        hook.verify(payload, given)
        event: Any = json.loads(payload)
    # Anybody may send anything: a header or body that the check cannot even read is refused too.
    except (WebhookVerificationError, ValueError, TypeError) as e:
        raise NotPermitted(
            f"A webhook was refused ({e}): its signature or time is not right. Check the "
            "endpoint's signing key, and this machine's clock."
        ) from e
    if not isinstance(event, dict):
        raise NotPermitted("A webhook was refused: its body is no event.")
    return cast("Event", event)


def _go_and_look(session_id: str) -> None:
    for live in lives():
        if live.session_id == session_id:
            live.look_soon()
    for watch in list(_watches):
        watch.hint(session_id)
