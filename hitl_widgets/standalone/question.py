"""What is asked: everything about one question that does not depend on when it is put."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..describe import Description
from ..fingerprint import Fingerprint, digest, fingerprint, mask
from ..previews.look import Looked, Plan, look
from ..request import (
    Effect,
    Evaluation,
    Kind,
    OnExpire,
    Record,
    Request,
    Verdict,
    new_id,
    utc,
)
from ..schema import Shape


@dataclass(frozen=True, slots=True)
class Under:
    """The agent's run in which a question comes up: it is shown there, and stays its own.

    Attributes
    ----------
    agent_path
        Ids of the agents from the root to the one whose call asks.
    """

    run_id: str
    agent_path: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Question:
    """Everything about one question that does not depend on when it is asked.

    Attributes
    ----------
    name
        What is asked about: a function's name, ``ask`` or ``confirm``.
    scope
        Qualified name, under which `key` is unique.
    describe
        The arguments as they are now; asked again at the claim (R3).
    perform
        What an approval lets run, or None (`ask`, `confirm`).
    expires
        Seconds that it waits; None: without limit.
    under
        The run that it belongs to, or None.
    plan, values
        What is looked at before it is asked, and the arguments by name for that.
    """

    name: str
    scope: str
    kind: Kind
    describe: Callable[[], Description]
    perform: Callable[[], Awaitable[Any]] | None = None
    shape: Shape | None = None
    message: str | None = None
    initial: Any = None
    allowed: tuple[Verdict, ...] = ("approve", "decline")
    effect: Effect = "unknown"
    key: str | None = None
    expires: float | None = None
    on_expire: OnExpire = "decline"
    quorum: int = 1
    reviewers: tuple[str, ...] | None = None
    record: Record = "full"
    store: Any = None
    under: Under | None = None
    plan: Plan | None = None
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def resume_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of an answer, or None."""
        return None if self.shape is None else self.shape.json_schema

    async def look(self, told: Description, *, bound_only: bool = False) -> Looked:
        """Look at what a reviewer is shown beside the arguments; see `previews.look`."""
        return await look(
            self.plan,
            self.values,
            secrets=told.secrets,
            plain=told.args,
            bound_only=bound_only,
        )

    def identity(self, told: Description, looked: Looked, ordinal: int, key: bytes) -> Fingerprint:
        """What is asked, with the arguments and what was looked at as they are now.

        Parameters
        ----------
        ordinal
            How often it was asked before.
        key
            The store's, for secrets.
        """
        bound: dict[str, Any] = dict(looked.bound)
        if self.kind == "input" or self.message is not None or ordinal:
            bound |= {
                "ordinal": ordinal,
                "message": self.message,
                "resume_schema": digest(self.resume_schema),
            }
        return fingerprint(self.name, told.args, secrets=told.secrets, key=key, bound=bound)

    def request(
        self,
        told: Description,
        looked: Looked,
        identity: Fingerprint,
        *,
        run_id: str,
        call_id: str,
        ordinal: int = 0,
        origin: dict[str, Any],
    ) -> Request:
        """The question as a request that waits from now on."""
        now = time.time()
        return Request(
            id=new_id("r"),
            run_id=run_id,
            tool_call_id=call_id,
            ordinal=ordinal,
            kind=self.kind,
            tool_name=self.name,
            args=mask(told.args, told.secrets),
            fingerprint=identity.text,
            digests=identity.digests,
            state="pending",
            agent_id=self.scope,
            agent_path=() if self.under is None else self.under.agent_path,
            created_at=utc(now),
            effect=self.effect,
            allowed=self.allowed,
            evaluation=Evaluation(type="tool"),
            message=self.message,
            resume_schema=self.resume_schema,
            secrets=tuple(told.secrets),
            scope=self._scope_of(told, looked),
            origin=origin,
            turn=run_id,
            expires_at=None if self.expires is None else utc(now + self.expires),
            on_expire=self.on_expire,
            resumable=self.key is not None,
            quorum=self.quorum,
            reviewers=self.reviewers,
            preview=looked.preview,
            reads=looked.reads,
        )

    def _scope_of(self, told: Description, looked: Looked) -> dict[str, Any]:
        scope: dict[str, Any] = {"schema_digest": None, "how": "verb", "portable": told.portable}
        if looked.bound:
            scope["bound"] = looked.bound
        if self.record != "full":
            scope["record"] = self.record
        if self.under is not None:
            scope["under"] = self.under.run_id
        if self.initial is not None:
            scope["initial"] = self.initial
        return scope
