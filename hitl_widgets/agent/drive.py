"""The one engine: ``drive`` a run until it ends or nothing can move.

A `Driver` holds the run's lease (R21) and runs its frames. It keeps no coroutine for what waits:
approvals and suspensions are rows. When nothing can move it saves, and either returns (`stream`,
`generate`) or waits at the desk and goes on with the same state (`run`, `start`, `attach`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..deciders import Decide
from ..errors import HitlError
from ..events import Chunk, ChunkType, chunk
from ..policy import Predicate
from ..request import Call, Request, Run, RunState, utc
from ..surface import RunScreen
from . import budget, ending, resting, tracing
from .finding import in_order
from .frames import FrameRun
from .output import Output
from .people import put_to_people, tell_hook
from .results import Feed, RunResult
from .snapshot import Frame
from .turns import Finished

if TYPE_CHECKING:
    from ..desk import Desk
    from .agent import Agent

_log = logging.getLogger("hitl_widgets")
_MAX_STEPS = 50
_ACTS = frozenset({"claim", "move", "answer_call", "resume_call"})
"""What a driver does about a decision; it makes a suspended run a running one."""

_UNDECIDED = ("outcome_unknown", "pending")
"""What a run waits with for a human."""

_HOOKS = 5.0
"""Seconds that a run which ended waits for hooks that were only told of something."""


@dataclass(slots=True)
class Local:
    """What a run was given that no store can keep; gone with the process.

    Attributes
    ----------
    reviewer
        The scripted reviewer that was in force when it started.
    """

    workspace: Any = None
    predicate: Predicate | None = None
    output: Output | None = None
    reviewer: Decide | None = None


class Driver:
    """Whoever moves a run on in this process."""

    def __init__(
        self, agent: Agent, desk: Desk, run: Run, root: Frame, local: Local, *, saved: bool
    ) -> None:
        self.agent = agent
        self.desk = desk
        self.run = run
        self.token = run.token or ""
        self.root = root
        self.local = local
        self.saved = saved
        self.origin = run.origin
        self.feed = Feed()
        self.screen: RunScreen | None = None
        self.problems: dict[str, HitlError] = {}
        self.asking: set[str] = set()
        self.acted_on: set[str] = set()
        self.left_waiting: tuple[Request, ...] | None = None
        self.held = False
        self.released: int | None = None
        self.state: RunState = run.state
        self.cancelled = False
        self.generation = 0
        self.waits = False
        self.began = time.monotonic()
        self.error: BaseException | None = None
        self.ended: RunResult | None = None
        self.task: asyncio.Task[None] | None = None
        self.over: Future[None] = Future()
        self.runner = FrameRun(self, agent, root)
        self.loop = asyncio.get_running_loop()
        self._started: set[str] = set()
        self._declined: dict[str, set[str]] = {}
        self.told: set[str] = set()
        self.steps: dict[str, dict[str, Any]] | None = None
        self._changed = asyncio.Event()
        self._acted = asyncio.Event()
        self.begun = False
        self.ending = False
        self.reviewer_error: Exception | None = None
        self.consulting: set[asyncio.Task[None]] = set()
        self.hooks: set[asyncio.Task[None]] = set()

    # -- the store

    def now(self) -> float:
        """POSIX seconds."""
        return time.time()

    def date(self) -> datetime:
        """UTC."""
        return utc(self.now())

    async def read(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Read from the store without blocking the loop."""
        return await self.desk.read(getattr(self.desk.store, method), *args, **kwargs)

    async def write(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Write to the store without blocking the loop; everybody who watches is told."""
        done = await self.desk.write(getattr(self.desk.store, method), *args, **kwargs)
        if method in _ACTS:
            self.state = "running"
            self.acted_on.add(args[0])
            self._tell_acted()
        return done

    def _tell_acted(self) -> None:
        self._acted.set()
        self._acted = asyncio.Event()

    async def answer_call(
        self, frame: FrameRun, call: Call, state: str, result: dict[str, Any]
    ) -> None:
        """End a call whose body does not run."""
        await self.write("answer_call", call.id, self.token, state, result)
        self.announce_result(frame, call, result)

    def remember_rows(self, begun: Sequence[str], declined: Sequence[Request]) -> None:
        """Count what an earlier driver counted."""
        self._started.update(begun)
        for request in declined:
            self.declined(request)

    # -- counting

    @property
    def started_calls(self) -> int:
        """Tool calls of this run that began."""
        return len(self._started)

    def may_start(self, call_id: str) -> bool:
        """Whether the budget lets a call begin; then it is counted."""
        if call_id not in self._started and budget.calls_spent(self):
            return False
        self._started.add(call_id)
        return True

    def declined(self, request: Request) -> int:
        """Count a declined request; how often its like was declined in this run (R11)."""
        known = self._declined.setdefault(request.fingerprint, set())
        known.add(request.id)
        return len(known)

    def times_declined(self, fingerprint: str) -> int:
        """How often such a call was declined in this run."""
        return len(self._declined.get(fingerprint, ()))

    def spent(self) -> tuple[dict[str, int], float]:
        """Tokens and cost so far."""
        return self.runner.spent()

    def usage(self) -> dict[str, int]:
        """Totals, as results tell them."""
        return {**self.spent()[0], "tool_calls": self.started_calls}

    def steps_allowed(self, frame: FrameRun) -> int:
        """Model turns that a frame's agent may make."""
        own = None if frame.parent is None else frame.agent.defaults.max_steps
        return own or self.root.options.get("max_steps") or _MAX_STEPS

    def rests_with(self, frame: FrameRun) -> bool:
        """Whether nothing can move once `frame` has asked for all calls of its turn.

        Then the lease is given back with the questions. Not so where more is to be kept first.
        """
        more = self.agent.memory is not None or budget.limits(self).get("max_seconds") is not None
        return frame.parent is None and not (more or self.waits or self.cancelled)

    def frames_to_save(self, frame: FrameRun) -> dict[str, Any]:
        """Snapshots for a transaction that concerns `frame`: the first time, all of the run's."""
        return {frame.state.key: frame.state.dump()} if self.saved else self.runner.frames()

    # -- results of `ctx.step`

    def steps_name(self) -> str:
        """The document that keeps them."""
        return f"steps/{self.run.id}"

    async def steps_of(self, call_id: str) -> dict[str, Any]:
        """What a call's steps gave so far; add to it, then `keep_steps`."""
        kept: dict[str, dict[str, Any]] | None = self.steps
        if kept is None:
            kept = await self.read("document", self.steps_name())
        if self.steps is None:  # a sibling may have been quicker
            self.steps = {} if kept is None else kept
        return self.steps.setdefault(call_id, {})

    async def keep_steps(self) -> None:
        """Have them in the store."""
        await self.write("put_document", self.steps_name(), self.steps)

    # -- what others hear

    def emit(self, frame: FrameRun, type_: ChunkType, **payload: Any) -> None:
        """Say something; callable from any thread."""
        said = chunk(type_, self.run.id, frame.state.agent_path, **payload)
        self._on_loop(self._say, said)

    def _on_loop(self, function: Any, *args: Any) -> None:
        try:
            here = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            here = False
        if here:
            function(*args)
        elif not self.loop.is_closed():
            self.loop.call_soon_threadsafe(function, *args)

    def _say(self, said: Chunk) -> None:
        self.feed.emit(said)
        if self.screen is not None:
            self.screen.chunk(said)

    def say(self, type_: ChunkType, **payload: Any) -> None:
        """Say something about the run as a whole."""
        self._say(chunk(type_, self.run.id, self.root.agent_path, **payload))

    def log(self, text: str) -> None:
        """Something the author of a tool should know."""
        _log.warning("run %s: %s", self.run.id, text)

    def announce_result(self, frame: FrameRun, call: Call, result: Mapping[str, Any]) -> None:
        """Tell that a call ended; its row is stored already (R2)."""
        named = {"tool_call_id": call.id, "tool_name": call.tool_name}
        match result["type"]:
            case "error":
                self.emit(frame, "tool-error", **named, error=result["value"])
            case "denied":
                self.emit(frame, "tool-output-denied", **named, reason=result["value"])
            case _:
                self.emit(frame, "tool-result", **named, result=result["value"])

    def opened(self, request: Request) -> None:
        """A stored request: show it, emit its chunk, ask the scripted reviewer (R2)."""
        self.asking.add(request.tool_call_id)
        named: dict[str, Any] = {
            "tool_call_id": request.tool_call_id,
            "tool_name": request.tool_name,
            "args": request.args,
            "fingerprint": request.fingerprint,
            "request_id": request.id,
        }
        kind: ChunkType = "tool-call-approval"
        if request.kind == "input":
            kind = "tool-call-suspended"
            named["suspend_payload"] = request.suspend_payload
            named["resume_schema"] = request.resume_schema
        self._say(chunk(kind, self.run.id, request.agent_path, **named))
        put_to_people(self, request)
        tell_hook(self, "on_request", request)

    def wake(self) -> None:
        """Something changed in the store; callable from any thread."""
        self._on_loop(self._woken)

    def _woken(self) -> None:
        if self.closed:
            self._hand_over()
            return
        self.generation += 1
        self._changed.set()
        self._changed = asyncio.Event()
        self._tell_acted()

    def _hand_over(self) -> None:
        """What came while it left: whoever decided on another thread counted on this driver."""
        if self.ended is None and self.error is None:
            runs = [(self.run.id, self.run.agent_id)]
            self.hooks.add(asyncio.ensure_future(self.desk.read(self.desk.drive_on, runs)))

    @property
    def acted(self) -> asyncio.Event:
        """Set at the next `wake`, and when this driver has acted on a decision."""
        return self._acted

    @property
    def change(self) -> asyncio.Event:
        """Set at the next `wake`. Take it before looking at what might have changed."""
        return self._changed

    # -- life

    @property
    def closed(self) -> bool:
        """Whether it drives no more."""
        return self.feed.closed

    def start(self, *, waits: bool) -> asyncio.Task[None]:
        """Drive in a task of its own."""
        self.waits = waits
        self.desk.drivers[self.run.id] = self.wake
        living[(id(self.desk.store), self.run.id)] = self
        self.task = asyncio.ensure_future(self._main())
        return self.task

    def cancel(self) -> None:
        """Cancel the run itself, not only whoever waits for it (R16)."""
        self.cancelled = True
        if self.task is not None and self.begun and not self.ending:
            self.task.cancel()

    async def _main(self) -> None:
        self.begun = True  # a task that is cancelled before its first step never comes here
        stop_watching = self.desk.watch() if self.waits else None
        try:
            if self.cancelled:
                await ending.end(self, Finished("aborted"))
            else:
                await self._until_it_rests()
            if self.hooks:
                await asyncio.wait(self.hooks, timeout=_HOOKS)
        except asyncio.CancelledError as e:
            await ending.interrupted(self)
            if not self.cancelled:
                self.error = e
                raise
        except BaseException as e:
            self.error = e
            await ending.broke(self, e)
            if not isinstance(e, Exception):
                raise
        finally:
            self.close()
            if stop_watching is not None:
                stop_watching()

    def close(self) -> None:
        """Drive no more; everybody who waits is told."""
        if self.closed:
            return
        for task in self.consulting:
            task.cancel()
        self.desk.drivers.pop(self.run.id, None)
        living.pop((id(self.desk.store), self.run.id), None)
        self.feed.close(self.error)
        self.over.set_result(None)

    async def _until_it_rests(self) -> None:
        await self._show_again()
        while True:
            seen, finished = await self._leg()
            if finished is not None:
                await ending.end(self, finished)
                return
            pending = await self.waiting() if self.waits or self.held else []
            spent = self.held and not pending
            if self.waits and not spent and not await self._only_settling_helps(pending):
                await resting.pause(self, seen)
                await resting.wait_for_a_human(self, seen, pending)
            elif await resting.let_go(self, seen, "budget-paused" if spent else "suspended"):
                return

    async def _only_settling_helps(self, pending: Sequence[Request]) -> bool:
        """Whether it waits for an unknown outcome alone, which a scripted reviewer cannot tell."""
        if self.screen is not None or pending:
            return False
        return bool(await self.waiting("outcome_unknown"))

    async def _leg(self) -> tuple[int, Finished | None]:
        """Rounds until it ends, or nothing changes that could move it."""
        with tracing.leg(self) as leg:
            while True:
                seen, self.held = self.generation, False
                finished = await self._round()
                rests = self.generation == seen or self.released is not None
                if finished is not None or rests:
                    leg.over(finished, self)
                    return seen if self.released is None else self.released, finished

    async def _round(self) -> Finished | None:
        self.began = time.monotonic()
        try:
            return await self.runner.go()
        finally:
            self.root.seconds += time.monotonic() - self.began

    async def _show_again(self) -> None:
        """What an adopted run asked before: shown here, and put to this driver's reviewer."""
        if self.saved and (self.screen is not None or self.waits):
            for request in await self.waiting("pending", "outcome_unknown"):
                put_to_people(self, request)

    async def waiting(self, *states: str) -> list[Request]:
        """The run's requests that are pending (or in `states`), in the model's order."""
        found = await self.read("requests", run_id=self.run.id, states=states or ("pending",))
        return found if len(found) < 2 else await in_order(self.desk, self.run.id, found)  # noqa: PLR2004

    async def look(self) -> None:
        """Hear what others did since; what the run is left waiting with, if they did nothing."""

        def looked() -> list[Request]:
            self.desk.look()
            return self.desk.store.requests(run_id=self.run.id, states=_UNDECIDED)

        found = await self.desk.read(looked)
        self.left_waiting = tuple(found) if len(found) == 1 else None

    async def keep(self) -> None:
        """Have the run in the store, so that it can be found and resumed."""
        measured = budget.limits(self).get("max_seconds") is not None
        if not self.saved or measured:
            frames = {self.root.key: self.root.dump()} if self.saved else self.runner.frames()
            await self.write("save", self.run.id, self.token, frames=frames)
            self.saved = True
        await self.agent.remember(self)

    async def result(self) -> RunResult:
        """Where the run is now; raises what broke it."""
        if self.ended is not None:
            return self.ended
        if self.error is not None:
            raise self.error
        return RunResult(
            run_id=self.run.id,
            finish_reason="suspended",
            requests=self.left_waiting or tuple(await self.waiting(*_UNDECIDED)),
            usage=self.usage(),
            messages=list(self.root.messages),
        )


living: dict[tuple[int, str], Driver] = {}
"""Drivers of this process, by (store, run)."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=living.clear)
