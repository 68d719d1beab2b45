"""What an MCP server asks of a person, put to one: a form, or an address to open.

`Elicited` carries the protocol's three outcomes. A person who submits accepts; one who says no
declines; when nobody decided (expired, withdrawn, nobody there) it is ``cancel``: dismissed
without a choice, which a server must not take for a no.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from .describe import Description
from .errors import (
    Declined,
    Expired,
    NoReviewer,
    RunSuspended,
    ToolDefinitionError,
    Withdrawn,
)
from .schema import shape_of
from .standalone import Asking, Question, Under
from .visible import is_hidden

EMPTY: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
"""The form of a question that only wants to be accepted."""

INVALID_PARAMS = -32602


@dataclass(frozen=True, slots=True)
class Elicited:
    """What became of an elicitation.

    Attributes
    ----------
    content
        The form's data, when it was accepted; None in URL mode.
    """

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None


@dataclass(eq=False)
class Calling:
    """A call that a server works on: what it asks meanwhile belongs to it, and ends with it.

    Attributes
    ----------
    under
        The run of the call, or None for a call outside of any.
    """

    under: Under | None
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    asked: set[asyncio.Task[Elicited]] = field(default_factory=set[asyncio.Task[Elicited]])

    def over(self) -> None:
        """Take back what nobody waits for any more."""
        for task in self.asked:
            task.cancel()


Who = Callable[[], Calling | None]
"""Tells which call a server works on, if that can be told."""


async def elicit(
    params: Any, *, name: str, store: Any = None, under: Under | None = None
) -> Elicited:
    """Put one elicitation to a person.

    Parameters
    ----------
    params
        `ElicitRequestFormParams` or `ElicitRequestURLParams`.
    name
        The server, as people know it.
    under
        The run that it belongs to.

    Raises
    ------
    ToolDefinitionError
        The server's schema can not be a form, or its address is none to show to anybody.
    """
    if params.mode == "url":
        return await _put(_address(params, name, store, under), content=False)
    return await _put(_form(params, name, store, under), content=True)


def _form(params: Any, name: str, store: Any, under: Under | None) -> Question:
    return Question(
        name=f"{name}: elicitation",
        scope="mcp.elicitation",
        kind="input",
        describe=lambda: Description({"server": name}),
        shape=shape_of(params.requested_schema),
        message=params.message,
        allowed=("answer", "decline"),
        store=store,
        under=under,
    )


def host_of(url: str) -> str:
    """Where a browser would go with an address.

    Raises
    ------
    ToolDefinitionError
        It is no web address, or browsers and this function could read it differently (they take
        a backslash for a slash, and leave out what does not show).
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as e:
        raise ToolDefinitionError(f"{url!r} is no address: {e}.") from e
    odd = "\\" in url or any(char.isspace() or is_hidden(char) for char in url)
    if parts.scheme not in ("http", "https") or not host or odd:
        raise ToolDefinitionError(f"{url!r} is no plain http or https address.")
    return host


def _address(params: Any, name: str, store: Any, under: Under | None) -> Question:
    # The host is shown apart: an address can be long enough to hide where it leads.
    url = str(params.url)
    about = {"server": name, "host": host_of(url), "url": url}
    return Question(
        name=f"{name}: open an address",
        scope="mcp.elicitation",
        kind="input",
        describe=lambda: Description(about),
        shape=shape_of(EMPTY),
        message=f"{params.message} (open the address yourself, then submit)",
        allowed=("answer", "decline"),
        effect="unknown",
        store=store,
        under=under,
    )


async def _put(question: Question, *, content: bool) -> Elicited:
    try:
        value = await Asking(question).answer()
    except Declined:
        return Elicited("decline")
    except (Expired, Withdrawn, NoReviewer, RunSuspended):
        return Elicited("cancel")
    return Elicited("accept", value if content else None)


def _nobody() -> None:
    return None


def callback(
    *, name: str | None = None, store: Any = None, who: Who = _nobody
) -> Callable[..., Awaitable[Any]]:
    """An `elicitation_callback` for any MCP client; see `adapters.mcp.elicitation_callback`."""

    async def elicitation(context: Any, params: Any) -> Any:
        from mcp_types import ElicitResult, ErrorData  # noqa: PLC0415  # an optional extra

        try:
            told = await _asked(params, name or _server_of(context), store, who())
        except ToolDefinitionError as e:
            return ErrorData(code=INVALID_PARAMS, message=f"That can not be asked: {e}")
        return ElicitResult(action=told.action, content=told.content)

    return elicitation


async def _asked(params: Any, name: str, store: Any, calling: Calling | None) -> Elicited:
    """Ask where the call was made; whichever of the two ends first ends the other's question."""
    if calling is None:
        return await elicit(params, name=name, store=store)
    task = asyncio.create_task(
        elicit(params, name=name, store=store, under=calling.under),
        context=calling.context.copy(),
    )
    calling.asked.add(task)
    try:
        await asyncio.wait({task})
    finally:
        calling.asked.discard(task)
        if not task.done():  # the connection has gone
            task.cancel()
            await asyncio.wait({task})
    return Elicited("cancel") if task.cancelled() else task.result()


def _server_of(context: Any) -> str:
    """The server's name, as it gives it."""
    info = getattr(getattr(context, "session", None), "server_info", None)
    return str(getattr(info, "name", None) or "MCP server")
