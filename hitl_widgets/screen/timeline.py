"""From chunks to the timeline of a panel: text and tool calls in the order they came."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..events import Chunk
from ..request import Request
from .messages import CallItem, CallStatus, TextItem, Times
from .record import RanCall

_ENDS: dict[str, CallStatus] = {
    "tool-result": "done",
    "tool-error": "failed",
    "tool-output-denied": "declined",
}
LONGEST_CAUSE = 500
"""Characters of what a tool raised; the model is told all of it."""

_STATES: dict[str, CallStatus] = {
    "pending": "waiting",
    "approved": "running",
    "answered": "running",
    "executing": "running",
    "parked": "waiting",
    "done": "done",
    "failed": "failed",
    "declined": "declined",
    "expired": "declined",
    "withdrawn": "declined",
    "blocked": "declined",
    "responded": "done",
    "outcome_unknown": "unknown",
}


class Timeline:
    """What happened so far. Not thread-safe: its owner sees to that.

    Parameters
    ----------
    clock
        Seconds, from any moment on.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked = clock()
        self._spent = {"model": 0.0, "tools": 0.0, "human": 0.0}
        self.items: list[TextItem | CallItem] = []
        self.finish_reason: str | None = None
        self._calls: dict[str, int] = {}
        self._started: dict[str, float] = {}

    def add(self, chunk: Chunk) -> bool:
        """Take in a chunk; whether anything changed."""
        self._pass_time()
        p = chunk.payload
        match chunk.type:
            case "text-delta":
                self._text(str(p.text), list(chunk.agent_path))
            case "error":
                self._text(str(getattr(p, "error", "")), list(chunk.agent_path))
            case "tool-call":
                allowed = getattr(p, "evaluated_permission", None) == "allow"
                self._call(chunk, "running" if allowed else "waiting")
                self._change(p.tool_call_id, granted=_granted(p))
            case "tool-call-approval" | "tool-call-suspended":
                self._call(chunk, "waiting")
            case "tool-progress":
                self._progress(p)
            case "tool-result" | "tool-error" | "tool-output-denied":
                self._end(p, _ENDS[chunk.type])
            case "finish":
                self.finish_reason = str(p.finish_reason)
            case _:
                return False
        return True

    def request(self, request: Request) -> None:
        """Take in a request's state: it may have changed without a chunk here."""
        status = _STATES.get(request.state)
        if status is None:
            return
        self._pass_time()
        if request.tool_call_id not in self._calls:
            self._put(request.tool_call_id, request.tool_name, list(request.agent_path), status)
        else:
            self._change(request.tool_call_id, status=status)

    def times(self) -> Times:
        """Where the seconds went, each counted once."""
        self._pass_time()
        return Times(**{name: round(seconds, 1) for name, seconds in self._spent.items()})

    def _pass_time(self) -> None:
        """Count the time since the last look for whatever was going on."""
        now = self._clock()
        # A call of a sub-agent is what goes on below it.
        calls = (i for i in self.items if isinstance(i, CallItem))
        statuses = {i.status for i in calls if not i.tool.startswith("agent-")}
        doing = "tools" if "running" in statuses else "human" if "waiting" in statuses else "model"
        self._spent[doing] += now - self._looked
        self._looked = now

    @property
    def text(self) -> str:
        """What the root said, joined."""
        return "".join(i.text for i in self.items if isinstance(i, TextItem))

    @property
    def calls(self) -> tuple[RanCall, ...]:
        """Every call, as a record tells of it."""
        calls = (i for i in self.items if isinstance(i, CallItem))
        return tuple(
            RanCall(i.tool, i.status, i.granted, i.note if i.status == "failed" else None)
            for i in calls
        )

    def _text(self, text: str, agent_path: list[str]) -> None:
        last = self.items[-1] if self.items else None
        if isinstance(last, TextItem) and last.agent_path == agent_path:
            self.items[-1] = last.model_copy(update={"text": last.text + text})
        elif text:
            self.items.append(TextItem(kind="text", text=text, agent_path=agent_path))

    def _call(self, chunk: Chunk, status: CallStatus) -> None:
        p = chunk.payload
        if p.tool_call_id in self._calls:
            self._change(p.tool_call_id, status=status)
        else:
            self._put(p.tool_call_id, p.tool_name, list(chunk.agent_path), status)

    def _put(self, id_: str, tool: str, agent_path: list[str], status: CallStatus) -> None:
        self._calls[id_] = len(self.items)
        self._started[id_] = self._clock()
        item = CallItem(kind="call", id=id_, tool=tool, status=status, agent_path=agent_path)
        self.items.append(item)

    def _progress(self, payload: Any) -> None:
        self._change(
            payload.tool_call_id,
            status="running",
            progress=getattr(payload, "fraction", None),
            note=getattr(payload, "message", None),
        )

    def _end(self, payload: Any, status: CallStatus) -> None:
        began = self._started.get(payload.tool_call_id)
        seconds = None if began is None else round(self._clock() - began, 1)
        told = {"note": _cause(payload)} if status == "failed" else {}
        self._change(payload.tool_call_id, status=status, seconds=seconds, progress=None, **told)

    def _change(self, id_: str, **update: Any) -> None:
        at = self._calls.get(id_)
        if at is None:
            return
        if update.get("status") == "running" and self._was_waiting(at):
            self._started[id_] = self._clock()  # a person's time is not the tool's
        self.items[at] = self.items[at].model_copy(update=update)

    def _was_waiting(self, at: int) -> bool:
        item = self.items[at]
        return isinstance(item, CallItem) and item.status == "waiting"


def _cause(payload: Any) -> str | None:
    """What a tool raised, on one line; whoever approved the call needs it to go on."""
    error = getattr(payload, "error", None)
    if not isinstance(error, str):
        return None
    text = " ".join(error.split())
    return text if len(text) <= LONGEST_CAUSE else f"{text[:LONGEST_CAUSE]}…"


def _granted(payload: Any) -> str | None:
    """Words of the standing grant that let a call through (R20)."""
    evaluation: dict[str, Any] = getattr(payload, "evaluation", None) or {}
    return str(evaluation.get("words", "")) if evaluation.get("type") == "grant" else None
