"""Finding what waits: suspended runs, and the request that a decision means (F2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import AmbiguousRequest, NotAsked, RequestNotFound, UnknownAgent
from ..request import Request, Run, Verdict

if TYPE_CHECKING:
    from ..desk import Desk
    from ..store.base import Store
    from .agent import Agent

OPEN = ("running", "suspended", "budget-paused")
MANY = 1_000_000
_LIVING = ("pending", "parked", "approved", "answered")
"""What a run waits with, for a human or for whoever acts on what was decided."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A run as it was before its lease was got.

    Attributes
    ----------
    living
        Its requests that wait, for a human or for whoever acts on what was decided.
    kept
        Its root's snapshot, JSON.
    """

    run: Run
    living: list[Request]
    kept: Any

    @classmethod
    def read(cls, store: Store, run_id: str, living: list[Request] | None = None) -> Seen:
        """Read it."""
        if living is None:
            living = store.requests(run_id=run_id, states=_LIVING, limit=MANY)
        return cls(store.run(run_id), living, store.frame(run_id))


@dataclass(frozen=True, slots=True)
class SuspendedRun:
    """A run that waits for a human.

    Attributes
    ----------
    tool_calls
        Its requests that are pending or parked, in the model's order; `Request.kind` tells an
        approval from a suspension.
    """

    run_id: str
    agent_id: str
    thread_id: str | None
    resource_id: str | None
    created_at: Any
    tool_calls: list[Request]


async def suspended_runs(
    agent: Agent, thread_id: str | None, resource_id: str | None
) -> list[SuspendedRun]:
    """Runs of an agent that wait for a human, oldest first."""
    desk = agent.desk
    await desk.write(agent.store.sweep)
    filters = {"agent_id": agent.id, "thread_id": thread_id, "resource_id": resource_id}
    waiting = await desk.read(
        agent.store.requests, states=("pending", "parked"), limit=MANY, **filters
    )
    by_run: dict[str, list[Request]] = {}
    for request in waiting:
        by_run.setdefault(request.run_id, []).append(request)
    runs = await desk.read(agent.store.runs, states=OPEN, kind="agent", limit=MANY, **filters)
    return [
        SuspendedRun(
            run_id=run.id,
            agent_id=run.agent_id,
            thread_id=run.thread_id,
            resource_id=run.resource_id,
            created_at=run.created_at,
            tool_calls=await _ordered(agent, by_run[run.id]),
        )
        for run in runs
        if run.id in by_run
    ]


async def _ordered(agent: Agent, requests: list[Request]) -> list[Request]:
    if len(requests) == 1:
        return requests
    return await in_order(agent.desk, requests[0].run_id, requests)


@dataclass(frozen=True, slots=True)
class Target:
    """The request that a decision means, just read; `seen` with its run, where it is pending."""

    request: Request
    seen: Seen | None = None


async def target(agent: Agent, run_id: str, tool_call_id: str | None, verb: Verdict) -> Target:
    """The request that a decision means (F2)."""
    store = agent.store

    def look() -> tuple[Run, list[Request], Seen | None]:
        if tool_call_id is not None:
            return (
                store.run(run_id),
                store.requests(run_id=run_id, call_id=tool_call_id, limit=MANY),
                None,
            )
        living = store.requests(run_id=run_id, states=_LIVING, limit=MANY)
        pending = [r for r in living if r.state == "pending"]
        if pending:
            seen = Seen.read(store, run_id, living)
            return seen.run, pending, seen
        # What was decided earlier is looked at only when nothing waits.
        return store.run(run_id), store.requests(run_id=run_id, limit=MANY), None

    run, asked, seen = await agent.desk.read(look)
    check_mine(agent, run)
    if tool_call_id is None:
        return Target(await _latest(agent, run, asked, verb), seen)
    if asked:
        return Target(next((r for r in reversed(asked) if r.state == "pending"), asked[-1]))
    rows = await agent.desk.read(store.calls, run_id)
    if any(c.id == tool_call_id for c in rows):
        raise NotAsked(f"Call {tool_call_id} of run {run_id} was never put to a human.")
    raise RequestNotFound(f"Run {run_id} has no call {tool_call_id}.")


async def _latest(agent: Agent, run: Run, asked: list[Request], verb: Verdict) -> Request:
    pending = [r for r in asked if r.state == "pending"]
    fitting = [r for r in pending if verb in r.allowed]
    if fitting:
        return (await _ordered(agent, fitting))[-1]
    over = [
        r for r in asked if verb in r.allowed and r.state not in ("pending", "stale", "refused")
    ]
    if over and not pending:
        return max(over, key=lambda r: (r.decided_at or r.created_at).timestamp())
    waits = ", ".join(f"{r.tool_name} takes {' or '.join(r.allowed)}" for r in pending)
    raise RequestNotFound(
        f"Run {run.id} ({run.state}) has nothing pending that takes {verb!r}"
        f"{f' ({waits})' if waits else ''}."
    )


async def of_thread(
    agent: Agent, thread_id: str, resource_id: str | None, tool_call_id: str | None
) -> Request:
    """The pending approval of a conversation."""
    candidates = [
        r
        for run in await suspended_runs(agent, thread_id, resource_id)
        for r in run.tool_calls
        if r.kind == "approval" and r.state == "pending"
    ]
    named = [r for r in candidates if tool_call_id in (None, r.tool_call_id)]
    if not named:
        raise RequestNotFound(f"Nothing waits for approval on thread {thread_id!r}.")
    if len({r.run_id for r in named}) > 1:
        raise AmbiguousRequest(
            f"Several runs wait on thread {thread_id!r}: name the tool_call_id.", named
        )
    return named[-1]


def check_mine(agent: Agent, run: Run) -> None:
    """Refuse another agent's run."""
    if run.agent_id != agent.id:
        raise UnknownAgent(
            f"Run {run.id} belongs to agent {run.agent_id!r}, not to {agent.id!r}: use an "
            "agent defined with that id. The snapshot is kept."
        )


async def in_order(desk: Desk, run_id: str, requests: list[Request]) -> list[Request]:
    """Requests of a run in the model's call order."""
    rows = await desk.read(desk.store.calls, run_id)
    order = {c.id: i for i, c in enumerate(rows)}
    return sorted(requests, key=lambda r: (order.get(r.tool_call_id, 0), r.ordinal))
