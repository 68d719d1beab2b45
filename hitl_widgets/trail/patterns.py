"""What stands out in decisions, named plainly: nobody read, and the same was asked again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..request import Request
from ..standing import Reach, grantable

BLIND = 1.0
"""Seconds under which an approval was not read."""

MANY = 3
"""Approvals of the same call from which on a standing grant is offered."""


@dataclass(frozen=True, slots=True)
class Blind:
    """Approvals that came too fast to have been read.

    Attributes
    ----------
    requests
        Those approved in under a second.
    of
        All approvals by people.
    reviewers, tools
        How many each, most first.
    """

    requests: tuple[Request, ...]
    of: int
    kind: Literal["blind"] = "blind"

    @property
    def reviewers(self) -> list[tuple[str, int]]:
        """Who, and how many, most first."""
        return Counter(r.reviewer or "" for r in self.requests).most_common()

    @property
    def tools(self) -> list[tuple[str, int]]:
        """Which tools, and how many, most first."""
        return Counter(r.tool_name for r in self.requests).most_common()


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same call, approved again and again; what a standing grant would have done.

    Attributes
    ----------
    requests
        Every request for exactly this call, oldest first; those that ended undecided too.
    reach
        The narrowest reach of a grant that covers all of them; None: none can be given.
    would_allow
        What a grant for exactly this call, given with the first approval, would have let through
        without asking: all that was asked after it, decided or not.
    others
        Requests for other calls of the same tool: the grant would have touched none.
    """

    requests: tuple[Request, ...]
    reach: Reach | None
    would_allow: tuple[Request, ...]
    others: int
    kind: Literal["repeated"] = "repeated"

    @property
    def approvals(self) -> int:
        """How often it was approved."""
        return sum(_approved(r) for r in self.requests)

    @property
    def declined(self) -> tuple[Request, ...]:
        """What the grant would have let through although somebody declined it."""
        return tuple(r for r in self.would_allow if _verdict(r) == "decline")

    @property
    def undecided(self) -> tuple[Request, ...]:
        """What the grant would have let through although nobody ever decided it."""
        return tuple(r for r in self.would_allow if r.decision is None)


def find(requests: Sequence[Request]) -> list[Blind | Repeated]:
    """What stands out, the most frequent repetition first."""
    decided = [r for r in requests if r.decision is not None]
    approvals = [r for r in decided if _approved(r) and by_person(r)]
    blind = tuple(r for r in approvals if _seconds(r) < BLIND)
    repeated = sorted(_repeated(requests), key=lambda p: -p.approvals)
    return [*([Blind(blind, len(approvals))] if blind else []), *repeated]


def by_person(request: Request) -> bool:
    """Whether a person decided: no rule, no recorded file, no test."""
    return request.identity_source != "rule" and request.via not in ("rule", "replay", "test")


def _repeated(requests: Iterable[Request]) -> Iterable[Repeated]:
    same: dict[tuple[object, ...], list[Request]] = defaultdict(list)
    tools: Counter[str] = Counter()
    for request in requests:
        tools[request.tool_name] += 1
        if request.kind == "approval" and request.scope.get("how") == "gate":
            same[_identity(request)].append(request)
    for group in same.values():
        asked = [r for r in group if _approved(r) and by_person(r)]
        if len(asked) >= MANY:
            given = min(r.decided_at for r in asked if r.decided_at is not None)
            let_through = tuple(r for r in group if r.created_at > given)
            others = tools[group[0].tool_name] - len(group)
            yield Repeated(tuple(group), _reach(group), let_through, others)


def _identity(request: Request) -> tuple[object, ...]:
    """What an exact grant binds: see `standing`."""
    return (
        request.tool_name,
        request.agent_path,
        request.scope.get("schema_digest"),
        request.effect,
        request.fingerprint,
    )


def _reach(group: Sequence[Request]) -> Reach | None:
    # The newest asks as its tool is now.
    possible = grantable(group[-1])
    if len({r.run_id for r in group}) == 1 and "run" in possible:
        return "run"
    if len({(r.thread_id, r.resource_id) for r in group}) == 1 and "thread" in possible:
        return "thread"
    return "until" if "until" in possible else None


def _verdict(request: Request) -> str | None:
    return (request.decision or {}).get("verdict")


def _approved(request: Request) -> bool:
    return _verdict(request) == "approve" and (request.decision or {}).get("args") is None


def _seconds(request: Request) -> float:
    assert request.decided_at is not None  # it has a decision
    return (request.decided_at - request.created_at).total_seconds()
