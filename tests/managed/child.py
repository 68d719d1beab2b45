"""A process that follows a session and is killed: ``python child.py URL KEY SESSION STORE``."""

from __future__ import annotations

import asyncio
import sys

import anthropic

import hitl_widgets as hitl
from hitl_widgets.adapters.managed_agents import attach

URL, KEY, SESSION, STORE = sys.argv[1:5]


async def lookup(q: str) -> str:
    """Say that it began; with the question "slow" it never ends."""
    print(q, flush=True)  # noqa: T201  # how the test hears of it
    if q == "slow":
        await asyncio.Event().wait()
    return f"found {q}"


async def main() -> None:
    client = anthropic.AsyncAnthropic(base_url=URL, api_key=KEY, max_retries=0)
    live = attach(client, SESSION, custom_tools={"lookup": lookup}, store=STORE)
    try:
        await live.until_idle()
    except hitl.RunSuspended:
        await asyncio.Event().wait()


asyncio.run(main())
