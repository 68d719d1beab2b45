"""Spans of a run, for whoever has set OpenTelemetry up; without an SDK nothing happens.

The shape is that of the GenAI conventions (in development; their names stand here as text):
``invoke_agent`` → ``chat`` and ``execute_tool`` → nested ``invoke_agent``. A wait for a human may
outlive the process, and a span is exported when it ends: so a pause ends ``invoke_agent``, and
what goes on afterwards is a new one that links to it. Approvals have no convention yet: their
attributes are ``hitl.*``.

Contents (arguments, results, messages) are left out unless
``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true``; secrets are masked even then.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ..fingerprint import mask
from ..request import Request
from . import models

if TYPE_CHECKING:
    from .calls import CallRun
    from .drive import Driver
    from .frames import Finished, FrameRun

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
TRACEPARENT = "traceparent"
"""Where a run's options keep the span to link to."""

_tracer = trace.get_tracer("hitl_widgets")
_w3c = TraceContextTextMapPropagator()

_OUTCOMES = {"declined": "refused", "expired": "expired", "withdrawn": "withdrawn"}


def with_content() -> bool:
    """Whether spans hold what was said, not only that it was."""
    return os.environ.get(CONTENT, "").lower() in ("1", "true")


class Leg:
    """What an open ``invoke_agent`` is told at its end."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def over(self, finished: Finished | None, driver: Driver) -> None:
        """It finished, or (None) nothing can move without a human."""
        span = self._span
        if not span.is_recording():
            return
        usage = driver.usage()
        span.set_attribute("gen_ai.usage.input_tokens", usage.get("input_tokens", 0))
        span.set_attribute("gen_ai.usage.output_tokens", usage.get("output_tokens", 0))
        if finished is not None:
            span.set_attribute("hitl.finish_reason", finished.reason)
            return
        span.set_attribute("hitl.finish_reason", "suspended")
        reason = "budget" if driver.held else "human_input"
        span.add_event("gen_ai.agent.paused", {"gen_ai.agent.pause.reason": reason})


@contextmanager
def leg(driver: Driver) -> Generator[Leg]:
    """``invoke_agent`` of a run's root, from a start or a resumption to the next pause or end."""
    options = driver.root.options
    before = _context_of(options.get(TRACEPARENT))
    links = [Link(before, {"hitl.link": "resumed_from"})] if before is not None else []
    with _agent_span(driver.runner, links) as span:
        if span.is_recording():
            # Kept from the start, for the frame is saved while the run moves.
            carrier: dict[str, str] = {}
            _w3c.inject(carrier, trace.set_span_in_context(span))
            options[TRACEPARENT] = carrier[TRACEPARENT]
        yield Leg(span)


@contextmanager
def nested(frame: FrameRun) -> Generator[None]:
    """``invoke_agent`` of an agent that another one delegated to, inside its tool call.

    It is looked at whenever anything of the run changes; a look at which nothing happened is no
    span.
    """
    before = _work_of(frame)
    with _agent_span(frame, [], keep=lambda: _work_of(frame) != before):
        yield


def _work_of(frame: FrameRun) -> Any:
    return frame.state.step, [(call.id, call.state) for call, _ in frame.turn]


@contextmanager
def _agent_span(
    frame: FrameRun, links: list[Link], keep: Callable[[], bool] | None = None
) -> Generator[Span]:
    agent, driver = frame.agent, frame.driver
    with _span(f"invoke_agent {agent.name}", SpanKind.INTERNAL, links, keep) as span:
        if span.is_recording():
            _set(
                span,
                **{
                    "gen_ai.operation.name": "invoke_agent",
                    "gen_ai.provider.name": agent.model.system,
                    "gen_ai.request.model": agent.model.model_name,
                    "gen_ai.agent.id": agent.id,
                    "gen_ai.agent.name": agent.name,
                    "gen_ai.agent.description": agent.description,
                    "gen_ai.conversation.id": driver.run.thread_id,
                    "hitl.run_id": driver.run.id,
                    "hitl.agent_path": "/".join(frame.state.agent_path),
                },
            )
            if with_content():
                said = models.user_texts(frame.state.messages)
                span.set_attribute("gen_ai.input.messages", _messages("user", list(said)))
        yield span


class Chat:
    """What an open ``chat`` span is told at its end."""

    def __init__(self, span: Span) -> None:
        self._span = span

    def replied(self, reply: models.Reply) -> None:
        """The model's whole turn is there."""
        span = self._span
        if not span.is_recording():
            return
        _set(
            span,
            **{
                "gen_ai.response.model": reply.message.model_name,
                "gen_ai.response.id": reply.message.provider_response_id,
                "gen_ai.response.finish_reasons": [reply.finish_reason or "stop"],
                "gen_ai.usage.input_tokens": reply.usage["input_tokens"],
                "gen_ai.usage.output_tokens": reply.usage["output_tokens"],
            },
        )
        if with_content() and reply.text:
            span.set_attribute("gen_ai.output.messages", _messages("assistant", [reply.text]))


@contextmanager
def chat(frame: FrameRun) -> Generator[Chat]:
    """``chat``: one model turn."""
    model = frame.agent.model
    with _span(f"chat {model.model_name}", SpanKind.CLIENT, []) as span:
        if span.is_recording():
            _set(
                span,
                **{
                    "gen_ai.operation.name": "chat",
                    "gen_ai.provider.name": model.system,
                    "gen_ai.request.model": model.model_name,
                },
            )
        yield Chat(span)


@contextmanager
def tool(run: CallRun) -> Generator[None]:
    """``execute_tool``: one pass of a tool's body, with how it came to run."""
    with _span(f"execute_tool {run.tool.id}", SpanKind.INTERNAL, []) as span:
        if span.is_recording():
            _set(
                span,
                **{
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": run.tool.id,
                    "gen_ai.tool.description": run.tool.description,
                    "gen_ai.tool.call.id": run.call.provider_id,
                    "gen_ai.tool.type": "function",
                    "hitl.tool_call_id": run.call.id,
                    "hitl.permission": run.call.permission,
                    **(_approval(run.asked[-1]) if run.asked else {}),
                },
            )
            if with_content():
                shown = mask(run.call.args, run.tool.secrets_in(run.call.args))
                span.set_attribute("gen_ai.tool.call.arguments", json.dumps(shown))
        yield
        result = run.result
        if not span.is_recording() or not result:
            return
        if result.get("type") == "error":
            span.set_status(Status(StatusCode.ERROR))
            span.set_attribute("error.type", str(result.get("value", "")).partition(":")[0])
        elif with_content():
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result.get("value")))


def refused(request: Request) -> None:
    """Tell the agent's span of a call that will not run."""
    span = trace.get_current_span()
    if span.is_recording():
        span.add_event(
            "hitl.approval", {"gen_ai.tool.name": request.tool_name, **_approval(request)}
        )


def _approval(request: Request) -> dict[str, Any]:
    decision = request.decision or {}
    outcome = _OUTCOMES.get(request.state)
    if outcome is None:
        outcome = "edited" if decision.get("args") is not None else "approved"
    if request.kind == "input" and request.state not in _OUTCOMES:
        outcome = "answered"
    told: dict[str, Any] = {"hitl.request_id": request.id, "hitl.approval.outcome": outcome}
    if request.via is not None:
        told["hitl.approval.via"] = request.via
    if request.decided_at is not None:
        waited = (request.decided_at - request.created_at).total_seconds()
        told["hitl.approval.wait_s"] = round(waited, 3)
    return told


# -- spans ---------------------------------------------------------------------------------------


@contextmanager
def _span(
    name: str, kind: SpanKind, links: list[Link], keep: Callable[[], bool] | None = None
) -> Generator[Span]:
    """A span that says what kind of error ended it, not its words: those may be contents.

    One that is not kept is never ended, and so never exported.
    """
    span = _tracer.start_span(name, kind=kind, links=links)
    try:
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield span
    except asyncio.CancelledError:
        span.set_attribute("hitl.interrupted", value=True)
        raise
    except BaseException as e:
        span.set_status(Status(StatusCode.ERROR))
        span.set_attribute("error.type", type(e).__qualname__)
        raise
    finally:
        if keep is None or keep():
            span.end()


def _set(span: Span, **attributes: Any) -> None:
    for name, value in attributes.items():
        if value is not None:
            span.set_attribute(name, value)


def _messages(role: str, texts: list[str]) -> str:
    parts = [{"type": "text", "content": text} for text in texts]
    return json.dumps([{"role": role, "parts": parts}])


def _context_of(traceparent: str | None) -> Any:
    if traceparent is None:
        return None
    found = trace.get_current_span(_w3c.extract({TRACEPARENT: traceparent})).get_span_context()
    return found if found.is_valid else None
