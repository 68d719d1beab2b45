"""One function, one answer: a call may run, or a human is asked, or it is refused.

`ROWS` is the table of `evaluate`, in order; strictness wins (deny over ask over allow). The words
`evaluated_permission`, `evaluation`, ``always_allow``, ``always_ask`` and ``auto`` follow the
Managed Agents API; tool- and run-level functions follow Mastra's ``requireToolApproval``.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, cast

from .calling import call_on
from .errors import AgentDefinitionError
from .fingerprint import digest
from .request import Effect, Evaluation

Permission = Literal["allow", "ask", "deny"]
ToolsetPolicy = Literal["always_allow", "always_ask", "auto"]
FUNCTION = "function"
TIMEOUT = 30.0
"""Seconds that a policy function may take; then a human is asked."""


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(8, thread_name_prefix="hitl-policy")


_threads = _pool()
"""Of their own: tools that keep the common threads busy must not make a rule time out."""


def _forked() -> None:
    """A forked child has none of its parent's threads."""
    global _threads  # noqa: PLW0603
    _threads = _pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@dataclass(frozen=True, slots=True)
class ApprovalContext:
    """What a policy function is told about a call.

    Attributes
    ----------
    args
        The validated arguments (JSON values).
    agent_path
        Ids of the agents from the root to the asker, inclusive.
    request_context, workspace
        As given to the run.
    user_messages
        The user's own messages, oldest first; never tool results.
    """

    tool_name: str
    args: Mapping[str, Any]
    effect: Effect = "unknown"
    agent_path: tuple[str, ...] = ()
    request_context: Any = None
    workspace: Any = None
    user_messages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """An `auto` evaluator's answer."""

    permission: Permission
    reason_code: str | None = None

    def __post_init__(self) -> None:
        if self.permission not in ("allow", "ask", "deny"):
            raise ValueError(
                f"Verdict({self.permission!r}): the permission is 'allow', 'ask' or 'deny'."
            )


Predicate = Callable[[ApprovalContext], bool | Awaitable[bool]]
Evaluator = Callable[[ApprovalContext], Verdict | Awaitable[Verdict]]


@dataclass(frozen=True, slots=True)
class Auto:
    """Toolset policy: an evaluator judges each call. Not a human checkpoint."""

    evaluator: Evaluator


def auto(evaluator: Evaluator) -> Auto:
    """Let `evaluator(ApprovalContext) -> Verdict` judge a toolset's calls.

    What it allows runs before anyone sees it; what it denies is final. When it raises, takes too
    long or returns anything else, a human is asked.
    """
    return Auto(evaluator)


class _Disabled:
    def __repr__(self) -> str:
        return "hitl.disabled"


disabled = _Disabled()
"""Toolset config for a tool that may not be called at all."""


@dataclass(frozen=True, slots=True)
class ToolRule:
    """The serialisable part of one tool's policy."""

    require_approval: bool | Literal["function"] | None = None
    effect: Effect = "unknown"
    toolset: ToolsetPolicy = "always_allow"
    enabled: bool = True
    schema_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """The serialisable policy of a run, frozen into it."""

    run: bool | Literal["function"] = False
    tools: Mapping[str, ToolRule] = field(default_factory=dict[str, ToolRule])

    def to_json(self) -> dict[str, Any]:
        """JSON for the snapshot."""
        return {"run": self.run, "tools": {n: asdict(r) for n, r in self.tools.items()}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Policy:
        """Back from the snapshot."""
        return cls(data["run"], {n: ToolRule(**r) for n, r in data["tools"].items()})

    @property
    def version(self) -> str:
        """SHA-256 (hex) of the frozen policy."""
        return digest(self.to_json())


@dataclass(frozen=True, slots=True)
class Functions:
    """The parts of a policy that live in code; any may be gone after a restart (then: ask)."""

    tool: Predicate | None = None
    run: Predicate | None = None
    evaluator: Evaluator | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A standing grant that covers a call. Which grants apply, the caller finds out."""

    id: str
    words: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The answer, and who gave it."""

    permission: Permission
    evaluation: Evaluation | None
    grant: Grant | None = None


@dataclass(slots=True)
class _Case:
    """One call on its way through the table; functions are asked once and only when needed."""

    context: ApprovalContext
    rule: ToolRule | None
    policy: Policy
    functions: Functions
    _auto: Verdict | None = None

    def known(self) -> bool:
        return self.rule is not None and self.rule.enabled

    def tool(self) -> ToolRule:
        return cast("ToolRule", self.rule)

    async def auto(self) -> Verdict:
        if self._auto is None:
            self._auto = await self._ask_evaluator()
        return self._auto

    async def _ask_evaluator(self) -> Verdict:
        answer = await _call(self.functions.evaluator, self.context)
        return answer if isinstance(answer, Verdict) else Verdict("ask", "indeterminate")

    async def says_yes(self, function: Predicate | None) -> bool:
        """Whether a predicate wants a human; anything but a clear False does."""
        return await _call(function, self.context) is not False


async def ask_function(function: Callable[[ApprovalContext], Any], context: ApprovalContext) -> Any:
    """What a policy function says of a call; what it does to the arguments is lost."""
    own = replace(
        context,
        args=copy.deepcopy(dict(context.args)),
        request_context=copy.deepcopy(context.request_context),
    )
    return await call_on(_threads, function, own)


async def _call(function: Callable[[ApprovalContext], Any] | None, context: ApprovalContext) -> Any:
    """Call a policy function; None when it is gone, raises or takes too long (R5)."""
    if function is None:
        return None
    try:
        async with asyncio.timeout(TIMEOUT):
            return await ask_function(function, context)
    except Exception:  # noqa: BLE001  # a broken rule asks a human, whatever broke it
        return None


Row = tuple[int, Permission, str, Callable[[_Case], Awaitable[bool]]]


async def _denied_by_auto(c: _Case) -> bool:
    return c.tool().toolset == "auto" and (await c.auto()).permission == "deny"


async def _run_level(c: _Case) -> bool:
    return c.policy.run is True


async def _tool_level(c: _Case) -> bool:
    rule = c.tool().require_approval
    return rule is True or (rule == FUNCTION and await c.says_yes(c.functions.tool))


async def _run_function(c: _Case) -> bool:
    return (
        c.tool().require_approval is None
        and c.policy.run == FUNCTION
        and await c.says_yes(c.functions.run)
    )


async def _destructive(c: _Case) -> bool:
    return c.tool().require_approval is None and c.tool().effect == "destructive"


async def _toolset(c: _Case) -> bool:
    rule = c.tool()
    return rule.toolset == "always_ask" or (
        rule.toolset == "auto" and (await c.auto()).permission == "ask"
    )


_RUN_LEVEL = 3

ROWS: tuple[Row, ...] = (
    (2, "deny", "auto", _denied_by_auto),
    (3, "ask", "run", _run_level),
    (4, "ask", "tool", _tool_level),
    (5, "ask", "function", _run_function),
    (6, "ask", "effect", _destructive),
    (7, "ask", "toolset", _toolset),
)
"""Number, permission, kind of evaluation, condition. Row 1 (unknown or disabled: deny) comes
before, row 9 (a grant lifts rows 4-7) and row 8 (otherwise allow) after."""


# -- the administrator's file --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Administrator:
    """What the administrator of this machine lays down; it can only tighten.

    Attributes
    ----------
    always_ask
        Tools whose every call a human decides.
    forbid
        Tools that may not be called at all.
    grants
        False: no standing grants; those that exist let nothing through.
    record, headless
        The least strict level allowed, as in `configure`.
    retention_days
        How long ended runs may be kept.
    notify
        Where messages may go: beginnings of addresses (``python:`` for functions); None: anywhere.
    """

    always_ask: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    grants: bool = True
    record: Literal["full", "short", "none"] = "full"
    headless: Literal["prompt", "suspend", "decline", "error"] = "prompt"
    retention_days: float | None = None
    notify: tuple[str, ...] | None = None

    def judge(self, name: str, judged: Judgement) -> Judgement:
        """A judgement, tightened."""
        if name in self.forbid:
            return Judgement("deny", None)
        lifted = judged.grant is not None and not self.grants
        if judged.permission == "allow" and (name in self.always_ask or lifted):
            return Judgement("ask", Evaluation(type="always_ask", by="administrator"))
        return judged


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in cast("list[Any]", value))


_SHAPES: dict[str, Callable[[Any], bool]] = {
    "always_ask": _names,
    "forbid": _names,
    "grants": lambda v: v is False,
    "record": lambda v: v in ("full", "short", "none"),
    "headless": lambda v: v in ("prompt", "suspend", "decline", "error"),
    "retention_days": lambda v: isinstance(v, int | float) and not isinstance(v, bool) and v >= 0,
    "notify": _names,
}
_read: tuple[tuple[str, int, int], Administrator] | None = None


def administrator() -> Administrator:
    """What the file in ``HITL_POLICY``, or the one in the system's configuration, lays down.

    Raises
    ------
    AgentDefinitionError
        The file is there and cannot be read or understood: nothing runs then (R5).
    """
    global _read  # noqa: PLW0603  # one file per process, read again when it changes
    named, path = os.environ.get("HITL_POLICY"), policy_file()
    try:
        about = path.stat()
        key = (str(path), about.st_mtime_ns, about.st_size)
        if _read is None or _read[0] != key:
            _read = key, _parsed(path)
    except OSError as e:
        if named or not isinstance(e, FileNotFoundError):
            raise AgentDefinitionError(
                f"The administrator's policy file {path} cannot be read ({e.strerror}): put it "
                "right, or ask who set HITL_POLICY. Nothing was run."
            ) from e
        return Administrator()
    return _read[1]


def policy_file() -> Path:
    """Where the administrator's file is, or would be."""
    named = os.environ.get("HITL_POLICY")
    return Path(named) if named else _system_path()


@functools.cache
def _system_path() -> Path:
    import platformdirs  # noqa: PLC0415  # importing stays light

    return Path(platformdirs.site_config_dir("hitl-widgets", appauthor=False)) / "policy.json"


def _parsed(path: Path) -> Administrator:
    try:
        data = json.loads(path.read_text("utf-8"))
    except ValueError as e:
        raise AgentDefinitionError(
            f"The administrator's policy file {path} is not JSON ({e}). Nothing was run."
        ) from e
    known = {f.name for f in fields(Administrator)}
    given = cast("dict[str, Any]", data) if isinstance(data, dict) else {"(whole file)": data}
    wrong = [n for n, v in given.items() if n not in known or not _SHAPES[n](v)]
    if wrong:
        raise AgentDefinitionError(
            f"The administrator's policy file {path} has {', '.join(wrong)}, which cannot be "
            f"understood: it takes {', '.join(sorted(known))}, and can only tighten. Nothing was "
            "run."
        )
    frozen: dict[str, Any] = {
        n: tuple(cast("list[str]", v)) if isinstance(v, list) else v for n, v in given.items()
    }
    return Administrator(**frozen)


# -- judging -------------------------------------------------------------------------------------


async def evaluate(
    context: ApprovalContext,
    policy: Policy,
    functions: Functions = Functions(),  # frozen
    grants: Sequence[Grant] = (),
) -> Judgement:
    """Judge one call.

    Parameters
    ----------
    context
        The call.
    policy
        The run's frozen policy.
    functions
        Its functions, as far as this process has them.
    grants
        Standing grants that cover this call.
    """
    case = _Case(context, policy.tools.get(context.tool_name), policy, functions)
    if not case.known():
        return Judgement("deny", None)
    return administrator().judge(context.tool_name, await _by_rows(case, grants))


async def _by_rows(case: _Case, grants: Sequence[Grant]) -> Judgement:
    for number, permission, kind, holds in ROWS:
        if await holds(case):
            if permission == "ask" and number > _RUN_LEVEL and grants:
                first = grants[0]
                lifted = Evaluation(type="grant", grant=first.id, words=first.words)
                return Judgement("allow", lifted, first)
            return Judgement(permission, await _evaluation(case, kind))
    return Judgement("allow", await _allowed(case))


async def _evaluation(case: _Case, kind: str) -> Evaluation:
    rule = case.tool()
    if kind == "tool" and rule.require_approval == FUNCTION:
        kind = "function"
    if kind == "toolset":
        kind = "auto" if rule.toolset == "auto" else "always_ask"
    if kind != "auto":
        return Evaluation(type=kind)
    return _auto_evaluation(await case.auto())


async def _allowed(case: _Case) -> Evaluation:
    """What to say of a call that nothing stopped: the most specific rule that let it through."""
    rule = case.tool()
    if rule.toolset == "auto":
        return _auto_evaluation(await case.auto())
    if rule.require_approval == FUNCTION:
        return Evaluation(type="function")
    if rule.require_approval is False:
        return Evaluation(type="tool")
    if case.policy.run == FUNCTION:
        return Evaluation(type="function")
    return Evaluation(type="always_allow")


def _auto_evaluation(verdict: Verdict) -> Evaluation:
    nested: dict[str, Any] = {"type": verdict.permission}
    if verdict.reason_code is not None:
        nested["reason_code"] = verdict.reason_code
    return Evaluation(type="auto", evaluated_permission=nested)
