"""A loopback double of the Managed Agents service: real HTTP, real server-sent events.

It ships with the package, for lessons that run offline and for anyone who tests an application of
this API. It is as strict as the service is known to be, needs nothing beyond the standard library
(and checks what it sends against the ``anthropic`` package, which its caller has), and knows
nothing of the adapter beside it.

    with Double([[use("bash", command="ls")], [say("Done.")]]) as double:
        client = anthropic.AsyncAnthropic(base_url=double.url, api_key=double.key)
"""

from __future__ import annotations

from .agents import ApiError, Judge
from .script import Delegate, Say, Stop, Turn, Use, custom, delegate, mcp, say, stop, use
from .server import Double
from .session import Session

__all__ = [
    "ApiError",
    "Delegate",
    "Double",
    "Judge",
    "Say",
    "Session",
    "Stop",
    "Turn",
    "Use",
    "custom",
    "delegate",
    "mcp",
    "say",
    "stop",
    "use",
]
