"""The agent: what a user defines, runs and decides with."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .. import deciders
from ..desk import Desk, desk_of
from ..errors import LeaseLost, NotAsked
from ..policy import administrator
from ..request import Answer, Approve, Decision, Decline, Reviewer, new_id
from ..store import Store
from . import conversation, definition, following, models
from .beginning import begin
from .budget import Budget
from .delegation import as_tool
from .drive import Driver, Local, living
from .ending import DECIDED, undone
from .expert import Expert
from .finding import OPEN, SuspendedRun, check_mine, of_thread, suspended_runs, target
from .finishing import cancel_idle, finish, to_the_end
from .handle import RunHandle
from .hooks import Hooks
from .mcp import MCPToolset, merge
from .memory import Memory
from .options import RunOptions
from .output import Output
from .results import RunResult, RunStream
from .snapshot import Frame
from .toolsets import Entry, entries

_NO_DEFAULTS = RunOptions()
_NO_HOOKS = Hooks()


class Agent:
    """An agent whose tool calls a human can decide.

    Parameters
    ----------
    id
        1 to 48 letters, digits, ``_`` and ``-``: by it a run finds its agent after a restart.
    name, description
        For people; what it does, for supervisors.
    instructions
        The system prompt.
    model
        ``"provider:name"``, `ScriptedModel`, or any pydantic-ai `Model`.
    tools
        `Tool` objects, plain functions, `Toolset`, `MCPToolset`.
    agents
        Other agents, each a tool ``agent-<id>`` with one argument ``prompt``.
    memory
        `Memory()` to keep conversations per thread and resource.
    store
        A path, a store, ``":memory:"``, or None for the configured default.
    hooks, budget, defaults
        `Hooks`, `Budget`, `RunOptions` for every run.

    Raises
    ------
    AgentDefinitionError, ToolDefinitionError, StoreError
    """

    def __init__(
        self,
        id: str,  # noqa: A002  # the public name
        *,
        name: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        model: Any = None,
        tools: Sequence[Any] = (),
        agents: Sequence[Agent] = (),
        memory: Memory | None = None,
        store: Any = None,
        hooks: Hooks = _NO_HOOKS,
        budget: Budget | None = None,
        defaults: RunOptions = _NO_DEFAULTS,
    ) -> None:
        definition.check(
            id,
            Agent,
            name=name,
            description=description,
            instructions=instructions,
            model=model,
            tools=tools,
            agents=agents,
            memory=memory,
            hooks=hooks,
            defaults=defaults,
        )
        self.id = id
        self.name = name or id
        self.description = description
        self.instructions = instructions
        self.model = models.resolve(model)
        self.memory = memory
        self.hooks = hooks
        self.defaults = defaults if budget is None else replace(defaults, budget=budget)
        self.agents = tuple(agents)
        self.servers = tuple(t for t in tools if isinstance(t, MCPToolset))
        own = [t for t in tools if not isinstance(t, MCPToolset)]
        self._own = entries([*own, *map(as_tool, agents)])
        self.entries: dict[str, Entry] = dict(self._own)
        self.store: Store = deciders.store_of(store)
        self.desk: Desk = desk_of(self.store)
        self.desk.experts[self.id] = Expert(self)
        self.loop = _running_loop()
        self.locals: dict[str, Local] = {}
        self._background: set[asyncio.Task[Any]] = set()

    def __repr__(self) -> str:
        return f"Agent({self.id!r}, tools={list(self.entries)})"

    @property
    def specs(self) -> list[models.ToolSpec]:
        """What the model is told of the tools that may be called."""
        forbidden = administrator().forbid
        return [
            models.ToolSpec(e.tool.id, e.tool.description, e.tool.shape.json_schema)
            for e in self.entries.values()
            if e.rule.enabled and e.tool.id not in forbidden
        ]

    async def prepare(self) -> None:
        """See that the tools of MCP servers are the latest, here and in the agents below.

        Raises
        ------
        AgentDefinitionError
            A server can not be reached, or has a tool of a name that is taken.
        """
        for agent in self.agents:
            await agent.prepare()
        if self.servers:
            for server in self.servers:
                await server.connect(self.store)
            merge(self.entries, self._own, self.servers)

    # -- running -----------------------------------------------------------------------------

    async def run(self, prompt: str, *, key: str | None = None, **options: Any) -> RunResult:
        """Run to the end, asking a human here when a call needs one.

        Shows cards inline and waits. With `key`, running the cell again attaches to the
        unfinished run instead of asking twice (R22).

        Raises
        ------
        RunSuspended
            Nobody can be asked here (R5): names the command that decides. Nothing is lost.
        NoReviewer
            The same under ``configure(headless="error")``; the run is cancelled.
        """
        begun = await begin(self, new_id("run"), prompt, key, self._options(options))
        return await finish(self, begun)

    def start(self, prompt: str, *, key: str | None = None, **options: Any) -> RunHandle:
        """Run in the background and return at once; the panel shows what happens."""
        return RunHandle(self, prompt, key, self._options(options))

    async def stream(self, prompt: str, **options: Any) -> RunStream:
        """Run and watch; never asks anybody.

        The stream ends ``suspended`` when only a human can move it on.
        """
        begun = await begin(self, new_id("run"), prompt, None, self._options(options))
        if isinstance(begun, RunStream):
            return begun
        assert isinstance(begun, Driver)  # without a key it is never an existing run
        begun.start(waits=False)
        return following.stream_of(begun)

    async def generate(self, prompt: str, **options: Any) -> RunResult:
        """Run without a stream. Never asks anybody: ends ``suspended`` instead."""
        return await (await self.stream(prompt, **options)).result()

    async def attach(self, run_id: str, *, workspace: Any = None) -> RunResult:
        """Wait for the end of a run, wherever it is driven; drive it here when nobody does.

        Raises
        ------
        SnapshotNotFound, SnapshotVersion, UnknownTool, UnknownAgent, RunSuspended
        """
        self._give(run_id, workspace)
        while True:
            driver = living.get((id(self.store), run_id))
            if driver is not None:
                await asyncio.shield(asyncio.wrap_future(driver.over))
                if driver.ended is not None:
                    return driver.ended
            run = await self.desk.read(self.store.run, run_id)
            check_mine(self, run)
            if run.state not in OPEN:
                return following.ended(run)
            try:
                return await to_the_end(self, run_id)
            except LeaseLost:
                await following.until_free(self, run_id)

    async def continue_run(
        self, run_id: str, *, budget: Budget | None = None, workspace: Any = None
    ) -> RunResult:
        """Go on with a run whose budget was spent, under a new one; never asks anybody.

        Parameters
        ----------
        budget
            In place of the run's; its totals still count from the run's start. None: none.
        """
        self._give(run_id, workspace)

        def raise_limits(driver: Driver) -> None:
            options = replace(self.defaults, budget=budget)
            driver.root.options["budget"] = options.to_json()["budget"]

        driver, mine = await following.take(self, run_id, waits=False, prepare=raise_limits)
        if not mine:
            raise LeaseLost(f"Run {run_id} is being driven: wait for it with attach.")
        return await following.stream_of(driver).result()

    async def resume_decided(self, *, workspace: Any = None) -> list[RunResult]:
        """Drive every run of this agent on that was decided while nobody drove it."""
        done: list[RunResult] = []
        await self.desk.write(self.store.sweep)
        requests = await self.desk.read(
            self.store.requests, agent_id=self.id, states=DECIDED, limit=1_000_000
        )
        for run_id in dict.fromkeys(r.run_id for r in requests):
            run = await self.desk.read(self.store.run, run_id)
            if run.state not in OPEN or not await undone(self.desk, run_id, requests):
                continue
            self._give(run_id, workspace)
            try:
                driver, mine = await following.take(self, run_id, waits=False)
            except LeaseLost:  # somebody alive drives it
                continue
            if mine:
                done.append(await following.stream_of(driver).result())
        return done

    # -- deciding ----------------------------------------------------------------------------

    async def approve_tool_call(
        self,
        *,
        run_id: str,
        tool_call_id: str | None = None,
        fingerprint: str | None = None,
        args: dict[str, Any] | None = None,
        note: str | None = None,
        reviewer: Reviewer | str | None = None,
        workspace: Any = None,
    ) -> RunStream:
        """Approve a call and stream what follows.

        Without `tool_call_id`: the latest pending approval, in the model's call order.

        Raises
        ------
        RequestNotFound, AlreadyDecided, NotAsked, StaleFingerprint, ToolChanged, InvalidAnswer,
        NotPermitted, Expired
            At the await, before any chunk.
        """
        self._give(run_id, workspace)
        decision = Approve(args=args, note=note)
        return await self._decide(run_id, tool_call_id, decision, fingerprint, reviewer)

    async def decline_tool_call(
        self,
        *,
        run_id: str,
        tool_call_id: str | None = None,
        fingerprint: str | None = None,
        reason: str | None = None,
        stop: bool = False,
        reviewer: Reviewer | str | None = None,
        workspace: Any = None,
    ) -> RunStream:
        """Decline a call (or an input) and stream what follows; `stop` ends the run."""
        self._give(run_id, workspace)
        decision = Decline(reason, stop)
        return await self._decide(run_id, tool_call_id, decision, fingerprint, reviewer)

    async def resume_stream(
        self,
        data: Any,
        *,
        run_id: str,
        tool_call_id: str | None = None,
        fingerprint: str | None = None,
        reviewer: Reviewer | str | None = None,
        workspace: Any = None,
    ) -> RunStream:
        """Answer a suspended tool and stream what follows."""
        self._give(run_id, workspace)
        return await self._decide(run_id, tool_call_id, Answer(data), fingerprint, reviewer)

    async def approve_tool_call_generate(self, **arguments: Any) -> RunResult:
        """`approve_tool_call` without a stream."""
        return await (await self.approve_tool_call(**arguments)).result()

    async def decline_tool_call_generate(self, **arguments: Any) -> RunResult:
        """`decline_tool_call` without a stream."""
        return await (await self.decline_tool_call(**arguments)).result()

    async def resume_generate(self, data: Any, **arguments: Any) -> RunResult:
        """`resume_stream` without a stream."""
        return await (await self.resume_stream(data, **arguments)).result()

    async def list_suspended_runs(
        self, *, thread_id: str | None = None, resource_id: str | None = None
    ) -> list[SuspendedRun]:
        """Runs of this agent that wait for a human, oldest first.

        Complete enough to rebuild a screen from nothing.
        """
        return await suspended_runs(self, thread_id, resource_id)

    async def send_tool_approval(
        self,
        *,
        thread_id: str,
        resource_id: str | None = None,
        approved: bool,
        tool_call_id: str | None = None,
        fingerprint: str | None = None,
        reason: str | None = None,
        reviewer: Reviewer | str | None = None,
    ) -> RunStream:
        """Decide the pending approval of a conversation.

        Raises
        ------
        AmbiguousRequest
            Several runs of it wait: name the `tool_call_id`.
        """
        if not isinstance(approved, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NotAsked(f"approved={approved!r}: give True or False.")
        request = await of_thread(self, thread_id, resource_id, tool_call_id)
        decision = Approve() if approved else Decline(reason)
        return await following.decide(self, request, decision, fingerprint, reviewer=reviewer)

    async def _decide(
        self,
        run_id: str,
        tool_call_id: str | None,
        decision: Decision,
        shown: str | None,
        reviewer: Reviewer | str | None,
    ) -> RunStream:
        meant = await target(self, run_id, tool_call_id, decision.verdict)
        return await following.decide(
            self, meant.request, decision, shown, reviewer=reviewer, seen=meant.seen
        )

    # -- beginning ---------------------------------------------------------------------------

    def _options(self, given: dict[str, Any]) -> RunOptions:
        options = self.defaults.with_given(given)
        conversation.check(self, options)
        return options

    # -- what a run has in this process --------------------------------------------------------

    def local_of(self, run_id: str, root: Frame) -> Local:
        """What this process knows of a run: all, when it started here; else what can be told."""
        known = self.locals.get(run_id)
        if known is None:
            known = Local(workspace=self.defaults.workspace)
        if known.reviewer is None:
            known.reviewer = deciders.in_force()
        if known.predicate is None and root.options.get("own_rule"):
            known.predicate = self.defaults.predicate
        if known.output is None:
            known.output = Output.of(root.options.get("output_schema"))
        return known

    def _give(self, run_id: str, workspace: Any) -> None:
        if workspace is None:
            return
        known = self.locals.get(run_id)
        if known is None:
            known = self.locals[run_id] = Local(reviewer=deciders.in_force())
        known.workspace = workspace

    def forget(self, run_id: str) -> None:
        """A run has ended."""
        self.locals.pop(run_id, None)

    async def remember(self, driver: Driver) -> None:
        """Keep the conversation of a run that pauses or ends (F31)."""
        if self.memory is None or driver.run.thread_id is None:
            return
        own = models.answered(driver.root.messages[driver.root.begins :])
        await self.memory.keep(
            self.desk, driver.run.thread_id, driver.run.resource_id, driver.run.id, own
        )

    def cancel(self, run_id: str) -> None:
        """Cancel a run, whoever drives it by now. Call it on the agent's loop."""
        driver = living.get((id(self.store), run_id))
        if driver is not None:
            driver.cancel()
            return
        task = asyncio.ensure_future(cancel_idle(self, run_id))
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


__all__ = ["Agent", "RunHandle", "SuspendedRun"]
