"""A proposed tool call: checked, judged, and described as the request that a human sees."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .. import calling
from ..errors import HitlError, InvalidAnswer
from ..fingerprint import Fingerprint, digest, fingerprint, mask
from ..policy import (
    ApprovalContext,
    Functions,
    Grant,
    Policy,
    Predicate,
    administrator,
    evaluate,
)
from ..previews.look import Looked
from ..request import Call, Evaluation, Kind, Request, Verdict, new_id, to_doc, utc
from ..schema import Shape
from ..standing import Subject, covering
from ..store.base import NewCall, Store
from . import models, output
from .hooks import HookCall
from .tools import Tool
from .toolsets import Entry

if TYPE_CHECKING:
    from .frames import FrameRun

UNKNOWN = "There is no tool named {0!r} here. Use only the tools you were given."
DENIED = "Tool call denied by policy: {0} may not be called with these arguments."
DISABLED = "Tool call blocked: {0} is disabled."
_NO_OBJECT = "not a JSON object, or nested too deeply"
HOOK_FAILED = "Tool call blocked: {0} failed."
BODY_CHANGED = "Tool call blocked: {0} is another tool now than when it was called."
BLOCKED = "Tool call blocked: approval did not match {0} arguments."


@dataclass(frozen=True, slots=True)
class Proposal:
    """A judged call, ready to be stored."""

    new: NewCall
    masked: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a policy is told besides the call."""

    policy: Policy
    agent_path: tuple[str, ...]
    request_context: Any
    workspace: Any
    user_messages: tuple[str, ...]
    predicate: Predicate | None

    async def judge(
        self, entry: Entry, args: Mapping[str, Any], grants: Sequence[Grant] = ()
    ) -> Any:
        """Evaluate a call of a tool under the run's frozen policy."""
        context = ApprovalContext(
            tool_name=entry.tool.id,
            args=args,
            effect=entry.tool.effect,
            agent_path=self.agent_path,
            request_context=self.request_context,
            workspace=self.workspace,
            user_messages=self.user_messages,
        )
        functions = Functions(entry.predicate, self.predicate, entry.evaluator)
        return await evaluate(context, self.policy, functions, grants)


def forbidden(entry: Entry) -> bool:
    """Whether a tool may not run any more, whatever was approved (R3, R6)."""
    return not entry.rule.enabled or entry.tool.id in administrator().forbid


async def judge_turn(
    frame: FrameRun, proposed: Sequence[models.ProposedCall], turn: str
) -> list[Proposal]:
    """Judge a turn's calls: hooks one after the other, rules side by side."""
    checked = [await _check(frame, p, turn, i) for i, p in enumerate(proposed)]
    seen = frame.circumstances()
    desk = frame.driver.desk
    kept = await desk.read(desk.store.grants)
    return list(await asyncio.gather(*(_judge(frame, seen, c, kept) for c in checked)))


async def _check(
    frame: FrameRun, proposed: models.ProposedCall, turn: str, index: int
) -> Proposal | tuple[Entry, Call]:
    """Validate a call and let the hook prepare it; a refusal, when that fails."""
    call = Call(
        id=new_id("c"),
        run_id=frame.driver.run.id,
        tool_name=proposed.name,
        args=proposed.args or {},
        state="waiting",
        frame=frame.state.key,
        turn=turn,
        index=index,
        provider_id=proposed.provider_id,
        permission="deny",
    )
    entry = frame.entries.get(proposed.name)
    try:
        if entry is None:
            return _refused(call, _why_unknown(frame, proposed), None)
        return entry, replace(call, args=await _prepared(frame, entry.tool, call, proposed))
    except InvalidAnswer as e:
        text = f"{e}\nCorrect the arguments and call again."
    except _HookFailed as e:
        text = HOOK_FAILED.format(e)
    return _refused(call, text, entry.tool if entry is not None else None)


def _why_unknown(frame: FrameRun, proposed: models.ProposedCall) -> str:
    if proposed.name == output.NAME and frame.output is not None:
        frame.output.accept(proposed.args)
    return UNKNOWN.format(proposed.name)


async def _judge(
    frame: FrameRun,
    seen: Circumstances,
    checked: Proposal | tuple[Entry, Call],
    grants: Sequence[Mapping[str, Any]],
) -> Proposal:
    if isinstance(checked, Proposal):
        return checked
    entry, call = checked
    if entry.tool.client and not forbidden(entry):
        call = replace(call, permission="allow", evaluation=Evaluation(type="client"))
        return _asking(frame, entry.tool, call, kind="input")
    run = frame.driver.run
    allowed = granted(
        entry.tool,
        call.args,
        grants,
        frame.driver.desk.store,
        agent_path=frame.state.agent_path,
        run_id=run.id,
        thread_id=run.thread_id,
        resource_id=run.resource_id,
    )
    judged = await seen.judge(entry, call.args, allowed)
    call = replace(call, permission=judged.permission, evaluation=judged.evaluation)
    match judged.permission:
        case "deny":
            text = DISABLED if judged.evaluation is None else DENIED
            return _refused(call, text.format(call.tool_name), entry.tool)
        case "ask":
            looked = await entry.tool.look(call.args)
            return _asking(frame, entry.tool, call, kind="approval", looked=looked)
        case _:
            return _free(frame, entry.tool, call)


def granted(
    tool: Tool,
    args: Mapping[str, Any],
    grants: Sequence[Mapping[str, Any]],
    store: Store,
    **place: Any,
) -> list[Grant]:
    """The standing grants that cover a call (R20); `place` as in `standing.Subject`."""
    named = [grant for grant in grants if grant["tool_name"] == tool.id]
    if not named:
        return []
    secrets = tool.secrets_in(args)
    subject = Subject(
        tool_name=tool.id,
        schema_digest=tool.shape.digest,
        effect=tool.effect,
        args=args,
        secrets=secrets,
        key=store.secret_key() if secrets else None,
        **place,
    )
    return covering(named, subject)


class _HookFailed(Exception):
    pass


async def _prepared(
    frame: FrameRun, tool: Tool, call: Call, proposed: models.ProposedCall
) -> dict[str, Any]:
    if proposed.args is None:
        fault: dict[str, Any] = {"path": [], "message": _NO_OBJECT, "type": "json"}
        raise InvalidAnswer([fault], f"The arguments of {tool.id} are not valid")
    args = tool.check(proposed.args)
    hook = frame.agent.hooks.prepare_tool_call
    if hook is None:
        return args
    seen = HookCall(tool.id, args, call.run_id, call.id, frame.state.agent_path)
    try:
        await calling.call(hook, seen)
    except Exception as e:
        raise _HookFailed("prepare_tool_call") from e
    return tool.check(seen.args)


def _refused(call: Call, text: str, tool: Tool | None) -> Proposal:
    masked = mask(call.args, tool.secrets_in(call.args)) if tool else call.args
    done = replace(call, state="done", args=masked, result={"type": "denied", "value": text})
    return Proposal(NewCall(done, {}), masked)


def _free(frame: FrameRun, tool: Tool, call: Call) -> Proposal:
    """A call that runs at once; beyond the budget it waits, as an approved one does."""
    asked = describe(frame, tool, call, ordinal=0, kind="approval")
    if frame.driver.may_start(call.id):
        if tool.agent is not None:
            call = replace(call, state="parked")
        else:
            owner = frame.driver.desk.store.owner
            call = replace(call, state="executing", owner=owner, token=new_id("t"))
    return Proposal(NewCall(call, _template(asked, tool)), asked.args)


def _asking(
    frame: FrameRun, tool: Tool, call: Call, kind: Kind, looked: Looked | None = None
) -> Proposal:
    how = "gate" if kind == "approval" else "client"
    asked = describe(frame, tool, call, ordinal=0, kind=kind, how=how, looked=looked)
    return Proposal(NewCall(call, _template(asked, tool), asked), asked.args)


def _template(asked: Request, tool: Tool) -> dict[str, Any]:
    """From which the store can make a request about this call by itself."""
    fixed = {
        "tool_name": asked.tool_name,
        "fingerprint": asked.fingerprint,
        "agent_id": asked.agent_id,
        "thread_id": asked.thread_id,
        "resource_id": asked.resource_id,
        "kind": "approval",
        "idempotent": tool.idempotent,
        "preview": None,
    }
    return {**to_doc(asked), **fixed}


def describe(
    frame: FrameRun,
    tool: Tool,
    call: Call,
    *,
    ordinal: int,
    kind: Kind,
    resume: Shape | None = None,
    payload: Any = None,
    message: str | None = None,
    how: str = "gate",
    more: Mapping[str, Any] | None = None,
    looked: Looked | None = None,
) -> Request:
    """The request about a call: masked, fingerprinted, and everything a card needs."""
    driver = frame.driver
    looked = looked or Looked()
    resume_schema: dict[str, Any] | None = {} if kind == "input" else None
    if resume is not None:
        resume_schema = resume.json_schema
    consents = kind == "input" and (tool.consent or resume is None or resume.is_consent)
    scope = {
        "policy_version": frame.policy_version,
        "schema_digest": tool.shape.digest,
        "how": how,
        **({"bound": looked.bound} if looked.bound else {}),
        **({} if tool.record == "full" else {"record": tool.record}),
        **(more or {}),
        **({"consent": True} if consents else {}),
    }
    draft = Request(
        id=new_id("r"),
        ordinal=ordinal,
        kind=kind,
        fingerprint="",
        state="pending",
        created_at=utc(driver.now()),
        allowed=_allowed(kind, how),
        message=message,
        suspend_payload=payload,
        resume_schema=resume_schema,
        input_schema=tool.shape.json_schema if kind == "approval" else None,
        scope=scope,
        preview=looked.preview,
        reads=looked.reads,
        **_about(frame, tool, call),
    )
    seconds = tool.expires or driver.root.options.get("expires")
    known = identity(draft, call.args, tool, driver.desk.store)
    return replace(
        draft,
        fingerprint=known.text,
        digests=known.digests,
        declined_before=driver.times_declined(known.text),
        expires_at=None if seconds is None else utc(driver.now() + seconds),
        store=driver.desk.store,
    )


def _about(frame: FrameRun, tool: Tool, call: Call) -> dict[str, Any]:
    """What every request about a call says of it."""
    run, secrets = frame.driver.run, tool.secrets_in(call.args)
    return {
        "run_id": call.run_id,
        "tool_call_id": call.id,
        "tool_name": tool.id,
        "args": mask(call.args, secrets),
        "secrets": secrets,
        "agent_id": run.agent_id,
        "agent_path": frame.state.agent_path,
        "thread_id": run.thread_id,
        "resource_id": run.resource_id,
        "origin": frame.driver.origin,
        "turn": call.turn,
        "evaluation": call.evaluation,
        "effect": tool.effect,
        "on_expire": tool.on_expire,
        "quorum": tool.quorum,
        "reviewers": tool.reviewers,
    }


def _allowed(kind: Kind, how: str) -> tuple[Verdict, ...]:
    if kind == "input":
        return ("answer", "decline")
    return ("approve", "decline") if how == "confirm" else ("approve", "decline", "respond")


def identity(request: Request, args: Mapping[str, Any], tool: Tool, store: Store) -> Fingerprint:
    """What a request is about, if the call had these arguments now.

    An approval of a call is about the call, and what its scope says is bound to it (variables, a
    preview); what a body asks is also about the question.
    """
    bound: dict[str, Any] | None = request.scope.get("bound")
    if request.kind == "input" or request.message is not None:
        bound = {
            "ordinal": request.ordinal,
            "payload": digest(request.suspend_payload),
            "resume_schema": digest(request.resume_schema),
            "message": request.message,
        }
    secrets = tool.secrets_in(args)
    key = store.secret_key() if secrets else None
    try:
        return fingerprint(tool.id, args, secrets=secrets, key=key, bound=bound)
    except HitlError as e:
        e.add_note(f"The call of {tool.id} could not be described.")
        raise
