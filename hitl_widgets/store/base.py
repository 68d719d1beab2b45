"""What any store must do, so that another engine can be written from this page.

A store keeps **runs**, **frames** (snapshots: one JSON document per agent of a run, root or
nested), **calls** (one row per tool call), **requests** (one row per question to a human),
**events** (the audit trail), **grants** and a few named **documents**.

Every method is one transaction: all of it happens, or nothing, and the error says so. Unless a
method takes ``durable=False`` it is on disk, safe from power loss, when the method returns. What
is not durable is safe from the death of the process and costs no fsync where the engine can do
so; its events may come with the next durable change of the same process, at the time when it
happened. Methods are synchronous, callable from any thread, bounded in time, and safe to interrupt.

Changes of a request's state are compare-and-set, guarded by `request.ARROWS`; a guard that does
not hold changes nothing and raises what stands in the way.

Who may write what: a driver proves itself by the run's lease `token` (`LeaseLost` otherwise), a
running call by the call's own `token`. Deciding needs neither: anyone may decide, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from hitl_widgets.request import Call, Receipt, Request, Run, RunState, State

Liveness = Literal["alive", "dead", "unknown"]


@dataclass(frozen=True, slots=True)
class Vote:
    """A checked decision on its way into a store.

    Attributes
    ----------
    target
        The state that the decision leads to.
    decision
        JSON of the decision as people may see it (secrets masked).
    fingerprint
        What the reviewer saw; None for "not shown" (recorded so).
    call_args
        Edited arguments that will run, secrets in clear, or None.
    edited
        ``{"fingerprint", "digests"}`` of edited arguments, or None.
    data
        What only the call may read, ``{"answer": JSON}`` with its secrets, or None; erased with
        the call.
    grant
        A standing grant that is kept when the vote approves (as in `Store.add_grant`), or None.
    """

    request_id: str
    target: State
    decision: dict[str, Any]
    reviewer: str
    identity_source: str
    via: str
    fingerprint: str | None = None
    validated_by: str | None = None
    call_args: dict[str, Any] | None = None
    edited: dict[str, Any] | None = None
    data: dict[str, Any] | None = None
    grant: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NewCall:
    """A tool call about to be stored.

    Attributes
    ----------
    call
        Its row; `state` is ``waiting``, ``executing`` (a free call starts with its row),
        ``parked`` (a nested agent: its own calls say what happened), or ``done``/``failed`` with
        a result (refused before anyone was asked).
    template
        JSON (`request.to_doc` plus the columns that do not change) from which a request about
        this call can be made later: when it asks again, or when its outcome gets unknown. Also
        read here: ``secrets``, ``effect``, ``idempotent``.
    request
        The first question about it, or None for a free call.
    """

    call: Call
    template: dict[str, Any]
    request: Request | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the audit trail.

    Attributes
    ----------
    seq
        1, 2, 3… in the order of commits.
    at
        UTC.
    kind
        What happened: a verb of `request.ARROWS` (``decide`` as the state it led to), or
        ``opened``, ``vote``, ``run-started``, ``run-adopted``, ``run-saved``, ``run-released``,
        ``run-ended``, ``call-started``, ``call-finished``, ``settled``, ``grant``, ``revoke``,
        ``pruned``, ``free-calls-damaged`` (rows of free calls were lost with the power).
    doc
        Who, what and why as JSON, secrets masked.
    """

    seq: int
    at: datetime
    kind: str
    run_id: str | None
    request_id: str | None
    call_id: str | None
    doc: dict[str, Any] = field(default_factory=dict[str, Any])


Order = Literal["oldest", "newest", "tool", "agent", "expiry", "decided"]
"""How found requests stand: by opening, by a name, by what expires next or was decided last."""


@dataclass(frozen=True, slots=True)
class Search:
    """What a person looks for among requests. What is None, or empty, does not count.

    Attributes
    ----------
    notebook
        As the request's origin names it.
    asked_after, asked_before
        POSIX seconds.
    text
        Stands in a name, an id, the message, or a key or value of the arguments (case of ASCII
        letters aside). Secrets are not searched: they are not there.
    """

    states: tuple[State, ...]
    agent_id: str | None = None
    thread_id: str | None = None
    tool_name: str | None = None
    notebook: str | None = None
    asked_after: float | None = None
    asked_before: float | None = None
    text: str = ""
    order: Order = "oldest"


@dataclass(frozen=True, slots=True)
class Found:
    """One page of what a `Search` found, and how many requests match in all."""

    total: int
    requests: list[Request]


class Store(Protocol):
    """The protocol. `location` names the store to people; `owner` names this process in it."""

    @property
    def location(self) -> str:
        """The path, or ``:memory:``."""
        ...

    @property
    def owner(self) -> str:
        """Owner id of this process: host, boot, process and a token."""
        ...

    # -- runs --------------------------------------------------------------------------------

    def open_run(
        self,
        run: Run,
        *,
        frames: Mapping[str, Any] | None = None,
        calls: Sequence[NewCall] = (),
        durable: bool = True,
    ) -> Run:
        """Insert `run`, driven by this process under ``run.token``.

        With a key: while another run of the same ``(agent_id, key)`` is unfinished, or is a verb
        whose outcome no caller has received, that one is returned and nothing is inserted.
        """
        ...

    def adopt(self, run_id: str, token: str, *, force: bool = False) -> Run:
        """Take the lease: `token` drives from now on; the run's state stays.

        Calls and requests that a dead owner left ``executing`` become ``outcome_unknown`` here,
        or ``parked`` when they may safely run again (see `sweep`).

        Parameters
        ----------
        force
            Take it from an owner of whom nobody can tell whether it lives, never from a living
            one.

        Raises
        ------
        LeaseLost
            A living driver holds it (this process included), or one that may live.
        SnapshotNotFound
            No such run, or it has ended.
        """
        ...

    def release(self, run_id: str, token: str, state: RunState) -> None:
        """Give the lease back and leave the run in `state`. No error if it was lost before."""
        ...

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
        """Keep `frames` and insert `calls` with their requests, all in one transaction (R2).

        Not durable is only what nobody was asked: calls without requests, and frames with them.
        With `release` the lease is given back in the same transaction, as `release` would.
        """
        ...

    def end_run(self, run_id: str, token: str, state: RunState, outcome: Mapping[str, Any]) -> None:
        """End it: open requests are withdrawn, frames deleted, secrets and `data` erased (R17)."""
        ...

    def deliver(self, run_id: str) -> bool:
        """Mark an ended verb's outcome as received; True for the one caller who may have it."""
        ...

    def run(self, run_id: str) -> Run:
        """Read a run; `SnapshotNotFound` when there is none."""
        ...

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
        """Runs that match, oldest first."""
        ...

    def frame(self, key: str) -> Any:
        """A snapshot; `SnapshotNotFound` when there is none."""
        ...

    def driver_alive(self, run: Run) -> bool:
        """Whether a process that lives, or may live, holds the run's lease."""
        ...

    def liveness(self, owner: str) -> Liveness:
        """Whether the process named `owner` lives, as far as that can be told from here."""
        ...

    def declare_dead(self, owner: str, *, reviewer: str, via: str) -> None:
        """A human says that an owner of whom nobody can tell is dead: as `sweep` would.

        Raises
        ------
        LeaseLost
            It is alive.
        """
        ...

    # -- requests ----------------------------------------------------------------------------

    def decide(
        self, votes: Sequence[Vote], *, take: tuple[str, str] | None = None
    ) -> list[Receipt]:
        """Record decisions, all or none.

        Each: the request is ``pending``, not past its time, and `fingerprint`, when given, is
        the stored one. The vote that completes the quorum moves the state; earlier ones are
        kept beside it. Votes count together when they consent to the same thing (the same edit,
        the same answer); a decline ends it at once; nobody votes twice. One that comes late
        makes the request ``expired``.

        Parameters
        ----------
        take
            Run id and token: a run that nobody drives is adopted in the same transaction. Whether
            it was is seen by its token; the decisions stand either way.

        Raises
        ------
        RequestNotFound, AlreadyDecided, StaleFingerprint, Expired, NotPermitted
        """
        ...

    def claim(
        self,
        request_id: str,
        run_token: str,
        call_token: str,
        *,
        fingerprint: str,
        schema_digest: str | None,
    ) -> Call:
        """Turn a decision into the right to act once; returns the call with what will run.

        ``approved``/``answered`` → ``executing`` under `call_token`, the call likewise, durable
        before this returns; a ``suspended`` run is ``running`` (so too in `answer_call` and
        `resume_call`). `fingerprint` is that of what would run now; `schema_digest` the
        tool's now.

        Raises
        ------
        LeaseLost
            `run_token` no longer drives.
        StaleFingerprint, ToolChanged
            What would run is not what was approved. Nothing was changed: `move` it to ``stale``.
        AlreadyDecided
            It is in no claimable state (any more).
        Expired
            Its time was over before the claim; it is ``expired`` now.
        """
        ...

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
        """Apply one of the other arrows: expire, withdraw, make_stale, block, refuse.

        `opens` is inserted as the new question in the same transaction; `call_result` ends a
        ``waiting`` or ``parked`` call with that result (``done`` for the types ``result`` and
        ``responded``, else ``failed``).

        Raises
        ------
        AlreadyDecided
            The request is in no state from which `verb` goes.
        """
        ...

    def park(
        self,
        call_id: str,
        call_token: str,
        opens: Request | None,
        *,
        frames: Mapping[str, Any] | None = None,
    ) -> None:
        """The running call asks something itself.

        It and its request become ``parked``, `opens` is inserted, `frames` are kept. Without
        `opens` a nested agent asks (its own calls do).
        """
        ...

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
        """A human says how an ``outcome_unknown`` call ended.

        ``happened`` → done with `result`; ``give_up`` → failed; ``run_again`` → withdrawn, and
        `opens` is the new question. All its questions of that state go along.

        Raises
        ------
        AlreadyDecided
            Its outcome is not unknown (any more).
        NotPermitted
            It has reviewers, and this is none of them.
        """
        ...

    def request(self, request_id: str) -> Request:
        """Read a request; `RequestNotFound` when there is none."""
        ...

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
        """Requests that match, in order of opening."""
        ...

    def search(self, search: Search, *, limit: int, offset: int = 0) -> Found:
        """One page of the requests that a person looks for."""
        ...

    def tally(self, states: Sequence[State]) -> dict[str, dict[str, int]]:
        """How many requests in `states` there are of each value that `Search` filters by.

        ``agent_id``, ``thread_id``, ``tool_name``, ``notebook`` → value → count.
        """
        ...

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
        """``executing``/``parked`` → ``done``/``failed`` with `result`, by token.

        Its claimed requests likewise, those that still wait are withdrawn; its secrets are
        erased. Saying it again under the same token changes nothing.

        Raises
        ------
        LeaseLost
            A human settled the call meanwhile, or it was never claimed under this token.
        """
        ...

    def answer_call(
        self, call_id: str, run_token: str, state: str, result: Mapping[str, Any]
    ) -> None:
        """End a ``waiting`` or ``parked`` call whose body does not (any more) run.

        It was declined, responded to, expired or blocked.
        """
        ...

    def lose(self, call_id: str, call_token: str, why: str) -> None:
        """``executing`` → ``outcome_unknown``: the task was cancelled or timed out.

        A free call gets a request in that state, so that a human can settle it. No error if it
        ended.
        """
        ...

    def resume_call(self, call_id: str, run_token: str, call_token: str) -> Call:
        """A call with nothing claimable of its own runs (again): → ``executing``.

        A ``parked`` one (a nested agent, or one that may safely run again after its process
        died), or a free one that is ``waiting``.

        Raises
        ------
        AlreadyDecided
            Its last request was not claimed for this: it waits, or was decided against.
        NotPermitted
            It was never asked for and its `permission` is not ``allow``.
        """
        ...

    def answers(self, call_id: str) -> list[dict[str, Any]]:
        """What was answered to a call's ``input`` requests, by ordinal, secrets in clear.

        ``{"request_id", "ordinal", "answer"}`` each; empty once the call has ended.
        """
        ...

    def calls(
        self, run_id: str, frame: str | None = None, *, turn: str | None = None
    ) -> list[Call]:
        """Calls of a run (of one frame, of one turn), in the model's order."""
        ...

    def begun(self, run_id: str) -> list[str]:
        """Ids of a run's calls that began: those that run or ran, whatever became of them."""
        ...

    # -- everything else ---------------------------------------------------------------------

    def sweep(self) -> None:
        """Tell the truth about the dead. Cheap when there is nothing to tell.

        - Past their time: → ``expired``.
        - Calls ``executing`` under a dead owner: → ``outcome_unknown`` with their requests; or
          ``parked``, when `NewCall.template` says ``effect="read"`` or ``idempotent``:
          `resume_call` runs them again.
        - Runs of a dead driver: ended as ``failed`` with ``finish_reason`` ``"lost"``, their
          requests ``withdrawn``, when they cannot be resumed (``resumable=False``, or an agent's
          run without a frame); else released, ``running`` → ``suspended``.
        """
        ...

    def version(self) -> int | None:
        """A number that changes when anything was committed by anyone; cheap to poll.

        None: the store was closed and its place is gone, so that there is nothing to look for.
        """
        ...

    def last_seq(self) -> int:
        """The newest event's `seq` (0 when there is none)."""
        ...

    def events(
        self, after: int = 0, *, run_id: str | None = None, limit: int = 10_000
    ) -> list[Event]:
        """The audit trail after `after`, oldest first."""
        ...

    def secret_key(self) -> bytes:
        """32 random bytes of this store, for fingerprints of secrets."""
        ...

    def document(self, name: str) -> Any:
        """A named JSON document, or None."""
        ...

    def put_document(self, name: str, value: Any) -> None:
        """Keep a named JSON document; None deletes it."""
        ...

    def add_grant(self, grant: Mapping[str, Any], *, reviewer: str, via: str) -> None:
        """Keep a standing grant and who gave it.

        JSON with at least ``id`` and ``tool_name``, and ``expires_at`` (POSIX seconds) when it
        ends by itself.
        """
        ...

    def grants(
        self, tool_name: str | None = None, *, revoked: bool = False
    ) -> list[dict[str, Any]]:
        """Grants in force, oldest first; with `revoked` also those that are over.

        Each has ``revoked_at`` (POSIX seconds or None) besides what was kept.
        """
        ...

    def revoke_grant(self, grant_id: str, *, reviewer: str, via: str) -> bool:
        """End a grant; False when there is none in force."""
        ...

    def vacuum(self) -> None:
        """Give unused space back to the disk."""
        ...

    def prune(self, before: float, *, limit: int | None = None) -> int:
        """Forget runs that ended before a time (POSIX seconds); how many.

        Those with something left to settle stay, and so does the whole audit trail.

        Parameters
        ----------
        limit
            No more than so many, those that ended first; None for all.
        """
        ...

    def check(self) -> list[str]:
        """Faults found in the file and in the audit chain; empty when all is well."""
        ...

    def close(self) -> None:
        """Close the file. The store opens it again when used."""
        ...
