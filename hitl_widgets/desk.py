"""The one place where requests are opened, decided and claimed.

A `Desk` stands on a store. It checks a decision before it is spent (R3, R4), records it once (R1),
tells everybody who watches, in this process and in others, and sees to it that somebody drives
the run on. Whoever shows requests and whoever raises them only ever meet here.
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from . import given
from .errors import (
    AlreadyDecided,
    Expired,
    HitlError,
    InvalidAnswer,
    NotAsked,
    RequestNotFound,
    StaleFingerprint,
)
from .fingerprint import fingerprint, mask, unmask
from .request import (
    DECISIONS,
    Answer,
    Approve,
    Decision,
    Decline,
    Receipt,
    Request,
    Respond,
    Reviewer,
    new_id,
)
from .schema import is_json, shape_of
from .standing import Rule, grant_of, subject_of
from .standing import check as check_rule
from .store.base import Event, Store, Vote
from .watching import Watch

_QUIET = frozenset({"opened", "claim", "call-started", "park", "unpark"})
"""Events that only a run's own driver makes: they are no news to it."""

# Topics of a desk's watch beside the runs' own ids.
_REQUESTS = ("requests",)
_ANYTHING = ("anything",)

_log = logging.getLogger("hitl_widgets")
T = TypeVar("T")
Listener = Callable[[Request], None]


class Expert(Protocol):
    """Whoever knows an agent (or a verb's call) in this process: its types and how to drive it."""

    def check_args(self, request: Request, args: dict[str, Any]) -> dict[str, Any] | None:
        """Validate edited arguments with the tool's own model; None: no such tool here."""
        ...

    def check_answer(self, request: Request, data: Any) -> tuple[Any] | None:
        """Validate an answer with its own model, as a 1-tuple; None: not known here."""
        ...

    async def permit_edit(self, request: Request, args: dict[str, Any]) -> None:
        """Evaluate the policy on edited arguments; `NotPermitted` when it denies (R10)."""
        ...

    @property
    def title(self) -> str | None:
        """What people call whom `resume` drives on; None: it cannot be driven on from here."""
        ...

    def resume(self, run_id: str) -> None:
        """Drive the run on in the background. Called on any thread."""
        ...

    def cancel(self, run_id: str) -> None:
        """Cancel the run, whoever drives it by now. Called on any thread."""
        ...


class Desk:
    """A store with everybody who waits at it. One per store and process: use `desk_of`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.experts: dict[str, Expert] = {}
        self.drivers: dict[str, Callable[[], None]] = {}
        self._lock = threading.RLock()
        self._watch = Watch(store.version, self._publish)
        self._seq = store.last_seq()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="hitl-store")

    # -- the store, off the event loop -------------------------------------------------------

    async def read(self, method: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call a store method without blocking the loop.

        Once started it is waited for, even when the caller is cancelled: nobody is left guessing
        whether a write happened.
        """
        future = asyncio.get_running_loop().run_in_executor(
            self._executor, lambda: method(*args, **kwargs)
        )
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            await asyncio.wait([future])
            raise

    async def write(self, method: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """`read`, then tell everybody what changed."""
        return await self.read(self.write_now, method, *args, **kwargs)

    def write_now(self, method: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """`write` for a thread without a loop."""
        try:
            return method(*args, **kwargs)
        finally:
            self._publish()

    # -- deciding ----------------------------------------------------------------------------

    async def decide(
        self,
        request: Request | str,
        decision: Decision,
        *,
        fingerprint: str | None = None,
        reviewer: Reviewer | str | None = None,
        via: str = "api",
        drive: bool = True,
        extracted_from: str | None = None,
        always: Rule | None = None,
        take: tuple[str, str] | None = None,
    ) -> Receipt:
        """Check a decision and record it, once.

        Parameters
        ----------
        fingerprint
            What the reviewer saw. Left out: bound to the stored one, recorded as "not shown".
        drive
            See to it that somebody drives the run on; False when the caller will.
        extracted_from
            The chat message that an answer was taken from; kept in the decision (R7).
        always
            A standing grant that is kept together with an approval as shown (R20).
        take
            Run id and token: adopt the run with the decision, if nobody drives it.

        Raises
        ------
        RequestNotFound, AlreadyDecided, NotAsked, StaleFingerprint, InvalidAnswer, Expired,
        NotPermitted
            Nothing was changed.
        """
        receipts = await self.decide_all(
            [(request, decision, fingerprint)],
            reviewer=reviewer,
            via=via,
            drive=drive,
            extracted_from=extracted_from,
            always=always,
            take=take,
        )
        return receipts[0]

    async def decide_all(
        self,
        decisions: Sequence[tuple[Request | str, Decision, str | None]],
        *,
        reviewer: Reviewer | str | None = None,
        via: str = "api",
        drive: bool = True,
        extracted_from: str | None = None,
        always: Rule | None = None,
        take: tuple[str, str] | None = None,
    ) -> list[Receipt]:
        """Check and record several ``(request, decision, fingerprint)``, all or none."""
        who = as_reviewer(reviewer)
        votes: list[Vote] = []
        runs: set[tuple[str, str]] = set()
        for target, decision, shown in decisions:
            request = await self.read(
                self.store.request, target.id if isinstance(target, Request) else target
            )
            vote = await self._vote(request, decision, shown, who, via)
            if extracted_from is not None:
                vote.decision["extracted_from"] = extracted_from
            if always is not None:
                vote = replace(vote, grant=await self._granted(request, decision, always))
            votes.append(vote)
            runs.add((request.run_id, request.agent_id))
        receipts = await self.write(self.store.decide, votes, take=take)
        if drive:
            for run_id, agent_id in runs:
                await self.read(self.resume, run_id, agent_id)
        return receipts

    async def settle(
        self,
        request: Request | str,
        how: str,
        *,
        result: Any = None,
        reviewer: Reviewer,
        via: str = "api",
    ) -> Request:
        """A human says how an ``outcome_unknown`` call ended; its run goes on."""
        old = await self.read(
            self.store.request, request.id if isinstance(request, Request) else request
        )
        again = None
        if how == "run_again":
            again = replace(
                old,
                id=new_id("r"),
                ordinal=old.ordinal + 1,
                state="pending",
                created_at=datetime.now(UTC),
                decision=None,
                reviewer=None,
                identity_source=None,
                via=None,
                decided_at=None,
                expires_at=None,
                votes=(),
            )
        settled = await self.write(
            self.store.settle,
            old.id,
            how,
            result=result,
            reviewer=reviewer.name,
            identity_source=reviewer.identity_source,
            via=via,
            opens=again,
        )
        await self.read(self.resume, old.run_id, old.agent_id)
        return settled

    def resume(self, run_id: str, agent_id: str) -> None:
        """Have a run driven on here, unless a living driver holds it or nobody here knows it."""
        expert = self.experts.get(agent_id)
        if run_id in self.drivers or expert is None:
            return
        if not self.store.driver_alive(self.store.run(run_id)):
            expert.resume(run_id)

    def driver_here(self, run_id: str, agent_id: str) -> Expert | None:
        """Who would drive a run on here once it is decided; None while a living driver holds it."""
        expert = self.experts.get(agent_id)
        if expert is None or expert.title is None or run_id in self.drivers:
            return None
        return None if self.store.driver_alive(self.store.run(run_id)) else expert

    def revoke(self, grant_id: str, reviewer: Reviewer, *, via: str = "api") -> None:
        """End a standing grant.

        Raises
        ------
        RequestNotFound
            No grant of that id is in force.
        """
        if not self.write_now(self.store.revoke_grant, grant_id, reviewer=reviewer.name, via=via):
            raise RequestNotFound(
                f"No standing grant {grant_id!r} is in force in {self.store.location}: "
                "hitl.grants() lists those that are."
            )

    async def _vote(
        self, request: Request, decision: Decision, shown: str | None, who: Reviewer, via: str
    ) -> Vote:
        check_kind(request, decision)
        if request.state == "expired":
            raise Expired(
                f"The time to decide {request.tool_name} ({request.id}) is over. Nothing ran."
            )
        if request.state != "pending":
            raise already(request)
        if shown is not None and shown != request.fingerprint:
            raise StaleFingerprint(
                f"{request.tool_name}: the call that was shown ({shown[:16]}…) is not the one that "
                f"waits ({request.short_fingerprint}…). Look at the request again and decide that."
            )
        extra: dict[str, Any] = {}
        match decision:
            case Approve(args=edited) if edited is not None:
                extra = await self._edited(request, dict(edited))
            case Answer(data=data):
                # Rebuilding a stored schema may load its format checkers: not on the loop.
                extra = await asyncio.to_thread(self._answered, request, data)
            case Respond(result=result) if not is_json(result):
                error: dict[str, Any] = {
                    "path": [],
                    "message": f"got {type(result).__name__}",
                    "type": "json",
                }
                raise InvalidAnswer([error], "A result is any JSON value")
            case _:
                pass
        return Vote(
            request_id=request.id,
            target=decision.state,
            decision={**as_json(decision), **extra.pop("decision", {})},
            reviewer=who.name,
            identity_source=who.identity_source,
            via=via,
            fingerprint=shown,
            **extra,
        )

    async def look_up(self, request_id: str) -> Request:
        """The request as it is now."""
        return await self.read(self.store.request, request_id)

    async def check_edit(
        self, request: Request | str, edited: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """What an edit would run, checked as `decide` checks it; nothing is decided.

        Returns
        -------
        args, digests
            The arguments that would run (secrets masked), and their digests by JSON Pointer.

        Raises
        ------
        RequestNotFound, AlreadyDecided, InvalidAnswer, NotPermitted
            They could not be approved.
        """
        id_ = request.id if isinstance(request, Request) else request
        asked = await self.read(self.store.request, id_)
        if asked.state != "pending":
            raise already(asked)
        checked = await self._edited(asked, dict(edited))
        return checked["decision"]["args"], checked["edited"]["digests"]

    async def _granted(self, request: Request, decision: Decision, rule: Rule) -> dict[str, Any]:
        if not isinstance(decision, Approve) or decision.args is not None:
            raise NotAsked("A standing grant goes with an approval as shown, with nothing else.")
        check_rule(request, rule, now=time.time())
        subject = subject_of(request, await self._args(request), self.store.secret_key())
        return grant_of(rule, subject, request.id)

    async def _args(self, request: Request) -> dict[str, Any]:
        """The arguments of the request's call, secrets in clear."""
        calls = await self.read(self.store.calls, request.run_id)
        return next(c.args for c in calls if c.id == request.tool_call_id)

    async def _edited(self, request: Request, edited: dict[str, Any]) -> dict[str, Any]:
        if request.scope.get("how") in ("verb", "confirm"):
            raise NotAsked(
                f"The arguments of {request.tool_name} ({request.id}) cannot be edited: they are "
                "Python objects of the caller. Approve as shown, or decline and say what to change."
            )
        args = unmask(edited, await self._args(request), request.secrets)
        expert = self.experts.get(request.agent_id)
        checked = expert.check_args(request, args) if expert else None
        by = "model"
        if checked is None:
            by = "schema"
            checked = shape_of(request.input_schema or {}).validate(args)
        if expert is not None:
            await expert.permit_edit(request, checked)
        identity = fingerprint(
            request.tool_name,
            checked,
            secrets=request.secrets,
            key=self.store.secret_key(),
            bound=request.scope.get("bound"),
        )
        return {
            "validated_by": by,
            "call_args": checked,
            "edited": {"fingerprint": identity.text, "digests": identity.digests},
            "decision": {"args": mask(checked, request.secrets)},
        }

    def _answered(self, request: Request, data: Any) -> dict[str, Any]:
        expert = self.experts.get(request.agent_id)
        checked = expert.check_answer(request, data) if expert else None
        by = "model" if checked is not None else "schema"
        shape = shape_of(request.resume_schema or {})
        value = checked[0] if checked is not None else shape.dump(shape.validate(data))
        return {
            "validated_by": by if request.resume_schema is not None else None,
            "data": {"answer": value},
            "decision": {"data": shape.hide(value)},
        }

    # -- watching ----------------------------------------------------------------------------
    # All of these are called on any thread, and call on any thread.

    def subscribe(self, listener: Listener, run_id: str | None = None) -> Callable[[], None]:
        """Have `listener` called with every request that changes, whoever changed it.

        Parameters
        ----------
        run_id
            Only with this run's: what many runs at once do is not told to each of them.

        Returns the function that ends it.
        """
        return self._watch.add((_REQUESTS, run_id), listener)

    def heed(self, heeder: Callable[[], None]) -> Callable[[], None]:
        """Have `heeder` called after anything changed in the store, whoever changed it.

        It is called once for changes that come together. Returns the function that ends it.
        """
        return self._watch.add(_ANYTHING, heeder)

    def follow(self, run_id: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Have `wake` called when something of a run changes, wherever it is driven.

        Returns the function that ends it.
        """
        return self._watch.add(run_id, wake)

    def watch(self) -> Callable[[], None]:
        """Look for other processes' changes until the returned function is called."""
        return self._watch.add(None, _nobody)

    def look(self) -> None:
        """Tell everybody here what others did since the last look."""
        self._publish()

    def _publish(self) -> None:
        """Tell drivers and listeners what the events since the last look say."""
        with self._lock:
            events = self.store.events(self._seq)
            if not events:
                return
            self._seq = events[-1].seq
        self._wake(events)
        for heeder in self._watch.of(_ANYTHING):
            _tell(heeder)
        self._tell_listeners(events)

    def _wake(self, events: Sequence[Event]) -> None:
        for run_id in dict.fromkeys(e.run_id for e in events if e.run_id):
            for wake in self._watch.of(run_id):
                wake()
        news = (e for e in events if (e.request_id or e.call_id) and e.kind not in _QUIET)
        for run_id in {e.run_id for e in news}:
            wake = self.drivers.get(run_id or "")
            if wake is not None:
                wake()

    def _tell_listeners(self, events: Sequence[Event]) -> None:
        to_all = self._watch.of((_REQUESTS, None))
        changed = dict.fromkeys((e.request_id, e.run_id) for e in events if e.request_id)
        for request_id, run_id in changed:
            listeners = [*to_all, *self._watch.of((_REQUESTS, run_id))] if run_id else to_all
            if not listeners:
                continue
            try:
                request = self.store.request(request_id)
            except RequestNotFound:  # pruned meanwhile
                continue
            for listener in listeners:
                _tell(listener, request)


_kept: dict[int, Desk] = {}


def _nobody() -> None: ...


def _tell(listener: Callable[..., None], *news: Request) -> None:
    """One listener's fault must not keep the others, or the decision, from going on."""
    try:
        listener(*news)
    except Exception:  # noqa: BLE001
        _log.exception("a listener failed on %s", news[0].id if news else "a change")


def desk_of(store: Store) -> Desk:
    """The desk of a store object; always the same one."""
    desk = _kept.get(id(store))
    if desk is None:
        desk = _kept[id(store)] = Desk(store)
    return desk


def default_reviewer() -> Reviewer:
    """Who is at this machine: the JupyterHub user, else the operating system's."""
    hub = os.environ.get("JUPYTERHUB_USER")
    if hub:
        return Reviewer(hub, "jupyterhub")
    try:
        return Reviewer(getpass.getuser(), "os")
    except (KeyError, OSError):  # no such user in a container
        return Reviewer(f"uid-{os.getuid()}" if hasattr(os, "getuid") else "unknown", "os")


def as_reviewer(reviewer: Reviewer | str | None) -> Reviewer:
    """A `Reviewer` from a name (then only claimed) or None (then `default_reviewer`)."""
    if reviewer is None:
        return default_reviewer()
    return reviewer if isinstance(reviewer, Reviewer) else Reviewer(reviewer, "claimed")


def check_kind(request: Request, decision: Any) -> None:
    """Refuse whatever is not one of the decisions that this request takes (F7, F8)."""
    if not isinstance(decision, DECISIONS):
        raise _not_a_decision(
            "A decision is hitl.Approve, hitl.Decline, hitl.Answer or hitl.Respond; "
            f"got {decision!r}."
        )
    given.check(
        _not_a_decision,
        type(decision).__name__,
        **{f.name: getattr(decision, f.name) for f in fields(decision)},
    )
    if decision.verdict not in request.allowed:
        raise NotAsked(
            f"{request.tool_name} ({request.id}) takes {', '.join(request.allowed)}, "
            f"not {decision.verdict}."
        )
    if isinstance(decision, Approve) and decision.note and request.scope.get("notes") is False:
        raise NotAsked(
            f"{request.tool_name} ({request.id}) runs where no note can be delivered with a yes: "
            "approve it without one, or decline it with a reason."
        )


def _not_a_decision(words: str) -> InvalidAnswer:
    fault: dict[str, Any] = {"path": [], "message": words, "type": "not_a_decision"}
    return InvalidAnswer([fault], "This is no decision")


def already(request: Request) -> HitlError:
    """The error that says who was first."""
    who = request.reviewer or "nobody"
    when = f" at {request.decided_at:%Y-%m-%d %H:%M:%S} UTC" if request.decided_at else ""
    return AlreadyDecided(
        f"{request.tool_name} ({request.id}) is already {request.state}, by {who}{when}. "
        "Nothing was changed.",
        by=request.reviewer,
        at=request.decided_at,
        state=request.state,
    )


def as_json(decision: Decision) -> dict[str, Any]:
    """A decision as its JSON object; `Answer` data is left to whoever masks it."""
    match decision:
        case Approve(args=args, note=note):
            more: dict[str, Any] = {"args": args, "note": note}
        case Decline(reason=reason, stop=stop):
            more = {"reason": reason, "stop": stop or None}
        case Respond(result=result):
            return {"verdict": "respond", "result": result}
        case Answer():
            more = {}
    return {"verdict": decision.verdict, **{k: v for k, v in more.items() if v is not None}}
