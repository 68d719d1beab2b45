"""When nothing can move: a driver waits with its lease, or gives it back (R21)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import LeaseLost, SnapshotNotFound
from ..request import Request, RunState, new_id
from .ending import result_of
from .turns import Finished

if TYPE_CHECKING:
    from .drive import Driver


async def pause(driver: Driver, seen: int) -> None:
    """Say that only a human can move it on; the lease stays."""
    await driver.keep()
    if driver.state != "suspended":
        await driver.write("save", driver.run.id, driver.token, state="suspended")
        driver.state = "suspended"
    driver.say("finish", finish_reason="suspended")
    driver.feed.pause(seen)


async def let_go(driver: Driver, seen: int, state: RunState) -> bool:
    """Give the lease back; False when something came in meanwhile: then it is driven on."""
    if driver.released is None:
        await driver.keep()
        await driver.write("release", driver.run.id, driver.token, state)
        await driver.look()
    overtaken = False
    while driver.generation != seen:
        seen, driver.left_waiting = driver.generation, None
        if driver.released is not None and not await driver.runner.decided():
            continue
        driver.token, driver.released = new_id("l"), None
        try:
            run = await driver.write("adopt", driver.run.id, driver.token)
        except (LeaseLost, SnapshotNotFound):  # somebody else was quicker
            break
        if await _as_left(driver):
            driver.remember_rows(await driver.read("begun", driver.run.id), ())
            driver.runner.inherit()
            return False
        await driver.write("release", driver.run.id, driver.token, run.state)
        overtaken = True
        break
    driver.runner.leave()
    reason = "budget-reached" if state == "budget-paused" else "suspended"
    if state == "budget-paused":
        driver.ended = result_of(driver, Finished(reason))
    driver.say("finish", finish_reason=reason, usage=driver.usage())
    if driver.screen is not None:
        driver.screen.paused()
    driver.close()
    if overtaken:  # whoever drives on loads it anew
        await driver.desk.read(driver.desk.resume, driver.run.id, driver.run.agent_id)
    return True


async def _as_left(driver: Driver) -> bool:
    """Whether a run is where this driver left it: another process may have driven it meanwhile.

    The lease is held again, so that nothing changes while this looks.
    """
    places, store = driver.runner.places(), driver.desk.store

    def kept(key: str) -> tuple[int, str | None] | None:
        try:
            frame = store.frame(key)
        except SnapshotNotFound:  # of a nested agent that never was at rest
            return None
        return frame["step"], frame["turn"]

    def same() -> bool:
        return all(kept(key) in (None, place) for key, place in places.items())

    return await driver.desk.read(same)


async def wait_for_a_human(driver: Driver, seen: int, pending: Sequence[Request]) -> None:
    """Until something came in; a reviewer's fault is raised."""
    times = [r.expires_at.timestamp() for r in pending if r.expires_at is not None]
    while driver.generation == seen and driver.reviewer_error is None:
        change = driver.change
        due = max(0.0, min(times) - driver.now()) + 0.01 if times else None
        try:
            await asyncio.wait_for(change.wait(), due)
        except TimeoutError:
            await driver.write("sweep")
    if driver.reviewer_error is not None:
        raise driver.reviewer_error
