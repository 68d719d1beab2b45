"""The double's front: a loopback HTTP server, its agents and sessions, its faults."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import queue
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from http.server import ThreadingHTTPServer
from typing import Any, Self

from .agents import ApiError, Judge
from .log import Clock, new_id
from .routes import make_agent
from .script import Turn
from .session import Session
from .wire import Handler


def _perform(name: str, given: Any) -> str:
    return f"{name} ran with {json.dumps(given, default=str)}"


def _judge(_name: str, _given: Any) -> tuple[str, str | None]:
    return "ask", "indeterminate"


class Double:
    """The service on this machine. Use it as a context manager, or `start` and `close` it.

    Parameters
    ----------
    turns
        What agents do: turns (see `script`) of every agent, or a mapping by agent name.
    perform
        ``(tool name, input) -> text``: what runs in the session's environment.
    judge
        The judge of ``auto`` policies; it asks unless given.
    cost
        US cents that a model request costs.
    heartbeat
        Seconds between heartbeats on a stream; None: none at all (a dead socket).

    Attributes
    ----------
    url, key
        For ``anthropic.AsyncAnthropic(base_url=double.url, api_key=double.key)``.
    webhook_key
        The signing key of its webhooks, ``whsec_…``.
    requests
        ``(method, path, body)`` of every request, in order.
    """

    def __init__(
        self,
        turns: Sequence[Turn] | Mapping[str, Sequence[Turn]] = (),
        *,
        perform: Callable[[str, Any], str] = _perform,
        judge: Judge = _judge,
        cost: int = 1,
        heartbeat: float | None = 0.5,
    ) -> None:
        self.turns = turns
        self.perform = perform
        self.judge = judge
        self.cost = cost
        self.heartbeat = heartbeat
        self.key = f"sk-ant-double-{secrets.token_hex(8)}"
        self.webhook_key = "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()
        self.requests: list[tuple[str, str, Any]] = []
        self.agents: dict[str, dict[str, Any]] = {}
        self.environments: dict[str, dict[str, Any]] = {}
        self.sessions: dict[str, Session] = {}
        self.changed = threading.Condition(threading.RLock())
        self.clock = Clock()
        self._failures: list[tuple[str, str, int | None]] = []
        self._work: queue.SimpleQueue[Session | None] = queue.SimpleQueue()
        self._server: ThreadingHTTPServer | None = None

    # -- life ------------------------------------------------------------------------------------

    def start(self) -> Self:
        """Listen on a free loopback port."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.double = self  # pyright: ignore[reportAttributeAccessIssue]  # handlers find it there
        self._server = server
        poll = {"poll_interval": 0.02}
        threading.Thread(target=server.serve_forever, kwargs=poll, daemon=True).start()
        threading.Thread(target=self._engine, daemon=True).start()
        return self

    def close(self) -> None:
        """Stop listening, and end every stream."""
        if self._server is not None:
            self._server.shutdown()
            for session in self.sessions.values():
                for thread in session.threads.values():
                    thread.log.end_streams()
            self._work.put(None)
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The base URL."""
        assert self._server is not None, "start() it, or use it as a context manager"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def _engine(self) -> None:
        while (session := self._work.get()) is not None:
            session.advance()

    # -- sessions --------------------------------------------------------------------------------

    def session(self, session_id: str) -> Session:
        """A session, for a test's hand in it."""
        return self.sessions[session_id]

    def new_session(
        self,
        tools: Sequence[Any] = (),
        *,
        turns: Sequence[Turn] | None = None,
        message: str | None = "Go.",
        environment: str = "cloud",
        **more: Any,
    ) -> Session:
        """A session without the ceremony: agent, environment, first message.

        Parameters
        ----------
        tools
            As ``agents.create`` takes them.
        turns
            For this session only.
        environment
            ``"cloud"`` or ``"self_hosted"``.
        more
            `budget`, `title`, `metadata`.
        """
        agent = make_agent(self, {"name": "double", "model": "claude-double", "tools": tools})
        kept = {"config": {"type": environment}, "id": new_id("env")}
        session = self.open_session(agent, kept, turns=turns, **more)
        if message is not None:
            self.say(session, message)
        return session

    def open_session(
        self,
        agent: dict[str, Any],
        environment: dict[str, Any],
        *,
        turns: Sequence[Turn] | None = None,
        budget: dict[str, Any] | None = None,
        title: str | None = None,
        metadata: dict[str, str] | None = None,
    ) -> Session:
        """Keep a new session."""
        given = self.turns if turns is None else turns
        by_name = given if isinstance(given, Mapping) else {agent["name"]: given}
        session = Session(
            agent=agent,
            environment=environment,
            turns={name: list(turns) for name, turns in by_name.items()},
            perform=self.perform,
            judge=self.judge,
            cost=self.cost,
            budget=budget,
            title=title,
            metadata=metadata or {},
            wake=self._work.put,
            changed=self.changed,
        )
        self.sessions[session.id] = session
        return session

    def say(self, session: Session, text: str) -> None:
        """A user message from another client."""
        self.send(session, {"type": "user.message", "content": [{"type": "text", "text": text}]})

    def send(self, session: Session, *events: dict[str, Any]) -> None:
        """Events from another client, refused like any other's."""
        from .inbound import receive  # noqa: PLC0415

        with self.changed:
            receive(session, {"events": list(events)})

    # -- webhooks --------------------------------------------------------------------------------

    def webhook(
        self, kind: str, session_id: str, *, event_id: str | None = None, at: float | None = None
    ) -> tuple[str, dict[str, str]]:
        """``(payload, headers)`` of a signed delivery; give `event_id` again for a retry."""
        event_id = event_id or new_id("wevt")
        data = {
            "type": kind,
            "id": session_id,
            "organization_id": "org_double",
            "workspace_id": "wrkspc_double",
        }
        event = {
            "id": event_id,
            "type": "event",
            "created_at": self.clock.now(),
            "data": data,
        }
        payload = json.dumps(event)
        moment = str(int(time.time() if at is None else at))
        secret = base64.b64decode(self.webhook_key.removeprefix("whsec_"))
        signed = f"{event_id}.{moment}.{payload}".encode()
        signature = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
        headers = {
            "webhook-id": event_id,
            "webhook-timestamp": moment,
            "webhook-signature": f"v1,{signature}",
        }
        return payload, headers

    # -- faults ----------------------------------------------------------------------------------

    def fail_next(self, method: str, path_ends: str, status: int) -> None:
        """Answer the next such request with an error and do nothing."""
        with self.changed:
            self._failures.append((method, path_ends, status))

    def lose_reply(self, method: str = "POST", path_ends: str = "/events") -> None:
        """Do what the next such request says, and break the connection before the reply."""
        with self.changed:
            self._failures.append((method, path_ends, None))

    def forget_faults(self) -> None:
        """What was told to fail and has not yet, does not."""
        with self.changed:
            self._failures.clear()

    def note(self, method: str, path: str, body: Any) -> None:
        """Keep what was asked, and wake whoever waits for it."""
        with self.changed:
            self.requests.append((method, path, body))
            self.changed.notify_all()

    def asked(self, method: str, path_ends: str) -> int:
        """How many such requests came."""
        return sum(m == method and p.endswith(path_ends) for m, p, _ in self.requests)

    def fault(self, method: str, path: str) -> tuple[bool, int | None]:
        """``(whether one applies, its status or None for a lost reply)``; used up by asking."""
        with self.changed:
            for fault in self._failures:
                if fault[0] == method and path.endswith(fault[1]):
                    self._failures.remove(fault)
                    return True, fault[2]
        return False, None

    def find_session(self, session_id: str) -> Session:
        """A session, as a client may see it."""
        session = self.sessions.get(session_id)
        if session is None or session.deleted:
            raise ApiError(404, f"Session {session_id} not found")
        return session
