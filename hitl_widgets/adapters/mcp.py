"""MCP: what servers ask of people, put to them, for any client of the `mcp` SDK.

    client = mcp.Client(server, elicitation_callback=hitl.adapters.mcp.elicitation_callback())

A server's tools for our own agents are `hitl.MCPToolset`. Needs the extra ``hitl-widgets[mcp]``
(`mcp` 2.3 or later).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from ..elicitation import callback

__all__ = ["elicitation_callback"]


def elicitation_callback(
    *, name: str | None = None, store: Any = None
) -> Callable[..., Awaitable[Any]]:
    """An `elicitation_callback` for `mcp.Client` or `mcp.ClientSession`.

    Each elicitation, form or URL mode, becomes an ``input`` request. Submitted: ``accept``, with
    the form's data. Declined: ``decline``. Not decided (expired, withdrawn, nobody can be asked
    here): ``cancel``. An address is shown, with its host, and never opened from here.

    Parameters
    ----------
    name
        The server, as people know it; the name that it gives itself unless given.
    store
        A path, a store, or None for the configured default.
    """
    return callback(name=name, store=store)
