"""The one engine: ``drive`` a run until it ends or nothing can move.

A `Driver` holds the run's lease (R21) and runs its frames. It keeps no coroutine for what waits:
approvals and suspensions are rows. When nothing can move it saves, and either returns (`stream`,
`generate`) or waits at the desk and goes on with the same state (`run`, `start`, `attach`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..deciders import Decide, consult, identity
from ..errors import AlreadyDecided, Expired, HitlError, LeaseLost, UnknownAgent
from ..events import Chunk, ChunkType, chunk
from ..policy import Predicate
from ..request import Call, Request, Run
from ..surface import RunScreen
from . import calls, models
from .budget import over
from .calls import CallRun
from .results import Feed, FinishReason, RunResult
from .snapshot import Frame

if TYPE_CHECKING:
    from ..desk import Desk
    from .agent import Agent

_log = logging.getLogger("hitl_widgets")


@dataclass(frozen=True, slots=True)
class Finished:
    """A frame that is done."""

    reason: FinishReason
    text: str = ""
    output: Any = None


class Driver:
    """Whoever moves a run on in this process."""

    def __init__(
        self,
        agent: Agent,
        desk: Desk,
        run: Run,
        root: Frame,
        *,
        saved: bool,
        reviewer: Decide | None = None,
        workspace: Any = None,
        run_predicate: Predicate | None = None,
    ) -> None:
        self.agent = agent
        self.desk = desk
        self.run = run
        self.token = run.token or ""
        self.root = root
        self.saved = saved
        self.reviewer = reviewer
        self.workspace = workspace
        self.run_predicate = run_predicate
        self.origin = run.origin
        self.feed = Feed()
        self.screen: RunScreen | None = None
        self.problems: dict[str, HitlError] = {}
        self.generation = 0
        self.waits = False
        self.reviewer_error: Exception | None = None
        self.ended: RunResult | None = None
        self.task: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._cancel_asked = False
        self._consulting: set[asyncio.Task[None]] = set()
        self.started = time.monotonic()

    # -- the store

    def now(self) -> float:
        """POSIX seconds."""
        return time.time()

    async def read(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Read from the store without blocking the loop."""
        return await self.desk.read(getattr(self.desk.store, method), *args, **kwargs)

    async def write(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Write to the store without blocking the loop; everybody who watches is told."""
        return await self.desk.write(getattr(self.desk.store, method), *args, **kwargs)

    # -- what others hear

    def emit(self, frame: FrameRun, type_: ChunkType, **payload: Any) -> None:
        """Say something; callable from any thread."""
        said = chunk(type_, self.run.id, frame.state.agent_path, **payload)
        self._on_loop(self._say, said)

    def _on_loop(self, function: Any, *args: Any) -> None:
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if here:
            function(*args)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *args)

    def _say(self, said: Chunk) -> None:
        self.feed.emit(said)
        if self.screen is not None:
            self.screen.chunk(said)

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
        if self.screen is not None:
            self.screen.request(request)
        self._later(self._tell_hook(self.agent.hooks.on_request, request))
        if self.reviewer is not None:
            self._later(self._consult(self.reviewer, request))

    def _later(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._consulting.add(task)
        task.add_done_callback(self._consulting.discard)

    async def _tell_hook(self, hook: Any, request: Request) -> None:
        from .tools import call_hook  # noqa: PLC0415

        try:
            await call_hook(hook, request)
        except Exception:
            _log.exception("on_request failed on %s", request.id)

    async def _consult(self, decide: Decide, request: Request) -> None:
        """A reviewer that raises has not decided: the request waits, and the log says why."""
        who, via = identity(decide)
        try:
            decision = await consult(decide, request)
            if decision is not None:
                await self.desk.decide(
                    request,
                    decision,
                    fingerprint=request.fingerprint,
                    reviewer=who,
                    via=via,
                    drive=False,
                )
        except AlreadyDecided:
            return
        except Exception as e:
            _log.exception("the reviewer %s failed on %s", who.name, request.id)
            self.reviewer_error = e
            self.wake()

    def wake(self) -> None:
        """Something changed in the store; callable from any thread."""
        self._on_loop(self._woken)

    def _woken(self) -> None:
        self.generation += 1
        self._changed.set()
        self._changed = asyncio.Event()

    @property
    def change(self) -> asyncio.Event:
        """Set at the next `wake`. Take it before looking at what might have changed."""
        return self._changed

    # -- life

    def start(self, *, waits: bool) -> asyncio.Task[None]:
        """Drive in a task of its own."""
        self.waits = waits
        self.desk.drivers[self.run.id] = self.wake
        living[(id(self.desk.store), self.run.id)] = self
        self.task = asyncio.ensure_future(self._main())
        return self.task

    def say_start(self) -> None:
        """The first chunk."""
        self._say(chunk("start", self.run.id, self.root.agent_path))

    def cancel_at_once(self) -> None:
        """End it, cancelled, as soon as it is driven."""
        self._cancel_asked = True

    def cancel(self) -> None:
        """Cancel the run itself, not only whoever waits for it (R16)."""
        self._cancel_asked = True
        if self.task is not None:
            self.task.cancel()

    async def _main(self) -> None:
        error: BaseException | None = None
        stop_watching = self.desk.watch() if self.waits else None
        try:
            if self._cancel_asked:
                raise asyncio.CancelledError  # noqa: TRY301  # the one way to end a cancelled run
            await self._until_it_rests()
        except asyncio.CancelledError:
            await self._interrupted()
            if not self._cancel_asked:
                raise
        except BaseException as e:
            error = e
            await self._broke(e)
            if not isinstance(e, Exception):
                raise
        finally:
            for task in self._consulting:
                task.cancel()
            self.desk.drivers.pop(self.run.id, None)
            living.pop((id(self.desk.store), self.run.id), None)
            self.feed.close(error)
            if stop_watching is not None:
                stop_watching()

    async def _until_it_rests(self) -> None:
        runner = FrameRun(self, self.agent, self.root)
        await self._show_again()
        while True:
            seen = self.generation
            finished = await runner.go()
            if finished is not None:
                await self._end(finished)
                return
            if self.generation != seen:
                continue
            await self._pause(seen)
            if not self.waits:
                runner.leave()
                await self.write("release", self.run.id, self.token, "suspended")
                return
            await self._wait_for_a_human(seen)

    async def _show_again(self) -> None:
        """What an adopted run asked before: shown here, and put to this driver's reviewer."""
        if not self.saved:
            return
        states = ("pending", "outcome_unknown")
        for request in await self.read("requests", run_id=self.run.id, states=states):
            if self.screen is not None:
                self.screen.request(request)
            if self.reviewer is not None and request.state == "pending":
                self._later(self._consult(self.reviewer, request))

    async def _pause(self, seen: int) -> None:
        await self.keep()
        await self.write("save", self.run.id, self.token, state="suspended")
        self._say(chunk("finish", self.run.id, self.root.agent_path, finish_reason="suspended"))
        self.feed.pause(seen)

    async def _wait_for_a_human(self, seen: int) -> None:
        while self.generation == seen:
            change = self.change
            due = await self._next_expiry()
            try:
                await asyncio.wait_for(change.wait(), due)
            except TimeoutError:
                await self.write("sweep")
        if self.reviewer_error is not None:
            raise self.reviewer_error
        await self.write("save", self.run.id, self.token, state="running")

    async def _next_expiry(self) -> float | None:
        waiting = await self.read("requests", run_id=self.run.id, states=("pending",))
        times = [r.expires_at.timestamp() for r in waiting if r.expires_at is not None]
        return max(0.0, min(times) - self.now()) + 0.01 if times else None

    async def keep(self) -> None:
        """Have the root frame in the store, so that the run can be found and resumed."""
        if not self.saved:
            await self.write("save", self.run.id, self.token, frames={self.root.key: self.root.dump()})
            self.saved = True

    async def _end(self, finished: Finished) -> None:
        state = {
            "stop": "completed",
            "length": "completed",
            "declined": "declined",
            "aborted": "cancelled",
            "error": "failed",
            "budget-reached": "budget-paused",
        }[finished.reason]
        usage = dict(self.root.usage)
        outcome = {
            "text": finished.text,
            "output": finished.output,
            "finish_reason": finished.reason,
            "usage": usage,
        }
        if state == "budget-paused":
            await self.keep()
            frames = {self.root.key: self.root.dump()}
            await self.write("save", self.run.id, self.token, frames=frames)
            await self.write("release", self.run.id, self.token, "budget-paused")
        else:
            await self.agent.remember(self)
            await self.write("end_run", self.run.id, self.token, state, outcome)
        self.ended = RunResult(
            run_id=self.run.id,
            text=finished.text,
            output=finished.output if finished.output is not None else finished.text,
            finish_reason=finished.reason,
            usage=usage,
            messages=self.root.messages,
        )
        reason = finished.reason
        self._say(
            chunk("finish", self.run.id, self.root.agent_path, finish_reason=reason, usage=usage)
        )
        if self.screen is not None:
            self.screen.ended(state, outcome)

    async def _interrupted(self) -> None:
        """An interrupt leaves everything decidable; a cancelled run is over (R16)."""
        if self._cancel_asked:
            await self._end(Finished("aborted"))
            return
        await self.keep()
        await self.write("release", self.run.id, self.token, "suspended")
        if self.screen is not None:
            self.screen.paused()

    async def _broke(self, error: BaseException) -> None:
        """What was done is kept: `attach` tries again from the last saved turn."""
        self._say(chunk("error", self.run.id, self.root.agent_path, error=str(error)))
        self._say(chunk("finish", self.run.id, self.root.agent_path, finish_reason="error"))
        if isinstance(error, LeaseLost):
            return
        try:
            await self.keep()
            await self.write("release", self.run.id, self.token, "suspended")
        except HitlError as e:
            error.add_note(f"The run could not be kept either: {e}")
        else:
            error.add_note(
                f"Run {self.run.id} is kept: await agent.attach({self.run.id!r}) tries again."
            )
        if self.screen is not None:
            self.screen.paused()

    async def result(self) -> RunResult:
        """Where the run is now."""
        if self.ended is not None:
            return self.ended
        waiting = await self.read("requests", run_id=self.run.id, states=("pending",))
        return RunResult(
            run_id=self.run.id,
            finish_reason="suspended",
            requests=tuple(waiting),
            usage=dict(self.root.usage),
            messages=self.root.messages,
        )


living: dict[tuple[int, str], Driver] = {}
"""Drivers of this process, by (store, run)."""

parked: dict[tuple[int, str], tuple[asyncio.Task[None], CallRun]] = {}
"""Bodies that wait inside ``ctx.ask`` while nobody drives their run, by (store, call)."""


class FrameRun:
    """One agent of a run, root or nested, being moved."""

    def __init__(self, driver: Driver, agent: Agent, state: Frame) -> None:
        self.driver = driver
        self.agent = agent
        self.state = state
        self.entries = agent.entries
        self.running: dict[str, tuple[asyncio.Task[None], CallRun | None]] = {}
        self.nested: dict[str, FrameRun] = {}
        self._rested: dict[str, int] = {}
        self._nudged = asyncio.Event()

    def leave(self) -> None:
        """The driver goes; bodies that wait in place stay parked for the next one here."""
        for call_id, (task, run) in self.running.items():
            if run is not None:
                parked[(id(self.driver.desk.store), call_id)] = (task, run)
        for runner in self.nested.values():
            runner.leave()

    def _take_parked(self, call: Call) -> bool:
        """Go on with a body that waits in place, if its event loop is this one (else replay)."""
        task, run = parked.pop((id(self.driver.desk.store), call.id), (None, None))
        if task is None or run is None or task.done():
            return False
        if task.get_loop() is not asyncio.get_running_loop():
            return False
        run.frame, run.driver = self, self.driver
        self.running[call.id] = (task, run)
        return True

    def nudge(self) -> None:
        """A running body began to wait: look again whether anything can move."""
        self._nudged.set()

    def frames_to_save(self) -> dict[str, Any]:
        """This frame's snapshot and the root's, for a transaction that opens a request."""
        self.driver.saved = True
        frames = {self.state.key: self.state.dump()}
        if self.state.key != self.driver.root.key:
            frames[self.driver.root.key] = self.driver.root.dump()
        return frames

    async def go(self) -> Finished | None:
        """Move until finished (then how), or until nothing can move (None)."""
        try:
            while True:
                if self.state.turn is None:
                    finished = await self._next_turn()
                    if finished is not None:
                        return finished
                ended = await self._run_turn()
                if ended is None or isinstance(ended, Finished):
                    return ended
                finished = await self._close_turn(ended)
                if finished is not None:
                    return finished
        except BaseException:
            await self._stop_tasks()
            raise

    async def _stop_tasks(self) -> None:
        tasks = [task for task, _ in self.running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- a model turn

    async def _next_turn(self) -> Finished | None:
        """Ask the model; how the frame ended, or None when calls are to be made."""
        spent = over(self.driver, before="model")
        if spent:
            return Finished("budget-reached")
        limit = self.state.options.get("max_steps") or self.agent.max_steps
        if self.state.step >= limit:
            return Finished("length", models.last_text(self.state.messages))
        self.driver.emit(self, "step-start", step=self.state.step)
        reply = await self._ask_model()
        self.state.step += 1
        for name, value in reply.usage.items():
            self.state.usage[name] = self.state.usage.get(name, 0) + value
            if self.state is not self.driver.root:
                total = self.driver.root.usage
                total[name] = total.get(name, 0) + value
        self.state.messages.append(reply.message)
        if not reply.calls:
            self.driver.emit(self, "step-finish", step=self.state.step - 1)
            return self._answer(reply)
        await self._open_turn(reply)
        return None

    async def _ask_model(self) -> models.Reply:
        specs = self.agent.specs
        reply: models.Reply | None = None
        async for piece in models.ask(
            self.agent.model, self.state.messages, specs, self.agent.settings
        ):
            if isinstance(piece, models.Reply):
                reply = piece
            else:
                kind: ChunkType = "text-delta" if piece.kind == "text" else "reasoning-delta"
                self.driver.emit(self, kind, text=piece.text)
        if reply is None:
            raise HitlError(f"The model of agent {self.agent.id!r} sent nothing.")
        return models.with_own_ids(reply)

    def _answer(self, reply: models.Reply) -> Finished:
        reason: FinishReason = "length" if reply.finish_reason == "length" else "stop"
        return Finished(reason, reply.text)

    async def _open_turn(self, reply: models.Reply) -> None:
        """Judge the turn's calls and store them with their requests, before any is shown."""
        self.state.turn = f"{self.state.key}#{self.state.step}"
        proposals = [
            await calls.judge(self, proposed, i) for i, proposed in enumerate(reply.calls)
        ]
        masked = {p.provider_id: x.masked for p, x in zip(reply.calls, proposals, strict=True)}
        self.state.messages[-1] = models.with_call_args(reply.message, masked)
        asks = any(p.new.request for p in proposals)
        keep = asks or self.driver.saved
        await self.driver.write(
            "save",
            self.driver.run.id,
            self.driver.token,
            frames=self.frames_to_save() if keep else None,
            calls=[p.new for p in proposals],
            durable=asks,
        )
        for p in proposals:
            call = p.new.call
            self.driver.emit(
                self,
                "tool-call",
                tool_call_id=call.id,
                tool_name=call.tool_name,
                args=p.masked,
                evaluated_permission=call.permission,
                evaluation=call.evaluation,
            )
        for p in proposals:
            if p.new.request is not None:
                self.driver.opened(p.new.request)
            elif p.new.call.result is not None:
                self.driver.announce_result(self, p.new.call, p.new.call.result)

    # -- a turn's calls

    async def _run_turn(self) -> list[tuple[Call, list[Request]]] | Finished | None:
        """All calls with their requests once all have results; None when nothing can move."""
        while True:
            seen = self.driver.generation
            self._nudged.clear()
            turn = await self._read_turn()
            for call, asked in turn:
                finished = await self._advance(call, asked)
                if finished is not None:
                    await self._stop_tasks()
                    return finished
            if self._collect() or self.driver.generation != seen:
                continue
            if all(call.state in ("done", "failed") for call, _ in turn):
                return turn
            moving = [t for t, run in self.running.values() if run is None or not run.waiting]
            if not moving:
                return None
            await self._something_happens(moving)

    async def _something_happens(self, moving: list[asyncio.Task[None]]) -> None:
        signals = [
            asyncio.ensure_future(self.driver.change.wait()),
            asyncio.ensure_future(self._nudged.wait()),
        ]
        try:
            await asyncio.wait([*moving, *signals], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for signal in signals:
                signal.cancel()

    def _collect(self) -> bool:
        """Take finished tasks out; what they raise is a fault of ours or of the store."""
        over = [(i, task) for i, (task, _) in self.running.items() if task.done()]
        for call_id, task in over:
            del self.running[call_id]
            if not task.cancelled():
                task.result()
        return bool(over)

    async def _read_turn(self) -> list[tuple[Call, list[Request]]]:
        rows: list[Call] = await self.driver.read("calls", self.driver.run.id, self.state.key)
        asked: list[Request] = await self.driver.read("requests", run_id=self.driver.run.id)
        return [
            (call, [r for r in asked if r.tool_call_id == call.id])
            for call in rows
            if call.turn == self.state.turn
        ]

    async def _advance(self, call: Call, asked: list[Request]) -> Finished | None:
        """Do what can be done about one call now; the run's end, if this ends it."""
        if call.id in self.running or self._take_parked(call):
            run = self.running[call.id][1]
            if run is not None:
                run.wake.set()
            return None
        latest = asked[-1] if asked else None
        if call.state in ("done", "failed", "outcome_unknown"):
            return None
        if call.state == "executing":
            if call.owner == self.driver.desk.store.owner and not asked:
                self._start(call, asked)
            return None
        if latest is None:
            return self._start_free(call)
        match latest.state:
            case "approved" | "answered":
                if over(self.driver, before="call"):
                    return None
                self._start(call, asked)
            case "declined":
                return await self._declined(call, asked)
            case "responded":
                decision = latest.decision or {}
                await self._answer_call(call, "done", "responded", decision.get("result"))
            case "expired":
                if latest.on_expire == "withdraw":
                    return Finished("aborted", str(Expired(f"{call.tool_name} was not decided")))
                text = calls.EXPIRED.format(call.tool_name)
                await self._answer_call(call, "done", "denied", text)
            case "withdrawn":
                return Finished("aborted")
            case "parked" if self.agent_of(call) is not None:
                self._start_nested(call)
            case _:
                pass
        return None

    def _start_free(self, call: Call) -> None:
        if self.agent_of(call) is not None:
            self._start_nested(call)
        else:
            self._start(call, [])

    def agent_of(self, call: Call) -> Agent | None:
        """The agent that a delegation call runs, else None."""
        entry = self.entries.get(call.tool_name)
        return entry.tool.agent if entry is not None else None

    def _start(self, call: Call, asked: list[Request]) -> None:
        if not asked:
            usage = self.driver.root.usage
            usage["tool_calls"] = usage.get("tool_calls", 0) + 1
        run = CallRun(self, call, asked)
        self.running[call.id] = (asyncio.ensure_future(run.go()), run)

    def _start_nested(self, call: Call) -> None:
        if self._rested.get(call.id) == self.driver.generation:
            return
        self.running[call.id] = (asyncio.ensure_future(self._nested(call)), None)

    async def _nested(self, call: Call) -> None:
        """Move a nested agent; it may pause and be started again when something changed."""
        agent = self.agent_of(call)
        if agent is None:
            raise UnknownAgent(f"{call.tool_name} is no agent any more; the snapshot is kept.")
        runner = self.nested.get(call.id)
        if runner is None:
            state = await agent.nested_frame(self, call)
            runner = self.nested[call.id] = FrameRun(self.driver, agent, state)
        seen = self.driver.generation
        finished = await runner.go()
        if finished is None:
            self._rested[call.id] = seen
            return
        kind = "result" if finished.reason in ("stop", "length") else "error"
        value = finished.text if kind == "result" else f"The agent ended: {finished.reason}"
        await self._answer_call(call, "done", kind, value)

    async def _declined(self, call: Call, asked: list[Request]) -> Finished | None:
        latest = asked[-1]
        decision = latest.decision or {}
        if latest.scope.get("how") == "confirm":
            # Its body was lost with its process: run again, it will be told "no".
            self._start(call, asked)
            return None
        if decision.get("stop"):
            return Finished("declined")
        reason = f" Their reason: {decision['reason']!r}." if decision.get("reason") else ""
        words = calls.DECLINED if latest.kind == "approval" else calls.DECLINED_INPUT
        await self._answer_call(call, "done", "denied", words.format(call.tool_name, reason))
        return None

    async def _answer_call(self, call: Call, state: str, kind: str, value: Any) -> None:
        result = {"type": kind, "value": value}
        await self.driver.write("answer_call", call.id, self.driver.token, state, result)
        self.driver.announce_result(self, call, result)

    # -- the end of a turn

    async def _close_turn(self, turn: list[tuple[Call, list[Request]]]) -> Finished | None:
        """Give the model what happened, truthfully (R10), and count declines (R11)."""
        returns = [(c.tool_name, str(c.provider_id), _told(c, asked)) for c, asked in turn]
        really = {
            str(c.provider_id): edited
            for c, asked in turn
            if (edited := _edited_args(asked)) is not None
        }
        for i in range(len(self.state.messages) - 1, -1, -1):
            message = self.state.messages[i]
            if models.is_reply(message):
                self.state.messages[i] = models.with_call_args(message, really)
                break
        self.state.messages.append(models.tool_returns(returns, self.agent.instructions))
        self.state.turn = None
        self.driver.emit(self, "step-finish", step=self.state.step - 1)
        return self._count_declines(turn)

    def _count_declines(self, turn: list[tuple[Call, list[Request]]]) -> Finished | None:
        declines = self.driver.root.declines
        for call, asked in turn:
            for request in asked:
                if request.state != "declined":
                    continue
                count = declines[request.fingerprint] = declines.get(request.fingerprint, 0) + 1
                if count >= self.entries[call.tool_name].tool.max_declines:
                    return Finished("declined")
        return None


def _edited_args(asked: list[Request]) -> dict[str, Any] | None:
    for request in reversed(asked):
        if request.state == "done" and (request.decision or {}).get("args") is not None:
            return (request.decision or {})["args"]
    return None


def _told(call: Call, asked: list[Request]) -> Any:
    """What the model gets as the call's result."""
    result = call.result or {}
    value = result.get("value")
    if result.get("type") == "error":
        return f"Error: {value}"
    notes: dict[str, Any] = {}
    for request in asked:
        decision = request.decision or {}
        if decision.get("verdict") != "approve":
            continue
        if decision.get("args") is not None:
            notes["human_changed_arguments"] = {"from": request.args, "to": decision["args"]}
        if decision.get("note"):
            notes["note_from_human"] = decision["note"]
    return {"result": value, **notes} if notes else value
