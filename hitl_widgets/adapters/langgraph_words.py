"""Between LangGraph's words and ours: interrupts become questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from pydantic_core import to_jsonable_python

from ..errors import NotPermitted
from ..external import Ask, Check
from ..request import Verdict

Kind = Literal["tool", "batch", "raw"]

_VERDICTS: dict[str, Verdict] = {
    "approve": "approve",
    "reject": "decline",
    "respond": "respond",
}


def kind_of(value: Any) -> Kind:
    """What an interrupt's value is: a call, a turn's calls, or anything else."""
    if not isinstance(value, dict):
        return "raw"
    named = cast("dict[str, Any]", value)
    if named.get("type") == "tool_approval" and "name" in named and "args" in named:
        return "tool"
    return "batch" if "action_requests" in named and "review_configs" in named else "raw"


def asks_of(interrupt: Any, path: tuple[str, ...], state: Any) -> list[Ask]:
    """What an interrupt wants decided; `state` (or None) is where a batch's call ids are found."""
    value = interrupt.value
    match kind_of(value):
        case "tool":
            return [_tool(value, interrupt.response_schema, path)]
        case "batch":
            return _batch(value, path, state)
        case _:
            return [_question(value, interrupt.response_schema, path)]


def _tool(value: Mapping[str, Any], schema: Any, path: tuple[str, ...]) -> Ask:
    allowed, args_schema = _allowed(schema)
    return Ask(
        name=value["name"],
        args=dict(value["args"]),
        agent_path=path,
        provider_id=value.get("tool_call_id"),
        allowed=_verdicts(allowed),
        message=_description(value),
        input_schema=args_schema,
        check=_edits(value["name"], allowed),
    )


def _batch(value: Mapping[str, Any], path: tuple[str, ...], state: Any) -> list[Ask]:
    configs = {c["action_name"]: c["allowed_decisions"] for c in value["review_configs"]}
    ids = _provider_ids(value["action_requests"], state)
    return [
        Ask(
            name=action["name"],
            args=dict(action["args"]),
            agent_path=path,
            provider_id=provider_id,
            allowed=_verdicts(configs.get(action["name"], ["approve", "reject"])),
            message=_description(action),
            check=_edits(action["name"], configs.get(action["name"], [])),
        )
        for action, provider_id in zip(value["action_requests"], ids, strict=True)
    ]


def _provider_ids(actions: Sequence[Mapping[str, Any]], state: Any) -> list[str | None]:
    """A batch names no ids: they are found in the agent's last message, in its order."""
    messages = _messages(getattr(state, "values", None))
    calls: list[Any] = list(getattr(messages[-1], "tool_calls", ())) if messages else []
    found: list[str | None] = []
    for action in actions:
        match = next(
            (c for c in calls if (c["name"], c["args"]) == (action["name"], action["args"])), None
        )
        if match is not None:
            calls.remove(match)
        found.append(None if match is None else match["id"])
    return found


def _question(value: Any, schema: Any, path: tuple[str, ...]) -> Ask:
    words = value if isinstance(value, str) else None
    return Ask(
        name="interrupt",
        args={},
        agent_path=path,
        kind="input",
        allowed=("answer", "decline"),
        message=words,
        payload=None if words is not None else plain_prompt(value),
        resume_schema=cast("dict[str, Any]", schema) if isinstance(schema, dict) else None,
    )


def _allowed(schema: Any) -> tuple[list[str], dict[str, Any] | None]:
    """Which decisions an interrupt's response schema takes, and the schema of edited arguments."""
    if not isinstance(schema, dict):
        return ["approve", "edit", "reject", "respond"], None
    whole = cast("dict[str, Any]", schema)
    branches = [_resolve(whole, b) for b in whole.get("oneOf", [whole])]
    by_type = {b["properties"]["type"]["const"]: b for b in branches}
    edit = by_type.get("edit")
    if edit is None:
        return list(by_type), None
    action = _resolve(whole, edit["properties"]["edited_action"])
    args = _resolve(whole, action["properties"]["args"])
    defs = whole.get("$defs")
    return list(by_type), {**args, "$defs": defs} if defs and "$ref" in json.dumps(args) else args


def _resolve(whole: Mapping[str, Any], part: Mapping[str, Any]) -> dict[str, Any]:
    ref = part.get("$ref")
    return dict(whole["$defs"][ref.rsplit("/", 1)[1]]) if ref else dict(part)


def _verdicts(allowed: Sequence[str]) -> tuple[Verdict, ...]:
    found: list[Verdict] = [_VERDICTS[a] for a in allowed if a in _VERDICTS]
    if "edit" in allowed and "approve" not in found:
        found.insert(0, "approve")
    return tuple(found)


def _edits(name: str, allowed: Sequence[str]) -> Check | None:
    if "edit" in allowed:
        return None

    def refuse(args: dict[str, Any]) -> dict[str, Any]:
        del args
        raise NotPermitted(
            f"The agent does not allow edits of {name}: it takes {', '.join(allowed)}. The "
            "request is still pending."
        )

    return refuse


def _description(value: Mapping[str, Any]) -> str | None:
    """Words about the call, unless they are LangChain's own, which repeat name and arguments."""
    text = str(value.get("description") or "")
    own = f"Tool: {value['name']}\nArgs: {value['args']}"
    return None if not text or text.endswith(own) else text


def renamed(new: Ask, old: Ask) -> Ask:
    """What would run now, under the id found when it was asked."""
    return new if new.provider_id is not None else replace(new, provider_id=old.provider_id)


def plain_prompt(prompt: Any) -> Any:
    """Any value as JSON, objects by their repr."""
    return to_jsonable_python(prompt, fallback=repr)


def as_text(value: Any) -> str:
    """A result as LangChain takes it: text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def last_words(result: Any) -> str:
    """The last message's words, for the panel."""
    messages = _messages(getattr(result, "value", result))
    content = getattr(messages[-1], "content", None) if messages else None
    return content if isinstance(content, str) else ""


def _messages(values: Any) -> list[Any]:
    return (
        list(cast("dict[str, Any]", values).get("messages") or ())
        if isinstance(values, dict)
        else []
    )
