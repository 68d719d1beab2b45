"""What a framework asks, and what its model is told in the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..fingerprint import Fingerprint, digest, mask
from ..request import Effect, Evaluation, Kind, Request, Run, Verdict, new_id, utc
from ..schema import shape_of
from ..store.base import NewCall
from ..waiting import waiting_call

NO_RETRY = "Do not make the same call again; go on without it or ask what to do."
DECLINED = "A human declined this call to {0}; it did not run.{1} " + NO_RETRY
EXPIRED = "Nobody approved this call to {0} in time; it did not run."
BLOCKED = "Tool call blocked: approval did not match {0} arguments."

Check = Callable[[dict[str, Any]], dict[str, Any]]

MAX_DECLINES = 3
"""So often may the same call be declined in a run before the run is ended (R11)."""


@dataclass(frozen=True, kw_only=True)
class Ask:
    """One thing that a framework wants decided.

    Attributes
    ----------
    args
        As the framework validated them, as JSON; secrets in clear.
    provider_id
        The framework's own id of the tool call.
    allowed
        What the framework can be told.
    parked
        Asked by a coroutine that waits in place: withdrawn when its process dies, even if the
        run around it lives on.
    check
        Validates edited arguments as the framework would; the arguments as they would run.
        Raises `InvalidAnswer`. None: the input schema judges.
    """

    name: str
    args: dict[str, Any]
    agent_path: tuple[str, ...]
    provider_id: str | None = None
    kind: Kind = "approval"
    allowed: tuple[Verdict, ...] = ("approve", "decline")
    effect: Effect = "unknown"
    message: str | None = None
    payload: Any = None
    input_schema: dict[str, Any] | None = None
    resume_schema: dict[str, Any] | None = None
    secrets: tuple[str, ...] = ()
    parked: bool = False
    check: Check | None = None

    def all_secrets(self) -> tuple[str, ...]:
        """Declared ones, and those that the schema marks."""
        if self.input_schema is None:
            return self.secrets
        return (*self.secrets, *shape_of(self.input_schema).secrets_in(self.args))


class Checks:
    """The desk's expert on other frameworks' calls: their own validators, while they run here."""

    def __init__(self) -> None:
        self.by_call: dict[str, Check] = {}

    def check_args(self, request: Request, args: dict[str, Any]) -> dict[str, Any] | None:
        """See `desk.Expert`."""
        check = self.by_call.get(request.tool_call_id)
        return None if check is None else check(args)

    def check_answer(self, request: Request, data: Any) -> tuple[Any] | None:
        """See `desk.Expert`: the stored schema judges."""
        del request, data
        return None

    async def permit_edit(self, request: Request, args: dict[str, Any]) -> None:
        """See `desk.Expert`: whether an edit is allowed at all, the framework said at asking."""

    async def preview_edit(self, request: Request, args: dict[str, Any]) -> None:
        """See `desk.Expert`: other frameworks' tools have no previews."""

    @property
    def title(self) -> None:
        """See `desk.Expert`: it cannot be driven on from here."""

    def cancel(self, run_id: str) -> None:
        """See `desk.Expert`: only its caller can."""

    def resume(self, run_id: str) -> None:
        """See `desk.Expert`: nobody can go on with it but its caller, by running it again."""


CHECKS = Checks()


def new_call(
    run: Run,
    one: Ask,
    identity: Fingerprint,
    *,
    turn: str,
    index: int,
    declined_before: int,
    origin: dict[str, Any],
) -> NewCall:
    """What a framework asks, as a waiting call with its first question."""
    schema = one.input_schema
    request = Request(
        id=new_id("r"),
        run_id=run.id,
        tool_call_id=new_id("c"),
        ordinal=0,
        kind=one.kind,
        tool_name=one.name,
        args=mask(one.args, one.secrets),
        fingerprint=identity.text,
        digests=identity.digests,
        state="pending",
        agent_id=run.agent_id,
        agent_path=one.agent_path,
        created_at=utc(time.time()),
        effect=one.effect,
        thread_id=run.thread_id,
        allowed=one.allowed,
        evaluation=Evaluation(type="tool"),
        message=one.message,
        suspend_payload=one.payload,
        resume_schema=one.resume_schema,
        input_schema=schema,
        secrets=one.secrets,
        scope={"schema_digest": None if schema is None else digest(schema), "how": "external"},
        origin=origin,
        turn=turn,
        declined_before=declined_before,
        resumable=run.resumable and not one.parked,
    )
    return waiting_call(request, one.args, index=index, provider_id=one.provider_id)


def bound_to(
    kind: Kind, message: str | None, payload: Any, resume_schema: Any
) -> dict[str, Any] | None:
    """What the fingerprint of a question holds beside its arguments."""
    if kind == "approval":
        return None
    return {"message": message, "payload": digest(payload), "resume_schema": digest(resume_schema)}


def notes_for_model(request: Request) -> dict[str, Any]:
    """What the model must be told with the result of an approved call (R10)."""
    decision = request.decision or {}
    notes: dict[str, Any] = {}
    if decision.get("args") is not None:
        notes["human_changed_arguments"] = {"from": request.args, "to": decision["args"]}
    if decision.get("note"):
        notes["note_from_human"] = decision["note"]
    return notes


def words_of(prompt: Any) -> str:
    """A prompt's beginning, for people."""
    return (prompt if isinstance(prompt, str) else repr(prompt))[:200]
