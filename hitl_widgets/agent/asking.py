"""What a running body asks of the engine: `ctx.suspend`, `ask`, `confirm`, `step`, `progress`.

A question is stored with the run's state before anybody sees it. Nothing that the body catches
can lose it: a body whose call ends without it, or whose question could not be kept, is cancelled,
and whatever it still does is ignored (R8).
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic_core import to_jsonable_python

from ..errors import Expired, HitlError, InvalidAnswer, LeaseLost, ReplayMismatch, StoreError
from ..fingerprint import digest
from ..request import Kind, Request
from ..schema import Shape, shape_of, stored_shape
from .people import tell_decision
from .proposals import describe, identity

if TYPE_CHECKING:
    from .calls import CallRun

NOTHING: Any = object()
_OVER = frozenset({"stale", "refused", "withdrawn", "blocked"})

in_place: dict[tuple[int, str], Shape] = {}
"""Shapes of the questions that bodies of this process wait for, by (store, request)."""


class Questions:
    """The engine's end of a body's `ToolContext`."""

    def __init__(self, run: CallRun) -> None:
        self.run = run
        self.suspended: Any = NOTHING
        self.ordinal = max((r.ordinal for r in run.asked), default=-1) + 1
        replaced = {r.scope.get("replaces") for r in run.asked}
        self._replayed = [
            r
            for r in run.asked
            if r.scope.get("how") in ("ask", "confirm")
            and r.state not in _OVER
            and r.id not in replaced
        ]
        self._one_at_a_time = asyncio.Lock()
        self._refused = 0

    # -- suspend

    def suspend(self, payload: Any) -> None:
        """Note the pause. The first of a pass counts."""
        if self.suspended is not NOTHING:
            self.run.driver.log(
                f"{self.run.tool.id} suspended twice in one pass: the first counts."
            )
            return
        shape = self.run.tool.suspend_shape
        plain = to_jsonable_python(payload)
        self.suspended = plain if shape is None else shape.dump(shape.validate(plain))

    def suspension(self) -> Request:
        """The request that the noted pause opens."""
        run = self.run
        return describe(
            run.frame,
            run.tool,
            run.call,
            ordinal=self.ordinal,
            kind="input",
            resume=run.tool.resume_shape,
            payload=self.suspended,
            how="suspend",
        )

    # -- ask and confirm

    async def ask(self, kind: Any, message: str, initial: Any) -> Any:
        """Ask for data and wait in place."""
        shape = shape_of(kind)
        more = {} if initial is None else {"initial": to_jsonable_python(initial)}
        async with self._one_at_a_time:
            request = await self._guarded(self._question, "input", message, shape, "ask", more)
            while True:
                if request.state in ("declined", "expired"):
                    await self._never()
                try:
                    return shape.validate(await self._guarded(self._answer_to, request))
                except InvalidAnswer as e:  # only the stored schema had judged it (R4)
                    again = {**more, "refused": e.errors, "replaces": request.id}
                    request = await self._guarded(
                        self._opened, "input", message, shape, "ask", again
                    )

    async def confirm(self, message: str) -> bool:
        """Ask yes or no and wait in place."""
        async with self._one_at_a_time:
            request = await self._guarded(self._question, "approval", message, None, "confirm", {})
        return request.state not in ("declined", "expired")

    async def _guarded(self, step: Callable[..., Any], *args: Any) -> Any:
        """A body must not catch what the store or another driver says: the engine hears it."""
        if self.run.discarded:
            await self._never()
        try:
            return await step(*args)
        except (StoreError, LeaseLost) as e:
            self.run.fail(e)
            await self._never()

    async def _never(self) -> NoReturn:
        """Not come back, but for being cancelled: the engine has been told to give the body up.

        A body that catches that, and asks again, is made slow and cancelled again.
        """
        self.run.discard()
        self._refused += 1
        await asyncio.sleep(min(1.0, 0.01 * 2**self._refused))
        raise asyncio.CancelledError

    async def _answer_to(self, request: Request) -> Any:
        answers = await self.run.driver.read("answers", self.run.call.id)
        return next(a["answer"] for a in answers if a["request_id"] == request.id)

    async def _question(
        self, kind: Kind, message: str, shape: Shape | None, how: str, more: dict[str, Any]
    ) -> Request:
        """The recorded answer of a replayed question, else a new one, waited for in place."""
        if not self._replayed:
            return await self._opened(kind, message, shape, how, more)
        before = self._replayed.pop(0)
        schema = None if shape is None else shape.json_schema
        now = (how, message, digest(schema))
        if (before.scope.get("how"), before.message, digest(before.resume_schema)) != now:
            raise ReplayMismatch(
                f"{self.run.tool.id} asked {before.message!r} before the restart and "
                f"{message!r} now: a replayed body must ask the same, in the same order."
            )
        return before

    async def _opened(
        self, kind: Kind, message: str, shape: Shape | None, how: str, more: dict[str, Any]
    ) -> Request:
        run = self.run
        request = describe(
            run.frame,
            run.tool,
            run.call,
            ordinal=self.ordinal,
            kind=kind,
            resume=shape,
            message=message,
            how=how,
            more=more,
        )
        key = (id(run.driver.desk.store), request.id)
        run.asking = True
        try:
            await run.park(request)
            if shape is not None:
                in_place[key] = shape
            return await self._answered(request)
        finally:
            run.asking = False
            in_place.pop(key, None)

    async def _answered(self, request: Request) -> Request:
        run = self.run
        while True:
            run.wake.clear()
            now: Request = await run.driver.read("request", request.id)
            match now.state:
                case "pending":
                    run.pause()
                    run.frame.nudge()
                    await run.wake.wait()
                    run.go_on()
                case "approved" | "answered":
                    tell_decision(run.driver, now)
                    with contextlib.suppress(Expired):  # the next look finds that
                        await self._claim(now)
                        return now
                case "declined" | "expired":
                    tell_decision(run.driver, now)
                    if now.kind == "approval":
                        await run.driver.write(
                            "resume_call", run.call.id, run.driver.token, run.token
                        )
                    return now
                case _:
                    await self._never()

    async def _claim(self, request: Request) -> None:
        run = self.run
        now = identity(request, run.call.args, run.tool, run.driver.desk.store)
        await run.driver.write(
            "claim",
            request.id,
            run.driver.token,
            run.token,
            fingerprint=now.text,
            schema_digest=run.tool.shape.digest,
        )

    # -- step and progress

    async def step(self, name: str, fn: Callable[[], Any]) -> Any:
        """Run `fn` once, and remember its result over a re-run."""
        steps = await self._guarded(self.run.driver.steps_of, self.run.call.id)
        if name not in steps:
            value = fn()
            value = await value if inspect.isawaitable(value) else value
            steps[name] = to_jsonable_python(value)
            await self._guarded(self.run.driver.keep_steps)
        # The same at the first pass as after a restart: its JSON, which nobody else changes.
        return copy.deepcopy(steps[name])

    def progress(self, fraction: float | None, message: str) -> None:
        """Say how far the body is."""
        run = self.run
        run.driver.emit(
            run.frame,
            "tool-progress",
            tool_call_id=run.call.id,
            tool_name=run.tool.id,
            fraction=fraction,
            message=message,
        )


def asked_again(request: Request, ordinal: int, errors: list[dict[str, Any]]) -> dict[str, Any]:
    """What a question put again says: what was typed, and what was wrong with it (R4)."""
    typed = (request.decision or {}).get("data")
    scope = {**request.scope, "refused": errors, "replaces": request.id}
    if typed is not None:
        scope["initial"] = stored_shape(request.resume_schema).without_secrets(typed)
    return {"ordinal": ordinal, "scope": scope}


__all__ = ["NOTHING", "HitlError", "Questions", "asked_again", "in_place"]
