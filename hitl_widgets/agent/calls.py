"""One tool call: judged when the model proposes it, run when it may."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from pydantic_core import to_jsonable_python

from ..errors import (
    HitlError,
    InvalidAnswer,
    LeaseLost,
    ReplayMismatch,
    StaleFingerprint,
    ToolChanged,
    UnknownTool,
)
from ..fingerprint import digest, fingerprint, mask
from ..policy import ApprovalContext, Functions, evaluate
from ..request import Call, Evaluation, Request, new_id, to_doc, utc
from ..schema import Shape, shape_of
from ..store.base import NewCall
from . import models
from .context import ToolContext
from .tools import Block, Entry, HookCall, Tool, call_hook

if TYPE_CHECKING:
    from .drive import FrameRun

DENIED_UNKNOWN = "There is no tool named {0!r} here. Use only the tools you were given."
DENIED_POLICY = "Tool call denied by policy: {0} may not be called with these arguments."
DECLINED = "The human declined this call of {0}.{1} Do not call {0} again with the same arguments."
DECLINED_INPUT = "The human declined to answer {0}.{1} Do not ask the same again."
EXPIRED = "Nobody approved {0} in time, so it did not run. Do not call it again by yourself."
BLOCKED_ARGUMENTS = "Tool call blocked: approval did not match {0} arguments."
BLOCKED_HOOK = "Tool call blocked: {0} failed."
BLOCKED_DISABLED = "Tool call blocked: {0} is disabled."

_NOTHING: Any = object()


# -- proposed ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proposal:
    """A judged call, ready to be stored."""

    new: NewCall
    masked: dict[str, Any]


async def judge(frame: FrameRun, proposed: models.ProposedCall, index: int) -> Proposal:
    """Validate a proposed call, let the hook prepare it, and evaluate its permission."""
    entry = frame.entries.get(proposed.name)
    call = Call(
        id=new_id("c"),
        run_id=frame.driver.run.id,
        tool_name=proposed.name,
        args=proposed.args or {},
        state="waiting",
        frame=frame.state.key,
        turn=str(frame.state.turn),
        index=index,
        provider_id=proposed.provider_id,
        permission="deny",
    )
    if entry is None:
        return _refused(frame, call, DENIED_UNKNOWN.format(proposed.name), None)
    try:
        call = replace(call, args=await _prepared(frame, entry.tool, call, proposed))
    except InvalidAnswer as e:
        return _refused(frame, call, f"{e}\nCorrect the arguments and call again.", entry.tool)
    except _HookFailed as e:
        return _refused(frame, call, BLOCKED_HOOK.format(e), entry.tool)
    if entry.tool.client:
        call = replace(call, permission="allow", evaluation=Evaluation(type="client"))
        return _asking(frame, entry.tool, call, kind="input")
    return await _judged(frame, entry, call)


async def _judged(frame: FrameRun, entry: Entry, call: Call) -> Proposal:
    judged = await evaluate(
        _context(frame, entry.tool, call.args), frame.state.policy, _functions(frame, entry)
    )
    call = replace(call, permission=judged.permission, evaluation=judged.evaluation)
    match judged.permission:
        case "deny":
            text = BLOCKED_DISABLED if judged.evaluation is None else DENIED_POLICY
            return _refused(frame, call, text.format(call.tool_name), entry.tool)
        case "ask":
            return _asking(frame, entry.tool, call, kind="approval")
        case "allow":
            return _free(frame, entry.tool, call)


class _HookFailed(Exception):  # noqa: N818
    pass


async def _prepared(
    frame: FrameRun, tool: Tool, call: Call, proposed: models.ProposedCall
) -> dict[str, Any]:
    if proposed.args is None:
        fault = {"path": [], "message": "not a JSON object", "type": "json"}
        raise InvalidAnswer([fault], f"The arguments of {tool.id} are not valid")
    args = tool.check(proposed.args)
    hook = frame.agent.hooks.prepare_tool_call
    if hook is None:
        return args
    seen = HookCall(tool.id, args, call.run_id, call.id, frame.state.agent_path)
    try:
        await call_hook(hook, seen)
    except Exception as e:
        raise _HookFailed("prepare_tool_call") from e
    return tool.check(seen.args)


def _context(frame: FrameRun, tool: Tool, args: Mapping[str, Any]) -> ApprovalContext:
    return ApprovalContext(
        tool_name=tool.id,
        args=args,
        effect=tool.effect,
        agent_path=frame.state.agent_path,
        request_context=frame.driver.root.options.get("request_context"),
        workspace=frame.driver.workspace,
        user_messages=models.user_texts(frame.driver.root.messages),
    )


def _functions(frame: FrameRun, entry: Entry) -> Functions:
    return Functions(entry.predicate, frame.driver.run_predicate, entry.evaluator)


async def permit_edit(frame: FrameRun, tool_name: str, args: dict[str, Any]) -> str:
    """The whole policy on edited arguments: ``allow``, ``ask`` or ``deny`` (R10)."""
    entry = frame.entries[tool_name]
    context = _context(frame, entry.tool, args)
    judged = await evaluate(context, frame.state.policy, _functions(frame, entry))
    return judged.permission


def _refused(frame: FrameRun, call: Call, text: str, tool: Tool | None) -> Proposal:
    masked = mask(call.args, tool.secrets_in(call.args)) if tool else call.args
    done = replace(call, state="done", args=masked, result={"type": "denied", "value": text})
    return Proposal(NewCall(done, {}), masked)


def _free(frame: FrameRun, tool: Tool, call: Call) -> Proposal:
    asked = describe(frame, tool, call, ordinal=0, kind="approval")
    if tool.agent is not None:
        started = replace(call, state="parked")
    else:
        owner = frame.driver.desk.store.owner
        started = replace(call, state="executing", owner=owner, token=new_id("t"))
    return Proposal(NewCall(started, template(asked, tool)), asked.args)


def _asking(frame: FrameRun, tool: Tool, call: Call, kind: Any) -> Proposal:
    asked = describe(frame, tool, call, ordinal=0, kind=kind)
    if kind == "input":
        asked = replace(asked, resume_schema={})
    return Proposal(NewCall(call, template(asked, tool), asked), asked.args)


def template(asked: Request, tool: Tool) -> dict[str, Any]:
    """From which the store can make a request about this call by itself."""
    fixed = {
        "tool_name": asked.tool_name,
        "fingerprint": asked.fingerprint,
        "agent_id": asked.agent_id,
        "thread_id": asked.thread_id,
        "resource_id": asked.resource_id,
        "kind": "approval",
        "idempotent": tool.idempotent,
    }
    return {**to_doc(asked), **fixed}


def describe(
    frame: FrameRun,
    tool: Tool,
    call: Call,
    *,
    ordinal: int,
    kind: Any,
    resume: Shape | None = None,
    payload: Any = None,
    message: str | None = None,
    how: str = "gate",
    initial: Any = None,
) -> Request:
    """The request about a call: masked, fingerprinted, and everything a card needs."""
    driver = frame.driver
    secrets = tool.secrets_in(call.args)
    resume_schema = None if resume is None else resume.json_schema
    scope: dict[str, Any] = {
        "policy_version": frame.state.policy.version,
        "schema_digest": tool.shape.digest,
        "how": how,
    }
    if initial is not None:
        scope["initial"] = initial
    identity = _identity(frame, tool, call.args, kind, ordinal, payload, resume_schema, message)
    now = driver.now()
    return Request(
        id=new_id("r"),
        run_id=call.run_id,
        tool_call_id=call.id,
        ordinal=ordinal,
        kind=kind,
        tool_name=tool.id,
        args=mask(call.args, secrets),
        fingerprint=identity.text,
        digests=identity.digests,
        state="pending",
        agent_id=driver.run.agent_id,
        agent_path=frame.state.agent_path,
        created_at=utc(now),
        effect=tool.effect,
        thread_id=driver.run.thread_id,
        resource_id=driver.run.resource_id,
        allowed=_allowed(kind, how),
        evaluation=call.evaluation,
        message=message,
        suspend_payload=payload,
        resume_schema=resume_schema,
        input_schema=tool.shape.json_schema if kind == "approval" else None,
        secrets=secrets,
        scope=scope,
        origin=driver.origin,
        turn=call.turn,
        declined_before=driver.root.declines.get(identity.text, 0),
        expires_at=None if tool.expires is None else utc(now + tool.expires),
        on_expire=tool.on_expire,
        quorum=tool.quorum,
        reviewers=tool.reviewers,
    )


def _allowed(kind: str, how: str) -> tuple[Any, ...]:
    if kind == "input":
        return ("answer", "decline")
    return ("approve", "decline") if how == "confirm" else ("approve", "decline", "respond")


def _identity(
    frame: FrameRun,
    tool: Tool,
    args: dict[str, Any],
    kind: str,
    ordinal: int,
    payload: Any,
    resume_schema: Any,
    message: str | None,
) -> Any:
    bound: dict[str, Any] | None = None
    if ordinal or kind == "input":
        bound = {
            "ordinal": ordinal,
            "payload": digest(payload),
            "resume_schema": digest(resume_schema),
            "message": message,
        }
    key = frame.driver.desk.store.secret_key()
    return fingerprint(tool.id, args, secrets=tool.secrets_in(args), key=key, bound=bound)


# -- running -----------------------------------------------------------------------------------


class CallRun:
    """A call being executed by this driver; also the engine's end of its `ToolContext`."""

    def __init__(self, frame: FrameRun, call: Call, asked: list[Request]) -> None:
        self.frame = frame
        self.driver = frame.driver
        self.call = call
        self.asked = asked
        self.token = call.token or new_id("t")
        self.waiting = False
        self.discarded = False
        self.wake = asyncio.Event()
        self._ordinal = max((r.ordinal for r in asked), default=-1) + 1
        self._replayed = [r for r in asked if r.scope.get("how") in ("ask", "confirm")]
        self._suspended: Any = _NOTHING
        self._answers: list[dict[str, Any]] = []
        self._timeout: asyncio.Timeout | None = None
        self._left: float | None = None

    @property
    def entry(self) -> Entry:
        """The tool, as this process has it."""
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
        return self.entry.tool

    async def go(self) -> None:
        """Claim what has to be claimed, run the body, keep its result."""
        latest = self.asked[-1] if self.asked else None
        try:
            if latest is not None and latest.state in ("approved", "answered"):
                if not await self._claim(latest):
                    return
            elif self.call.state in ("waiting", "parked"):
                await self.driver.write("resume_call", self.call.id, self.driver.token, self.token)
            if self.tool.agent is not None:
                await self.driver.write("park", self.call.id, self.token, None)
                return
            await self._body()
        except asyncio.CancelledError:
            if self.tool.asynchronous:
                self.driver.desk.write_now(
                    self.driver.desk.store.lose, self.call.id, self.token, "interrupted"
                )
            raise

    # -- claim

    async def _claim(self, request: Request) -> bool:
        """Whether this call may run now, once. What stands in the way is recorded (R3)."""
        if not self.entry.rule.enabled:
            await self._block(request, BLOCKED_DISABLED.format(self.tool.id))
            return False
        if request.scope.get("policy_version") != self.frame.state.policy.version:
            await self._block(request, BLOCKED_ARGUMENTS.format(self.tool.id))
            return False
        try:
            args = self.tool.check(self.call.args)
            if request.kind == "input":
                await self._check_answer(request)
        except InvalidAnswer as e:
            await self._refuse(request, e)
            return False
        now = self._fingerprint_now(request, args)
        digest_now = self.tool.shape.digest
        try:
            self.call = await self.driver.write(
                "claim",
                request.id,
                self.driver.token,
                self.token,
                fingerprint=now,
                schema_digest=digest_now,
            )
        except (StaleFingerprint, ToolChanged) as e:
            await self._stale(request, args, e)
            return False
        return True

    def _fingerprint_now(self, request: Request, args: dict[str, Any]) -> str:
        return _identity(
            self.frame,
            self.tool,
            args,
            request.kind,
            request.ordinal,
            request.suspend_payload,
            request.resume_schema,
            request.message,
        ).text

    async def _check_answer(self, request: Request) -> None:
        shape = self.tool.resume_shape
        if request.scope.get("how") == "suspend" and shape is not None:
            answers = await self.driver.read("answers", self.call.id)
            shape.validate(answers[-1]["answer"])

    async def _block(self, request: Request, text: str) -> None:
        result = {"type": "denied", "value": text}
        await self.driver.write("move", request.id, "block", "blocked", call_result=result)

    async def _refuse(self, request: Request, error: InvalidAnswer) -> None:
        """What the stored schema let through does not fit the model: ask again (R4)."""
        again = replace(
            request,
            id=new_id("r"),
            ordinal=self._ordinal,
            state="pending",
            decision=None,
            reviewer=None,
            votes=(),
            scope={**request.scope, "refused": error.errors},
        )
        again = replace(again, fingerprint=self._fingerprint_now(again, self.call.args))
        await self.driver.write(
            "move", request.id, "refuse", "refused", opens=again, detail={"errors": error.errors}
        )
        self.driver.opened(again)

    async def _stale(self, request: Request, args: dict[str, Any], error: HitlError) -> None:
        call = replace(self.call, args=args)
        again = describe(
            self.frame,
            self.tool,
            call,
            ordinal=self._ordinal,
            kind=request.kind,
            resume=self.tool.resume_shape if request.kind == "input" else None,
            payload=request.suspend_payload,
            message=request.message,
            how=request.scope.get("how", "gate"),
        )
        again = replace(again, scope={**again.scope, "stale": str(error)})
        await self.driver.write(
            "move", request.id, "make_stale", "stale", opens=again, detail={"why": str(error)}
        )
        self.driver.opened(again)
        self.driver.problems[request.id] = error

    # -- body

    async def _body(self) -> None:
        refusal = await self._before()
        if refusal is not None:
            await self._finish("done", {"type": "denied", "value": refusal})
            return
        self._answers = await self.driver.read("answers", self.call.id) if self.asked else []
        context = self._tool_context()
        if self.tool.asynchronous:
            await self._run_async(context)
        else:
            await self._run_in_thread(context)

    async def _before(self) -> str | None:
        hook = self.frame.agent.hooks.before_tool_call
        if hook is None:
            return None
        before = digest(self.call.args)
        path = self.frame.state.agent_path
        seen = HookCall(self.tool.id, self.call.args, self.call.run_id, self.call.id, path)
        try:
            answer = await call_hook(hook, seen)
        except Exception:  # noqa: BLE001  # R3: a hook that raises blocks the call
            return BLOCKED_HOOK.format("before_tool_call")
        if isinstance(answer, Block):
            return answer.text
        if answer is not None:
            return BLOCKED_HOOK.format("before_tool_call")
        if seen.args is not self.call.args or digest(seen.args) != before:
            return BLOCKED_ARGUMENTS.format(self.tool.id)
        return None

    def _tool_context(self) -> ToolContext:
        typed = [self._typed(a["answer"]) for a in self._answers if self._is_suspend(a)]
        suspended = [r for r in self.asked if r.scope.get("how") == "suspend"]
        return ToolContext(
            run_id=self.call.run_id,
            tool_call_id=self.call.id,
            agent_path=self.frame.state.agent_path,
            resume_data=typed[-1] if typed else None,
            answers=tuple(typed),
            suspend_payload=suspended[-1].suspend_payload if suspended else None,
            request_context=self.driver.root.options.get("request_context"),
            workspace=self.driver.workspace,
            _link=self,
        )

    def _is_suspend(self, answer: Mapping[str, Any]) -> bool:
        by_id = {r.id: r for r in self.asked}
        return by_id[answer["request_id"]].scope.get("how") == "suspend"

    def _typed(self, answer: Any) -> Any:
        shape = self.tool.resume_shape
        return answer if shape is None else shape.validate(answer)

    async def _run_async(self, context: ToolContext) -> None:
        try:
            async with asyncio.timeout(self.tool.timeout) as self._timeout:
                value = await self.tool.run(self.call.args, context)
        except TimeoutError as e:
            if self._timeout is None or not self._timeout.expired():
                await self._returned(None, e)
                return
            await self._timed_out()
            return
        except asyncio.CancelledError:
            raise
        except BaseException as e:  # noqa: BLE001  # R8: whatever a body raises is its result
            await self._returned(None, e)
            return
        await self._returned(value, None)

    async def _timed_out(self) -> None:
        if self.tool.effect == "read" or self.tool.idempotent:
            error = TimeoutError(f"no result within {self.tool.timeout} s")
            await self._finish("failed", _error(error))
            return
        why = f"no result within {self.tool.timeout} s"
        await self.driver.write("lose", self.call.id, self.token, why)

    async def _run_in_thread(self, context: ToolContext) -> None:
        """A thread cannot be stopped: its true result is kept even if nobody waits any more."""
        function = contextvars.copy_context().run
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(None, function, self._thread, context)
        await asyncio.shield(future)
        if self._suspended is not _NOTHING:
            await self._park_suspended()

    def _thread(self, context: ToolContext) -> None:
        try:
            value, error = self.tool.run_sync(self.call.args, context), None
        except BaseException as e:  # noqa: BLE001  # R8
            value, error = None, e
        if self._suspended is not _NOTHING:
            return
        state, result = self._outcome(value, error)
        desk = self.driver.desk
        desk.write_now(self._keep, state, result)

    def _keep(self, state: str, result: dict[str, Any]) -> None:
        """Keep a result durably, as far as the call is still ours, and only then tell of it."""
        store = self.driver.desk.store
        durable = self.call.permission != "allow"
        try:
            store.finish(self.call.id, self.token, state, result, durable=durable)
        except LeaseLost:
            self.driver.log(f"{self.tool.id}: its outcome was settled by a human meanwhile.")
            return
        self.driver.announce_result(self.frame, self.call, result)

    async def _returned(self, value: Any, error: BaseException | None) -> None:
        if self.discarded:
            return
        if self._suspended is not _NOTHING:
            await self._park_suspended()
            return
        state, result = self._outcome(value, error)
        hook = self.frame.agent.hooks.after_tool_call
        if hook is not None:
            path = self.frame.state.agent_path
            seen = HookCall(self.tool.id, self.call.args, self.call.run_id, self.call.id, path)
            try:
                await call_hook(hook, seen, result["value"])
            except Exception as e:  # noqa: BLE001  # what ran, ran: the hook's fault is told
                self.driver.log(f"after_tool_call failed on {self.tool.id}: {e!r}")
        await self._finish(state, result)

    def _outcome(self, value: Any, error: BaseException | None) -> tuple[str, dict[str, Any]]:
        if error is not None:
            return "failed", _error(error)
        try:
            return "done", {"type": "result", "value": self.tool.to_json(value)}
        except HitlError as e:
            return "failed", _error(e)

    async def _finish(self, state: str, result: dict[str, Any]) -> None:
        await self.driver.desk.write(self._keep, state, result)

    # -- the link: what the body asks of the engine

    def suspend(self, payload: Any) -> None:
        if self._suspended is not _NOTHING:
            self.driver.log(f"{self.tool.id} suspended twice in one pass: the first counts.")
            return
        shape = self.tool.suspend_shape
        plain = to_jsonable_python(payload)
        self._suspended = plain if shape is None else shape.dump(shape.validate(plain))

    async def _park_suspended(self) -> None:
        request = describe(
            self.frame,
            self.tool,
            self.call,
            ordinal=self._ordinal,
            kind="input",
            resume=self.tool.resume_shape or shape_of({}),
            payload=self._suspended,
            how="suspend",
        )
        await self._park(request)

    async def _park(self, request: Request) -> None:
        await self.driver.write(
            "park", self.call.id, self.token, request, frames=self.frame.frames_to_save()
        )
        self.asked = [*self.asked, request]
        self._ordinal += 1
        self.driver.opened(request)

    async def ask(self, kind: Any, message: str, initial: Any) -> Any:
        shape = shape_of(kind)
        request = await self._question(
            "input", message, resume=shape, how="ask", initial=to_jsonable_python(initial)
        )
        if request.state in ("declined", "expired"):
            self._discard()
        answers = await self.driver.read("answers", self.call.id)
        return shape.validate(next(a for a in answers if a["request_id"] == request.id)["answer"])

    async def confirm(self, message: str) -> bool:
        request = await self._question("approval", message, resume=None, how="confirm")
        return request.state not in ("declined", "expired")

    async def _question(
        self, kind: str, message: str, *, resume: Shape | None, how: str, initial: Any = None
    ) -> Request:
        """The recorded answer of a replayed question, else a new one, waited for in place."""
        schema = None if resume is None else resume.json_schema
        if self._replayed:
            before = self._replayed.pop(0)
            asked_now = (how, message, digest(schema))
            if (before.scope.get("how"), before.message, digest(before.resume_schema)) != asked_now:
                raise ReplayMismatch(
                    f"{self.tool.id} asked {before.message!r} before the restart and "
                    f"{message!r} now: a replayed body must ask in the same order."
                )
            return before
        request = describe(
            self.frame,
            self.tool,
            self.call,
            ordinal=self._ordinal,
            kind=kind,
            resume=resume,
            message=message,
            how=how,
            initial=initial,
        )
        with _Paused(self):
            await self._park(request)
            return await self._answered(request)

    async def _answered(self, request: Request) -> Request:
        while True:
            self.wake.clear()
            now = await self.driver.read("request", request.id)
            if now.state in ("approved", "answered"):
                await self._claim_in_place(now)
                return now
            if now.state in ("declined", "expired"):
                if now.kind == "approval":
                    token = self.driver.token
                    await self.driver.write("resume_call", self.call.id, token, self.token)
                return now
            if now.state != "pending":
                self._discard()
            self.frame.nudge()
            await self.wake.wait()

    def _discard(self) -> NoReturn:
        """The call ends without this body (R11): whatever it still does is ignored (R8)."""
        self.discarded = True
        raise asyncio.CancelledError

    async def _claim_in_place(self, request: Request) -> None:
        fingerprint_now = self._fingerprint_now(request, self.call.args)
        await self.driver.write(
            "claim",
            request.id,
            self.driver.token,
            self.token,
            fingerprint=fingerprint_now,
            schema_digest=self.tool.shape.digest,
        )

    async def step(self, name: str, fn: Callable[[], Any]) -> Any:
        document = f"steps/{self.call.id}"
        steps = await self.driver.read("document", document) or {}
        if name not in steps:
            value = fn()
            value = await value if inspect.isawaitable(value) else value
            steps[name] = to_jsonable_python(value)
            await self.driver.write("put_document", document, steps)
            return value
        return steps[name]

    def progress(self, fraction: float | None, message: str) -> None:
        self.driver.emit(
            self.frame,
            "tool-progress",
            tool_call_id=self.call.id,
            tool_name=self.tool.id,
            fraction=fraction,
            message=message,
        )


class _Paused:
    """While a body waits in place it does not count as moving, nor against its time limit."""

    def __init__(self, run: CallRun) -> None:
        self.run = run

    def __enter__(self) -> None:
        self.run.waiting = True
        limit = self.run._timeout  # noqa: SLF001
        if limit is not None and (when := limit.when()) is not None:
            self.run._left = when - asyncio.get_running_loop().time()  # noqa: SLF001
            limit.reschedule(None)

    def __exit__(self, *_: object) -> None:
        self.run.waiting = False
        limit = self.run._timeout  # noqa: SLF001
        if limit is not None and self.run._left is not None and not limit.expired():  # noqa: SLF001
            limit.reschedule(asyncio.get_running_loop().time() + self.run._left)  # noqa: SLF001


def _error(error: BaseException) -> dict[str, Any]:
    return {"type": "error", "value": f"{type(error).__name__}: {error}"}

