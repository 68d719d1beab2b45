"""The vocabulary of a decision: requests, decisions, receipts, and the table of states.

`ARROWS` is the one place where the life of a request is written down. The store takes its
compare-and-set guards from it, the property test walks it, the docs print it.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

Kind = Literal["approval", "input"]
Effect = Literal["read", "write", "costly", "destructive", "unknown"]
Verdict = Literal["approve", "decline", "answer", "respond"]
OnExpire = Literal["decline", "withdraw"]
Record = Literal["full", "short", "none"]
RECORD: tuple[Record, ...] = ("full", "short", "none")
"""What stays in a saved notebook, from all of it to nothing."""
Headless = Literal["prompt", "suspend", "decline", "error"]
HEADLESS: tuple[Headless, ...] = ("prompt", "suspend", "decline", "error")
"""What happens when nobody can be asked, the strictest last."""

State = Literal[
    "pending",
    "approved",
    "declined",
    "answered",
    "responded",
    "expired",
    "withdrawn",
    "executing",
    "parked",
    "stale",
    "blocked",
    "refused",
    "done",
    "failed",
    "outcome_unknown",
]
RunState = Literal[
    "running", "suspended", "completed", "failed", "cancelled", "declined", "budget-paused"
]
CallState = Literal["waiting", "executing", "parked", "done", "failed", "outcome_unknown"]

MASK = "••••"
"""What stands in place of a secret wherever a person or a log could read it."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """One allowed change of state: `verb` takes a request from any of `sources` to a `target`."""

    verb: str
    sources: tuple[State, ...]
    targets: tuple[State, ...]


ARROWS: tuple[Arrow, ...] = (
    Arrow("decide", ("pending",), ("approved", "declined", "answered", "responded")),
    Arrow("expire", ("pending", "approved", "answered"), ("expired",)),
    Arrow("withdraw", ("pending", "approved", "answered"), ("withdrawn",)),
    Arrow("claim", ("approved", "answered"), ("executing",)),
    Arrow("make_stale", ("approved",), ("stale",)),
    Arrow("block", ("approved", "answered"), ("blocked",)),
    Arrow("refuse", ("approved", "answered"), ("refused",)),
    Arrow("park", ("executing",), ("parked",)),
    Arrow("unpark", ("parked",), ("executing",)),
    Arrow("finish", ("executing", "parked"), ("done", "failed")),
    Arrow("lose", ("executing",), ("outcome_unknown",)),
    Arrow("settle", ("outcome_unknown",), ("done", "failed", "withdrawn")),
)
"""Every change of a request's state. A request begins as ``pending``."""

WAITING: tuple[State, ...] = ("pending", "outcome_unknown")
"""States in which a person has something to say."""

TERMINAL: frozenset[str] = frozenset(
    {"declined", "responded", "expired", "withdrawn", "stale", "blocked", "refused", "done"}
    | {"failed"}
)
"""States that nothing leaves."""


def sources(verb: str) -> tuple[State, ...]:
    """States that `verb` may be applied to."""
    return next(a.sources for a in ARROWS if a.verb == verb)


def new_id(prefix: str) -> str:
    """``<prefix>_`` and 80 random bits in lower-case base32: unique in any store, easy to type."""
    return f"{prefix}_{base64.b32encode(os.urandom(10)).decode().lower()}"


class Evaluation(dict[str, Any]):
    """Who judged a tool call, as a dict that is also read by attribute.

    ``{"type": "tool" | "run" | "function" | "effect" | "always_allow" | "always_ask" | "grant"}``
    or ``{"type": "auto", "evaluated_permission": {"type": ..., "reason_code": ...}}``, after the
    Managed Agents API. Unknown values are kept as they are.
    """

    @property
    def type(self) -> str:
        """What kind of rule answered."""
        return self["type"]

    @property
    def evaluated_permission(self) -> dict[str, Any] | None:
        """What an `auto` evaluator said, else None."""
        return self.get("evaluated_permission")

    @property
    def reason_code(self) -> str | None:
        """The evaluator's code, for programs and audit, never for a card's words."""
        return (self.evaluated_permission or {}).get("reason_code")


@dataclass(frozen=True, slots=True)
class Approve:
    """Yes: run the call as shown, or with edited arguments.

    Parameters
    ----------
    args
        The whole edited arguments, or None for "as shown".
    note
        Words for the model, or None.
    """

    args: Mapping[str, Any] | None = None
    note: str | None = None
    verdict: ClassVar[Verdict] = "approve"
    state: ClassVar[State] = "approved"


@dataclass(frozen=True, slots=True)
class Decline:
    """No: the call does not run, and the model is told.

    Parameters
    ----------
    reason
        Why, and what to do instead; None for no words.
    stop
        End the whole run too.
    """

    reason: str | None = None
    stop: bool = False
    verdict: ClassVar[Verdict] = "decline"
    state: ClassVar[State] = "declined"


@dataclass(frozen=True, slots=True)
class Answer:
    """Data for an ``input`` request: any JSON value that fits its schema."""

    data: Any
    verdict: ClassVar[Verdict] = "answer"
    state: ClassVar[State] = "answered"


@dataclass(frozen=True, slots=True)
class Respond:
    """A result given to the model in place of running the tool: any JSON value."""

    result: Any
    verdict: ClassVar[Verdict] = "respond"
    state: ClassVar[State] = "responded"


Decision = Approve | Decline | Answer | Respond
DECISIONS: tuple[type[Decision], ...] = (Approve, Decline, Answer, Respond)


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who decides, and how we know.

    Parameters
    ----------
    name
        As the identity source gives it.
    identity_source
        ``"jupyterhub"``, ``"os"``, ``"frontend"``, ``"claimed"``, ``"rule"``…
    """

    name: str
    identity_source: str = "claimed"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a decision did.

    Attributes
    ----------
    request_id, state
        The request and the state it has now (``pending`` while a quorum is not complete).
    reviewer, identity_source, via
        Who, how we know, and through what: card, inbox, terminal, api, http, replay, rule, test.
    decided_at
        UTC.
    validated_by
        ``"model"`` (this process knows the type), ``"schema"`` (its stored JSON Schema), or None
        (nothing to validate).
    votes, quorum
        How many consenting votes there are, and how many are needed.
    """

    request_id: str
    state: State
    reviewer: str
    identity_source: str
    via: str
    decided_at: datetime
    validated_by: Literal["model", "schema"] | None = None
    votes: int = 1
    quorum: int = 1


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a human. A snapshot of the stored row: read again to see changes.

    `args`, `suspend_payload` and `decision` show ``••••`` where a secret stands.

    Attributes
    ----------
    digests
        One digest per JSON Pointer into the arguments, for comparing without values.
    decision
        ``{"verdict", "args", "note", "reason", "stop", "data", "result"}`` as far as given, or
        None while undecided.
    message
        The question in words, for `hitl.ask` and `hitl.confirm`.
    turn
        Requests of one model turn share it (siblings).
    scope
        ``{"policy_version", "schema_digest"}``: stored with the approval, outside the digest;
        ``"record"``: what a saved notebook keeps of it, where that is less than everything.
    declined_before
        How often the same fingerprint was declined earlier in this run.
    preview
        What would happen, see `previews.look.Looked`; None without a preview.
    reads
        Name of a variable → what it was when this was asked, see `previews.names.summary`.
    """

    id: str
    run_id: str
    tool_call_id: str
    ordinal: int
    kind: Kind
    tool_name: str
    args: dict[str, Any]
    fingerprint: str
    state: State
    agent_id: str
    agent_path: tuple[str, ...]
    created_at: datetime
    effect: Effect = "unknown"
    thread_id: str | None = None
    resource_id: str | None = None
    allowed: tuple[Verdict, ...] = ("approve", "decline")
    evaluation: Evaluation | None = None
    message: str | None = None
    suspend_payload: Any = None
    resume_schema: dict[str, Any] | None = None
    input_schema: dict[str, Any] | None = None
    secrets: tuple[str, ...] = ()
    digests: dict[str, str] = field(default_factory=dict[str, str])
    scope: dict[str, Any] = field(default_factory=dict[str, Any])
    origin: dict[str, Any] = field(default_factory=dict[str, Any])
    turn: str | None = None
    declined_before: int = 0
    expires_at: datetime | None = None
    on_expire: OnExpire = "decline"
    resumable: bool = True
    quorum: int = 1
    reviewers: tuple[str, ...] | None = None
    votes: tuple[dict[str, Any], ...] = ()
    decision: dict[str, Any] | None = None
    reviewer: str | None = None
    identity_source: str | None = None
    via: str | None = None
    decided_at: datetime | None = None
    preview: dict[str, Any] | None = field(default=None, repr=False)
    reads: dict[str, Any] = field(default_factory=dict[str, Any])
    store: Any = field(default=None, repr=False, compare=False)

    @property
    def requires_approval(self) -> bool:
        """Whether a yes is asked for (else data is)."""
        return self.kind == "approval"

    @property
    def short_fingerprint(self) -> str:
        """``hf1:`` and the first 12 characters: for the eye, never for authorising."""
        head, _, rest = self.fingerprint.partition(":")
        return f"{head}:{rest[:12]}"


COLUMNS = frozenset(
    {
        *("id", "run_id", "tool_call_id", "ordinal", "kind", "tool_name", "fingerprint", "state"),
        *("agent_id", "thread_id", "resource_id", "created_at", "expires_at", "decided_at"),
    }
)
"""Fields of a `Request` that a store keeps as columns; the others live in its JSON `doc`."""

_TUPLES = frozenset({"agent_path", "allowed", "secrets", "reviewers", "votes"})
_TIMES = frozenset({"created_at", "expires_at", "decided_at"})


def to_doc(request: Request) -> dict[str, Any]:
    """The JSON form of everything in a `Request` that is not a column."""
    names = [n for n in request.__slots__ if n not in COLUMNS and n != "store"]
    return {n: getattr(request, n) for n in names}


def from_row(columns: Mapping[str, Any], doc: Mapping[str, Any], store: Any = None) -> Request:
    """A `Request` from a store's columns (times as POSIX seconds) and `doc`."""
    values = {**doc, **columns}
    for name in _TIMES & values.keys():
        values[name] = None if values[name] is None else utc(values[name])
    for name in _TUPLES & values.keys():
        values[name] = None if values[name] is None else tuple(values[name])
    if values.get("evaluation") is not None:
        values["evaluation"] = Evaluation(values["evaluation"])
    return Request(**values, store=store)


def effect_of(request: Request) -> Effect | None:
    """What its call does to the world; None for a plain question, which runs nothing by itself."""
    asks = request.agent_id in ("ask", "confirm") or request.scope.get("how") == "confirm"
    plain = request.message is not None and asks and request.effect == "unknown"
    return None if plain else request.effect


def fresh(request: Request, **changes: Any) -> Request:
    """A request as it is before anybody decided it."""
    undecided: dict[str, Any] = {
        "state": "pending",
        "decision": None,
        "reviewer": None,
        "identity_source": None,
        "via": None,
        "decided_at": None,
        "votes": (),
    }
    return replace(request, **{**undecided, **changes})


def utc(seconds: float) -> datetime:
    """POSIX seconds as an aware UTC time."""
    return datetime.fromtimestamp(seconds, UTC)


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of an agent (or one verb call) as the store keeps it.

    Attributes
    ----------
    kind
        ``"agent"``, or ``"verb"`` for `ask`, `confirm` and gated functions.
    key
        The caller's name for it (R22), unique per `agent_id` while unfinished.
    key_digest
        Digest of what the key stands for (prompt, arguments, schema): another one is an error.
    owner, token
        The driver's process and its lease; None when nobody drives.
    outcome
        ``{"text", "output", "finish_reason", "usage"}`` once ended, else None.
    """

    id: str
    kind: Literal["agent", "verb"]
    agent_id: str
    state: RunState
    created_at: datetime
    updated_at: datetime
    key: str | None = None
    key_digest: str | None = None
    thread_id: str | None = None
    resource_id: str | None = None
    notebook: str | None = None
    resumable: bool = True
    owner: str | None = None
    token: str | None = None
    outcome: dict[str, Any] | None = None
    origin: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call as the store keeps it.

    Attributes
    ----------
    args
        What will run, secrets in clear until the call ends.
    provider_id
        The model provider's own call id.
    frame
        Key of the snapshot of the agent (root or nested) whose turn this call belongs to.
    turn, index
        The model turn and the call's place in it.
    result
        ``{"type": "result" | "error" | "denied" | "responded", "value": JSON}`` once ended;
        more keys may follow.
    notes
        What the model must be told with the result (a note, an edit), JSON.
    """

    id: str
    run_id: str
    tool_name: str
    args: dict[str, Any]
    state: CallState
    frame: str
    turn: str
    index: int
    provider_id: str | None = None
    permission: Literal["allow", "ask", "deny"] = "allow"
    evaluation: Evaluation | None = None
    owner: str | None = None
    token: str | None = None
    result: dict[str, Any] | None = None
    notes: dict[str, Any] = field(default_factory=dict[str, Any])
