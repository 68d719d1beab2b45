"""The one place where requests are opened, decided and claimed.

A `Desk` stands on a store. It checks a decision before it is spent (R3, R4), records it once (R1),
tells everybody who watches, in this process and in others, and sees to it that somebody drives
the run on. Whoever shows requests and whoever raises them only ever meet here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol, TypeVar

from .decisions import already, as_json, as_reviewer, check_kind, not_json
from .errors import Expired, HitlError, NotAsked, RequestNotFound, StaleFingerprint
from .fingerprint import fingerprint, mask, unmask
from .news import News
from .policy import administrator
from .request import (
    Answer,
    Approve,
    Decision,
    Receipt,
    Request,
    Respond,
    Reviewer,
    fresh,
    new_id,
)
from .schema import is_json, stored_shape
from .standing import Rule, grant_of, subject_of
from .standing import check as check_rule
from .store.base import Store, Vote

_log = logging.getLogger("hitl_widgets")
T = TypeVar("T")
FEW = 200
"""Runs forgotten in one transaction."""

_HOUR, _DAY = 3_600, 86_400


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

    async def preview_edit(self, request: Request, args: dict[str, Any]) -> dict[str, Any] | None:
        """The preview of a call with edited, checked arguments; None: it has none here."""
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


class Desk(News):
    """A store with everybody who waits at it. One per store and process: use `desk_of`."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.experts: dict[str, Expert] = {}
        self._executor = _one_thread()
        self._forget_at = 0.0

    def after_fork(self, *, child: bool, held: bool) -> None:
        """See `News`; the parent's thread is not in the child either."""
        super().after_fork(child=child, held=held)
        if child:
            self._executor = _one_thread()

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
            self.tell()
            self._forget()

    def _forget(self) -> None:
        """Forget runs that ended longer ago than the administrator's file lets them be kept.

        A few at a time, so that nobody waits for it; what waits and the audit trail stay.
        """
        if time.monotonic() < self._forget_at:
            return
        self._forget_at = time.monotonic() + _HOUR
        try:
            days = administrator().retention_days
            if days is not None and self.store.prune(time.time() - days * _DAY, limit=FEW) == FEW:
                self._forget_at = 0.0  # there may be more: at the next change
        except HitlError:  # the change before it stands
            _log.exception("old runs in %s cannot be forgotten now", self.store.location)

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
        then: Callable[[], None] | None = None,
        just_read: bool = False,
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
        then
            Called once it is recorded, on the thread that recorded it: more to read there.
        just_read
            `request` comes from the store this moment: it need not be read again.

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
            then=then,
            just_read=just_read,
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
        then: Callable[[], None] | None = None,
        just_read: bool = False,
    ) -> list[Receipt]:
        """Check and record several ``(request, decision, fingerprint)``, all or none."""
        who = as_reviewer(reviewer)
        votes: list[Vote] = []
        runs: set[tuple[str, str]] = set()
        for target, decision, shown in decisions:
            request = await self._as_it_is(target, just_read=just_read)
            vote = await self._vote(request, decision, shown, who, via)
            if extracted_from is not None:
                vote.decision["extracted_from"] = extracted_from
            if always is not None:
                vote = replace(vote, grant=await self._granted(request, decision, always))
            votes.append(vote)
            runs.add((request.run_id, request.agent_id))
        return await self.read(self._record, votes, take, runs if drive else (), then)

    async def _as_it_is(self, target: Request | str, *, just_read: bool = False) -> Request:
        if isinstance(target, str):
            return await self.look_up(target)
        return target if just_read else await self.look_up(target.id)

    def _record(
        self,
        votes: Sequence[Vote],
        take: tuple[str, str] | None,
        runs: Iterable[tuple[str, str]],
        then: Callable[[], None] | None,
    ) -> list[Receipt]:
        """Keep checked decisions and have their runs driven on.

        In one go, off the loop: a caller who is interrupted leaves no decision that nobody acts on.
        """
        receipts = self.write_now(self.store.decide, votes, take=take)
        self.drive_on(runs)
        if then is not None:
            then()
        return receipts

    def drive_on(self, runs: Iterable[tuple[str, str]]) -> None:
        """`resume` after a change that stands, whether its run can go on now or not."""
        for run_id, agent_id in runs:
            try:
                self.resume(run_id, agent_id)
            except HitlError:
                _log.exception("run %s was decided, but cannot go on now", run_id)

    async def settle(
        self,
        request: Request | str,
        how: str,
        *,
        result: Any = None,
        reviewer: Reviewer,
        via: str = "api",
    ) -> Request:
        """A human says how an ``outcome_unknown`` call ended; its run goes on.

        Raises
        ------
        RequestNotFound, AlreadyDecided, InvalidAnswer, NotPermitted
            Nothing was changed.
        """
        if not is_json(result):
            raise not_json(result)
        id_ = request.id if isinstance(request, Request) else request
        return await self.read(self._settle, id_, how, result, reviewer, via)

    def _settle(
        self, request_id: str, how: str, result: Any, reviewer: Reviewer, via: str
    ) -> Request:
        old = self.store.request(request_id)
        settled = self.write_now(
            self.store.settle,
            old.id,
            how,
            result=result,
            reviewer=reviewer.name,
            identity_source=reviewer.identity_source,
            via=via,
            opens=self._once_more(old) if how == "run_again" else None,
        )
        self.drive_on([(old.run_id, old.agent_id)])
        return settled

    def _once_more(self, old: Request) -> Request:
        """The question that lets a call of unknown outcome run again: its gate, if it had one.

        What its body asked, it will ask again.
        """
        asked = self.store.requests(call_id=old.tool_call_id)
        gate = [r for r in asked if r.state == old.state and r.scope.get("how") == "gate"]
        return fresh(
            gate[0] if gate else old,
            id=new_id("r"),
            ordinal=max((r.ordinal for r in asked), default=old.ordinal) + 1,
            created_at=datetime.now(UTC),
            expires_at=None,
        )

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
                raise not_json(result)
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
        asked = await self._as_it_is(request)
        if asked.state != "pending":
            raise already(asked)
        checked = await self._edited(asked, dict(edited))
        return checked["decision"]["args"], checked["edited"]["digests"]

    async def preview_edit(
        self, request: Request | str, edited: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """What the tool's preview shows of an edit; None: it has none, or is not known here.

        Raises
        ------
        RequestNotFound, InvalidAnswer
            Nothing could be previewed.
        """
        asked = await self._as_it_is(request)
        expert = self.experts.get(asked.agent_id)
        _, checked = await self._unmasked(asked, dict(edited))
        if expert is None or checked is None:
            return None
        return await expert.preview_edit(asked, checked)

    async def _granted(self, request: Request, decision: Decision, rule: Rule) -> dict[str, Any]:
        if not isinstance(decision, Approve) or decision.args is not None:
            raise NotAsked("A standing grant goes with an approval as shown, with nothing else.")
        check_rule(request, rule, now=time.time())
        key = await self.read(self.store.secret_key)
        subject = subject_of(request, await self._args(request), key)
        return grant_of(rule, subject, request.id)

    async def _args(self, request: Request) -> dict[str, Any]:
        """The arguments of the request's call, secrets in clear."""
        calls = await self.read(self.store.calls, request.run_id)
        return next(c.args for c in calls if c.id == request.tool_call_id)

    async def _unmasked(
        self, request: Request, edited: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Edited arguments with their secrets; the same checked by the tool's model, if here."""
        args = unmask(edited, await self._args(request), request.secrets)
        expert = self.experts.get(request.agent_id)
        return args, expert.check_args(request, args) if expert else None

    async def _edited(self, request: Request, edited: dict[str, Any]) -> dict[str, Any]:
        if request.scope.get("how") in ("verb", "confirm"):
            raise NotAsked(
                f"The arguments of {request.tool_name} ({request.id}) cannot be edited: they are "
                "Python objects of the caller. Approve as shown, or decline and say what to change."
            )
        args, checked = await self._unmasked(request, edited)
        expert = self.experts.get(request.agent_id)
        by = "model"
        if checked is None:
            by = "schema"
            checked = stored_shape(request.input_schema).validate(args)
        if expert is not None:
            await expert.permit_edit(request, checked)
        identity = fingerprint(
            request.tool_name,
            checked,
            secrets=request.secrets,
            key=await self.read(self.store.secret_key),
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
        shape = stored_shape(request.resume_schema)
        value = checked[0] if checked is not None else shape.dump(shape.validate(data))
        return {
            "validated_by": by if request.resume_schema is not None else None,
            "data": {"answer": value},
            "decision": {"data": shape.hide(value)},
        }


_kept: dict[int, Desk] = {}


def _one_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="hitl-store")


def desk_of(store: Store) -> Desk:
    """The desk of a store object; always the same one."""
    desk = _kept.get(id(store))
    if desk is None:
        desk = _kept[id(store)] = Desk(store)
    return desk
