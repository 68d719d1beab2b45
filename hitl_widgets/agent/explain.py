"""Who would be asked, and why: ``hitl.explain`` for a call, ``hitl.policy_table`` for an agent."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..policy import FUNCTION, Auto, Judgement, Policy, administrator
from ..request import Evaluation
from .proposals import Circumstances, forbidden, granted
from .toolsets import Entry

if TYPE_CHECKING:
    from .agent import Agent
    from .mcp import MCPToolset

_NOT_CONNECTED = "not connected yet: connect it (async with) or run the agent to see each tool"

_BECAUSE = {
    "tool": "the tool's require_approval says so",
    "run": "require_tool_approval=True asks for every call",
    "function": "a policy function judged it",
    "effect": "its effect is destructive, and nothing else was said",
    "always_allow": "no rule stands against it",
    "always_ask": "its toolset asks for every call",
    "auto": "an evaluator judged it",
    "client": "its result is given by a human",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What would happen to a call.

    Attributes
    ----------
    permission
        ``allow``, ``ask`` or ``deny``.
    evaluation
        Who says so; None for an unknown, disabled or forbidden tool.
    because
        The same in words.
    """

    tool_name: str
    permission: str
    evaluation: Evaluation | None
    because: str

    def __str__(self) -> str:
        return f"{self.tool_name}: {self.permission}, because {self.because}."


async def explain(
    agent: Agent, tool_name: str, args: Mapping[str, Any], **options: Any
) -> Explanation:
    """Say what an agent's policy makes of a call in a new run, without making it.

    Standing grants of the agent's store count, but for those that reach a single run.

    Parameters
    ----------
    args
        The call's arguments; validated as a model's would be.
    options
        As for `Agent.run`: ``require_tool_approval=``, ``request_context=``, ``workspace=``,
        ``thread_id=`` and ``resource_id=`` (grants that reach a conversation).

    Raises
    ------
    InvalidAnswer
        The arguments do not fit the tool.
    AgentDefinitionError
        An MCP server of the agent can not be reached.
    StoreError
        The standing grants cannot be read.
    """
    given = agent.defaults.with_given(options)
    await agent.prepare()
    entry = agent.entries.get(tool_name)
    if entry is None:
        return Explanation(tool_name, "deny", None, "there is no such tool")
    checked = entry.tool.check(dict(args))
    seen = Circumstances(
        policy=Policy(given.run_rule, {n: e.rule for n, e in agent.entries.items()}),
        agent_path=(agent.id,),
        request_context=given.request_context,
        workspace=given.workspace,
        user_messages=(),
        predicate=given.predicate,
    )
    if entry.tool.client and not forbidden(entry):
        evaluation = Evaluation(type="client")
        return Explanation(tool_name, "ask", evaluation, _BECAUSE["client"])
    desk, store = agent.desk, agent.store
    grants = await desk.read(
        lambda: granted(
            entry.tool,
            checked,
            store.grants(tool_name),
            store,
            agent_path=(agent.id,),
            run_id="",  # of a run that is yet to begin
            thread_id=given.thread_id,
            resource_id=given.resource_id,
        )
    )
    judged: Judgement = await seen.judge(entry, checked, grants)
    return Explanation(tool_name, judged.permission, judged.evaluation, _because(judged))


def _because(judged: Judgement) -> str:
    said = judged.evaluation
    if said is None:
        return "it is disabled"
    if said.get("by") == "administrator":
        return "the administrator's file asks for it"
    if judged.grant is not None:
        return f"a standing grant lets it through: {judged.grant.words}"
    code = f" (reason code {said.reason_code})" if said.reason_code else ""
    return _BECAUSE.get(said.type, said.type) + code


# -- the whole policy ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One tool's rule, read without any arguments.

    Attributes
    ----------
    permission
        ``allow``, ``ask``, ``deny`` or ``depends`` (a function or evaluator judges each call).
    warning
        What a reader of the policy might not expect, or "".
    """

    tool_name: str
    permission: str
    because: str
    effect: str
    warning: str = ""


@dataclass(frozen=True, slots=True)
class PolicyTable:
    """An agent's policy; shows itself as a table in a cell and as text elsewhere."""

    agent_id: str
    rows: tuple[PolicyRow, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """All warnings, with the tool they are about."""
        return tuple(f"{r.tool_name}: {r.warning}" for r in self.rows if r.warning)

    def __str__(self) -> str:
        width = max((len(r.tool_name) for r in self.rows), default=0)
        lines = [
            f"{r.tool_name:<{width}}  {r.permission:<7}  {r.because} [{r.effect}]"
            for r in self.rows
        ]
        return "\n".join([f"Policy of {self.agent_id}", *lines, *self.warnings])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{t}</th>" for t in ("Tool", "Permission", "Because", "Effect", "Note"))
        body = "".join(
            "<tr>"
            + "".join(
                f"<td>{html.escape(text)}</td>"
                for text in (r.tool_name, r.permission, r.because, r.effect, r.warning)
            )
            + "</tr>"
            for r in self.rows
        )
        caption = f"<caption>Policy of {html.escape(self.agent_id)}</caption>"
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def policy_table(agent: Agent, **options: Any) -> PolicyTable:
    """An agent's policy as a table, nested agents included.

    Warns of a broad rule that shadows a gate, and of destructive tools that may run unasked.

    Parameters
    ----------
    options
        As for `Agent.run`: ``require_tool_approval=``.
    """
    run_rule = agent.defaults.with_given(options).run_rule
    return PolicyTable(agent.id, tuple(_rows(agent, run_rule, "")))


def _rows(agent: Agent, run_rule: Any, above: str) -> list[PolicyRow]:
    rows: list[PolicyRow] = []
    for name, entry in agent.entries.items():
        permission, because = _read(entry, run_rule)
        rows.append(
            PolicyRow(
                above + name,
                permission,
                because,
                entry.tool.effect,
                _warning(entry, run_rule, permission),
            )
        )
        if entry.tool.agent is not None:
            rows += _rows(entry.tool.agent, run_rule, f"{above}{entry.tool.agent.id} > ")
    unseen = [server for server in agent.servers if not server.entries]
    return rows + [_unseen(server, run_rule, above) for server in unseen]


def _unseen(server: MCPToolset, run_rule: Any, above: str) -> PolicyRow:
    """The rule of all tools of a server that was not asked for them yet."""
    match server.policy:
        case "always_allow":
            permission, because = "allow", _BECAUSE["always_allow"]
        case "always_ask":
            permission, because = "ask", _BECAUSE["always_ask"]
        case Auto():
            permission, because = "depends", "an evaluator judges each call"
        case _:
            permission, because = "deny", "it is disabled"
    if run_rule is True and permission != "deny":
        permission, because = "ask", _BECAUSE["run"]
    name = f"{above}(tools of {server.server})"
    return PolicyRow(name, permission, because, "unknown", _NOT_CONNECTED)


def _read(entry: Entry, run_rule: Any) -> tuple[str, str]:  # noqa: C901, PLR0911  # a row of the table each
    """A rule without arguments: the rows of the table that do not depend on them."""
    rule, name = entry.rule, entry.tool.id
    if forbidden(entry):
        return "deny", "it is disabled, or forbidden by the administrator"
    if entry.tool.client:
        return "ask", _BECAUSE["client"]
    if run_rule is True:
        return "ask", _BECAUSE["run"]
    if rule.require_approval is True:
        return "ask", _BECAUSE["tool"]
    if rule.toolset == "always_ask":
        return "ask", _BECAUSE["always_ask"]
    if name in administrator().always_ask:
        return "ask", "the administrator's file asks for it"
    if rule.require_approval == FUNCTION:
        return "depends", "a function of the tool judges each call"
    if rule.require_approval is None and run_rule == FUNCTION:
        return "depends", "the run's function judges each call"
    if rule.require_approval is None and rule.effect == "destructive":
        return "ask", _BECAUSE["effect"]
    if rule.toolset == "auto":
        return "depends", "an evaluator judges each call"
    if rule.require_approval is False:
        return "allow", "the tool's require_approval=False says so"
    return "allow", _BECAUSE["always_allow"]


def _warning(entry: Entry, run_rule: Any, permission: str) -> str:  # noqa: PLR0911
    rule = entry.rule
    if permission == "deny":
        return ""
    if rule.toolset == "auto" and rule.effect == "destructive":
        return "destructive under an evaluator: what that allows runs before anyone sees it"
    if rule.effect == "destructive" and permission == "allow":
        return "destructive, and require_approval=False lets it run unasked"
    if rule.require_approval is False and run_rule == FUNCTION:
        return "require_approval=False: the run's function is never asked about this tool"
    if rule.require_approval is False and permission == "ask":
        return "a broader rule asks although require_approval=False"
    if rule.require_approval == FUNCTION and run_rule is True:
        return "the run asks for every call: the tool's own function is not needed"
    if rule.require_approval == FUNCTION and run_rule == FUNCTION:
        return "the tool's own function wins: the run's function is never asked about it"
    return ""
