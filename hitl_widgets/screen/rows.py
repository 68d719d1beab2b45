"""Lists of an inbox: what a person looks for, and each request in one line."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, get_args

from ..request import WAITING, Request, State, effect_of, utc
from ..store.base import Search
from .inbox_messages import GrantDoc, RowView, SearchDoc
from .views import iso, text

HISTORY: tuple[State, ...] = tuple(s for s in get_args(State) if s not in WAITING)

LONGEST = 200
"""Characters of a summary; the card has everything."""

FILTERS = {"agent_id": "agent", "thread_id": "thread", "tool_name": "tool", "notebook": "notebook"}
"""The store's names of what can be filtered by, and the page's."""

MOST_VALUES = 200
"""Values of one filter that are offered, the most frequent ones; the text finds the others."""


def search_of(doc: SearchDoc) -> Search:
    """A page's search in the store's words."""
    among = WAITING if doc.among == "waiting" else HISTORY
    now = time.time()
    return Search(
        states=among if doc.state is None else tuple(s for s in among if s == doc.state),
        agent_id=doc.agent,
        thread_id=doc.thread,
        tool_name=doc.tool,
        notebook=doc.notebook,
        asked_before=None if doc.youngest is None else now - doc.youngest,
        asked_after=None if doc.oldest is None else now - doc.oldest,
        text=doc.text,
        order=doc.order,
    )


def tally_of(counted: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The store's counts in the page's words."""
    return {
        FILTERS[name]: dict(sorted(values.items(), key=lambda one: -one[1])[:MOST_VALUES])
        for name, values in counted.items()
    }


def row_view(request: Request) -> RowView:
    """A request in one line."""
    whole = request.message if request.message is not None else _one_line(request.args)
    whole = text(whole)
    notebook = request.origin.get("notebook")
    return RowView(
        id=request.id,
        kind=request.kind,
        state=request.state,
        tool=text(request.tool_name),
        agent_path=list(request.agent_path),
        thread=request.thread_id,
        notebook=None if notebook is None else text(str(notebook)),
        effect=effect_of(request),
        summary=whole[:LONGEST],
        cut=len(whole) > LONGEST,
        fingerprint=request.fingerprint,
        created_at=iso(request.created_at),
        expires_at=None if request.expires_at is None else iso(request.expires_at),
        verdict=None if request.decision is None else request.decision["verdict"],
        reviewer=request.reviewer,
        decided_at=None if request.decided_at is None else iso(request.decided_at),
    )


def _one_line(args: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)[: LONGEST + 1]}"
        for name, value in args.items()
    )


def grant_doc(grant: Mapping[str, Any]) -> GrantDoc:
    """A standing grant for the page."""
    end = grant.get("expires_at")
    return GrantDoc(
        id=str(grant["id"]),
        tool=text(str(grant["tool_name"])),
        words=text(str(grant["words"])),
        reviewer=str(grant.get("reviewer") or "?"),
        reach=str(grant.get("reach") or "?"),
        run_id=grant.get("run_id"),
        thread=grant.get("thread_id"),
        expires_at=None if end is None else iso(utc(end)),
    )
