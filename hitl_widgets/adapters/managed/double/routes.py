"""The paths of the API and what they answer."""

from __future__ import annotations

import base64
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .agents import ApiError, check_keys, resolve_tools
from .inbound import receive
from .log import Event, Log, new_id
from .session import Session

Query = dict[str, list[str]]
PAGE = 20
"""Events in a page unless `limit` says otherwise."""


@dataclass(frozen=True)
class Stream:
    """The answer is a stream of this log."""

    log: Log


def route(double: Any, method: str, path: str, query: Query, body: Any) -> Any:
    """Find who answers, under the double's lock."""
    for verb, pattern, answer in ROUTES:
        found = re.fullmatch(pattern, path)
        if found and verb == method:
            with double.changed:
                return answer(double, query, body, *found.groups())
    raise ApiError(404, f"{method} {path}: Not Found")


# -- agents and environments ---------------------------------------------------------------------


def make_agent(double: Any, body: Any) -> dict[str, Any]:
    """Keep an agent."""
    given = check_keys(
        body,
        "body",
        {"model", "name"},
        {"description", "mcp_servers", "metadata", "multiagent", "skills", "system", "tools"},
    )
    model = given["model"]
    now = double.clock.now()
    agent = {
        "id": new_id("agent"),
        "type": "agent",
        "version": 1,
        "name": given["name"],
        "description": given.get("description"),
        "model": {"id": model} if isinstance(model, str) else model,
        "system": given.get("system"),
        "mcp_servers": list(given.get("mcp_servers") or ()),
        "metadata": given.get("metadata") or {},
        "multiagent": given.get("multiagent"),
        "skills": list(given.get("skills") or ()),
        "tools": resolve_tools(given.get("tools") or ()),
        "execution_identity": {"type": "service_account"},
        "created_at": now,
        "updated_at": now,
        "archived_at": None,
    }
    double.agents[agent["id"]] = agent
    return agent


def _create_agent(double: Any, _query: Query, body: Any) -> Any:
    return make_agent(double, body)


def _retrieve_agent(double: Any, _query: Query, _body: Any, agent_id: str) -> Any:
    if agent_id not in double.agents:
        raise ApiError(404, f"Agent {agent_id} not found")
    return double.agents[agent_id]


def _create_environment(double: Any, _query: Query, body: Any) -> Any:
    given = check_keys(body, "body", {"name"}, {"config", "description", "metadata", "scope"})
    config = given.get("config") or {"type": "cloud"}
    if config.get("type") not in ("cloud", "self_hosted"):
        raise ApiError(400, "config.type: 'cloud' or 'self_hosted'")
    packages: dict[str, Any] = {name: [] for name in ("apt", "cargo", "gem", "go", "npm", "pip")}
    cloud: dict[str, Any] = {
        "type": "cloud",
        "networking": {"type": "unrestricted"},
        "packages": {**packages, "type": "packages"},
    }
    now = double.clock.now()
    environment: dict[str, Any] = {
        "id": new_id("env"),
        "type": "environment",
        "name": given["name"],
        "config": cloud if config["type"] == "cloud" else {"type": "self_hosted"},
        "description": given.get("description"),
        "metadata": given.get("metadata") or {},
        "created_at": now,
        "updated_at": now,
        "archived_at": None,
    }
    double.environments[environment["id"]] = environment
    return environment


# -- sessions --------------------------------------------------------------------------------------


def _create_session(double: Any, _query: Query, body: Any) -> Any:
    given = check_keys(
        body,
        "body",
        {"agent", "environment_id"},
        {"budget", "initial_events", "metadata", "resources", "title", "vault_ids"},
    )
    named = given["agent"] if isinstance(given["agent"], str) else given["agent"].get("id")
    agent = _retrieve_agent(double, {}, None, named)
    if given["environment_id"] not in double.environments:
        raise ApiError(404, f"Environment {given['environment_id']} not found")
    budget = given.get("budget")
    session = double.open_session(
        agent,
        double.environments[given["environment_id"]],
        budget=None if budget is None else _budget(budget),
        title=given.get("title"),
        metadata=given.get("metadata"),
    )
    if given.get("initial_events"):
        receive(session, {"events": given["initial_events"]})
    return show(session)


def show(session: Session) -> dict[str, Any]:
    """A session as the API shows it."""
    agent = {
        k: v
        for k, v in session.agent.items()
        if k not in ("metadata", "created_at", "updated_at", "archived_at")
    }
    return {
        "id": session.id,
        "type": "session",
        "agent": agent,
        "archived_at": session.archived_at,
        "budget": session.budget,
        "created_at": session.created_at,
        "updated_at": session.created_at,
        "environment_id": session.environment["id"],
        "metadata": session.metadata,
        "outcome_evaluations": [],
        "resources": [],
        "stats": {},
        "status": session.status,
        "title": session.title,
        "usage": {"list_cost": {"amount": str(session.spent), "currency": "USD"}},
        "vault_ids": [],
    }


def _retrieve_session(double: Any, _query: Query, _body: Any, session_id: str) -> Any:
    session = double.find_session(session_id)
    shown = show(session)
    if session.lag and shown["status"] == "idle":
        session.lag -= 1
        shown["status"] = "running"
    return shown


def _list_sessions(double: Any, query: Query, _body: Any) -> Any:
    statuses = query.get("statuses[]")
    found = [
        show(s)
        for s in double.sessions.values()
        if not s.deleted and s.archived_at is None and (statuses is None or s.status in statuses)
    ]
    if query.get("order", ["desc"])[0] == "desc":
        found.reverse()
    return _page(found, query)


def _update_session(double: Any, _query: Query, body: Any, session_id: str) -> Any:
    session = double.find_session(session_id)
    given = check_keys(body, "body", set(), {"agent", "budget", "metadata", "title", "vault_ids"})
    if "budget" in given:
        _raise_budget(session, given["budget"])
    if "title" in given:
        session.title = given["title"]
    return show(session)


def _budget(given: Any) -> dict[str, Any]:
    check_keys(given, "budget", {"type", "max_list_cost"}, set())
    cost = check_keys(given["max_list_cost"], "budget.max_list_cost", {"amount", "currency"}, set())
    if not re.fullmatch(r"[1-9]\d*", str(cost["amount"])) or not isinstance(cost["amount"], str):
        raise ApiError(400, "budget.max_list_cost.amount: whole cents as a string")
    return given


def _raise_budget(session: Session, budget: Any) -> None:
    if session.budget is None:
        raise ApiError(400, "budget_create_only: a budget can only be set at create")
    if budget is not None and int(_budget(budget)["max_list_cost"]["amount"]) <= session.spent:
        raise ApiError(400, "budget_not_raised: the new budget must exceed what was consumed")
    session.set_budget(budget)


def _archive_session(double: Any, _query: Query, _body: Any, session_id: str) -> Any:
    session = double.find_session(session_id)
    if session.lag:
        raise ApiError(400, "Cannot archive a session while its status is running")
    session.archive()
    return show(session)


def _delete_session(double: Any, _query: Query, _body: Any, session_id: str) -> Any:
    session = double.find_session(session_id)
    session.delete()
    return {"id": session.id, "type": "session_deleted"}


# -- events and threads --------------------------------------------------------------------------


def _send(double: Any, _query: Query, body: Any, session_id: str) -> Any:
    session = double.find_session(session_id)
    return {"data": [dict(e) for e in receive(session, body)]}


def _events(double: Any, query: Query, _body: Any, session_id: str) -> Any:
    return _listing(double.find_session(session_id).log, query)


def _event_stream(double: Any, _query: Query, _body: Any, session_id: str) -> Any:
    return Stream(double.find_session(session_id).log)


def _listing(log: Log, query: Query) -> Any:
    events = log.listed()
    if "types[]" in query:
        events = [e for e in events if e["type"] in query["types[]"]]
    for name, holds in _BOUNDS.items():
        bound = query.get(f"created_at[{name}]")
        if bound:
            # Queued events have no time yet: no bound finds them.
            events = [e for e in events if e["processed_at"] and holds(e["processed_at"], bound[0])]
    if query.get("order", ["asc"])[0] == "desc":
        events.reverse()
    return _page(events, query)


_BOUNDS: dict[str, Callable[[str, str], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


def _page(rows: list[Event], query: Query) -> dict[str, Any]:
    limit = int(query.get("limit", [str(PAGE)])[0])
    cursor = query.get("page", [""])[0]
    start = int(base64.urlsafe_b64decode(cursor)) if cursor else 0
    end = start + limit
    more = base64.urlsafe_b64encode(str(end).encode()).decode() if end < len(rows) else None
    return {"data": rows[start:end], "next_page": more}


def _threads(double: Any, query: Query, _body: Any, session_id: str) -> Any:
    session = double.find_session(session_id)
    return _page([t.as_json(session) for t in session.threads.values()], query)


def _thread(double: Any, session_id: str, thread_id: str) -> Any:
    session = double.find_session(session_id)
    if thread_id not in session.threads:
        raise ApiError(404, f"Thread {thread_id} not found")
    return session, session.threads[thread_id]


def _retrieve_thread(
    double: Any, _query: Query, _body: Any, session_id: str, thread_id: str
) -> Any:
    session, thread = _thread(double, session_id, thread_id)
    return thread.as_json(session)


def _archive_thread(double: Any, _query: Query, _body: Any, session_id: str, thread_id: str) -> Any:
    session, thread = _thread(double, session_id, thread_id)
    session.archive_thread(thread.id)
    return thread.as_json(session)


def _thread_events(double: Any, query: Query, _body: Any, session_id: str, thread_id: str) -> Any:
    return _listing(_thread(double, session_id, thread_id)[1].log, query)


def _thread_stream(double: Any, _query: Query, _body: Any, session_id: str, thread_id: str) -> Any:
    return Stream(_thread(double, session_id, thread_id)[1].log)


_S = r"/v1/sessions/([^/]+)"
_T = _S + r"/threads/([^/]+)"
ROUTES = (
    ("POST", r"/v1/agents", _create_agent),
    ("GET", r"/v1/agents/([^/]+)", _retrieve_agent),
    ("POST", r"/v1/environments", _create_environment),
    ("POST", r"/v1/sessions", _create_session),
    ("GET", r"/v1/sessions", _list_sessions),
    ("GET", _S, _retrieve_session),
    ("POST", _S, _update_session),
    ("DELETE", _S, _delete_session),
    ("POST", _S + "/archive", _archive_session),
    ("POST", _S + "/events", _send),
    ("GET", _S + "/events", _events),
    ("GET", _S + "/events/stream", _event_stream),
    ("GET", _S + "/threads", _threads),
    ("GET", _T, _retrieve_thread),
    ("POST", _T + "/archive", _archive_thread),
    ("GET", _T + "/events", _thread_events),
    ("GET", _T + "/stream", _thread_stream),
)
