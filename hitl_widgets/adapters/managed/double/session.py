"""One session of the double: threads, turns, calls that wait, and what ends them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .agents import ApiError, Judge, evaluate
from .log import CUT, END, Clock, Event, Log, new_id
from .script import Delegate, Item, Say, Stop, Turn, Use
from .threads import INTERRUPTED, Call, Thread

Perform = Callable[[str, Any], str]


class Session:
    """A session; the public methods below `-- faults` are a test's hand in it.

    Attributes
    ----------
    log
        The primary thread's events: what the session's stream and listing show.
    ran
        ``(tool name, input)`` of everything that really ran here, in order.
    frozen
        The engine does not move: what clients send stays queued.
    lag
        How many more times `retrieve` says ``running`` after the session is idle.
    """

    def __init__(
        self,
        *,
        agent: dict[str, Any],
        environment: dict[str, Any],
        turns: Mapping[str, list[Turn]],
        perform: Perform,
        judge: Judge,
        cost: int,
        budget: dict[str, Any] | None,
        title: str | None,
        metadata: dict[str, str],
        wake: Callable[[Session], None],
        changed: threading.Condition,
    ) -> None:
        self.id = new_id("sesn")
        self.agent = agent
        self.environment = environment
        self.budget = budget
        self.title = title
        self.metadata = metadata
        self.clock = Clock()
        self.created_at = self.clock.now()
        self.archived_at: str | None = None
        self.deleted = False
        self.terminated = False
        self.running = False
        self.frozen = False
        self.lag = 0
        self.spent = 0
        self.ran: list[tuple[str, Any]] = []
        self.changed = changed
        self.log = Log(changed)
        self.turns = turns
        self.cost = cost
        self._perform = perform
        self._judge = judge
        self._wake = wake
        self._inbox: deque[Event] = deque()
        self._stopped_for = "end_turn"
        self.primary = Thread(agent["name"], None, self.log)
        self.threads: dict[str, Thread] = {self.primary.id: self.primary}

    # -- what the API asks -----------------------------------------------------------------------

    @property
    def status(self) -> str:
        """As the session object says it."""
        if self.terminated:
            return "terminated"
        return "running" if self.running else "idle"

    @property
    def capped(self) -> bool:
        """Whether the budget is used up."""
        return self.budget is not None and self.spent >= int(self.budget["max_list_cost"]["amount"])

    def call(self, event_id: str) -> Call | None:
        """A call by the id of its event, in any thread."""
        return next((t.calls[event_id] for t in self.threads.values() if event_id in t.calls), None)

    def waiting(self) -> list[Call]:
        """Calls that need a client's answer, in the order they were said."""
        waiting = [c for t in self.threads.values() if t.alive for c in t.waiting()]
        order = {e["id"]: i for i, e in enumerate(self.log.events)}
        return sorted(waiting, key=lambda c: order.get(c.event["id"], 0))

    def accept(self, event: Event) -> None:
        """Keep a checked event of a client; the engine takes it up after the reply."""
        if event["type"].endswith("_result"):
            event["processed_at"] = self.clock.now()  # results are taken at once
        self.log.add(event)
        self._inbox.append(event)
        self._wake(self)

    def set_budget(self, budget: dict[str, Any] | None) -> None:
        """Raise or remove the budget; a session that stands at its cap goes on by itself."""
        was_capped = self.capped
        self.budget = budget
        more: dict[str, Any] = {} if budget is None else {"budget": budget}
        self._say("session.updated", **more)
        if was_capped and not self.running and not self.waiting():
            self._inbox.append({"type": "budget", "id": ""})
            self._wake(self)

    # -- the engine ------------------------------------------------------------------------------

    def advance(self) -> None:
        """Take up what clients sent, one event after the other. Called on the engine's thread."""
        with self.changed:
            while self._inbox and not self.frozen and not self.terminated:
                self._take(self._inbox.popleft())

    def _take(self, event: Event) -> None:
        if event.get("processed_at") is None and event["id"]:
            event["processed_at"] = self.clock.now()
            self.log.tell(event)
        match event["type"]:
            case "user.message":
                self.primary.stop_reason = None
                self._go_on([self.primary])
            case "user.interrupt":
                self._interrupt(event.get("session_thread_id"))
            case "user.tool_confirmation" | "user.custom_tool_result" | "user.tool_result":
                self._answered(event)
            case "budget":
                self._go_on([t for t in self.threads.values() if t.paused])
            case _:
                pass

    def _answered(self, event: Event) -> None:
        target = event.get("tool_use_id") or event["custom_tool_use_id"]
        call = self.call(target)
        assert call is not None
        call.take(event)
        if not call.thread.alive:
            return
        if call.thread.waiting():
            # Told again with the remainder, answered ones included while their batch is taken up.
            self._idle()
        else:
            self._go_on([call.thread])

    def _go_on(self, threads: Iterable[Thread]) -> None:
        if not self.running:
            self.running = True
            self._say("session.status_running")
        moving = list(threads)
        while moving:
            thread = moving.pop(0)
            if thread.waiting():
                continue  # another thread's news do not answer its calls
            self._settle(thread)
            moving += self._turns(thread)
        self._idle()

    def _settle(self, thread: Thread) -> None:
        """Give every answered call of a thread its result."""
        for call in list(thread.open.values()):
            if call.kind != "custom" and call.client_result is None:
                if call.verdict == "deny":
                    self._result(call, call.deny_message or "The user denied this.", error=True)
                else:
                    self._run(call)
            del thread.open[call.event["id"]]

    def _turns(self, thread: Thread) -> list[Thread]:
        """Model requests until the thread has to stop; threads that it woke."""
        self._thread_says(thread, "session.thread_status_running")
        woken: list[Thread] = []
        while thread.alive:
            if self.capped:
                thread.paused = True
                break
            thread.paused = False
            items = self._model_request(thread)
            if items is None:
                thread.stop_reason = "end_turn"
                break
            for item in items:
                woken += self._do(thread, item)
            if thread.stop_reason is not None or thread.waiting():
                break
        if thread.stop_reason == "end_turn" and thread.parent is not None:
            woken.append(self._report(thread))
        return woken

    def _model_request(self, thread: Thread) -> list[Item] | None:
        """The next turn's items, or None when the script is at its end."""
        turns = self.turns.get(thread.agent_name, [])
        if thread.position >= len(turns):
            return None
        start = self._say("span.model_request_start", log=thread.log)
        turn = turns[thread.position]
        thread.position += 1
        items = list(turn(thread.log.listed()) if callable(turn) else turn)
        self.spent += self.cost
        usage = {"input_tokens": 10, "output_tokens": 5}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        self._say(
            "span.model_request_end",
            log=thread.log,
            model_request_start_id=start["id"],
            model_usage=usage,
            is_error=False,
        )
        if not any(isinstance(i, Use | Delegate | Stop) for i in items):
            thread.stop_reason = "end_turn"
        return items

    def _do(self, thread: Thread, item: Item) -> list[Thread]:
        match item:
            case Say(text):
                content = [{"type": "text", "text": text}]
                self._say("agent.message", log=thread.log, content=content)
            case Use():
                self._use(thread, item)
            case Stop(reason):
                thread.stop_reason = reason
            case Delegate(agent, message):
                thread.stop_reason = "end_turn"
                return [self._spawn(agent, message, thread)]
        return []

    def _use(self, thread: Thread, item: Use) -> None:
        permission, evaluation = evaluate(self.agent["tools"], item, self._judge)
        event: Event = {"name": item.name, "input": item.input}
        if item.kind == "mcp":
            event["mcp_server_name"] = item.server
        if permission is not None:
            event["evaluated_permission"] = permission
        if evaluation is not None:
            event["evaluation"] = evaluation
        kind = {"tool": "agent.tool_use", "mcp": "agent.mcp_tool_use"}
        said = self._say(kind.get(item.kind, "agent.custom_tool_use"), log=thread.log, **event)
        hosted = item.kind == "tool" and self.environment["config"]["type"] == "self_hosted"
        call = Call(said, item.kind, thread, permission, client_runs=hosted)
        thread.calls[said["id"]] = call
        if call.needs_client:
            thread.open[said["id"]] = call
            if thread.parent is not None:
                self.log.add({**said, "session_thread_id": thread.id})
        elif permission == "deny":
            text = f"Permission to use {item.name} has been denied."
            self._result(call, text, error=True)
        else:
            self._run(call)

    def _run(self, call: Call) -> None:
        name, given = call.event["name"], call.event["input"]
        self.ran.append((name, given))
        try:
            self._result(call, self._perform(name, given))
        except Exception as e:  # noqa: BLE001  # the tool has failed, and the session goes on
            self._result(call, f"{type(e).__name__}: {e}", error=True)

    def _result(self, call: Call, text: str, *, error: bool = False) -> None:
        mcp = call.kind == "mcp"
        self._say(
            "agent.mcp_tool_result" if mcp else "agent.tool_result",
            log=call.thread.log,
            **{"mcp_tool_use_id" if mcp else "tool_use_id": call.event["id"]},
            content=[{"type": "text", "text": text}],
            is_error=error,
        )

    def _spawn(self, agent: str, message: str, parent: Thread) -> Thread:
        thread = Thread(agent, parent, Log(self.changed))
        self.threads[thread.id] = thread
        self._thread_says(thread, "session.thread_created")
        content = [{"type": "text", "text": message}]
        self._say(
            "agent.thread_message_sent",
            log=parent.log,
            content=content,
            to_session_thread_id=thread.id,
            to_agent_name=agent,
        )
        return thread

    def _report(self, thread: Thread) -> Thread:
        """A sub-agent is done: its last words reach its parent, which goes on."""
        said = [e for e in thread.log.events if e["type"] == "agent.message"]
        parent = thread.parent
        assert parent is not None
        self._say(
            "agent.thread_message_received",
            log=parent.log,
            content=said[-1]["content"] if said else [],
            from_session_thread_id=thread.id,
            from_agent_name=thread.agent_name,
        )
        parent.stop_reason = None
        return parent

    def _interrupt(self, thread_id: str | None) -> None:
        threads = list(self.threads.values())
        for thread in threads if not thread_id else [t for t in threads if t.id == thread_id]:
            for call in list(thread.open.values()):
                if call.kind != "custom":
                    self._result(call, INTERRUPTED, error=True)
                call.closed = True
                del thread.open[call.event["id"]]
            thread.stop_reason = "end_turn"
        self._idle()

    def _idle(self) -> None:
        """Say that nothing moves any more, and why: an ask outranks the cap."""
        waiting = [c.event["id"] for c in self.waiting()]
        reason: dict[str, Any] = {"type": self.primary.stop_reason or "end_turn"}
        if waiting:
            reason = {"type": "requires_action", "event_ids": waiting}
        elif any(t.paused for t in self.threads.values()):
            reason = {"type": "budget_reached"}
        self.running = False
        for thread in self.threads.values():
            if thread.alive:
                own = [c.event["id"] for c in thread.waiting()]
                mine = {"type": "requires_action", "event_ids": own} if own else None
                paused = {"type": "budget_reached"} if thread.paused else None
                said = mine or paused or {"type": thread.stop_reason or "end_turn"}
                self._thread_says(thread, "session.thread_status_idle", stop_reason=said)
        self._say_idle(reason)

    def _say_idle(self, reason: dict[str, Any]) -> None:
        cost = {"amount": str(self.spent), "currency": "USD"}
        more: dict[str, Any] = {} if self.budget is None else {"budget": self.budget}
        self._say("session.usage", usage={"list_cost": cost}, **more)
        details = None
        if reason["type"] == "refusal":
            details = {"type": "refusal", "category": "general_harms", "explanation": "refused"}
        self._say("session.status_idle", stop_reason=reason, stop_details=details)

    def _thread_says(self, thread: Thread, kind: str, **fields: Any) -> None:
        self._say(kind, agent_name=thread.agent_name, session_thread_id=thread.id, **fields)

    def _say(self, kind: str, *, log: Log | None = None, **fields: Any) -> Event:
        event = {"id": new_id("sevt"), "type": kind, "processed_at": self.clock.now(), **fields}
        return (log or self.log).add(event)

    # -- ends ------------------------------------------------------------------------------------

    def archive(self) -> None:
        """No more events; what waits is over."""
        with self.changed:
            if self.status == "running":
                raise ApiError(400, "Cannot archive a session while its status is running")
            self.archived_at = self.clock.now()
            self.log.end_streams(END)

    def delete(self) -> None:
        """Gone: the stream says so and ends."""
        with self.changed:
            if self.status == "running":
                raise ApiError(400, "Cannot delete a session while its status is running")
            self._say("session.deleted")
            self.deleted = True
            self.log.end_streams(END)

    def archive_thread(self, thread_id: str) -> Thread:
        """A thread ends; its calls take no answer any more."""
        thread = self.threads.get(thread_id)
        if thread is None:
            raise ApiError(404, f"Thread {thread_id} not found")
        with self.changed:
            thread.alive = False
            thread.archived_at = self.clock.now()
            self._thread_says(thread, "session.thread_status_terminated")
            self._idle()
        return thread

    # -- faults ----------------------------------------------------------------------------------

    def terminate(self) -> None:
        """The session ends by itself, whatever waits."""
        with self.changed:
            self.terminated = True
            self._say("session.status_terminated")
            self.log.end_streams(END)

    def drop(self, *, clean: bool = False) -> None:
        """Every stream breaks, or (`clean`) ends without a word."""
        self.log.end_streams(END if clean else CUT)

    def repeat_idle(self, event_ids: list[str] | None = None) -> None:
        """The last idle once more, under a new id."""
        with self.changed:
            ids = [c.event["id"] for c in self.waiting()] if event_ids is None else event_ids
            self._say_idle({"type": "requires_action", "event_ids": ids})

    def rebroadcast(self, event_id: str) -> None:
        """An event is sent once more."""
        event = self.log.find(event_id)
        assert event is not None
        self.log.tell(event)

    def inject(self, event: Event) -> Event:
        """Say anything, unchecked: what a newer service may send."""
        said = {"id": new_id("sevt"), "processed_at": self.clock.now(), **event}
        return self.log.add(said, checked=False)

    def say_error(self, retry: str) -> None:
        """A `session.error` whose retry status is ``retrying``, ``exhausted`` or ``terminal``."""
        error = {"type": "model_overloaded_error", "message": "overloaded"}
        self._say("session.error", error={**error, "retry_status": {"type": retry}})

    def say_rescheduled(self) -> None:
        """The session moves to another machine; it is not the end."""
        self._say("session.status_rescheduled")

    def thaw(self) -> None:
        """Let the engine move again."""
        self.frozen = False
        self._wake(self)
