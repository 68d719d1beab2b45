"""What a session's events say: which calls wait, who answered them, whether the session moves.

Everything is derived from events by id, in the order of the listing; the last idle is only a
cross-check. Values are compared as strings: the SDK reads what it does not know as some other
model (an unknown evaluation as "always allow"), so its classes say nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, cast

Event = dict[str, Any]
CallKind = Literal["ask", "custom", "hosted"]
REQUIRES_ACTION = "requires_action"
KNOWN_STOPS = ("end_turn", "budget_reached", "retries_exhausted", "refusal")
_CALLS = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_RESULTS = ("agent.tool_result", "agent.mcp_tool_result")
_ANSWERS = ("user.tool_confirmation", "user.custom_tool_result", "user.tool_result")
_MOVES = ("user.message", "user.define_outcome")
_GONE = {"session.status_terminated": "terminated", "session.deleted": "deleted"}


@dataclass(slots=True)
class Waiting:
    """A call that may need an answer.

    Attributes
    ----------
    kind
        ``"ask"`` (a confirmation), ``"custom"`` (a result), ``"hosted"`` (a result from whoever
        runs the environment: never ours), or None: it needs nothing, as far as is known.
    answer
        The client's event that answered it, ours or another's.
    closed
        Why it takes no answer any more, or None.
    """

    event: Event
    kind: CallKind | None
    answer: Event | None = None
    closed: str | None = None

    @property
    def id(self) -> str:
        """The event's id, by which it is answered."""
        return self.event["id"]

    @property
    def waits(self) -> bool:
        """Whether somebody has to answer."""
        return self.kind is not None and self.answer is None and self.closed is None

    @property
    def denied(self) -> bool:
        """Whether it may not run: by the session's own policy, or by whoever answered."""
        return "deny" in (permission_of(self.event), (self.answer or {}).get("result"))

    @property
    def name(self) -> str:
        """The tool, with the MCP server that has it."""
        server = self.event.get("mcp_server_name")
        name = str(self.event.get("name"))
        return f"{server}/{name}" if server else name

    @property
    def args(self) -> dict[str, Any]:
        """The input, as an object: what is none is put into one."""
        given = self.event.get("input")
        return cast("Event", given) if isinstance(given, dict) else {"input": given}


def part(event: Event, name: str) -> Event:
    """An object in an event; empty when there is none."""
    value = event.get(name)
    return cast("Event", value) if isinstance(value, dict) else {}


def permission_of(event: Event) -> str | None:
    """The evaluated permission; what an old event leaves out is read from its evaluation."""
    given = event.get("evaluated_permission")
    evaluation = part(event, "evaluation")
    if given is not None or not evaluation:
        return given
    kind = evaluation.get("type")
    if kind == "auto":
        return part(evaluation, "evaluated_permission").get("type")
    return {"always_allow": "allow", "always_ask": "ask"}.get(str(kind), str(kind))


def _kind_of(event: Event) -> CallKind | None:
    if event["type"] == "agent.custom_tool_use":
        return "custom"
    # A permission that is not known is held like "ask"; it is never taken for "allow".
    return None if permission_of(event) in ("allow", "deny", None) else "ask"


@dataclass
class History:
    """A session as its events tell it.

    Attributes
    ----------
    stop
        The last idle's stop reason, or None while the session moves (or was never told anything).
    gone
        ``"terminated"``, ``"deleted"`` or ``"archived"`` once it is over.
    unknown
        Ids that an idle names and no event explains yet.
    threads
        Thread id → name of the agent in it.
    """

    events: dict[str, Event] = field(default_factory=dict[str, Event])
    calls: dict[str, Waiting] = field(default_factory=dict[str, Waiting])
    threads: dict[str, str] = field(default_factory=dict[str, str])
    stop: Event | None = None
    idle_id: str | None = None
    usage: Event | None = None
    gone: str | None = None
    unknown: set[str] = field(default_factory=set[str])
    started: bool = False
    _early: dict[str, Event] = field(default_factory=dict[str, Event])
    _ended_threads: set[str] = field(default_factory=set[str])

    # -- taking events in --------------------------------------------------------------------------

    def take(self, event: Event) -> bool:
        """One event from the stream; whether it was not known before.

        An event comes again with its `processed_at`, or as it was: it changes in place. Stream
        frames without an id of their own say nothing that lasts.
        """
        key = event.get("id")
        if not key:
            return False
        known = self.events.get(key)
        if known is not None:
            known.update(event)
            if event["type"] in _GONE:
                self.gone = self.gone or _GONE[event["type"]]
            return False
        self.events[key] = event
        self._read(event)
        return True

    def merge(self, listed: Iterable[Event]) -> list[Event]:
        """A whole listing: its order rules, what it lacks yet stays after it. What was new."""
        merged: dict[str, Event] = {}
        for event in listed:
            merged[event["id"]] = {**self.events.get(event["id"], {}), **event}
        new = [e for key, e in merged.items() if key not in self.events]
        for key, event in self.events.items():
            merged.setdefault(key, event)
        gone = self.gone
        self.__init__(events=merged)
        for event in merged.values():
            self._read(event)
        self.gone = self.gone or gone
        return new

    def _read(self, event: Event) -> None:
        kind = event["type"]
        if kind in _CALLS:
            self._call(event)
        elif kind in _ANSWERS or kind in _RESULTS:
            self._answered(event)
        elif kind in _MOVES:
            self._moves()
        elif kind == "session.status_idle":
            self._idle(event)
        elif kind == "session.status_running":
            self._moves()
            self.unknown.clear()
        elif kind == "session.thread_created":
            self.threads[str(event.get("session_thread_id"))] = str(event.get("agent_name"))
        elif kind == "session.thread_status_terminated":
            self._thread_ended(str(event.get("session_thread_id")))
        elif kind == "session.usage":
            self.usage = event
        elif kind in _GONE:
            self.end(_GONE[kind])

    def _moves(self) -> None:
        self.started = True
        self.stop = None

    def _call(self, event: Event) -> None:
        call = Waiting(event, _kind_of(event))
        self.calls[event["id"]] = call
        self.unknown.discard(event["id"])
        if str(event.get("session_thread_id")) in self._ended_threads:
            call.closed = "its thread has ended"
        early = self._early.pop(event["id"], None)
        if early is not None:  # its answer was read before it: a listing that lagged behind
            self._answered(early)

    def _answered(self, event: Event) -> None:
        names = ("tool_use_id", "mcp_tool_use_id", "custom_tool_use_id")
        target = next((str(event[n]) for n in names if event.get(n)), "")
        call = self.calls.get(target)
        if call is None:
            self._early[target] = event
        elif event["type"] in _ANSWERS:
            call.answer = event
        elif call.answer is None:
            call.closed = call.closed or "it has a result"

    def _idle(self, event: Event) -> None:
        self.started = True
        reason = part(event, "stop_reason")
        self.stop = reason
        self.idle_id = event["id"]
        if reason.get("type") == REQUIRES_ACTION:
            self._named(reason.get("event_ids") or ())
        elif reason.get("type") in KNOWN_STOPS:
            # An unknown reason ends the turn and closes nothing: an ask is not dropped silently.
            for call in self.calls.values():
                if call.waits:
                    call.closed = f"the session ended its turn ({reason['type']})"

    def _named(self, event_ids: Iterable[str]) -> None:
        """Ids that an idle waits for: some may be nobody's ask, some not seen yet."""
        for event_id in event_ids:
            call = self.calls.get(event_id)
            if call is None:
                self.unknown.add(event_id)
            elif call.kind is None:
                # Allowed and still waited for: its result comes from the environment's worker.
                asked = permission_of(call.event) is None
                call.kind = "ask" if asked else "hosted"

    def _thread_ended(self, thread_id: str) -> None:
        self._ended_threads.add(thread_id)
        for call in self.calls.values():
            if call.waits and str(call.event.get("session_thread_id")) == thread_id:
                call.closed = "its thread has ended"

    def end(self, how: str) -> None:
        """The session is over: nothing takes an answer any more."""
        self.gone = self.gone or how
        for call in self.calls.values():
            if call.waits:
                call.closed = f"the session was {how}"

    # -- what follows from them --------------------------------------------------------------------

    def waiting(self) -> list[Waiting]:
        """Calls that somebody has to answer, in the session's order."""
        return [c for c in self.calls.values() if c.waits]

    def stopped(self) -> str | None:
        """Why the session does not move; None while it does, or waits for an answer."""
        if self.gone is not None:
            return "terminated"
        if self.stop is None:
            return None if self.started else "end_turn"
        kind = str(self.stop.get("type"))
        return None if kind == REQUIRES_ACTION else kind

    def agent_path(self, event: Event, root: str) -> tuple[str, ...]:
        """Names of the agents from the root to the speaker."""
        thread = str(event.get("session_thread_id") or "")
        return (root, self.threads.get(thread, thread)) if thread else (root,)

    def this_turn(self) -> list[Event]:
        """Events since the last user message, it included."""
        events = list(self.events.values())
        starts = [i for i, e in enumerate(events) if e["type"] in _MOVES]
        return events[starts[-1] :] if starts else events
