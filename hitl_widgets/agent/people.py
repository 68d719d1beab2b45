"""Requests put to people: their screen, the scripted reviewer, and the hooks that are told."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from .. import calling
from ..deciders import Decide, consult_at, identity
from ..errors import HitlError
from ..request import Request

if TYPE_CHECKING:
    from .drive import Driver

_log = logging.getLogger("hitl_widgets")


def put_to_people(driver: Driver, request: Request) -> None:
    """Show a request, and ask the scripted reviewer."""
    if driver.screen is not None:
        driver.screen.request(request)
    # `stream` and `generate` never ask: only a driver that waits has somebody to ask.
    if driver.waits and driver.local.reviewer is not None and request.state == "pending":
        _later(driver.consulting, _consult(driver, driver.local.reviewer, request))


def tell_decision(driver: Driver, request: Request) -> None:
    """Tell the hook of a decision that this driver sees for the first time."""
    if driver.agent.hooks.on_decision is None or request.id in driver.told:
        return
    if request.state in ("approved", "answered", "declined", "responded"):
        driver.told.add(request.id)
        tell_hook(driver, "on_decision", request)


def tell_hook(driver: Driver, name: str, request: Request) -> None:
    """Tell the hook `name` of a request, without waiting for it."""
    hook = getattr(driver.agent.hooks, name)
    if hook is not None:
        _later(driver.hooks, _call_hook(name, hook, request))


async def _call_hook(name: str, hook: Any, request: Request) -> None:
    try:
        await calling.call(hook, request)
    except Exception:  # noqa: BLE001  # a hook that is only told of something stops nothing
        _log.exception("%s failed on %s", name, request.id)


async def _consult(driver: Driver, decide: Decide, request: Request) -> None:
    """A reviewer that raises has not decided: the request waits, and the run says why."""
    try:
        await consult_at(driver.desk, decide, request, drive=False)
    except Exception as e:  # noqa: BLE001  # raised again by the driver
        if not isinstance(e, HitlError):  # that one says in words what stands in the way
            who, _ = identity(decide, request)
            _log.exception("the reviewer %s failed on %s", who.name, request.id)
        driver.reviewer_error = e
        driver.wake()


def _later(tasks: set[asyncio.Task[None]], coroutine: Any) -> None:
    task = asyncio.ensure_future(coroutine)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
