"""The human's side in code: list, decide, settle. Only joins what other rooms do."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, get_args

from . import deciders, surface
from .deciders import store_of
from .decisions import as_reviewer
from .desk import desk_of
from .errors import NotAsked
from .request import Decision, Receipt, Request, Reviewer, State, utc
from .store import Store
from .trail import History, table

_DECIDED: tuple[State, ...] = tuple(s for s in get_args(State) if s != "pending")

Settling = Literal["happened", "run_again", "give_up"]


async def pending(
    store: Any = None,
    *,
    agent_id: str | None = None,
    thread_id: str | None = None,
    resource_id: str | None = None,
    state: State | Sequence[State] | None = None,
) -> list[Request]:
    """Requests that wait for a human, oldest first; dead owners are swept first.

    Parameters
    ----------
    store
        A path, a store, ``":memory:"``, or None for the configured default.
    agent_id, thread_id, resource_id
        Only these.
    state
        A state or several, in place of ``pending`` and ``outcome_unknown``.

    Raises
    ------
    ValueError
        There is no such state.
    """
    desk = desk_of(store_of(store))
    await desk.write(desk.store.sweep)
    states = (state,) if isinstance(state, str) else state or ("pending", "outcome_unknown")
    for each in states:
        if each not in get_args(State):
            raise ValueError(f"state={each!r}: give one of {', '.join(get_args(State))}.")
    return await desk.read(
        desk.store.requests,
        states=tuple(states),
        agent_id=agent_id,
        thread_id=thread_id,
        resource_id=resource_id,
    )


async def decide(
    request: Request | str,
    decision: Decision,
    *,
    fingerprint: str | None = None,
    reviewer: Reviewer | str | None = None,
    store: Any = None,
) -> Receipt:
    """Decide a request, once; whoever can drives its run on.

    Parameters
    ----------
    request
        A `Request` (it remembers its store), or its id with `store`.
    fingerprint
        The one that was looked at; left out, the decision is recorded as "not shown".

    Raises
    ------
    RequestNotFound, AlreadyDecided, NotAsked, StaleFingerprint, InvalidAnswer, NotPermitted,
    Expired
        Nothing was changed.
    """
    desk = desk_of(_store_behind(request, store))
    return await desk.decide(request, decision, fingerprint=fingerprint, reviewer=reviewer)


async def decide_all(
    decisions: Sequence[tuple[Request, Decision]], *, reviewer: Reviewer | str | None = None
) -> list[Receipt]:
    """Decide several requests of one store, all or none, bound to the fingerprints they hold.

    Raises
    ------
    NotAsked
        They stand in different stores.
    """
    stores = {id(r.store): r.store for r, _ in decisions}
    if not decisions:
        return []
    if len(stores) > 1:
        raise NotAsked("These requests stand in different stores: decide each store's alone.")
    desk = desk_of(next(iter(stores.values())))
    bound = [(r, d, r.fingerprint) for r, d in decisions]
    return await desk.decide_all(bound, reviewer=reviewer)


async def settle(
    request: Request | str,
    how: Settling,
    result: Any = None,
    *,
    reviewer: Reviewer | str | None = None,
    store: Any = None,
) -> Request:
    """Say how a call whose outcome is unknown ended.

    Parameters
    ----------
    how
        ``"happened"`` (with its `result`, JSON), ``"run_again"`` (a new request opens), or
        ``"give_up"`` (the model is told it failed).

    Raises
    ------
    NotAsked
        An unknown `how`.
    AlreadyDecided
        The request's outcome is not unknown (any more).
    InvalidAnswer
        The `result` is no JSON value.
    NotPermitted
        It has reviewers, and this is none of them.
    """
    if how not in ("happened", "run_again", "give_up"):
        raise NotAsked(f"settle({how!r}): say 'happened', 'run_again' or 'give_up'.")
    desk = desk_of(_store_behind(request, store))
    return await desk.settle(request, how, result=result, reviewer=as_reviewer(reviewer))


def _store_behind(request: Any, store: Any) -> Store:
    if not isinstance(request, Request | str):
        raise TypeError(
            f"One request is meant, or its id, not a {type(request).__name__}: take one of "
            "await hitl.pending(), or decide several with hitl.decide_all."
        )
    if isinstance(request, Request) and request.store is not None and store is None:
        return request.store
    return store_of(store)


def inbox(store: Any = None) -> Any:
    """Everything that waits in the store, live, from any notebook: look, filter, decide here.

    Returns
    -------
    Inbox
        A widget; make it a cell's last expression. Where nobody can be asked (nbclient,
        papermill, a job) only its static record: a widget would be saved with its whole bundle.
    """
    desk = desk_of(store_of(store))
    desk.write_now(desk.store.sweep)
    shown = surface.current()
    if shown is None or not shown.can_ask(background=True):
        from .screen.record import Frozen, inbox_record  # noqa: PLC0415  # one room, not loaded

        said = deciders.settings()
        return Frozen(inbox_record(desk.store, level=said.record, locale=said.locale or "en"))
    from .screen.inbox import Inbox  # noqa: PLC0415  # loads ipywidgets

    return Inbox(desk=desk, shown=shown)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class Grants(list[dict[str, Any]]):
    """Standing grants as a list of dicts that shows itself as a table in a cell."""

    def _repr_html_(self) -> str:
        if not self:
            return "<p>No standing grants.</p>"
        names = ("id", "words", "reviewer", "reach", "expires_at")
        shown = table(names, ([_cell(grant[name]) for name in names] for grant in self))
        return f"{shown}<p>End one: hitl.revoke(id)</p>"


def grants(store: Any = None) -> Grants:
    """Standing grants in force, oldest first: what runs without asking, and who said so (R20).

    Returns
    -------
    Grants
        Dicts with `id`, `words` (the rule as the reviewer read it), `tool_name`, `covers`,
        `reach`, `reviewer`, `run_id`, `thread_id` and `expires_at` (UTC, or None).
    """
    found = store_of(store).grants()
    ends = [g.get("expires_at") for g in found]
    return Grants(
        {**g, "expires_at": None if end is None else utc(end)}
        for g, end in zip(found, ends, strict=True)
    )


def revoke(grant_id: str, *, reviewer: Reviewer | str | None = None, store: Any = None) -> None:
    """End a standing grant: the next call that it covered asks again.

    Raises
    ------
    RequestNotFound
        No grant of that id is in force.
    """
    desk_of(store_of(store)).revoke(grant_id, as_reviewer(reviewer))


def history(store: Any = None, *, as_frame: bool = False, limit: int = 10_000) -> Any:
    """Every request that was ever decided or ended, oldest first (R18).

    Parameters
    ----------
    as_frame
        A `pandas.DataFrame` instead (extra ``pandas``).
    limit
        The newest so many.

    Returns
    -------
    History
        Dicts with `asked_at`, `decided_at` (UTC), `seconds` to decide, `tool`, `args` (secrets
        masked), `verdict`, `decision`, `reviewer`, `identity_source`, `via`, `state`,
        `fingerprint`, `evaluation`, `agent_id`, `agent_path`, `run_id`, `request_id`, `origin`. It
        shows plots and a table in a cell, exports itself (`to_csv`, `to_json`, `to_frame`), and
        knows what stands out (`patterns`).
    """
    found = store_of(store).requests(states=_DECIDED, newest_first=True, limit=limit)
    rows = History(reversed(found))
    return rows.to_frame() if as_frame else rows
