"""The human's side in code: list, decide, settle. Only joins what other rooms do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from . import deciders
from .desk import as_reviewer, desk_of
from .errors import NotAsked
from .request import Decision, Receipt, Request, Reviewer, State
from .store import Store, open_store

Settling = Literal["happened", "run_again", "give_up"]


def store_of(store: Any = None) -> Store:
    """A store from whatever ``store=`` takes; None is the configured default."""
    return open_store(deciders.settings().store if store is None else store)


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
    """
    desk = desk_of(store_of(store))
    await desk.write(desk.store.sweep)
    states = (state,) if isinstance(state, str) else state or ("pending", "outcome_unknown")
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
    """
    if how not in ("happened", "run_again", "give_up"):
        raise NotAsked(f"settle({how!r}): say 'happened', 'run_again' or 'give_up'.")
    desk = desk_of(_store_behind(request, store))
    return await desk.settle(request, how, result=result, reviewer=as_reviewer(reviewer))


def _store_behind(request: Request | str, store: Any) -> Store:
    if isinstance(request, Request) and request.store is not None and store is None:
        return request.store
    return store_of(store)


def inbox(store: Any = None) -> Any:
    """Every pending request in the store, live: decide here.

    Returns
    -------
    Inbox
        A widget; make it a cell's last expression.
    """
    from .screen.inbox import Inbox  # noqa: PLC0415  # loads ipywidgets

    desk = desk_of(store_of(store))
    desk.write_now(desk.store.sweep)
    waiting = desk.store.requests(states=("pending", "outcome_unknown"))
    return Inbox(waiting, location=desk.store.location, desk=desk)


