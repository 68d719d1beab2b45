"""What an inbox and the kernel say to each other beside what every card says."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..request import Effect, Kind, State, Verdict
from ..store.base import Order
from .doc import Doc

MOST_ROWS = 200
"""Rows in one answer: a page that wants more asks again."""

MOST_TOGETHER = 100
"""Requests that are decided together: more cannot be looked at as a table."""

# -- page → kernel -------------------------------------------------------------------------------


class SearchDoc(Doc):
    """What a person looks for; None, or empty: it does not count."""

    among: Literal["waiting", "history"]
    state: State | None = None
    agent: str | None = None
    thread: str | None = None
    tool: str | None = None
    notebook: str | None = None
    youngest: int | None = Field(default=None, ge=0, description="Asked so many seconds ago.")
    oldest: int | None = Field(default=None, ge=0, description="Not more seconds ago than this.")
    text: str = ""
    order: Order = "oldest"


class Rows(Doc):
    """Asks for one page of a list."""

    type: Literal["rows"]
    id: str
    search: SearchDoc
    offset: int = Field(ge=0)
    limit: int = Field(ge=1, le=MOST_ROWS)
    tally: bool = Field(description="Also what can be filtered by.")


class Open(Doc):
    """A person opens a row to its card, or closes it."""

    type: Literal["open"]
    id: str
    request_id: str
    open: bool


class Look(Doc):
    """Asks for all of some requests, to decide them together."""

    type: Literal["look"]
    id: str
    request_ids: list[str] = Field(min_length=1, max_length=MOST_TOGETHER)


class Grants(Doc):
    """Asks for the standing grants in force."""

    type: Literal["grants"]
    id: str


class Revoke(Doc):
    """A person ends a standing grant."""

    type: Literal["revoke"]
    id: str
    grant_id: str


# -- kernel → page -------------------------------------------------------------------------------


class RowView(Doc):
    """One line of a list: enough to tell requests apart, never enough to consent."""

    id: str
    kind: Kind
    state: State
    tool: str
    agent_path: list[str]
    thread: str | None
    notebook: str | None
    effect: Effect | None = Field(description="As in `RequestView`.")
    summary: str = Field(description="The message, or the arguments in one line, perhaps cut.")
    cut: bool
    fingerprint: str
    created_at: str
    expires_at: str | None
    verdict: Verdict | None
    reviewer: str | None
    decided_at: str | None


class RowsDoc(Doc):
    """One page of a list."""

    total: int
    rows: list[RowView]
    tally: dict[str, dict[str, int]] | None = Field(
        description="agent, thread, tool, notebook → value → how many."
    )


Idle = Literal["agent", "again"]
"""A decision that nobody acts on: who has to. Its agent, or whoever runs the code again."""


class OutcomeDoc(Doc):
    """What became of one of several decisions that were made together."""

    request_id: str
    tool: str
    fingerprint: str
    state: State | None = Field(description="None: it did not count.")
    code: str | None = None
    words: str | None = None
    agent: str = Field(description="The root agent of the call's run.")
    idle: Idle | None = None


class GrantDoc(Doc):
    """A standing grant in force."""

    id: str
    tool: str
    words: str
    reviewer: str
    reach: str
    run_id: str | None
    thread: str | None
    expires_at: str | None


class RunRef(Doc):
    """A run that goes on here after a decision in this inbox, and the panel that shows it."""

    run_id: str
    panel: str


class InboxView(Doc):
    """What an inbox shows beside its requests. `version` grows with every change of the store."""

    store: str
    version: int
    waiting: int
    unknown: int
    runs: list[RunRef]
    idle: dict[str, Idle] = Field(
        description="Of the requests that are opened, those that are decided while nobody acts on "
        "it: by id."
    )
