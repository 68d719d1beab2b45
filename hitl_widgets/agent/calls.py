"""One tool call being executed: claimed, its body run, its result kept."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from .. import calling
from ..errors import (
    HitlError,
    LeaseLost,
    StoreError,
    UnknownTool,
)
from ..fingerprint import digest
from ..previews.masks import hiding, masked, secret_texts
from ..request import Call, Request, new_id
from . import tracing
from .asking import NOTHING, Questions
from .claiming import claim, why_not
from .context import ToolContext
from .hooks import Block, HookCall
from .proposals import BLOCKED, HOOK_FAILED
from .tools import Tool
from .toolsets import Entry

if TYPE_CHECKING:
    from .frames import FrameRun


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(64, thread_name_prefix="hitl-tool")


_threads = _pool()

in_threads: dict[tuple[int, str], Future[None]] = {}
"""Bodies that run in a thread, whoever still waits for them, by (store, call)."""

unsaved: dict[tuple[int, str], tuple[str, str, dict[str, Any]]] = {}
"""Token, state and result of calls that ended when the store could not take it."""


def _forked() -> None:
    """A forked child has none of its parent's threads, and waits for none of its bodies."""
    global _threads  # noqa: PLW0603
    _threads = _pool()
    in_threads.clear()
    unsaved.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class CallRun:
    """A call being executed by this driver."""

    def __init__(self, frame: FrameRun, call: Call, asked: list[Request]) -> None:
        self.frame = frame
        self.driver = frame.driver
        self.call = call
        self.asked = asked
        self.token = call.token or new_id("t")
        self.asking = False
        self.waiting = False
        self.discarded = False
        self.wake = asyncio.Event()
        self.questions = Questions(self)
        self._fault: HitlError | None = None
        self._signal: asyncio.Future[None] | None = None
        self._used = 0.0
        self._since = 0.0
        self._lock = threading.Lock()
        self._left = self._over = False
        self._result: dict[str, Any] = {}

    @property
    def entry(self) -> Entry:
        """The tool and its rule, as this process has them."""
        found = self.frame.entries.get(self.call.tool_name)
        if found is None:
            raise UnknownTool(
                f"Run {self.call.run_id} waits for the tool {self.call.tool_name!r}, and agent "
                f"{self.frame.agent.id!r} has none of that name here. Define it again under "
                "that name; the snapshot is kept."
            )
        return found

    @property
    def tool(self) -> Tool:
        """The tool, as this process has it."""
        return self.entry.tool

    @property
    def key(self) -> tuple[int, str]:
        """Of the tables of this process."""
        return id(self.driver.desk.store), self.call.id

    async def go(self) -> None:
        """Claim what has to be claimed, run the body, keep its result."""
        try:
            if not await self._enter():
                return
        except asyncio.CancelledError:
            self._lose("interrupted before it began")
            raise
        if self.tool.agent is not None:
            await self.driver.write("park", self.call.id, self.token, None)
        elif self.tool.client:
            answers = await self.driver.read("answers", self.call.id)
            await self._finish("done", {"type": "result", "value": answers[-1]["answer"]})
        else:
            await self._body()

    async def _enter(self) -> bool:
        """Whether the body may run now."""
        latest = self.asked[-1] if self.asked else None
        if latest is not None and latest.state in ("approved", "answered"):
            return await claim(self, latest)
        if self.call.state == "executing":
            return True
        refused = why_not(self, latest)
        if refused is not None:
            result = {"type": "denied", "value": refused}
            await self.driver.answer_call(self.frame, self.call, "failed", result)
            return False
        self.call = await self.driver.write(
            "resume_call", self.call.id, self.driver.token, self.token
        )
        return True

    # -- body

    async def _body(self) -> None:
        refusal = await self._before()
        if refusal is not None:
            await self._finish("done", {"type": "denied", "value": refusal})
            return
        context = await self._context()
        with tracing.tool(self):
            if self.tool.asynchronous:
                await self._run_async(context)
            else:
                await self._run_in_thread(context)

    @property
    def result(self) -> dict[str, Any]:
        """How the body ended; empty until it did."""
        return self._result

    def _hook_call(self) -> HookCall:
        path = self.frame.state.agent_path
        return HookCall(self.tool.id, self.call.args, self.call.run_id, self.call.id, path)

    async def _before(self) -> str | None:
        hook = self.frame.agent.hooks.before_tool_call
        if hook is None:
            return None
        before, seen = digest(self.call.args), self._hook_call()
        try:
            answer = await calling.call(hook, seen)
        except Exception:  # noqa: BLE001  # R3: a hook that raises blocks the call
            return HOOK_FAILED.format("before_tool_call")
        if isinstance(answer, Block):
            return answer.text
        if answer is not None:
            return HOOK_FAILED.format("before_tool_call")
        if seen.args is not self.call.args or digest(seen.args) != before:
            return BLOCKED.format(self.tool.id)
        return None

    async def _context(self) -> ToolContext:
        given: list[dict[str, Any]] = []
        if any(r.kind == "input" for r in self.asked):
            given = await self.driver.read("answers", self.call.id)
        suspended = [r for r in self.asked if r.scope.get("how") == "suspend"]
        mine = {r.id for r in suspended}
        typed = [self._typed(a["answer"]) for a in given if a["request_id"] in mine]
        return ToolContext(
            run_id=self.call.run_id,
            tool_call_id=self.call.id,
            agent_path=self.frame.state.agent_path,
            resume_data=typed[-1] if typed else None,
            answers=tuple(typed),
            suspend_payload=suspended[-1].suspend_payload if suspended else None,
            request_context=self.driver.root.options.get("request_context"),
            workspace=self.driver.local.workspace,
            _link=self.questions,
        )

    def _typed(self, answer: Any) -> Any:
        shape = self.tool.resume_shape
        return answer if shape is None else shape.validate(answer)

    async def _run_async(self, context: ToolContext) -> None:
        self._since = time.monotonic()
        body = asyncio.ensure_future(_outcome_of(self.tool, self.call.args, context))
        try:
            while not body.done() and not self.discarded:
                self._signal = asyncio.get_running_loop().create_future()
                left = self._time_left()
                await asyncio.wait(
                    {body, self._signal}, timeout=left, return_when="FIRST_COMPLETED"
                )
                if not body.done() and left is not None and self._time_left() == 0:
                    await self._timed_out()
                    break
        except asyncio.CancelledError:
            self._interrupted(body)
            raise
        finally:
            _abandon(body)
        if self._fault is not None:
            raise self._fault
        if body.done() and not self.discarded:
            await self._returned(*body.result())

    async def _timed_out(self) -> None:
        self.discarded = True
        why = f"no result within {self.tool.timeout} s"
        if self.questions.suspended is not NOTHING:
            await self.park(self.questions.suspension())
        elif self.tool.effect == "read" or self.tool.idempotent:
            await self._finish("failed", self._error(TimeoutError(why)))
        else:
            await self.driver.write("lose", self.call.id, self.token, why)

    def _interrupted(self, body: asyncio.Future[Any]) -> None:
        """Its task was cancelled: what is known of it is kept before control goes back."""
        if self.waiting or self.discarded:
            return
        self.discarded = True
        if self.questions.suspended is not NOTHING:
            self._park_now()
        elif body.done() and not body.cancelled():
            self.driver.desk.write_now(self._keep, *self._outcome(*body.result()))
        else:
            self._lose("interrupted")

    def _lose(self, why: str) -> None:
        desk = self.driver.desk
        desk.write_now(desk.store.lose, self.call.id, self.token, why)

    def _park_now(self) -> None:
        desk = self.driver.desk
        desk.write_now(desk.store.park, self.call.id, self.token, self.questions.suspension())

    async def _run_in_thread(self, context: ToolContext) -> None:
        """A thread cannot be stopped: its true result is kept even if nobody waits any more."""
        carry = contextvars.copy_context().run
        future = _threads.submit(carry, self._thread, context)
        in_threads[self.key] = future
        future.add_done_callback(lambda _: in_threads.pop(self.key, None))
        try:
            await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            with self._lock:
                self._left, over = True, self._over
            if over and self.questions.suspended is not NOTHING:
                self._park_now()
            raise
        if self.questions.suspended is not NOTHING:
            await self.park(self.questions.suspension())
        else:
            await self._after()

    def _thread(self, context: ToolContext) -> None:
        try:
            value, error = self.tool.run_sync(self.call.args, context), None
        except BaseException as e:  # noqa: BLE001  # R8
            value, error = None, e
        suspended = self.questions.suspended is not NOTHING
        if suspended:
            self._warn_of_results(value, error)
        else:
            self.driver.desk.write_now(self._keep, *self._outcome(value, error))
        with self._lock:
            self._over, left = True, self._left
        if left:
            if suspended:
                self._park_now()
            self.driver.desk.resume(self.call.run_id, self.driver.run.agent_id)

    async def _returned(self, value: Any, error: BaseException | None) -> None:
        if self.questions.suspended is not NOTHING:
            self._warn_of_results(value, error)
            await self.park(self.questions.suspension())
            return
        await self._finish(*self._outcome(value, error))
        await self._after()

    def _warn_of_results(self, value: Any, error: BaseException | None) -> None:
        if value is not None or error is not None:
            did = "returned a value" if error is None else f"raised {self._said(error)}"
            self.driver.log(f"{self.tool.id} {did} after ctx.suspend(): that is ignored.")

    def _outcome(self, value: Any, error: BaseException | None) -> tuple[str, dict[str, Any]]:
        if error is not None:
            return "failed", self._error(error)
        try:
            return "done", {"type": "result", "value": self.tool.to_json(value)}
        except Exception as e:  # noqa: BLE001  # an object that cannot even be described
            return "failed", self._error(e)

    def _error(self, error: BaseException) -> dict[str, Any]:
        return {"type": "error", "value": self._said(error)}

    def _said(self, error: BaseException) -> str:
        """An error's words; a secret argument that it quotes is in none of them (R17)."""
        args = self.call.args
        with hiding(secret_texts(args, self.tool.secrets_in(args))):
            return masked(calling.said(error))

    async def _finish(self, state: str, result: dict[str, Any]) -> None:
        self._result = result
        await self.driver.desk.write(self._keep, state, result)

    def _keep(self, state: str, result: dict[str, Any]) -> None:
        """Keep a result durably, as far as the call is still ours, and only then tell of it."""
        self._result = result
        durable = self.call.permission != "allow"
        try:
            self.driver.desk.store.finish(self.call.id, self.token, state, result, durable=durable)
        except ValueError as e:  # an integer of more digits than text may have
            self._keep("failed", self._error(e))
            return
        except LeaseLost:
            self.driver.log(f"{self.tool.id}: its outcome was settled by a human meanwhile.")
            return
        except StoreError:
            unsaved[self.key] = (self.token, state, result)
            raise
        self.driver.announce_result(self.frame, self.call, result)

    async def _after(self) -> None:
        hook = self.frame.agent.hooks.after_tool_call
        if hook is None:
            return
        try:
            await calling.call(hook, self._hook_call(), self._result["value"])
        except Exception as e:  # noqa: BLE001  # what ran, ran: the hook's fault is told
            self.driver.log(f"after_tool_call failed on {self.tool.id}: {self._said(e)}")

    # -- what questions do to the call

    async def park(self, request: Request) -> None:
        """Keep a question of the body's with the run's state, then show it."""
        frames = self.driver.frames_to_save(self.frame)
        await self.driver.write("park", self.call.id, self.token, request, frames=frames)
        self.driver.saved = True
        self.asked = [*self.asked, request]
        self.questions.ordinal += 1
        self.driver.opened(request)

    def pause(self) -> None:
        """The body waits for a human: that is no time of the tool's."""
        if self.waiting:
            return
        self._used += time.monotonic() - self._since
        self.waiting = True
        self._look()

    def go_on(self) -> None:
        """The body works again."""
        self._since = time.monotonic()
        self.waiting = False
        self._look()

    def awaken(self) -> None:
        """What the body waits for has changed: until it looked, it counts as moving."""
        if self.waiting:
            self.go_on()
        self.wake.set()

    def discard(self) -> None:
        """The call ends without its body (R11): whatever that still does is ignored (R8)."""
        self.discarded = True
        self._look()

    def fail(self, error: HitlError) -> None:
        """The engine cannot go on with this call."""
        self._fault = self._fault or error

    def _look(self) -> None:
        if self._signal is not None and not self._signal.done():
            self._signal.set_result(None)

    def _time_left(self) -> float | None:
        if self.tool.timeout is None or self.waiting:
            return None
        return max(0.0, self.tool.timeout - self._used - (time.monotonic() - self._since))


async def _outcome_of(
    tool: Tool, args: Mapping[str, Any], context: ToolContext
) -> tuple[Any, BaseException | None]:
    """What a body returns or raises; both are its result (R8)."""
    try:
        return await tool.run(args, context), None
    except BaseException as e:
        if calling.is_for_us(e):
            raise
        return None, e


def _abandon(body: asyncio.Future[Any]) -> None:
    """Stop a body that nobody waits for; it may refuse, and what it says is ignored."""
    if not body.done():
        body.cancel()
        body.add_done_callback(lambda b: b.cancelled() or b.exception())
