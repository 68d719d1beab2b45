"""A new message on a thread: it never drops what waits there (R15), and may fill it in (R7)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from ..errors import AgentDefinitionError, InvalidAnswer, RunSuspended
from ..events import chunk
from ..request import MASK, Answer, Decline, Request, Reviewer, new_id
from ..schema import Shape, stored_shape
from . import following, models
from .finding import suspended_runs
from .options import RunOptions
from .results import Feed, RunResult, RunStream

if TYPE_CHECKING:
    from .agent import Agent

_EXTRACT = (
    "Somebody was asked a question, and the user's message may hold the answer. Give the data "
    "that the message states by calling fill_in. Invent nothing: when something that is needed "
    "is not in the message, call nothing and say so."
)


def check(agent: Agent, options: RunOptions) -> None:
    """Auto-resume needs a conversation to resume.

    Raises
    ------
    AgentDefinitionError
        At the start, before anything happens.
    """
    if not options.auto_resume_suspended_tools:
        return
    needs = {
        "memory=hitl.Memory() on the agent": agent.memory,
        "thread_id": options.thread_id,
        "resource_id": options.resource_id,
    }
    missing = [name for name, value in needs.items() if value is None]
    if missing:
        raise AgentDefinitionError(
            f"auto_resume_suspended_tools needs {', '.join(missing)}: without them it is not "
            "known which conversation a message belongs to."
        )


async def receive(agent: Agent, prompt: str, options: RunOptions) -> RunStream | None:
    """What a new message does to what waits on its thread; None: it starts a run of its own.

    Raises
    ------
    RunSuspended
        Something waits, and this message can not fill it in.
    """
    if options.thread_id is None:
        return None
    runs = await suspended_runs(agent, options.thread_id, options.resource_id)
    runs = [r for r in runs if r.resource_id == options.resource_id]
    waiting = [r for run in runs for r in run.tool_calls if r.state == "pending"]
    if not waiting:
        return None
    inputs = [r for r in waiting if r.kind == "input"]
    if options.auto_resume_suspended_tools and inputs and _fillable(inputs[-1]):
        return await _fill_in(agent, prompt, options, inputs[-1])
    if options.pending == "error":
        names = ", ".join(f"{r.tool_name} ({r.id})" for r in waiting)
        raise RunSuspended(
            f"Thread {options.thread_id!r} waits for a human: {names}. Decide that "
            "first, or run with pending='decline'.",
            waiting,
        )
    for run in runs:
        pending = [r for r in run.tool_calls if r.state == "pending"]
        if pending:
            decision = Decline("A new message took its place.", stop=True)
            await (await following.decide(agent, pending[-1], decision)).result()
    return None


def _fillable(request: Request) -> bool:
    """Only data, never consent, and only where it is known what data (R7)."""
    return not request.scope.get("consent") and bool(request.resume_schema)


async def _fill_in(agent: Agent, prompt: str, options: RunOptions, request: Request) -> RunStream:
    shape = stored_shape(request.resume_schema)
    data = await _extracted(agent, prompt, shape, request)
    if data is None:
        return await _ask_back(agent, prompt, options, request)
    who = Reviewer(options.resource_id or "", "claimed")
    message = MASK if shape.secrets_in(data[0]) else prompt
    return await following.decide(
        agent, request, Answer(data[0]), reviewer=who, extracted_from=message
    )


async def _extracted(
    agent: Agent, prompt: str, shape: Shape, request: Request
) -> tuple[Any] | None:
    """The data in a message: by itself, or as a model finds it; checked either way (R4)."""
    try:
        return (shape.dump(shape.validate(json.loads(prompt))),)
    except (ValueError, RecursionError, InvalidAnswer):
        pass
    asked = _question(request)
    found = await models.fill_in(
        agent.model, f"{_EXTRACT}\nThe question: {asked}", prompt, shape.json_schema
    )
    if found is None:
        return None
    try:
        return (shape.dump(shape.validate(found)),)
    except InvalidAnswer:
        return None


async def _ask_back(agent: Agent, prompt: str, options: RunOptions, request: Request) -> RunStream:
    """Ask again in the conversation; the request waits on."""
    text = f"To go on I still need an answer: {_question(request)}"
    if agent.memory is not None and options.thread_id is not None:
        exchange = [models.user_message(prompt, agent.instructions), models.said(text)]
        await agent.memory.keep(
            agent.desk, options.thread_id, options.resource_id, new_id("m"), exchange
        )
    feed = Feed()
    path = (agent.id,)
    feed.emit(chunk("start", request.run_id, path))
    feed.emit(chunk("text-delta", request.run_id, path, text=text))
    feed.emit(chunk("finish", request.run_id, path, finish_reason="suspended"))
    feed.close()

    async def result() -> RunResult:
        return RunResult(
            run_id=request.run_id,
            text=text,
            output=text,
            finish_reason="suspended",
            requests=(request,),
        )

    return RunStream(request.run_id, feed, 0, 0, result, asks_back=True)


def _question(request: Request) -> str:
    """A request's question in words."""
    payload: Any = request.suspend_payload
    if request.message:
        return request.message
    named = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
    if isinstance(named.get("message"), str):
        return named["message"]
    shown = "" if payload is None else f" {json.dumps(payload)}"
    fields = ", ".join((request.resume_schema or {}).get("properties", {}))
    return f"{request.tool_name}{shown}{f' needs {fields}' if fields else ''}"
