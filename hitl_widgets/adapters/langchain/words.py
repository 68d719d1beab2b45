"""Between LangGraph's words and ours: interrupts become questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from pydantic import ValidationError

from ...errors import NotPermitted
from ...external import Ask, Check, plain
from ...fingerprint import digest
from ...request import Verdict

Kind = Literal["tool", "batch", "raw"]

_VERDICTS: dict[str, Verdict] = {
    "approve": "approve",
    "reject": "decline",
    "respond": "respond",
}


def kind_of(interrupt: Any) -> Kind:
    """What an interrupt is: a call, a turn's calls, or anything else."""
    match interrupt.value:
        case {"type": "tool_approval", "name": str(), "args": dict()}:
            known = interrupt.response_schema is None or _by_type(interrupt.response_schema)
            return "tool" if known else "raw"
        case {"action_requests": [_, *_] as actions, "review_configs": [*configs]}:
            known = all(map(_is_action, actions)) and all(map(_is_config, configs))
            return "batch" if known else "raw"
        case _:
            return "raw"


def _is_action(value: Any) -> bool:
    match value:
        case {"name": str(), "args": dict()}:
            return True
        case _:
            return False


def _is_config(value: Any) -> bool:
    match value:
        case {"action_name": str(), "allowed_decisions": list()}:
            return True
        case _:
            return False


def asks_of(
    interrupt: Any, path: tuple[str, ...], state: Any, refused_before: str = ""
) -> list[Ask]:
    """What an interrupt wants decided.

    Parameters
    ----------
    state
        Where a batch's call ids are found, or None.
    refused_before
        Why the last answer to a question was not taken.
    """
    value = interrupt.value
    match kind_of(interrupt):
        case "tool":
            return [_tool(value, interrupt.response_schema, path, refused_before)]
        case "batch":
            return _batch(value, path, state)
        case _:
            return [_question(value, interrupt.response_schema, path, refused_before)]


def _tool(value: Mapping[str, Any], schema: Any, path: tuple[str, ...], refused_before: str) -> Ask:
    allowed, args_schema = _allowed(schema)
    return Ask(
        name=value["name"],
        args=dict(value["args"]),
        agent_path=path,
        provider_id=value.get("tool_call_id"),
        allowed=_verdicts(allowed),
        message=_with(_description(value), refused_before),
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
    """A batch names no ids: they are found in the agent's last message, in its order.

    A nested agent's messages are not seen: the ids of its calls stay None.
    """
    messages = _messages(getattr(state, "values", None))
    calls: list[Any] = list(getattr(messages[-1], "tool_calls", ())) if messages else []
    found: list[str | None] = []
    for action in actions:
        match = next(
            (c for c in calls if c["name"] == action["name"] and same(c["args"], action["args"])),
            None,
        )
        if match is not None:
            calls.remove(match)
        found.append(None if match is None else match["id"])
    return found


def _question(value: Any, schema: Any, path: tuple[str, ...], refused_before: str) -> Ask:
    words = value if isinstance(value, str) else None
    return Ask(
        name="interrupt",
        args={},
        agent_path=path,
        kind="input",
        allowed=("answer", "decline"),
        message=_with(words, refused_before),
        payload=None if words is not None else plain_prompt(value),
        resume_schema=cast("dict[str, Any]", schema) if isinstance(schema, dict) else None,
    )


def _with(words: str | None, refused_before: str) -> str | None:
    if not refused_before:
        return words
    again = f"The last answer was not taken: {refused_before}"
    return f"{words}\n{again}" if words else again


def _by_type(schema: Any) -> dict[str, dict[str, Any]]:
    """Decision → its branch of an interrupt's response schema; empty for any other schema."""
    if not isinstance(schema, dict):
        return {}
    whole = cast("dict[str, Any]", schema)
    found: dict[str, dict[str, Any]] = {}
    for branch in whole.get("oneOf", [whole]):
        match _resolve(whole, branch):
            case {"properties": {"type": {"const": str(name)}}} as resolved:
                found[name] = resolved
            case _:
                return {}
    return found


def _allowed(schema: Any) -> tuple[list[str], dict[str, Any] | None]:
    """Which decisions an interrupt's response schema takes, and the schema of edited arguments."""
    if not isinstance(schema, dict):
        return ["approve", "edit", "reject", "respond"], None
    whole = cast("dict[str, Any]", schema)
    by_type = _by_type(whole)
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
    return plain(prompt)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same as JSON; unlike ``==``, a NaN is itself and True is not 1."""
    return digest(plain(one)) == digest(plain(other))


def told_to_model(provider_id: str | None, state: Any) -> tuple[str, Any]:
    """Kind and value of what the graph's own messages say of a call that was not seen to run."""
    for message in reversed(_messages(getattr(state, "values", None))):
        if provider_id is not None and getattr(message, "tool_call_id", None) == provider_id:
            return ("error" if message.status == "error" else "result"), message.content
    return "error", "The graph went on without it: it was not seen to run."


def refused(error: ValidationError) -> str:
    """Why a model did not take an answer, in one line."""
    return "; ".join(
        ": ".join(filter(None, [".".join(map(str, x["loc"])), x["msg"]]))
        for x in error.errors(include_url=False, include_input=False)
    )


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
