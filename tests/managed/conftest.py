"""A double of the service, and the real SDK against it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anthropic
import pytest

from hitl_widgets.adapters.managed.double import Double

TOOLSET = "agent_toolset_20260401"
ASK_ALL: list[dict[str, Any]] = [
    {"type": TOOLSET, "default_config": {"permission_policy": {"type": "always_ask"}}},
    {"type": "mcp_toolset", "mcp_server_name": "tickets"},
    {
        "type": "custom",
        "name": "lookup",
        "description": "Look something up.",
        "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
    },
]


@pytest.fixture
def make_double() -> Iterator[Callable[..., Double]]:
    """Doubles that are closed after the test."""
    made: list[Double] = []

    def make(*args: Any, **options: Any) -> Double:
        double = Double(*args, **options).start()
        made.append(double)
        return double

    yield make
    for double in made:
        double.close()


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., anthropic.AsyncAnthropic]]:
    """Strict asynchronous clients: what is not in the SDK's own models is refused."""
    made: list[anthropic.AsyncAnthropic] = []

    def make(double: Double, *, strict: bool = True, **options: Any) -> anthropic.AsyncAnthropic:
        client = anthropic.AsyncAnthropic(
            base_url=double.url,
            api_key=double.key,
            _strict_response_validation=strict,
            **options,
        )
        made.append(client)
        return client

    yield make
    for client in made:
        await client.close()
