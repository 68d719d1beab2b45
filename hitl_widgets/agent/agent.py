"""The agent: what a user defines, runs and decides with."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Generator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from .. import deciders, surface
from ..desk import Desk, desk_of
from ..errors import (
    AgentDefinitionError,
    AmbiguousRequest,
    HitlError,
    LeaseLost,
    NoReviewer,
    NotAsked,
    NotPermitted,
    RequestNotFound,
    RunSuspended,
    SnapshotNotFound,
    UnknownAgent,
    UnknownTool,
)
from ..fingerprint import digest
from ..policy import Policy
from ..request import (
    Answer,
    Approve,
    Call,
    Decision,
    Decline,
    Request,
    Run,
    Verdict,
    new_id,
    utc,
)
from ..store import Store, open_store
from . import calls, models
from .budget import Budget
from .drive import Driver, FrameRun, living
from .memory import Memory
from .options import RunOptions
from .results import RunResult, RunStream
from .snapshot import Frame
from .tools import Entry, Hooks, Tool, entries

_log = logging.getLogger("hitl_widgets")
_ID = re.compile(r"[A-Za-z0-9_-]{1,48}")
_MAX_STEPS = 50
_OPEN = ("running", "suspended", "budget-paused")
_NO_DEFAULTS = RunOptions()
_NO_HOOKS = Hooks()


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
        `Tool` objects, plain functions, `Toolset`.
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
        if not _ID.fullmatch(id):
            raise AgentDefinitionError(
                f"Agent id {id!r}: use 1 to 48 letters, digits, '_' and '-'."
            )
        if model is None:
            raise AgentDefinitionError(
                f"Agent {id!r} has no model: give model='provider:name' or a hitl.ScriptedModel."
            )
        self.id = id
        self.name = name or id
        self.description = description
        self.instructions = instructions
        self.model = models.resolve(model)
        self.settings = None
        self.memory = memory
        self.hooks = hooks
        self.max_steps = _MAX_STEPS
        self.defaults = defaults if budget is None else replace(defaults, budget=budget)
        self.agents = tuple(agents)
        self.entries: dict[str, Entry] = entries([*tools, *map(_delegate, agents)])
        self.specs = [
            models.ToolSpec(e.tool.id, e.tool.description, e.tool.shape.json_schema)
            for e in self.entries.values()
            if e.rule.enabled
        ]
        self.store: Store = open_store(deciders.settings().store if store is None else store)
        self.desk: Desk = desk_of(self.store)
        self.desk.experts[self.id] = self
        self._loop = _running_loop()

    def __repr__(self) -> str:
        return f"Agent({self.id!r}, tools={list(self.entries)})"

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
        driver = await self._begin(new_id("run"), prompt, key, self._options(options))
        if isinstance(driver, str):
            return await self.attach(driver)
        return await self._to_the_end(driver)

    def start(self, prompt: str, *, key: str | None = None, **options: Any) -> RunHandle:
        """Run in the background and return at once; the panel shows what happens."""
        return RunHandle(self, prompt, key, self._options(options))

    async def stream(self, prompt: str, **options: Any) -> RunStream:
        """Run and watch. Never asks anybody: the stream ends ``suspended`` when only a human
        can move it on."""
        driver = await self._begin(new_id("run"), prompt, None, self._options(options))
        assert isinstance(driver, Driver)  # noqa: S101  # no key: never an existing run
        driver.start(waits=False)
        return RunStream(driver.run.id, driver.feed, 0, 0, driver.result)

    async def generate(self, prompt: str, **options: Any) -> RunResult:
        """Run without a stream. Never asks anybody: ends ``suspended`` instead."""
        return await (await self.stream(prompt, **options)).result()

    async def attach(self, run_id: str) -> RunResult:
        """Wait for the end of a run, wherever it is driven; drive it here when nobody does.

        Raises
        ------
        SnapshotNotFound, SnapshotVersion, UnknownTool, UnknownAgent, RunSuspended
        """
        while True:
            driver = living.get((id(self.store), run_id))
            if driver is not None and driver.task is not None:
                await asyncio.wait([driver.task])
                if driver.ended is not None:
                    return driver.ended
            run = await self.desk.read(self.store.run, run_id)
            self._check_mine(run)
            if run.outcome is not None and run.state not in _OPEN:
                return _ended(run)
            try:
                return await self._to_the_end(await self._adopt(run))
            except LeaseLost:
                await self._until_free(run_id)

    async def resume_decided(self) -> list[RunResult]:
        """Drive every run of this agent on that was decided while nobody drove it."""
        decided = ("approved", "answered", "declined", "responded", "expired")
        done: list[RunResult] = []
        await self.desk.write(self.store.sweep)
        for run in await self._open_runs():
            rows = await self.desk.read(self.store.requests, run_id=run.id, states=decided)
            calls_ = await self.desk.read(self.store.calls, run.id)
            waiting = {c.id for c in calls_ if c.state in ("waiting", "parked")}
            if not any(r.tool_call_id in waiting for r in rows):
                continue
            try:
                driver = await self._adopt(run)
            except LeaseLost:  # somebody alive drives it
                continue
            driver.start(waits=False)
            done.append(await RunStream(run.id, driver.feed, 0, 0, driver.result).result())
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
    ) -> RunStream:
        """Approve a call and stream what follows.

        Without `tool_call_id`: the latest pending approval, in the model's call order.

        Raises
        ------
        RequestNotFound, AlreadyDecided, NotAsked, StaleFingerprint, ToolChanged, InvalidAnswer,
        NotPermitted
            At the await, before any chunk.
        """
        decision = Approve(args=args, note=note)
        return await self._decide(run_id, tool_call_id, decision, fingerprint)

    async def decline_tool_call(
        self,
        *,
        run_id: str,
        tool_call_id: str | None = None,
        reason: str | None = None,
        stop: bool = False,
    ) -> RunStream:
        """Decline a call (or an input) and stream what follows; `stop` ends the run."""
        return await self._decide(run_id, tool_call_id, Decline(reason, stop), None)

    async def resume_stream(
        self, data: Any, *, run_id: str, tool_call_id: str | None = None
    ) -> RunStream:
        """Answer a suspended tool and stream what follows."""
        return await self._decide(run_id, tool_call_id, Answer(data), None)

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
        """Runs of this agent that wait for a human, oldest first; complete enough to rebuild a
        screen from nothing."""
        await self.desk.write(self.store.sweep)
        found: list[SuspendedRun] = []
        for run in await self._open_runs(thread_id, resource_id):
            waiting = await self._waiting(run.id)
            if waiting:
                found.append(
                    SuspendedRun(
                        run_id=run.id,
                        agent_id=run.agent_id,
                        thread_id=run.thread_id,
                        resource_id=run.resource_id,
                        created_at=run.created_at,
                        tool_calls=waiting,
                    )
                )
        return found

    async def send_tool_approval(
        self,
        *,
        thread_id: str,
        resource_id: str | None = None,
        approved: bool,
        tool_call_id: str | None = None,
        fingerprint: str | None = None,
        reason: str | None = None,
    ) -> RunStream:
        """Decide the pending approval of a conversation.

        Raises
        ------
        AmbiguousRequest
            Several runs of it wait: name the `tool_call_id`.
        """
        if not isinstance(approved, bool):
            raise NotAsked(f"approved={approved!r}: give True or False.")
        runs = await self.list_suspended_runs(thread_id=thread_id, resource_id=resource_id)
        candidates = [
            r
            for run in runs
            for r in run.tool_calls
            if r.kind == "approval"
            and r.state == "pending"
            and tool_call_id in (None, r.tool_call_id)
        ]
        if not candidates:
            raise RequestNotFound(f"Nothing waits for approval on thread {thread_id!r}.")
        if len({r.run_id for r in candidates}) > 1:
            raise AmbiguousRequest(
                f"Several runs wait on thread {thread_id!r}: name the tool_call_id.", candidates
            )
        decision = Approve() if approved else Decline(reason)
        chosen = candidates[-1]
        return await self._decide(chosen.run_id, chosen.tool_call_id, decision, fingerprint)

    # -- an expert, for the desk ---------------------------------------------------------------

    def check_args(self, request: Request, args: dict[str, Any]) -> dict[str, Any] | None:
        """See `desk.Expert`."""
        asker = self._agent_at(request.agent_path)
        entry = asker.entries.get(request.tool_name) if asker else None
        return None if entry is None else entry.tool.check(args)

    def check_answer(self, request: Request, data: Any) -> tuple[Any] | None:
        """See `desk.Expert`."""
        asker = self._agent_at(request.agent_path)
        entry = asker.entries.get(request.tool_name) if asker else None
        shape = entry.tool.resume_shape if entry else None
        if shape is None or request.scope.get("how") != "suspend":
            return None
        return (shape.dump(shape.validate(data)),)

    async def permit_edit(self, request: Request, args: dict[str, Any]) -> None:
        """See `desk.Expert`."""
        asker = self._agent_at(request.agent_path)
        run = await self.desk.read(self.store.run, request.run_id)
        driver = living.get((id(self.store), run.id)) or await self._view(run)
        frame = FrameRun(driver, asker or self, driver.root)
        if await calls.permit_edit(frame, request.tool_name, args) == "deny":
            raise NotPermitted(
                f"{request.tool_name} may not be called with the edited arguments: the policy "
                "denies it. The request is still pending."
            )

    def resume(self, run_id: str) -> None:
        """See `desk.Expert`."""
        loop = self._loop
        if loop is None or loop.is_closed() or not loop.is_running():
            return
        asyncio.run_coroutine_threadsafe(self._drive_on(run_id), loop)

    # -- inside ------------------------------------------------------------------------------

    def _options(self, given: dict[str, Any]) -> RunOptions:
        return self.defaults.with_given(given)

    def _agent_at(self, path: Sequence[str]) -> Agent | None:
        """The agent at a path from this one down."""
        asker: Agent | None = self if path and path[0] == self.id else None
        for step in path[1:]:
            asker = next((a for a in asker.agents if a.id == step), None) if asker else None
        return asker

    async def _begin(
        self, run_id: str, prompt: str, key: str | None, options: RunOptions
    ) -> Driver | str:
        """A driver for a new run, or the id of the unfinished run of the same key."""
        if not isinstance(prompt, str):
            raise AgentDefinitionError(f"The prompt is a {type(prompt).__name__}: give text.")
        self._loop = asyncio.get_running_loop()
        await self._check_thread(options)
        policy = Policy(options.run_rule, {n: e.rule for n, e in self.entries.items()})
        history = list(options.message_history or await self._remembered(options))
        root = Frame(
            key=run_id,
            agent_id=self.id,
            agent_path=(self.id,),
            messages=[*history, models.user_message(prompt, self.instructions)],
            policy=policy,
            options=options.to_json(),
        )
        run = self._new_run(run_id, prompt, key, options, policy)
        if key is not None:
            await self.desk.write(self.store.sweep)
        stored = await self.desk.write(self.store.open_run, run, durable=key is not None)
        if stored.id != run.id:
            self._check_key(stored, run, key)
            return stored.id
        driver = Driver(
            self,
            self.desk,
            stored,
            root,
            saved=False,
            reviewer=deciders.in_force(),
            workspace=options.workspace,
            run_predicate=options.predicate,
        )
        driver.say_start()
        return driver

    def _new_run(
        self, run_id: str, prompt: str, key: str | None, options: RunOptions, policy: Policy
    ) -> Run:
        shown = surface.current()
        origin = shown.origin() if shown is not None else {}
        now = utc(time.time())
        return Run(
            id=run_id,
            kind="agent",
            agent_id=self.id,
            state="running",
            created_at=now,
            updated_at=now,
            key=key,
            key_digest=None if key is None else digest([prompt, policy.version]),
            thread_id=options.thread_id,
            resource_id=options.resource_id,
            notebook=origin.get("notebook"),
            owner=self.store.owner,
            token=new_id("l"),
            origin={**origin, "prompt": prompt[:200]},
        )

    def _check_key(self, stored: Run, new: Run, key: str | None) -> None:
        if stored.key_digest != new.key_digest:
            raise AgentDefinitionError(
                f"key={key!r} already names the unfinished run {stored.id} "
                f"({stored.origin.get('prompt')!r}), and this call differs "
                f"({new.origin.get('prompt')!r}, or its tools). Decide that run, or use another "
                "key."
            )

    async def _check_thread(self, options: RunOptions) -> None:
        """A new message never drops what is pending on its thread (R15)."""
        if options.thread_id is None:
            return
        runs = await self.list_suspended_runs(
            thread_id=options.thread_id, resource_id=options.resource_id
        )
        waiting = [r for run in runs for r in run.tool_calls if r.state == "pending"]
        if not waiting:
            return
        if options.pending == "error":
            raise RunSuspended(
                f"Thread {options.thread_id!r} waits for a human: {_names(waiting)}. Decide that "
                "first, or run with pending='decline'.",
                waiting,
            )
        for run in runs:
            decision = Decline("A new message took its place.", stop=True)
            latest = [r for r in run.tool_calls if r.state == "pending"][-1]
            stream = await self._decide(run.run_id, latest.tool_call_id, decision, None)
            await stream.result()

    async def _remembered(self, options: RunOptions) -> models.Messages:
        if self.memory is None or options.thread_id is None:
            return []
        name = self.memory.document(options.thread_id, options.resource_id)
        return models.load(await self.desk.read(self.store.document, name) or [])

    async def remember(self, driver: Driver) -> None:
        """Keep the conversation of an ended run."""
        if self.memory is None or driver.run.thread_id is None:
            return
        name = self.memory.document(driver.run.thread_id, driver.run.resource_id)
        messages = models.dump(driver.root.messages)
        await self.desk.write(self.store.put_document, name, messages)

    async def _to_the_end(self, driver: Driver, *, background: bool = False) -> RunResult:
        """Show, wait and get the result; what nobody here can decide is raised (R5)."""
        shown = surface.current()
        asking = shown is not None and shown.can_ask(background=background)
        headless = deciders.settings().headless
        if driver.reviewer is None and not asking and headless == "decline":
            driver.reviewer = deciders.decline_all
        waits = asking or driver.reviewer is not None
        with shown.waiting() if shown is not None and asking else nullcontext():
            if shown is not None and asking:
                self._show(driver, shown)
            await driver.start(waits=waits)
        result = await driver.result()
        if result.finish_reason == "suspended":
            await self._nobody_here(driver, result, headless)
        return result

    async def _nobody_here(self, driver: Driver, result: RunResult, headless: str) -> None:
        if headless == "error":
            run = await self.desk.read(self.store.run, result.run_id)
            again = await self._adopt(run)
            again.cancel_at_once()
            await again.start(waits=False)
            raise NoReviewer(
                f"Run {result.run_id} needs a human for {_names(result.requests)}, and nobody "
                "can be asked here: it was cancelled."
            )
        raise RunSuspended(_how_to_decide(self, result), result.requests)

    def _show(self, driver: Driver, shown: surface.Surface) -> None:
        driver.screen = shown.run_started(
            run_id=driver.run.id,
            title=self.name,
            store=self.store,
            cancel=lambda: self._cancel(driver.run.id),
        )

    def _cancel(self, run_id: str) -> None:
        """The panel's Cancel, whoever drives the run by now. Call it on the agent's loop."""
        driver = living.get((id(self.store), run_id))
        if driver is not None:
            driver.cancel()
        else:
            self._background = asyncio.ensure_future(self._cancel_idle(run_id))

    async def _cancel_idle(self, run_id: str) -> None:
        driver = await self._adopt(await self.desk.read(self.store.run, run_id))
        driver.cancel_at_once()
        shown = surface.current()
        if shown is not None:
            driver.screen = shown.screen_of(run_id)
        await driver.start(waits=False)

    async def _open_runs(
        self, thread_id: str | None = None, resource_id: str | None = None
    ) -> list[Run]:
        return await self.desk.read(
            self.store.runs,
            states=_OPEN,
            kind="agent",
            agent_id=self.id,
            thread_id=thread_id,
            resource_id=resource_id,
        )

    async def _waiting(self, run_id: str) -> list[Request]:
        """Pending and parked requests, in the model's call order."""
        rows = await self.desk.read(self.store.calls, run_id)
        order = {c.id: i for i, c in enumerate(rows)}
        waiting = await self.desk.read(
            self.store.requests, run_id=run_id, states=("pending", "parked")
        )
        return sorted(waiting, key=lambda r: (order.get(r.tool_call_id, 0), r.ordinal))

    async def _target(self, run_id: str, tool_call_id: str | None, verb: Verdict) -> Request:
        """The request that a decision means (F2)."""
        run = await self.desk.read(self.store.run, run_id)
        self._check_mine(run)
        asked = await self.desk.read(self.store.requests, run_id=run_id)
        if tool_call_id is None:
            waiting = await self._waiting(run_id)
            fitting = [r for r in waiting if r.state == "pending" and verb in r.allowed]
            if fitting:
                return fitting[-1]
            raise RequestNotFound(
                f"Run {run_id} ({run.state}) has nothing pending that takes {verb!r}."
            )
        mine = [r for r in asked if r.tool_call_id == tool_call_id]
        if mine:
            return next((r for r in reversed(mine) if r.state == "pending"), mine[-1])
        rows = await self.desk.read(self.store.calls, run_id)
        if any(c.id == tool_call_id for c in rows):
            raise NotAsked(f"Call {tool_call_id} of run {run_id} was never put to a human.")
        raise RequestNotFound(f"Run {run_id} has no call {tool_call_id}.")

    async def _decide(
        self, run_id: str, tool_call_id: str | None, decision: Decision, shown: str | None
    ) -> RunStream:
        """Decide, then drive, or follow the living driver to its next pause or end."""
        self._loop = asyncio.get_running_loop()
        request = await self._target(run_id, tool_call_id, decision.verdict)
        driver = living.get((id(self.store), run_id))
        start = len(driver.feed.entries) if driver else 0
        if driver is None:
            await self._check_tools(run_id)
        await self.desk.decide(request, decision, fingerprint=shown, drive=False)
        if driver is None or driver.feed.closed:
            run = await self.desk.read(self.store.run, run_id)
            try:
                driver, start = await self._adopt(run), 0
            except LeaseLost:
                return await self._elsewhere(run_id)
            driver.start(waits=False)
        stream = RunStream(run_id, driver.feed, start, driver.generation, driver.result)
        await self._effective(driver, request)
        return stream

    async def _effective(self, driver: Driver, request: Request) -> None:
        """Wait until the decision took effect; raise what stood in the way at the claim (R3)."""
        while not driver.feed.closed:
            change = driver.change
            now = await self.desk.read(self.store.request, request.id)
            if now.state not in ("approved", "answered"):
                break
            task = driver.task
            signals: set[Any] = {asyncio.ensure_future(change.wait())} | ({task} if task else set())
            await asyncio.wait(signals, return_when=asyncio.FIRST_COMPLETED)
        problem = driver.problems.pop(request.id, None)
        if problem is not None:
            raise problem

    def _check_mine(self, run: Run) -> None:
        if run.agent_id != self.id:
            raise UnknownAgent(
                f"Run {run.id} belongs to agent {run.agent_id!r}, not to {self.id!r}: use an "
                "agent defined with that id. The snapshot is kept."
            )

    async def _check_tools(self, run_id: str) -> None:
        """Tools that the run waits for must be here, before anything is decided (R14)."""
        for request in await self._waiting(run_id):
            asker = self._agent_at(request.agent_path)
            if asker is None:
                raise UnknownAgent(
                    f"Run {run_id} waits in agent {' › '.join(request.agent_path)}, which "
                    f"{self.id!r} does not have here. Define it again; the snapshot is kept."
                )
            if request.tool_name not in asker.entries:
                raise UnknownTool(
                    f"Run {run_id} waits for the tool {request.tool_name!r}, and agent "
                    f"{asker.id!r} has none of that name here. Define it again under that name; "
                    "the snapshot is kept."
                )

    async def _adopt(self, run: Run) -> Driver:
        """Take the run's lease and load its snapshot."""
        self._loop = asyncio.get_running_loop()
        self._check_mine(run)
        await self._check_tools(run.id)
        state = Frame.load(await self.desk.read(self.store.frame, run.id))
        token = new_id("l")
        mine = await self.desk.write(self.store.adopt, run.id, token)
        return Driver(
            self, self.desk, replace(mine, token=token), state, saved=True,
            reviewer=deciders.in_force(),
        )  # fmt: skip

    async def _view(self, run: Run) -> Driver:
        """A driver that drives nothing: to judge edits under the run's frozen policy."""
        state = Frame.load(await self.desk.read(self.store.frame, run.id))
        return Driver(self, self.desk, run, state, saved=True)

    async def nested_frame(self, parent: FrameRun, call: Call) -> Frame:
        """The frame of a delegation: as saved, or a new one."""
        key = f"{call.run_id}/{call.id}"
        try:
            return Frame.load(await self.desk.read(parent.driver.desk.store.frame, key))
        except SnapshotNotFound:
            return Frame(
                key=key,
                agent_id=self.id,
                agent_path=(*parent.state.agent_path, self.id),
                messages=[models.user_message(call.args["prompt"], self.instructions)],
                policy=Policy(
                    parent.state.policy.run, {n: e.rule for n, e in self.entries.items()}
                ),
            )

    async def _drive_on(self, run_id: str) -> None:
        """In the background, after a decision: into the panel that shows the run."""
        try:
            run = await self.desk.read(self.store.run, run_id)
            driver = await self._adopt(run)
        except (LeaseLost, SnapshotNotFound):  # somebody else does, or it has ended
            return
        except HitlError:
            _log.exception("run %s was decided but cannot go on here", run_id)
            return
        shown = surface.current()
        if shown is not None:
            driver.screen = shown.screen_of(run_id)
        try:
            await driver.start(waits=False)
        except Exception:
            _log.exception("run %s failed", run_id)

    async def _until_free(self, run_id: str) -> None:
        """Wait until a run driven elsewhere ends or loses its driver."""
        stop = self.desk.watch()
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()
        self.desk.drivers[run_id] = lambda: loop.call_soon_threadsafe(changed.set)
        try:
            while True:
                changed.clear()
                run = await self.desk.read(self.store.run, run_id)
                alive = await self.desk.read(self.store.driver_alive, run)
                if run.state not in _OPEN or not alive:
                    return
                try:
                    # A driver's death is no event: look again now and then.
                    await asyncio.wait_for(changed.wait(), 1.0)
                except TimeoutError:
                    continue
        finally:
            del self.desk.drivers[run_id]
            stop()

    async def _elsewhere(self, run_id: str) -> RunStream:
        """The decision is recorded, and another process drives: its result, without chunks."""
        from .results import Feed  # noqa: PLC0415

        feed = Feed()
        feed.close()

        async def result() -> RunResult:
            return await self.attach(run_id)

        return RunStream(run_id, feed, 0, 0, result)


class RunHandle:
    """A run in the background: await it for its `RunResult`.

    Attributes
    ----------
    run_id
        Known at once.
    """

    def __init__(self, agent: Agent, prompt: str, key: str | None, options: RunOptions) -> None:
        self.run_id = new_id("run")
        self._agent = agent
        self._driver: Driver | None = None
        self._cancelled = False
        self._task = asyncio.ensure_future(self._run(prompt, key, options))

    def __await__(self) -> Generator[Any, None, RunResult]:
        return asyncio.shield(self._task).__await__()

    def done(self) -> bool:
        """Whether it has ended."""
        return self._task.done()

    def cancel(self) -> None:
        """Cancel the run: what waits is withdrawn, and it ends ``aborted``."""
        self._cancelled = True
        if self._driver is not None:
            self._driver.cancel()

    async def _run(self, prompt: str, key: str | None, options: RunOptions) -> RunResult:
        driver = await self._agent._begin(self.run_id, prompt, key, options)  # noqa: SLF001
        if isinstance(driver, str):
            self.run_id = driver
            return await self._agent.attach(driver)
        self._driver = driver
        if self._cancelled:
            driver.cancel_at_once()
        return await self._agent._to_the_end(driver, background=True)  # noqa: SLF001


def _delegate(agent: Agent) -> Tool:
    """An agent as a tool of its supervisor."""

    def delegate(prompt: str) -> None: ...

    from ..schema import shape_of_parameters  # noqa: PLC0415

    return Tool(
        id=f"agent-{agent.id}",
        description=agent.description or f"Delegate to the agent {agent.name}.",
        function=None,
        shape=shape_of_parameters(delegate),
        agent=agent,
    )


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _ended(run: Run) -> RunResult:
    outcome = run.outcome or {}
    return RunResult(
        run_id=run.id,
        text=outcome.get("text", ""),
        output=outcome.get("output") or outcome.get("text", ""),
        finish_reason=outcome.get("finish_reason", "error"),
        usage=outcome.get("usage", {}),
    )


def _names(requests: Sequence[Request]) -> str:
    return ", ".join(f"{r.tool_name} ({r.id})" for r in requests)


def _how_to_decide(agent: Agent, result: RunResult) -> str:
    where = agent.store.location
    lines = [
        f"Run {result.run_id} of agent {agent.id!r} waits for a human, and nobody can be asked "
        f"here. Pending: {_names(result.requests)}.",
        "Decide from a shell:",
        *(
            f"  hitl-widgets inbox approve {r.id} --store {where}"
            for r in result.requests[:3]
        ),
        f"(or decline {result.requests[0].id} --reason TEXT), in a notebook with hitl.inbox(), "
        f"then get the result with: await agent.attach({result.run_id!r})"
        if result.requests
        else f"Go on with: await agent.attach({result.run_id!r})",
    ]
    return "\n".join(lines)


__all__ = ["Agent", "RunHandle", "SuspendedRun"]
