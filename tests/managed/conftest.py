"""A double of the service, and the real SDK against it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any

import anthropic
import pytest

import hitl_widgets
from hitl_widgets import surface
from hitl_widgets.adapters import managed_agents
from hitl_widgets.adapters.managed.double import Double
from hitl_widgets.adapters.managed_agents import Live
from hitl_widgets.store import open_store

from .desk import Surface

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


@pytest.fixture
def store(tmp_path: Any) -> Iterator[Any]:
    """A store of its own."""
    opened = open_store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def person() -> Iterator[Surface]:
    """A surface where somebody can be asked."""
    shown = Surface()
    surface.provide(lambda: shown)
    yield shown
    surface.provide(hitl_widgets._make_surface)


@pytest.fixture
async def attach(store: Any, connect: Any) -> AsyncIterator[Callable[..., Live]]:
    """`attach` with the test's store; closed after it."""
    made: list[Live] = []

    def make(double: Double, session: Any, *args: Any, strict: bool = True, **more: Any) -> Live:
        client = connect(double, strict=strict)
        live = managed_agents.attach(client, session.id, *args, store=store, **more)
        made.append(live)
        return live

    yield make
    for live in made:
        with suppress(anthropic.APIError):  # a test's own matter
            await live.close()
