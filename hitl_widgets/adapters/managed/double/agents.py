"""Agents of the double: tool configs filled in as the service does, and who judges a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .script import Use

BUILT_IN = ("bash", "edit", "read", "write", "glob", "grep", "web_fetch", "web_search")
TOOLSET = "agent_toolset_20260401"
POLICIES = ("always_allow", "always_ask", "auto")

Judge = Callable[[str, Any], tuple[str, str | None]]
"""The ``auto`` judge: ``(tool name, input) -> ("allow" | "ask" | "deny", reason code)``."""


class ApiError(Exception):
    """What the double answers instead of a result."""

    def __init__(self, status: int, message: str, kind: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind or _KINDS.get(status, "api_error")


_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def check_keys(given: Any, where: str, required: set[str], optional: set[str]) -> dict[str, Any]:
    """Refuse what the service does not know: a client must not rely on it."""
    if not isinstance(given, dict):
        raise ApiError(400, f"{where}: Input should be an object")
    fields = cast("dict[str, Any]", given)
    for name in sorted(required - fields.keys()):
        raise ApiError(400, f"{where}.{name}: Field required")
    for name in sorted(fields.keys() - required - optional):
        raise ApiError(400, f"{where}.{name}: Extra inputs are not permitted")
    return dict(fields)


def type_of(given: Any) -> str | None:
    """The `type` of what should be an object with one."""
    return cast("dict[str, Any]", given).get("type") if isinstance(given, dict) else None


def _policy(given: Any, default: str, where: str) -> dict[str, Any]:
    if given is None:
        return {"type": default}
    policy = check_keys(given, where, {"type"}, set())
    if policy["type"] not in POLICIES:
        raise ApiError(400, f"{where}.type: must be one of {', '.join(POLICIES)}")
    return policy


def _config(given: Any, default: Mapping[str, Any], where: str) -> dict[str, Any]:
    config = check_keys(given, where, {"name"}, {"enabled", "permission_policy", "type"})
    enabled = config.get("enabled")
    return {
        "name": config["name"],
        "enabled": default["enabled"] if enabled is None else enabled,
        "permission_policy": _policy(
            config.get("permission_policy"),
            default["permission_policy"]["type"],
            f"{where}.permission_policy",
        ),
    }


def _toolset(given: dict[str, Any], default_policy: str, where: str) -> dict[str, Any]:
    default = check_keys(
        given.get("default_config") or {},
        f"{where}.default_config",
        set(),
        {"enabled", "permission_policy"},
    )
    enabled = default.get("enabled")
    filled = {
        "enabled": True if enabled is None else enabled,
        "permission_policy": _policy(
            default.get("permission_policy"),
            default_policy,
            f"{where}.default_config.permission_policy",
        ),
    }
    configs = [
        _config(c, filled, f"{where}.configs[{i}]")
        for i, c in enumerate(given.get("configs") or ())
    ]
    return {"type": given["type"], "default_config": filled, "configs": configs}


def resolve_tools(given: Sequence[Any]) -> list[dict[str, Any]]:
    """An agent's `tools` as the service keeps them: every default written out."""
    return [_tool(tool, f"tools[{i}]") for i, tool in enumerate(given)]


def _tool(tool: Any, where: str) -> dict[str, Any]:
    kind = type_of(tool)
    if kind == TOOLSET:
        check_keys(tool, where, {"type"}, {"default_config", "configs"})
        filled = _toolset(tool, "always_allow", where)
        for config in filled["configs"]:
            if config["name"] not in BUILT_IN:
                raise ApiError(400, f"{where}.configs: unknown tool {config['name']!r}")
            config["type"] = config["name"]
        return filled
    if kind == "mcp_toolset":
        check_keys(tool, where, {"type", "mcp_server_name"}, {"default_config", "configs"})
        filled = _toolset(tool, "always_ask", where)
        return {**filled, "mcp_server_name": tool["mcp_server_name"]}
    if kind == "custom":
        # Custom tools are outside the permission policy: a policy on one is refused.
        return check_keys(tool, where, {"type", "name", "description", "input_schema"}, set())
    raise ApiError(400, f"{where}.type: unknown tool type {kind!r}")


def evaluate(
    tools: Sequence[Mapping[str, Any]], call: Use, judge: Judge
) -> tuple[str | None, dict[str, Any] | None]:
    """``(evaluated_permission, evaluation)`` of a call.

    From the tool's config, else its toolset's default; ``("deny", None)`` when it is not enabled;
    ``(None, None)`` for custom tools.
    """
    if call.kind == "custom":
        return None, None
    config = _config_of(tools, call)
    if config is None or not config["enabled"]:
        return "deny", None
    policy = config["permission_policy"]["type"]
    if policy != "auto":
        return ("allow" if policy == "always_allow" else "ask"), {"type": policy}
    permission, reason = judge(call.name, call.input)
    nested: dict[str, Any] = {"type": permission}
    if permission != "allow":
        nested["reason_code"] = reason or "indeterminate"
    return permission, {"type": "auto", "evaluated_permission": nested}


def _config_of(tools: Sequence[Mapping[str, Any]], call: Use) -> Mapping[str, Any] | None:
    for tool in tools:
        mine = tool["type"] == TOOLSET and call.kind == "tool" and call.name in BUILT_IN
        theirs = tool["type"] == "mcp_toolset" and call.kind == "mcp"
        if mine or (theirs and tool["mcp_server_name"] == call.server):
            named = (c for c in tool["configs"] if c["name"] == call.name)
            return next(named, tool["default_config"])
    return None
