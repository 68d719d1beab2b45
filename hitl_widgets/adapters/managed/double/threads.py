"""Threads of a session and the calls that wait in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .log import Event, Log, new_id

INTERRUPTED = "Tool execution was interrupted before completion. Please retry."


@dataclass(eq=False, slots=True)
class Call:
    """A tool call of an agent.

    Attributes
    ----------
    client_runs
        The environment is self-hosted: a client gives the result, after an allow if one is
        asked for.
    reserved
        An answer was accepted, though the engine has not taken it up yet: a second one is
        refused from then on.
    """

    event: Event
    kind: str
    thread: Thread
    permission: str | None
    client_runs: bool = False
    verdict: str | None = None
    deny_message: str | None = None
    client_result: Event | None = None
    reserved: set[str] = field(default_factory=set[str])
    closed: bool = False

    @property
    def needs_client(self) -> bool:
        """Whether it can not end by itself."""
        if self.permission == "deny":
            return False
        return self.permission == "ask" or self.kind == "custom" or self.client_runs

    @property
    def waits(self) -> bool:
        """Whether an answer is still missing."""
        if self.closed or self.client_result is not None or self.verdict == "deny":
            return False
        if self.kind == "custom" or self.client_runs:
            return True
        return self.permission == "ask" and self.verdict is None

    def take(self, event: Event) -> None:
        """Keep a client's answer."""
        if event["type"] == "user.tool_confirmation":
            self.verdict = event["result"]
            self.deny_message = event.get("deny_message")
        else:
            self.client_result = event


@dataclass(eq=False)
class Thread:
    """The primary thread, or a sub-agent's."""

    agent_name: str
    parent: Thread | None
    log: Log
    id: str = field(default_factory=lambda: new_id("sthr"))
    position: int = 0
    calls: dict[str, Call] = field(default_factory=dict[str, Call])
    open: dict[str, Call] = field(default_factory=dict[str, Call])
    stop_reason: str | None = None
    paused: bool = False
    alive: bool = True
    archived_at: str | None = None

    def waiting(self) -> list[Call]:
        """Open calls that lack an answer."""
        return [c for c in self.open.values() if c.waits]

    def as_json(self, session: Any) -> dict[str, Any]:
        """As the API shows it."""
        agent = {k: v for k, v in session.agent.items() if k != "multiagent"}
        status = "terminated" if not self.alive else session.status
        return {
            "id": self.id,
            "type": "session_thread",
            "agent": {**agent, "name": self.agent_name},
            "archived_at": self.archived_at,
            "created_at": session.created_at,
            "updated_at": session.created_at,
            "parent_thread_id": None if self.parent is None else self.parent.id,
            "session_id": session.id,
            "status": status,
        }
