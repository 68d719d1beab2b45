"""Taking a run, deciding in it, and following it wherever it is driven."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import (
    LeaseLost,
    SnapshotNotFound,
    UnknownAgent,
    UnknownTool,
)
from ..request import Decision, Receipt, Request, Reviewer, Run, RunState, new_id
from .drive import Driver, living
from .expert import at
from .finding import MANY, OPEN, Seen, check_mine
from .results import Feed, RunResult, RunStream
from .snapshot import Frame

if TYPE_CHECKING:
    from ..store.base import Store
    from .agent import Agent

_taking: weakref.WeakValueDictionary[Any, asyncio.Lock] = weakref.WeakValueDictionary()
"""One adoption at a time, by (loop, store, run)."""


async def _check_here(agent: Agent, run_id: str, seen: Seen | None = None) -> tuple[Seen, Frame]:
    """What the run waits for must be here, before anything is decided or driven (R14).

    Returns what was read for it (`seen`, where that was read already), and its root.
    """
    await agent.prepare()
    if seen is None:
        seen = await agent.desk.read(Seen.read, agent.store, run_id)
    check_mine(agent, seen.run)
    for request in seen.living:
        asker = at(agent, request.agent_path)
        if asker is None:
            raise UnknownAgent(
                f"Run {run_id} waits in agent {' > '.join(request.agent_path)}, which "
                f"{agent.id!r} does not have here. Define it again; the snapshot is kept."
            )
        if request.tool_name not in asker.entries:
            raise UnknownTool(
                f"Run {run_id} waits for the tool {request.tool_name!r}, and agent "
                f"{asker.id!r} has none of that name here. Define it again under that name; "
                "the snapshot is kept."
            )
    return seen, Frame.load(seen.kept)


def here(agent: Agent, run_id: str) -> Driver | None:
    """The run's driver on this event loop."""
    driver = living.get((id(agent.store), run_id))
    return driver if driver is not None and _same_loop(driver) else None


def _same_loop(driver: Driver) -> bool:
    return driver.loop is asyncio.get_running_loop()


def _lock(agent: Agent, run_id: str) -> asyncio.Lock:
    key = (id(asyncio.get_running_loop()), id(agent.store), run_id)
    return _taking.setdefault(key, asyncio.Lock())


async def take(
    agent: Agent,
    run_id: str,
    *,
    waits: bool | None,
    screen: Callable[[str], Any] | None = None,
    prepare: Callable[[Driver], None] | None = None,
) -> tuple[Driver, bool]:
    """The driver of a run on this loop, and whether it was started by this call.

    Parameters
    ----------
    waits
        Whether it waits for humans; None: as `prepare` says.

    Raises
    ------
    LeaseLost
        It is driven elsewhere.
    SnapshotNotFound, SnapshotVersion, UnknownTool, UnknownAgent
    """
    async with _lock(agent, run_id):
        driver = here(agent, run_id)
        if driver is not None:
            return driver, False
        driver = await _adopted(agent, run_id)
        driver.screen = screen(run_id) if screen is not None else None
        if prepare is not None:
            prepare(driver)
        driver.start(waits=driver.waits if waits is None else waits)
        return driver, True


async def _adopted(agent: Agent, run_id: str) -> Driver:
    """Take the run's lease and load its snapshot."""
    agent.loop = asyncio.get_running_loop()
    desk = agent.desk
    before = await desk.read(agent.store.run, run_id)
    check_mine(agent, before)
    try:
        seen, root = await _check_here(agent, run_id)
        return await _leased(agent, seen, root)
    except SnapshotNotFound as e:
        now = await desk.read(agent.store.run, run_id)
        if before.state in OPEN and now.state not in OPEN:  # another process was faster
            raise LeaseLost(f"Run {run_id} was driven to its end elsewhere: {now.state}.") from e
        raise


async def _leased(agent: Agent, seen: Seen, root: Frame) -> Driver:
    store, run_id, token = agent.store, seen.run.id, new_id("l")
    adopted: list[str] = []

    def adopt() -> _Taken | None:
        agent.desk.write_now(store.adopt, run_id, token)
        adopted.append(token)
        return _Taken.read(store, run_id, token)

    try:
        taken = await agent.desk.read(adopt)
        assert taken is not None  # `adopt` raises when it does not get the lease
        return _driver(agent, seen, root, taken)
    except BaseException as e:
        if adopted or isinstance(e, asyncio.CancelledError):
            _give_back(agent, run_id, token, seen.run.state)
        raise


def _give_back(agent: Agent, run_id: str, token: str, state: RunState) -> None:
    """Whoever may have got a lease, and cannot drive, must not keep it."""
    if state in OPEN:
        agent.desk.write_now(agent.store.release, run_id, token, state)


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a driver begins with, read under its lease."""

    run: Run
    kept: Any
    begun: list[str]
    declined: list[Request]

    @classmethod
    def read(cls, store: Store, run_id: str, token: str) -> _Taken | None:
        """Read it; None when the lease is another's."""
        run = store.run(run_id)
        if run.token != token:
            return None
        declined = store.requests(run_id=run_id, states=("declined",), limit=MANY)
        return cls(run, store.frame(run_id), store.begun(run_id), declined)


def _driver(agent: Agent, seen: Seen, root: Frame, taken: _Taken) -> Driver:
    # Another process may have driven it on before the lease was got.
    root = root if taken.kept == seen.kept else Frame.load(taken.kept)
    local = agent.local_of(taken.run.id, root)
    driver = Driver(agent, agent.desk, taken.run, root, local, saved=True)
    driver.remember_rows(taken.begun, taken.declined)
    return driver


def stream_of(driver: Driver) -> RunStream:
    """A stream of all that a driver says."""
    return RunStream(driver.run.id, driver.feed, 0, 0, driver.result)


async def decide(
    agent: Agent,
    request: Request,
    decision: Decision,
    shown: str | None = None,
    *,
    reviewer: Reviewer | str | None = None,
    extracted_from: str | None = None,
    seen: Seen | None = None,
) -> RunStream:
    """Decide, then drive, or follow the living driver to its next pause or end.

    Parameters
    ----------
    request
        As it is in the store this moment.
    seen
        Its run, where that was just read, too.
    """
    agent.loop = asyncio.get_running_loop()
    given = _Given(request, decision, shown, reviewer, extracted_from)
    driver = here(agent, request.run_id)
    if driver is None and request.state == "pending":
        receipt, driver = await _decided_and_taken(agent, given, seen)
        if driver is not None:
            await _effective(driver, receipt, begins=True)
            return stream_of(driver)
    elif driver is None:
        receipt = await given.decide(agent)  # says what stands in the way
    else:
        start = len(driver.feed.entries)
        receipt = await given.decide(agent)
        generation = driver.generation
        await _effective(driver, receipt)
        if not driver.closed or driver.ended or driver.error or not await _waits(agent, request):
            return RunStream(request.run_id, driver.feed, start, generation, driver.result)
    try:
        driver, begins = await take(agent, request.run_id, waits=False)
    except LeaseLost:
        return _elsewhere(agent, request.run_id)
    await _effective(driver, receipt, begins=begins)
    return stream_of(driver)


@dataclass(frozen=True, slots=True)
class _Given:
    """A decision on its way to the desk."""

    request: Request
    decision: Decision
    shown: str | None
    reviewer: Reviewer | str | None
    extracted_from: str | None

    async def decide(
        self,
        agent: Agent,
        take: tuple[str, str] | None = None,
        then: Callable[[], None] | None = None,
    ) -> Receipt:
        """Record it; `take` and `then` as in `Desk.decide`."""
        return await agent.desk.decide(
            self.request,
            self.decision,
            fingerprint=self.shown,
            reviewer=self.reviewer,
            drive=False,
            extracted_from=self.extracted_from,
            take=take,
            then=then,
            just_read=True,
        )


async def _decided_and_taken(
    agent: Agent, given: _Given, seen: Seen | None
) -> tuple[Receipt, Driver | None]:
    """Decide, and take the run in the same transaction; no driver when somebody else has it."""
    run_id, token = given.request.run_id, new_id("l")
    taken: list[_Taken | None] = []

    def look() -> None:
        taken.append(None)
        taken[0] = _Taken.read(agent.store, run_id, token)

    lock = _lock(agent, run_id)
    if lock.locked():  # it may be driven on meanwhile
        seen = None
    async with lock:
        seen, root = await _check_here(agent, run_id, seen)
        if here(agent, run_id) is not None:
            return await given.decide(agent), None
        try:
            receipt = await given.decide(agent, take=(run_id, token), then=look)
            driver = _driver(agent, seen, root, taken[0]) if taken[0] is not None else None
        except BaseException as e:  # it is recorded, or may be, and nobody here will drive
            if taken or isinstance(e, asyncio.CancelledError):
                _give_back(agent, run_id, token, seen.run.state)
            raise
        if driver is not None:
            driver.start(waits=False)
        return receipt, driver


async def _effective(driver: Driver, receipt: Receipt, *, begins: bool = False) -> None:
    """Wait until a decision took effect; raise what stood in the way at the claim (R3).

    A driver that `begins` has done nothing about it yet.
    """
    acted, unclaimed = driver.acted, receipt.state in ("approved", "answered")
    while unclaimed and not driver.closed and receipt.request_id not in driver.acted_on:
        if not begins:
            now = await driver.read("request", receipt.request_id)
            if now.state not in ("approved", "answered") or driver.held:
                break
        begins = False
        over = asyncio.shield(asyncio.wrap_future(driver.over))
        signals = {asyncio.ensure_future(acted.wait()), over}
        await asyncio.wait(signals, return_when=asyncio.FIRST_COMPLETED)
        for signal in signals:
            signal.cancel()
        acted = driver.acted
    problem = driver.problems.pop(receipt.request_id, None)
    if problem is not None:
        raise problem


async def _waits(agent: Agent, request: Request) -> bool:
    """Whether nobody has acted on a decision yet: it came when its driver was leaving."""
    now = await agent.desk.read(agent.store.request, request.id)
    if now.state in ("approved", "answered"):
        return True
    rows = await agent.desk.read(agent.store.calls, request.run_id)
    call = next((c for c in rows if c.id == request.tool_call_id), None)
    return call is not None and call.state in ("waiting", "parked") and now.state != "pending"


def _elsewhere(agent: Agent, run_id: str) -> RunStream:
    """The decision is recorded, and another process drives: its result, without chunks."""
    feed = Feed()
    feed.close()

    async def result() -> RunResult:
        while True:
            await until_free(agent, run_id)
            run = await agent.desk.read(agent.store.run, run_id)
            if run.state not in OPEN:
                return ended(run)
            try:
                driver, _ = await take(agent, run_id, waits=False)
            except LeaseLost:
                continue
            return await stream_of(driver).result()

    return RunStream(run_id, feed, 0, 0, result)


async def until_free(agent: Agent, run_id: str) -> None:
    """Wait until a run driven elsewhere rests, ends or loses its driver."""
    changed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wake() -> None:
        loop.call_soon_threadsafe(changed.set)

    stop = agent.desk.follow(run_id, wake)
    try:
        while True:
            changed.clear()
            run = await agent.desk.read(agent.store.run, run_id)
            alive = await agent.desk.read(agent.store.driver_alive, run)
            if run.state not in OPEN or not alive:
                return
            try:
                # A driver's death is no event: look again now and then.
                await asyncio.wait_for(changed.wait(), 1.0)
            except TimeoutError:
                continue
    finally:
        stop()


def ended(run: Run) -> RunResult:
    """The result of a run that ended, from its row: its output as JSON."""
    outcome = run.outcome or {}
    text = outcome.get("text") or ""
    if outcome.get("finish_reason") == "lost":
        lost = "Lost: its process ended before anything of this run was saved. Run it again."
        return RunResult(run_id=run.id, text=lost, output=lost, finish_reason="error")
    return RunResult(
        run_id=run.id,
        text=text,
        output=outcome.get("output") if outcome.get("has_output") else text,
        finish_reason=outcome.get("finish_reason", "error"),
        usage=outcome.get("usage", {}),
    )
