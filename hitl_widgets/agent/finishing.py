"""To the end of a run: shown, waited for, and what nobody here can decide is raised (R5)."""

from __future__ import annotations

import asyncio
import functools
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from .. import deciders, surface
from ..errors import NoReviewer, RunSuspended
from ..waiting import names_of
from . import following
from .drive import Driver
from .results import RunResult, RunStream
from .telling import how_to_decide

if TYPE_CHECKING:
    from .agent import Agent


async def finish(
    agent: Agent, begun: Driver | RunStream | str, *, background: bool = False
) -> RunResult:
    """The end of what `begin` began."""
    if isinstance(begun, str):
        return await agent.attach(begun)
    if isinstance(begun, RunStream):
        return await begun.result() if begun.asks_back else await agent.attach(begun.run_id)
    return await to_the_end(agent, begun, background=background)


async def to_the_end(agent: Agent, run: Driver | str, *, background: bool = False) -> RunResult:
    """Show, wait and get the result; what nobody here can decide is raised (R5)."""
    shown = surface.current()
    asking = shown is not None and shown.can_ask(background=background)
    headless = deciders.settings().headless
    if not isinstance(run, str):
        _settle_waiting(run, asking=asking, headless=headless)
    with shown.waiting() if shown is not None and asking else nullcontext():
        driver = await _driven(agent, run, shown if asking else None, headless)
        if driver.task is not None:
            await driver.task
    result = await driver.result()
    if result.finish_reason == "suspended":
        await _nobody_here(agent, result, headless)
    return result


def _settle_waiting(driver: Driver, *, asking: bool, headless: str) -> bool:
    """Who answers a driver's requests; whether anybody does."""
    if driver.local.reviewer is None and not asking and headless == "decline":
        driver.local.reviewer = deciders.decline_all
    return asking or driver.local.reviewer is not None


async def _driven(
    agent: Agent, run: Driver | str, shown: surface.Surface | None, headless: str
) -> Driver:
    asking = shown is not None
    if not isinstance(run, str):
        if shown is not None:
            run.screen = _screen(agent, shown, run.run.id)
        run.start(waits=_settle_waiting(run, asking=asking, headless=headless))
        return run

    def prepare(driver: Driver) -> None:
        driver.waits = _settle_waiting(driver, asking=asking, headless=headless)

    screen = None if shown is None else functools.partial(_screen, agent, shown)
    driver, _ = await following.take(agent, run, waits=None, screen=screen, prepare=prepare)
    return driver


async def _nobody_here(agent: Agent, result: RunResult, headless: str) -> None:
    if headless == "error":
        await cancel_idle(agent, result.run_id)
        raise NoReviewer(
            f"Run {result.run_id} needs a human for {names_of(result.requests)}, and nobody "
            "can be asked here: it was cancelled."
        )
    text = how_to_decide(agent.id, agent.store.location, result.run_id, result.requests)
    raise RunSuspended(text, result.requests)


def _screen(agent: Agent, shown: surface.Surface, run_id: str) -> Any:
    return shown.run_started(
        run_id=run_id,
        title=agent.name,
        store=agent.store,
        cancel=lambda: agent.cancel(run_id),
    )


async def cancel_idle(agent: Agent, run_id: str) -> None:
    """Cancel a run that nobody here drives."""

    def prepare(driver: Driver) -> None:
        driver.cancelled = True

    shown = surface.current()
    screen = None if shown is None else shown.screen_of
    driver, mine = await following.take(agent, run_id, waits=False, screen=screen, prepare=prepare)
    if not mine:
        driver.cancel()
    if driver.task is not None:
        await asyncio.wait([driver.task])
