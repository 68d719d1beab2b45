"""The store in one SQLite file: each method one transaction (see `base.Store`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hitl_widgets.errors import LeaseLost, StoreError
from hitl_widgets.request import Call, Receipt, Request, Run, RunState, State

from . import about, arrows, audit, calls, free, grants, requests, runs, searching, sinks, upkeep
from .base import Event, Found, Liveness, NewCall, Search, Vote
from .connection import Database, Tx
from .files import MEMORY
from .leases import Leases, leases_of

T = TypeVar("T")


class SqliteStore:
    """A `base.Store` in one file, or in memory.

    Parameters
    ----------
    path
        The file; made, private to its owner, when first used. ``":memory:"`` keeps it in this
        process.
    busy
        Seconds to wait for other processes before `StoreBusy`.
    """

    def __init__(self, path: str | os.PathLike[str], *, busy: float = 30.0) -> None:
        name = os.fspath(path)
        memory = name == MEMORY
        self._location = name if memory else os.path.realpath(Path(name).expanduser())
        self._db = Database(self._location, busy=busy)
        self._leases = Leases(None) if memory else leases_of(self._location)
        self._free = free.Logs(None) if memory else free.logs_of(self._location)

    def __repr__(self) -> str:
        return f"SqliteStore({self._location!r})"

    @property
    def location(self) -> str:
        """The path, or ``:memory:``."""
        return self._location

    @property
    def owner(self) -> str:
        """Name of this process among the owners of this store."""
        return self._leases.owner

    @property
    def journal(self) -> str:
        """The journal mode in use: ``TRUNCATE``, ``WAL`` (or ``MEMORY``); opens the file."""
        self.version()
        return self._db.journal or "MEMORY"

    def _write(
        self, step: Callable[[Tx], T], *, also: Callable[[free.Log], bool] | None = None
    ) -> T:
        """One durable transaction; rows of free calls that wait go along.

        Those of this process, so that what `step` is about is in the file, and those that
        `also` names.
        """
        events: list[Event] = []
        folded: list[free.Log] = []

        def kept(tx: Tx) -> T:
            folded.extend(self._free.made_by(self._leases.known))
            if also is not None:
                mine = {log.path for log in folded}
                folded.extend(g for g in self._free.all() if g.path not in mine and also(g))
            for log in folded:
                free.fold(tx, log)
            result = step(tx)
            audit.close(tx)
            events.extend(tx.events)
            return result

        result = self._db.write(kept, then=lambda: self._free.drop(folded))
        sinks.tell(self, events)
        return result

    def _dead(self, log: free.Log) -> bool:
        return self.liveness(log.owner) == "dead" if log.owner else free.nobodys(log)

    # -- runs --------------------------------------------------------------------------------

    def open_run(
        self,
        run: Run,
        *,
        frames: Mapping[str, Any] | None = None,
        calls: Sequence[NewCall] = (),
        durable: bool = True,
    ) -> Run:
        """See `base.Store.open_run`."""
        owner = self.owner
        del durable  # one fsync for a whole run is not worth a second way
        return self._write(lambda tx: runs.open_run(tx, owner, run, frames, calls))

    def adopt(self, run_id: str, token: str, *, force: bool = False) -> Run:
        """See `base.Store.adopt`."""
        owner = self.owner
        return self._write(
            lambda tx: runs.adopt(tx, owner, run_id, token, self.liveness, force=force),
            also=lambda log: log.run_id == run_id,
        )

    def release(self, run_id: str, token: str, state: RunState) -> None:
        """See `base.Store.release`."""
        self._write(lambda tx: runs.release(tx, run_id, token, state))

    def save(
        self,
        run_id: str,
        token: str,
        *,
        state: RunState | None = None,
        frames: Mapping[str, Any] | None = None,
        drop_frames: Iterable[str] = (),
        calls: Sequence[NewCall] = (),
        durable: bool = True,
        release: bool = False,
    ) -> None:
        """See `base.Store.save`."""
        owner, kept, dropped = self.owner, frames or {}, tuple(drop_frames)
        may_wait = not durable and not release and self._free.folder is not None
        if may_wait and free.fits(state, dropped, calls):

            def started(tx: Tx) -> bool:
                return free.started(
                    self._free, tx, owner, run_id, token, frames=kept, new_calls=calls
                )

            if self._db.read(started):
                return

        def step(tx: Tx) -> None:
            runs.save(
                tx,
                owner,
                run_id,
                token,
                state=state,
                frames=kept,
                drop_frames=dropped,
                new_calls=calls,
            )
            if release:
                runs.release(tx, run_id, token, state or "suspended")

        self._write(step)

    def end_run(self, run_id: str, token: str, state: RunState, outcome: Mapping[str, Any]) -> None:
        """See `base.Store.end_run`."""
        self._write(lambda tx: runs.end_run(tx, run_id, token, state, outcome))
        self._forget_log()

    def deliver(self, run_id: str) -> bool:
        """See `base.Store.deliver`."""
        return self._write(lambda tx: runs.deliver(tx, run_id))

    def run(self, run_id: str) -> Run:
        """See `base.Store.run`."""
        return self._db.read_one(lambda tx: runs.get(tx, run_id))

    def runs(
        self,
        *,
        states: Sequence[RunState] | None = None,
        kind: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        resource_id: str | None = None,
        notebook: str | None = None,
        limit: int = 1000,
    ) -> list[Run]:
        """See `base.Store.runs`."""
        filters = {
            "kind": kind,
            "agent_id": agent_id,
            "thread_id": thread_id,
            "resource_id": resource_id,
            "notebook": notebook,
        }
        return self._db.read(lambda tx: runs.find(tx, states, filters, limit))

    def frame(self, key: str) -> Any:
        """See `base.Store.frame`."""
        return self._db.read(lambda tx: free.frame(self._free, tx, key))

    def driver_alive(self, run: Run) -> bool:
        """See `base.Store.driver_alive`."""
        return run.owner is not None and self.liveness(run.owner) != "dead"

    def liveness(self, owner: str) -> Liveness:
        """See `base.Store.liveness`."""
        return self._leases.liveness(owner)

    def declare_dead(self, owner: str, *, reviewer: str, via: str) -> None:
        """See `base.Store.declare_dead`."""
        if self.liveness(owner) == "alive":
            raise LeaseLost(f"{owner} is alive: stop that process first. Nothing was changed.")

        def step(tx: Tx) -> None:
            upkeep.known_owner(tx, owner)
            upkeep.bury(tx, owner, f"{reviewer} ({via}) said that its process is dead")

        self._write(step, also=lambda log: log.owner == owner)

    # -- requests ----------------------------------------------------------------------------

    def decide(
        self, votes: Sequence[Vote], *, take: tuple[str, str] | None = None
    ) -> list[Receipt]:
        """See `base.Store.decide`."""
        owner = None if take is None else self.owner

        def step(tx: Tx) -> list[Receipt] | Exception:
            receipts = requests.decide(tx, votes)
            if take is not None and owner is not None and isinstance(receipts, list):
                runs.take_free(tx, owner, *take)
            return receipts

        return _unless_late(self._write(step))

    def claim(
        self,
        request_id: str,
        run_token: str,
        call_token: str,
        *,
        fingerprint: str,
        schema_digest: str | None,
    ) -> Call:
        """See `base.Store.claim`."""
        owner = self.owner
        return _unless_late(
            self._write(
                lambda tx: requests.claim(
                    tx,
                    owner,
                    request_id,
                    run_token,
                    call_token,
                    fingerprint=fingerprint,
                    schema_digest=schema_digest,
                )
            )
        )

    def move(
        self,
        request_id: str,
        verb: str,
        target: State,
        *,
        opens: Request | None = None,
        detail: Mapping[str, Any] | None = None,
        call_result: Mapping[str, Any] | None = None,
    ) -> Request:
        """See `base.Store.move`."""
        self._write(
            lambda tx: requests.move(
                tx,
                request_id,
                verb,
                target,
                opens=opens,
                detail=detail,
                call_result=call_result,
            )
        )
        return self.request(request_id)

    def park(
        self,
        call_id: str,
        call_token: str,
        opens: Request | None,
        *,
        frames: Mapping[str, Any] | None = None,
    ) -> None:
        """See `base.Store.park`."""

        def step(tx: Tx) -> None:
            run_id = calls.park(tx, call_id, call_token, opens)
            runs.keep_frames(tx, run_id, frames or {})

        self._write(step)

    def settle(
        self,
        request_id: str,
        how: str,
        *,
        result: Any = None,
        reviewer: str,
        identity_source: str,
        via: str,
        opens: Request | None = None,
    ) -> Request:
        """See `base.Store.settle`."""
        by = {"reviewer": reviewer, "identity_source": identity_source, "via": via}
        self._write(
            lambda tx: requests.settle(tx, request_id, how, result=result, by=by, opens=opens)
        )
        return self.request(request_id)

    def request(self, request_id: str) -> Request:
        """See `base.Store.request`."""
        found = self._db.read_one(lambda tx: arrows.get(tx, request_id))
        return replace(found, store=self)

    def requests(
        self,
        *,
        states: Sequence[State] | None = None,
        run_id: str | None = None,
        call_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        resource_id: str | None = None,
        tool_name: str | None = None,
        fingerprint: str | None = None,
        newest_first: bool = False,
        limit: int = 1000,
        offset: int = 0,
    ) -> list[Request]:
        """See `base.Store.requests`."""
        filters = {
            "run_id": run_id,
            "tool_call_id": call_id,
            "agent_id": agent_id,
            "thread_id": thread_id,
            "resource_id": resource_id,
            "tool_name": tool_name,
            "fingerprint": fingerprint,
        }
        return self._db.read(
            lambda tx: requests.find(
                tx,
                states,
                filters,
                limit=limit,
                offset=offset,
                newest_first=newest_first,
                store=self,
            )
        )

    def search(self, search: Search, *, limit: int, offset: int = 0) -> Found:
        """See `base.Store.search`."""
        return self._db.read(
            lambda tx: searching.find(tx, search, limit=limit, offset=offset, store=self)
        )

    def tally(self, states: Sequence[State]) -> dict[str, dict[str, int]]:
        """See `base.Store.tally`."""
        return self._db.read(lambda tx: searching.tally(tx, states))

    # -- calls -------------------------------------------------------------------------------

    def finish(
        self,
        call_id: str,
        call_token: str,
        state: str,
        result: Mapping[str, Any],
        *,
        durable: bool = True,
    ) -> None:
        """See `base.Store.finish`."""
        ended = _ended(state)
        if not durable and self._db.read(
            lambda tx: free.finished(
                self._free, tx, call_id, call_token, state=ended, result=result
            )
        ):
            return
        self._write(lambda tx: calls.finish(tx, call_id, call_token, ended, result))

    def answer_call(
        self, call_id: str, run_token: str, state: str, result: Mapping[str, Any]
    ) -> None:
        """See `base.Store.answer_call`."""
        self._write(lambda tx: calls.answer(tx, call_id, run_token, _ended(state), result))

    def lose(self, call_id: str, call_token: str, why: str) -> None:
        """See `base.Store.lose`."""
        self._write(lambda tx: calls.lose(tx, call_id, call_token, why))

    def resume_call(self, call_id: str, run_token: str, call_token: str) -> Call:
        """See `base.Store.resume_call`."""
        owner = self.owner
        return self._write(lambda tx: calls.resume(tx, owner, call_id, run_token, call_token))

    def answers(self, call_id: str) -> list[dict[str, Any]]:
        """See `base.Store.answers`."""
        return self._db.read(lambda tx: calls.answers(tx, call_id))

    def calls(
        self, run_id: str, frame: str | None = None, *, turn: str | None = None
    ) -> list[Call]:
        """See `base.Store.calls`."""

        def step(tx: Tx) -> list[Call]:
            # Read first: what is taken into the file meanwhile is then found there.
            log = self._free.of(run_id)
            waiting = [] if log is None else list(log.rows.values())
            return calls.of_run(tx, run_id, frame, turn, unsaved=waiting)

        return self._db.read_one(step)

    def begun(self, run_id: str) -> list[str]:
        """See `base.Store.begun`."""

        def step(tx: Tx) -> list[str]:
            log = self._free.of(run_id)
            waiting = [] if log is None else list(log.rows.values())
            return calls.begun(tx, run_id, unsaved=waiting)

        return self._db.read_one(step)

    # -- everything else ---------------------------------------------------------------------

    def sweep(self) -> None:
        """See `base.Store.sweep`."""

        def needed(tx: Tx) -> bool:
            return upkeep.needed(tx, self.liveness) or any(map(self._dead, self._free.all()))

        if self._db.read(needed):
            self._write(lambda tx: upkeep.sweep(tx, self.liveness), also=self._dead)

    def version(self) -> int | None:
        """See `base.Store.version`."""
        return self._db.version()

    def last_seq(self) -> int:
        """See `base.Store.last_seq`."""
        return self._db.read_one(audit.last_seq)

    def events(
        self, after: int = 0, *, run_id: str | None = None, limit: int = 10_000
    ) -> list[Event]:
        """See `base.Store.events`."""
        return self._db.read_one(lambda tx: audit.read(tx, after, run_id, limit))

    def secret_key(self) -> bytes:
        """See `base.Store.secret_key`."""
        return self._db.read_one(requests.secret_key)

    def document(self, name: str) -> Any:
        """See `base.Store.document`."""
        return self._db.read_one(lambda tx: upkeep.document(tx, name))

    def put_document(self, name: str, value: Any) -> None:
        """See `base.Store.put_document`."""
        self._write(lambda tx: upkeep.put_document(tx, name, value))

    def add_grant(self, grant: Mapping[str, Any], *, reviewer: str, via: str) -> None:
        """See `base.Store.add_grant`."""
        by = {"reviewer": reviewer, "via": via}
        self._write(lambda tx: grants.add(tx, dict(grant), by))

    def grants(
        self, tool_name: str | None = None, *, revoked: bool = False
    ) -> list[dict[str, Any]]:
        """See `base.Store.grants`."""
        return self._db.read_one(lambda tx: grants.listed(tx, tool_name, revoked=revoked))

    def revoke_grant(self, grant_id: str, *, reviewer: str, via: str) -> bool:
        """See `base.Store.revoke_grant`."""
        by = {"reviewer": reviewer, "via": via}
        return self._write(lambda tx: grants.revoke(tx, grant_id, by))

    def describe(self) -> list[about.Line]:
        """What `hitl.doctor` says of this store."""
        owners = self._db.read(about.owners)
        return about.describe(self._location, self.journal, owners, self.liveness)

    def check(self) -> list[str]:
        """See `base.Store.check`."""
        return self._db.read(lambda tx: [*upkeep.check(tx), *free.faults(self._free)])

    def vacuum(self) -> None:
        """See `base.Store.vacuum`."""
        self._db.outside("VACUUM")
        self._forget_log()

    def prune(self, before: float, *, limit: int | None = None) -> int:
        """See `base.Store.prune`."""
        return self._write(lambda tx: upkeep.prune(tx, before, -1 if limit is None else limit))

    def close(self) -> None:
        """See `base.Store.close`."""
        self._db.close()

    def _forget_log(self) -> None:
        """In WAL mode the log keeps what was erased until it is written back and cut off."""
        if self._db.journal == "WAL":
            self._db.outside("PRAGMA wal_checkpoint(TRUNCATE)")


def _unless_late(result: T | Exception) -> T:
    if isinstance(result, Exception):
        raise result
    return result


def _ended(state: str) -> str:
    if state not in calls.ENDED:
        raise StoreError(f"A call ends {' or '.join(calls.ENDED)}, not {state!r}.")
    return state
