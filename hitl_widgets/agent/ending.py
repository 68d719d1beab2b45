"""How driving ends: the run's end, an interrupt that keeps it, or a fault (R16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import HitlError, LeaseLost
from ..request import Request, RunState, State, new_id
from .results import RunResult
from .turns import Finished

if TYPE_CHECKING:
    from ..desk import Desk
    from .drive import Driver

DECIDED: tuple[State, ...] = ("approved", "answered", "declined", "responded", "expired")
"""States in which somebody has to act on a request, if nobody did yet."""

_ENDS: dict[str, RunState] = {
    "stop": "completed",
    "length": "completed",
    "declined": "declined",
    "aborted": "cancelled",
}


async def end(driver: Driver, finished: Finished) -> None:
    """Keep how the run ended, and tell."""
    driver.ending = True
    state = _ENDS[finished.reason]
    result = result_of(driver, finished)
    plain = finished.output.plain if finished.output is not None else None
    outcome = {
        "text": finished.text,
        "output": plain,
        "has_output": finished.output is not None,
        "finish_reason": finished.reason,
        "usage": result.usage,
    }
    await driver.agent.remember(driver)
    await _write_end(driver, state, outcome)
    if driver.steps is not None or await driver.read("document", driver.steps_name()):
        await driver.write("put_document", driver.steps_name(), None)
    driver.agent.forget(driver.run.id)
    driver.ended = result
    driver.say("finish", finish_reason=finished.reason, usage=result.usage)
    if driver.screen is not None:
        driver.screen.ended(state, outcome)


async def _write_end(driver: Driver, state: RunState, outcome: dict[str, Any]) -> None:
    try:
        await driver.write("end_run", driver.run.id, driver.token, state, outcome)
    except LeaseLost:
        if not driver.cancelled:
            raise
        # Cancelled in the moment in which the lease was given back.
        driver.token = new_id("l")
        await driver.write("adopt", driver.run.id, driver.token)
        await driver.write("end_run", driver.run.id, driver.token, state, outcome)


def result_of(driver: Driver, finished: Finished) -> RunResult:
    """The result of a run that ended like this."""
    return RunResult(
        run_id=driver.run.id,
        text=finished.text,
        output=finished.text if finished.output is None else finished.output.value,
        finish_reason=finished.reason,
        usage=driver.usage(),
        messages=list(driver.root.messages),
    )


async def interrupted(driver: Driver) -> None:
    """An interrupt leaves everything decidable; a cancelled run is over (R16)."""
    if driver.ended is not None:
        return
    if driver.cancelled:
        await driver.runner.stop()
        await end(driver, Finished("aborted"))
        return
    await _keep_for_later(driver)
    driver.close()
    requests = await driver.waiting(*DECIDED)
    if await undone(driver.desk, driver.run.id, requests):  # decided in that moment
        await driver.desk.read(driver.desk.resume, driver.run.id, driver.run.agent_id)


async def undone(desk: Desk, run_id: str, requests: Sequence[Request]) -> bool:
    """Whether some of `requests`, all decided, are about a call on which nobody acted yet."""
    rows = await desk.read(desk.store.calls, run_id)
    waiting = {c.id for c in rows if c.state in ("waiting", "parked")}
    return any(r.run_id == run_id and r.tool_call_id in waiting for r in requests)


async def _keep_for_later(driver: Driver) -> None:
    """Leave it so that anybody can go on."""
    driver.runner.leave()
    await driver.keep()
    await driver.write("release", driver.run.id, driver.token, "suspended")
    if driver.screen is not None:
        driver.screen.paused()


async def broke(driver: Driver, error: BaseException) -> None:
    """What was done is kept: `attach` tries again from the last saved turn."""
    driver.say("error", error=str(error))
    driver.say("finish", finish_reason="error")
    if isinstance(error, LeaseLost):
        return
    try:
        await _keep_for_later(driver)
    except HitlError as e:
        error.add_note(f"The run could not be kept either: {e}")
    else:
        error.add_note(
            f"Run {driver.run.id} is kept: await agent.attach({driver.run.id!r}) tries again."
        )
