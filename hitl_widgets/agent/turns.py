"""A model turn: asked for, judged, and stored with its questions before any is shown (R2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import HitlError, ModelFailed
from ..events import ChunkType
from . import budget, models, output, tracing
from .proposals import Proposal, judge_turn
from .results import FinishReason

if TYPE_CHECKING:
    from .frames import FrameRun

_NUDGES = 3
"""How often a model is told to give its final answer as an object."""

_ENDED = ("done", "failed")

opened: set[str] = set()
"""Free calls of this process, stored as executing, whose body has not begun."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A frame that is done."""

    reason: FinishReason
    text: str = ""
    output: output.Answer | None = None

    @property
    def ends_the_run(self) -> bool:
        """Whether supervisors end with it."""
        return self.reason in ("declined", "aborted")


async def next_turn(frame: FrameRun) -> Finished | None:
    """Ask the model; how the frame ended, or None when it goes on."""
    limit = frame.driver.steps_allowed(frame)
    if frame.state.step >= limit:
        return Finished("length", models.last_text(frame.state.messages))
    frame.driver.emit(frame, "step-start", step=frame.state.step)
    reply = await _ask_model(frame)
    cost = 0.0
    if budget.limits(frame.driver).get("max_cost") is not None:
        cost = models.cost_of(reply.message)
    finished, given = None, None
    if not reply.calls:
        finished = _answer_in_words(frame, reply)
    elif frame.output is not None:
        given = frame.output.given(reply.calls)
    if reply.calls and given is None:
        await _open_turn(frame, reply, cost)
        return None
    _count(frame, reply, cost)
    frame.state.messages.append(reply.message)
    if given is not None:
        returns = frame.output.returns(reply.calls) if frame.output else []
        frame.state.messages.append(models.tool_returns(returns, frame.agent.instructions))
        finished = Finished("stop", reply.text, given)
    elif finished is None:
        frame.state.messages.append(models.user_message(models.NUDGE, frame.agent.instructions))
    frame.driver.emit(frame, "step-finish", step=frame.state.step - 1)
    return finished


async def _ask_model(frame: FrameRun) -> models.Reply:
    await frame.agent.prepare()
    specs = [*frame.agent.specs, *([frame.output.spec] if frame.output else [])]
    reply: models.Reply | None = None
    with tracing.chat(frame) as chat:
        async for piece in models.ask(frame.agent.model, frame.state.messages, specs):
            if isinstance(piece, models.Reply):
                reply = piece
                chat.replied(reply)
            else:
                kind: ChunkType = "text-delta" if piece.kind == "text" else "reasoning-delta"
                frame.driver.emit(frame, kind, text=piece.text)
    if reply is None:
        raise HitlError(f"The model of agent {frame.agent.id!r} sent nothing.")
    return models.with_own_ids(reply)


def _count(frame: FrameRun, reply: models.Reply, cost: float) -> None:
    frame.state.step += 1
    frame.state.cost += cost
    for name, value in reply.usage.items():
        frame.state.usage[name] = frame.state.usage.get(name, 0) + value


def _answer_in_words(frame: FrameRun, reply: models.Reply) -> Finished | None:
    """The end, unless an object is wanted and these words are none."""
    if reply.finish_reason == "length":
        return Finished("length", reply.text)
    if frame.output is None:
        return Finished("stop", reply.text)
    given = frame.output.in_words(reply.text)
    if given is not None:
        return Finished("stop", reply.text, given)
    if models.nudges(frame.state.messages) >= _NUDGES:
        raise ModelFailed(
            f"The model of {frame.agent.id!r} was asked {_NUDGES} times for its final answer "
            "as an object and gave none: try another model, or run without output_type."
        )
    return None


async def _open_turn(frame: FrameRun, reply: models.Reply, cost: float) -> None:
    """Judge the turn's calls and store them with their requests, before any is shown (R2)."""
    turn = f"{frame.state.key}#{frame.state.step + 1}"
    proposals = await judge_turn(frame, reply.calls, turn)
    masked = {p.provider_id: x.masked for p, x in zip(reply.calls, proposals, strict=True)}
    before = frame.state.step, frame.state.cost, dict(frame.state.usage)
    # From here to the store nothing is awaited: no sibling saves half a turn.
    _count(frame, reply, cost)
    frame.state.messages.append(models.with_call_args(reply.message, masked))
    frame.state.turn = turn
    try:
        await _save_turn(frame, proposals)
    except HitlError:
        frame.state.step, frame.state.cost, frame.state.usage = before
        frame.state.messages.pop()
        frame.state.turn = None
        raise
    opened.update(p.new.call.id for p in proposals if p.new.call.state == "executing")
    _announce(frame, proposals)


async def _save_turn(frame: FrameRun, proposals: list[Proposal]) -> None:
    driver, seen = frame.driver, frame.driver.generation
    asks = any(p.new.request for p in proposals)
    keep = asks or driver.saved
    waits = asks and frame.parent is None and all(_waits(p) for p in proposals)
    release = waits and driver.rests_with(frame)
    await driver.write(
        "save",
        driver.run.id,
        driver.token,
        state="suspended" if waits else None,
        frames=driver.frames_to_save(frame) if keep else None,
        calls=[p.new for p in proposals],
        durable=asks,
        release=release,
    )
    driver.saved = keep
    driver.state = "suspended" if waits else driver.state
    asked = [(p.new.call, [p.new.request] if p.new.request else []) for p in proposals]
    frame.stored = (seen, asked)
    if release:
        driver.released = seen
        driver.left_waiting = tuple(request for _, requests in asked for request in requests)
    else:
        driver.released = None


def _announce(frame: FrameRun, proposals: list[Proposal]) -> None:
    for p in proposals:
        call = p.new.call
        frame.driver.emit(
            frame,
            "tool-call",
            tool_call_id=call.id,
            tool_name=call.tool_name,
            args=p.masked,
            evaluated_permission=call.permission,
            evaluation=call.evaluation,
        )
    for p in proposals:
        if p.new.request is not None:
            frame.driver.opened(p.new.request)
        elif p.new.call.result is not None:
            frame.driver.announce_result(frame, p.new.call, p.new.call.result)


def _waits(proposal: Proposal) -> bool:
    """Whether a stored call needs a human before anything can be done about it."""
    request = proposal.new.request
    return request is not None or proposal.new.call.state in _ENDED
