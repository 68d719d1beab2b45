"""One agent of a run, root or nested, being moved: model turns and the calls in them."""

from __future__ import annotations

import asyncio
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import UnknownAgent
from ..policy import FUNCTION, Predicate
from ..request import Call, Request
from . import budget, delegation, models, output, telling, tracing
from .calls import CallRun, in_threads, unsaved
from .mcp import with_later
from .people import tell_decision
from .proposals import Circumstances
from .snapshot import Frame
from .turns import Finished, next_turn, opened

if TYPE_CHECKING:
    from .agent import Agent
    from .drive import Driver

_ENDED = ("done", "failed")
_Turn = list[tuple[Call, list[Request]]]

parked: dict[tuple[int, str], tuple[asyncio.Task[Any], CallRun]] = {}
"""Bodies that wait inside ``ctx.ask`` while nobody drives their run, by (store, call)."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=parked.clear)


class FrameRun:
    """One agent of a run, root or nested, being moved."""

    def __init__(
        self, driver: Driver, agent: Agent, state: Frame, parent: FrameRun | None = None
    ) -> None:
        self.driver = driver
        self.agent = agent
        self.state = state
        self.parent = parent
        self.entries = agent.entries
        self.running: dict[str, tuple[asyncio.Future[Any], CallRun | None]] = {}
        self.nested: dict[str, FrameRun] = {}
        self.turn: _Turn = []
        self._inherited = state.turn
        self._rested: dict[str, int] = {}
        self.stored: tuple[int, _Turn] | None = None
        self._nudged = asyncio.Event()

    @cached_property
    def policy_version(self) -> str:
        """Of the policy frozen into this frame, as it was loaded."""
        return self.state.policy.version

    @property
    def output(self) -> output.Output | None:
        """What the final answer must be; nested agents answer in words."""
        return self.driver.local.output if self.parent is None else None

    @property
    def predicate(self) -> Predicate | None:
        """The run-level function that judges this frame's calls, as far as it is here."""
        if self.parent is None:
            return self.driver.local.predicate
        return delegation.predicate(self.parent, self.agent)

    def circumstances(self) -> Circumstances:
        """What policies are told."""
        return Circumstances(
            policy=with_later(self.state.policy, self.entries),
            agent_path=self.state.agent_path,
            request_context=self.driver.root.options.get("request_context"),
            workspace=self.driver.local.workspace,
            user_messages=models.user_texts(self.driver.root.messages),
            predicate=self.predicate if self.state.policy.run == FUNCTION else None,
        )

    def spent(self) -> tuple[dict[str, int], float]:
        """Tokens and cost of this agent and those below it."""
        usage, cost = dict(self.state.usage), self.state.cost
        for call, _ in self.turn:
            if call.id in self.nested:
                more, price = self.nested[call.id].spent()
            else:
                told = call.result or {}
                more, price = told.get("usage", {}), told.get("cost", 0.0)
            cost += price
            for name, value in more.items():
                usage[name] = usage.get(name, 0) + value
        return usage, cost

    # -- coming and going

    def leave(self) -> None:
        """The driver goes; bodies that wait in place stay parked for the next one here."""
        for call_id, (task, run) in list(self.running.items()):
            if run is not None and run.asking and isinstance(task, asyncio.Task):
                parked[(id(self.driver.desk.store), call_id)] = (task, run)
                del self.running[call_id]
        for runner in self.nested.values():
            runner.leave()

    def _take_parked(self, call: Call) -> bool:
        """Go on with a body that waits in place, if its event loop is this one (else replay)."""
        task, run = parked.pop((id(self.driver.desk.store), call.id), (None, None))
        if task is None or run is None or task.done():
            return False
        if task.get_loop() is not asyncio.get_running_loop() or run.token != call.token:
            run.discarded = True
            if task.get_loop().is_running():
                task.get_loop().call_soon_threadsafe(task.cancel)
            return False
        run.frame, run.driver = self, self.driver
        self.running[call.id] = (task, run)
        return True

    def nudge(self) -> None:
        """A running body began to wait: look again whether anything can move."""
        self._nudged.set()

    def frames(self) -> dict[str, Any]:
        """Snapshots of this frame and of all below it."""
        found = {self.state.key: self.state.dump()}
        for runner in self.nested.values():
            found.update(runner.frames())
        return found

    def inherit(self) -> None:
        """Go on after another driver may have been here: any call of the open turn may ask."""
        self._inherited = self.state.turn
        for runner in self.nested.values():
            runner.inherit()

    def places(self) -> dict[str, tuple[int, str | None]]:
        """Where this frame and all below it are: model turns made, and the open turn."""
        found = {self.state.key: (self.state.step, self.state.turn)}
        for runner in self.nested.values():
            found.update(runner.places())
        return found

    async def go(self) -> Finished | None:
        """Move until finished (then how), or until nothing can move (None)."""
        try:
            finished = await self._move()
        except BaseException:
            if not self.driver.cancelled:
                self.leave()
            await self.stop()
            raise
        if finished is not None:
            await self.stop()
        return finished

    async def _move(self) -> Finished | None:
        while True:
            if self.state.turn is None:
                if budget.turns_spent(self.driver):
                    self.driver.held = True
                    return None
                finished = await next_turn(self)
            else:
                turn = await self._run_turn()
                if turn is None or isinstance(turn, Finished):
                    return turn
                finished = self._close_turn(turn)
            if finished is not None:
                return finished

    async def stop(self) -> None:
        """Stop what still runs here and below."""
        tasks = [task for task, _ in self.running.values()]
        self.running.clear()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for runner in self.nested.values():
            await runner.stop()

    # -- a turn's calls

    async def _run_turn(self) -> _Turn | Finished | None:
        """All calls with their requests once all have results; None when nothing can move."""
        while True:
            seen = self.driver.generation
            self._nudged.clear()
            # What was stored this moment need not be read, unless somebody did something since.
            stored, self.stored = self.stored, None
            fresh = stored is not None and stored[0] == seen
            self.turn = stored[1] if stored is not None and fresh else await self._read_turn()
            if self.driver.released is not None:
                return None
            for call, asked in self.turn:
                finished = await self._advance(call, asked)
                if finished is not None:
                    return finished
            over = self._collect()
            if isinstance(over, Finished):
                return over
            if not self.running and all(call.state in _ENDED for call, _ in self.turn):
                return self.turn  # nothing changes these any more, whatever happened meanwhile
            if over or self.driver.generation != seen:
                continue
            moving = [t for t, run in self.running.values() if run is None or not run.waiting]
            if not moving:
                return None
            await self._something_happens(moving)
            over = self._collect()
            if isinstance(over, Finished):
                return over

    async def _something_happens(self, moving: list[asyncio.Future[Any]]) -> None:
        signals = [
            asyncio.ensure_future(self.driver.change.wait()),
            asyncio.ensure_future(self._nudged.wait()),
        ]
        try:
            await asyncio.wait([*moving, *signals], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for signal in signals:
                signal.cancel()

    def _collect(self) -> Finished | bool:
        """Take finished tasks out; what they raise is a fault of ours or of the store."""
        over = [(i, task) for i, (task, _) in self.running.items() if task.done()]
        end: Finished | None = None
        for call_id, task in over:
            del self.running[call_id]
            if not task.cancelled():
                end = task.result() or end
        return end or bool(over)

    async def _read_turn(self) -> _Turn:
        turn = await self.driver.desk.read(self._read_rows)
        for _, asked in turn:
            for request in asked:
                tell_decision(self.driver, request)
        return turn

    def _read_rows(self) -> _Turn:
        """The turn's calls, each with the requests about it; called on the store's thread."""
        store, run_id = self.driver.desk.store, self.driver.run.id
        rows = store.calls(run_id, self.state.key, turn=self.state.turn)
        return [(c, store.requests(call_id=c.id) if self._may_ask(c) else []) for c in rows]

    async def decided(self) -> bool:
        """Whether anything was decided, or happened, about a turn that was all questions."""
        rows = await self.driver.desk.read(self._read_rows)
        return not all(c.state in _ENDED or (r and r[-1].state == "pending") for c, r in rows)

    def _may_ask(self, call: Call) -> bool:
        """Whether there can be requests about a call; most free ones have none."""
        if call.turn == self._inherited or call.id in self.driver.asking:
            return True  # an earlier driver may have let it ask something
        return call.state not in ("executing", *_ENDED) or call.permission == "ask"

    async def _advance(self, call: Call, asked: list[Request]) -> Finished | None:
        """Do what can be done about one call now; the run's end, if this ends it."""
        latest = asked[-1] if asked else None
        if call.id in self.running or self._take_parked(call):
            run = self.running[call.id][1]
            if run is not None and latest is not None and latest.state != "pending":
                run.awaken()
        elif call.state == "executing":
            await self._executing(call, asked)
        elif call.state in ("waiting", "parked"):
            return await self._decided(call, asked, latest)
        return None

    async def _decided(
        self, call: Call, asked: list[Request], latest: Request | None
    ) -> Finished | None:
        """Act on what was decided about a call that does not run."""
        match None if latest is None else latest.state:
            case None:
                self._start(call, asked)
            case "approved" | "answered" | "parked":
                self._start(call, asked)
            case "responded":
                given = ((latest and latest.decision) or {}).get("result")
                result = {"type": "responded", "value": given}
                await self.driver.answer_call(self, call, "done", result)
            case "declined" | "expired":
                return await self._refused(call, asked)
            case "withdrawn":
                return Finished("aborted")
            case _:
                pass
        return None

    async def _executing(self, call: Call, asked: list[Request]) -> None:
        """A call that runs.

        Begin it, wait for its thread, keep what could not be kept before, or say that nobody
        knows.
        """
        store = self.driver.desk.store
        key = (id(store), call.id)
        if call.id in opened:
            opened.discard(call.id)
            self._start(call, asked)
        elif key in in_threads:
            self.running[call.id] = (asyncio.shield(asyncio.wrap_future(in_threads[key])), None)
        elif key in unsaved:
            token, state, result = unsaved[key]
            await self.driver.write("finish", call.id, token, state, result)
            unsaved.pop(key, None)
            self.driver.announce_result(self, call, result)
        elif call.owner == store.owner:
            await self.driver.write("lose", call.id, call.token, "it was interrupted")

    def agent_of(self, call: Call) -> Agent | None:
        """The agent that a delegation call runs, else None."""
        entry = self.entries.get(call.tool_name)
        return entry.tool.agent if entry is not None else None

    def _start(self, call: Call, asked: list[Request]) -> None:
        latest = asked[-1] if asked else None
        body = latest is None or latest.scope.get("how") != "client"
        if call.state == "waiting" and body and not self.driver.may_start(call.id):
            self.driver.held = True
            return
        claimed = latest is None or latest.state != "approved"
        if self.agent_of(call) is None or not claimed:
            run = CallRun(self, call, asked)
            self.running[call.id] = (asyncio.ensure_future(run.go()), run)
        elif self._rested.get(call.id) != self.driver.generation:
            self.running[call.id] = (asyncio.ensure_future(self._nested(call)), None)

    async def _nested(self, call: Call) -> Finished | None:
        """Move a nested agent; it may pause and be started again when something changed."""
        agent = self.agent_of(call)
        if agent is None:
            raise UnknownAgent(f"{call.tool_name} is no agent any more; the snapshot is kept.")
        runner = self.nested.get(call.id)
        if runner is None:
            runner = self.nested[call.id] = await delegation.runner(self, agent, call)
        seen = self.driver.generation
        with tracing.nested(runner):
            finished = await runner.go()
        if finished is None:
            self._rested[call.id] = seen
            return None
        if finished.ends_the_run:
            return finished
        usage, cost = runner.spent()
        result = {"type": "result", "value": finished.text, "usage": usage, "cost": cost}
        await self.driver.answer_call(self, call, "done", result)
        return None

    async def _refused(self, call: Call, asked: list[Request]) -> Finished | None:
        latest = asked[-1]
        tracing.refused(latest)
        decision = latest.decision or {}
        if decision.get("stop"):
            return Finished("declined")
        if latest.state == "expired" and latest.on_expire == "withdraw":
            return Finished("aborted")
        if latest.scope.get("how") == "confirm":
            # Its body was lost with its process: run again, it will be told "no".
            self._start(call, asked)
            return None
        result = {"type": "denied", "value": telling.refusal(call, latest)}
        await self.driver.answer_call(self, call, "done", result)
        return None

    # -- the end of a turn

    def _close_turn(self, turn: _Turn) -> Finished | None:
        """Give the model what happened, truthfully (R10)."""
        usage, cost = self.spent()
        returns = [(c.tool_name, str(c.provider_id), telling.told(c, asked)) for c, asked in turn]
        really = {
            str(c.provider_id): edited
            for c, asked in turn
            if (edited := telling.edited_args(asked)) is not None
        }
        messages = self.state.messages
        reply = messages[-1]
        assert models.is_reply(reply)  # nothing is added to history while its calls run
        messages[-1] = models.with_call_args(reply, really)
        messages.append(models.tool_returns(returns, self.agent.instructions))
        self.state.usage, self.state.cost = usage, cost
        self.state.turn, self.turn = None, []
        self.nested.clear()
        self.driver.emit(self, "step-finish", step=self.state.step - 1)
        return Finished("declined") if self._declined_too_often(turn) else None

    def _declined_too_often(self, turn: _Turn) -> bool:
        declined = [(c, r) for c, asked in turn for r in asked if r.state == "declined"]
        counts = [(self.entries.get(c.tool_name), self.driver.declined(r)) for c, r in declined]
        return any(e is not None and count >= e.tool.max_declines for e, count in counts)
