"""Tools under a common policy, and an agent's tools by name with the rules they have in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from ..errors import AgentDefinitionError
from ..policy import FUNCTION, Auto, Evaluator, Predicate, ToolRule, disabled
from .tools import Tool, tool

Config = Literal["always_allow", "always_ask"] | Auto | Any


@dataclass(frozen=True)
class Toolset:
    """Tools under a common policy.

    Parameters
    ----------
    tools
        Tools or plain functions.
    policy
        ``"always_allow"``, ``"always_ask"`` or `auto(evaluator)`.
    configs
        Tool name → policy of that tool, or `disabled`.
    """

    tools: Sequence[Tool | Callable[..., Any]]
    policy: Config = "always_allow"
    configs: Mapping[str, Config] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Entry:
    """A tool with the rule it has in an agent."""

    tool: Tool
    rule: ToolRule
    evaluator: Evaluator | None = None
    later: bool = False
    """Its server may have added it after a run began: that run asks for it."""

    @property
    def predicate(self) -> Predicate | None:
        """The tool's own approval function."""
        rule = self.tool.require_approval
        return rule if callable(rule) else None


def entries(tools: Iterable[Any]) -> dict[str, Entry]:
    """An agent's tools by name, with their rules.

    Raises
    ------
    AgentDefinitionError
        Two of one name, a policy that is none, a config for a tool that is not there.
    """
    found: dict[str, Entry] = {}
    for item in tools:
        group = item if isinstance(item, Toolset) else Toolset([item])
        made = [t if isinstance(t, Tool) else tool(t) for t in group.tools]
        for name in group.configs.keys() - {t.id for t in made}:
            raise AgentDefinitionError(f"configs names {name!r}, which the toolset does not hold.")
        for each in made:
            if each.id in found:
                raise AgentDefinitionError(f"Two tools are called {each.id!r}: give one an id=….")
            found[each.id] = entry_of(each, group.configs.get(each.id, group.policy))
    return found


def entry_of(each: Tool, policy: Config) -> Entry:
    """A tool under a policy."""
    if isinstance(policy, Auto):
        toolset, evaluator, enabled = "auto", policy.evaluator, True
    elif policy is disabled:
        toolset, evaluator, enabled = "always_allow", None, False
    elif policy in ("always_allow", "always_ask"):
        toolset, evaluator, enabled = policy, None, True
    else:
        raise AgentDefinitionError(
            f"{each.id}: the policy {policy!r} is none of 'always_allow', 'always_ask', "
            "hitl.auto(…), hitl.disabled."
        )
    required = each.require_approval
    rule = ToolRule(
        require_approval=FUNCTION if callable(required) else required,
        effect=each.effect,
        toolset=cast("Any", toolset),
        enabled=enabled and each.enabled,
        schema_digest=each.shape.digest,
    )
    return Entry(each, rule, evaluator)
