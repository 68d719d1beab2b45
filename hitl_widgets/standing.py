"""Standing grants: "always allow" what a human saw on a card, and nothing wider (R20).

A grant covers a call when everything that was shown and fixed is the same: the tool by its name,
agent, schema and effect, and its arguments by their whole digests, never by a shortened or
flattened form. What a policy then makes of it, `policy.evaluate` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from .errors import InvalidAnswer, NotAsked, NotPermitted
from .fingerprint import fingerprint
from .policy import Grant, administrator
from .request import Request, new_id

_LAST = datetime.max.replace(tzinfo=UTC).timestamp()
"""No date is later."""

Covers = Literal["exact", "fixed", "tool"]
Reach = Literal["run", "thread", "until"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What a human grants, as it is said on the card.

    Attributes
    ----------
    covers
        ``exact``: this very call; ``fixed``: this tool as long as the arguments named in `fixed`
        stay as shown; ``tool``: this tool with any arguments.
    reach
        ``run`` (this one), ``thread`` (this conversation), or ``until`` a time.
    until
        POSIX seconds, for ``until``.
    words
        The rule as the human read it.
    """

    covers: Covers
    reach: Reach
    fixed: tuple[str, ...] = ()
    until: float | None = None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """A call that a grant may cover. `args` are in clear; `key` is the store's, for secrets."""

    tool_name: str
    agent_path: tuple[str, ...]
    schema_digest: str | None
    effect: str
    run_id: str
    thread_id: str | None
    resource_id: str | None
    args: Mapping[str, Any]
    secrets: Sequence[str]
    key: bytes | None

    def identity(self, names: Iterable[str] | None = None) -> str:
        """The fingerprint of the call, or of some of its arguments."""
        args = self.args if names is None else {name: self.args[name] for name in names}
        return fingerprint(self.tool_name, args, secrets=self.secrets, key=self.key).text


def subject_of(request: Request, args: Mapping[str, Any], key: bytes) -> Subject:
    """The call behind a request; `args` in clear."""
    return Subject(
        tool_name=request.tool_name,
        agent_path=request.agent_path,
        schema_digest=request.scope.get("schema_digest"),
        effect=request.effect,
        run_id=request.run_id,
        thread_id=request.thread_id,
        resource_id=request.resource_id,
        args=args,
        secrets=request.secrets,
        key=key,
    )


# -- giving --------------------------------------------------------------------------------------


def grantable(request: Request) -> tuple[Reach, ...]:
    """How far a grant on this request could reach; empty: none can be given.

    Not where it would do nothing (the run asks before every tool), where no policy judges the
    call, or where several people have to agree.
    """
    judged: Mapping[str, Any] = request.evaluation or {}
    if (
        request.kind != "approval"
        or request.scope.get("how") != "gate"
        or "approve" not in request.allowed
        or request.quorum > 1
        or judged.get("type") == "run"
        or judged.get("by") == "administrator"
        or not administrator().grants
    ):
        return ()
    return ("run", "until") if request.thread_id is None else ("run", "thread", "until")


def check(request: Request, rule: Rule, *, now: float) -> None:
    """Refuse a rule that this request does not allow.

    Raises
    ------
    NotPermitted
        No standing grant can be given here.
    InvalidAnswer
        The rule does not say what it covers, or for how long.
    """
    if not administrator().grants:
        raise NotPermitted(
            f"{request.tool_name}: the administrator of this machine allows no standing grants. "
            "Approve this one call instead."
        )
    reaches = grantable(request)
    if not reaches:
        raise NotAsked(
            f"{request.tool_name} ({request.id}) takes no standing grant: approve this one call."
        )
    faults = list(_faults(request, rule, reaches, now))
    if faults:
        raise InvalidAnswer(faults, "This is not a rule that could be kept")


def _faults(
    request: Request, rule: Rule, reaches: Sequence[Reach], now: float
) -> Iterable[dict[str, Any]]:
    unknown = [name for name in rule.fixed if name not in request.args]
    if rule.covers not in get_args(Covers):
        yield {"path": ["covers"], "message": f"Choose one of {', '.join(get_args(Covers))}"}
    if (rule.covers == "fixed") != bool(rule.fixed) or unknown:
        yield {"path": ["fixed"], "message": "Choose the arguments that stay as shown"}
    if rule.reach not in reaches:
        yield {"path": ["reach"], "message": f"Choose one of {', '.join(reaches)}"}
    # Not "<= now": that is false of a NaN, which would be for ever.
    if rule.reach == "until" and not (rule.until is not None and now < rule.until < _LAST):
        yield {"path": ["until"], "message": "Choose a time that is still to come"}


def grant_of(rule: Rule, subject: Subject, request_id: str) -> dict[str, Any]:
    """A rule as a store keeps it."""
    grant: dict[str, Any] = {
        "id": new_id("g"),
        "tool_name": subject.tool_name,
        "agent_path": list(subject.agent_path),
        "schema_digest": subject.schema_digest,
        "effect": subject.effect,
        "covers": rule.covers,
        "reach": rule.reach,
        "words": rule.words,
        "request_id": request_id,
        "run_id": subject.run_id,
        "thread_id": subject.thread_id,
        "resource_id": subject.resource_id,
        "expires_at": rule.until if rule.reach == "until" else None,
    }
    if rule.covers == "exact":
        grant["fingerprint"] = subject.identity()
    if rule.covers == "fixed":
        grant["fixed"] = {name: subject.identity([name]) for name in rule.fixed}
    return grant


# -- using ---------------------------------------------------------------------------------------


def covering(grants: Iterable[Mapping[str, Any]], subject: Subject) -> list[Grant]:
    """Those of a store's grants (in force) that cover a call, in the policy's words."""
    return [Grant(str(g["id"]), str(g["words"])) for g in grants if _covers(g, subject)]


def _covers(grant: Mapping[str, Any], subject: Subject) -> bool:
    same = (
        grant["tool_name"] == subject.tool_name
        and grant.get("agent_path") == list(subject.agent_path)
        and grant.get("schema_digest") == subject.schema_digest
        and grant.get("effect") == subject.effect
    )
    return same and _reaches(grant, subject) and _matches(grant, subject)


def _reaches(grant: Mapping[str, Any], subject: Subject) -> bool:
    match grant.get("reach"):
        case "run":
            return grant["run_id"] == subject.run_id
        case "thread":
            return subject.thread_id is not None and (grant["thread_id"], grant["resource_id"]) == (
                subject.thread_id,
                subject.resource_id,
            )
        case "until":
            return grant.get("expires_at") is not None  # the store hands out none that is over
        case _:
            return False  # of a later version: it covers nothing here


def _matches(grant: Mapping[str, Any], subject: Subject) -> bool:
    match grant.get("covers"):
        case "exact":
            return grant["fingerprint"] == subject.identity()
        case "fixed":
            fixed: Mapping[str, str] = grant["fixed"]
            return bool(fixed) and all(
                name in subject.args and subject.identity([name]) == text
                for name, text in fixed.items()
            )
        case "tool":
            return True
        case _:
            return False
