"""What an MCP server asks of a person, put to one: a form, or an address to open.

`Elicited` carries the protocol's three outcomes. A person who submits accepts; one who says no
declines; when nobody decided (expired, withdrawn, nobody there) it is ``cancel``: dismissed
without a choice, which a server must not take for a no.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
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
from .standalone import Asking, Question

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


async def elicit(params: Any, *, name: str, store: Any = None) -> Elicited:
    """Put one elicitation to a person.

    Parameters
    ----------
    params
        `ElicitRequestFormParams` or `ElicitRequestURLParams`.
    name
        The server, as people know it.

    Raises
    ------
    ToolDefinitionError
        The server's schema can not be a form.
    """
    if params.mode == "url":
        return await _put(_address(params, name, store), content=False)
    return await _put(_form(params, name, store), content=True)


def _form(params: Any, name: str, store: Any) -> Question:
    return Question(
        name=f"{name}: elicitation",
        scope="mcp.elicitation",
        kind="input",
        describe=lambda: Description({"server": name}),
        shape=shape_of(params.requested_schema),
        message=params.message,
        allowed=("answer", "decline"),
        store=store,
    )


def _address(params: Any, name: str, store: Any) -> Question:
    # The host is shown apart: an address can be long enough to hide where it leads.
    url = str(params.url)
    about = {"server": name, "host": urlsplit(url).hostname or "no host", "url": url}
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
    )


async def _put(question: Question, *, content: bool) -> Elicited:
    try:
        value = await Asking(question).answer()
    except Declined:
        return Elicited("decline")
    except (Expired, Withdrawn, NoReviewer, RunSuspended):
        return Elicited("cancel")
    return Elicited("accept", value if content else None)


def callback(*, name: str | None = None, store: Any = None) -> Callable[..., Awaitable[Any]]:
    """An `elicitation_callback` for any MCP client; see `adapters.mcp.elicitation_callback`."""

    async def elicitation(context: Any, params: Any) -> Any:
        from mcp_types import ElicitResult, ErrorData  # noqa: PLC0415  # an optional extra

        try:
            told = await elicit(params, name=name or _server_of(context), store=store)
        except ToolDefinitionError as e:
            return ErrorData(code=INVALID_PARAMS, message=f"The schema can not be a form: {e}")
        return ElicitResult(action=told.action, content=told.content)

    return elicitation


def _server_of(context: Any) -> str:
    """The server's name, as it gives it."""
    info = getattr(getattr(context, "session", None), "server_info", None)
    return str(getattr(info, "name", None) or "MCP server")
