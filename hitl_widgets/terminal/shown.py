"""What a person reads at a prompt: requests and decisions in words, in full, and harmless.

A terminal obeys control characters, and a model writes what is shown. So nothing of it reaches the
terminal unescaped: whatever does not show, or turns text around, is spelt out as ``[U+202E]``, and
no line of it begins where our own lines begin.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from ..request import Evaluation, Request
from ..visible import visible
from ..words import Say, known

ONE_LINE = 160
"""A longer call is shown with one argument on each line."""

BAR = "│ "
"""Stands before every line of a text that is not ours."""

_VERDICTS = {
    "approve": "approved",
    "decline": "declined",
    "answer": "answered",
    "respond": "responded",
}


def one_line(text: str) -> str:
    """Any text on one line, nothing hidden in it."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def block(text: str) -> str:
    """Any text on its own lines, each marked as not ours."""
    return "\n".join(BAR + line for line in visible(text).expandtabs(4).split("\n"))


def value(data: Any) -> str:
    """A JSON value on one line, in full, nothing hidden in it."""
    return json.dumps(_shown(data), ensure_ascii=False)


def _shown(data: Any) -> Any:
    if isinstance(data, str):
        return visible(data)
    if isinstance(data, Mapping):
        return {visible(str(k)): _shown(v) for k, v in cast("Mapping[Any, Any]", data).items()}
    if isinstance(data, (list, tuple)):
        return [_shown(v) for v in cast("list[Any]", data)]
    return data


def call(request: Request) -> str:
    """The call as it is known from code: ``delete_record(id="abc-123")``."""
    name = one_line(request.tool_name)
    args = [f"{_name(k)}={value(v)}" for k, v in request.args.items()]
    line = f"{name}({', '.join(args)})"
    if len(line) <= ONE_LINE:
        return line
    return "\n".join([f"{name}(", *(f"  {arg}," for arg in args), ")"])


def _name(key: str) -> str:
    return key if key.isidentifier() and key.isascii() else value(key)


def question(say: Say, request: Request) -> str:
    """The question itself, with its mark."""
    message = request.message
    if request.kind == "input":
        asked = message or say("term.data", tool=request.tool_name)
        return one_line(asked) if "\n" not in asked else f"{block(asked)}\n{say('term.answer')}"
    if message is None:
        return say("term.allow", call=call(request))
    if "\n" in message:
        asked = f"{block(message)}\n{say('term.confirm.long')}"
    else:
        asked = say("term.confirm", message=one_line(message).rstrip("?\uff1f "))
    return asked if not request.args else f"{asked}  {call(request)}"


def summary(say: Say, request: Request) -> str:
    """A request on one line, for a list; what is cut is shown when it is opened."""
    line = call(request) if request.message is None else one_line(request.message)
    line = " ".join(line.split("\n"))
    if len(line) <= ONE_LINE:
        return line
    return say("term.cut", text=line[:ONE_LINE], n=len(line))


def asker(say: Say, request: Request) -> str:
    """The agents from the root to the one that asks."""
    return " › ".join(map(one_line, request.agent_path)) or say("term.function")  # noqa: RUF001


def heading(say: Say, request: Request, now: datetime) -> str:
    """Who asks, how grave it is, and what identifies exactly this call."""
    words = [say("term.asks", path=asker(say, request)), request.short_fingerprint]
    if request.effect != "unknown":
        words.insert(1, say(f"effect.{request.effect}"))
    if request.declined_before:
        words.append(say("term.declined_before", n=request.declined_before))
    if request.quorum > 1:
        words.append(say("votes", n=len(request.votes), all=request.quorum))
    if request.expires_at is not None:
        left = max(0, round((request.expires_at - now).total_seconds()))
        words.append(say(f"term.expires.{request.on_expire}", left=left))
    return " · ".join(words)


def warnings(say: Say, request: Request) -> Iterator[str]:
    """What a person could be deceived by in what is shown."""
    text = value(request.args) + one_line(request.tool_name + (request.message or ""))
    mixed = sorted({word for word in text.split() if _mixes_scripts(word)})
    if mixed:
        letters = sorted({f"U+{ord(c):04X} {c}" for w in mixed for c in w if _script(c) == "other"})
        yield say("mark.lookalike", chars=", ".join(letters))
    if "[U+" in text:
        yield say("mark.hidden")


def _script(char: str) -> str | None:
    if not char.isalpha():
        return None
    name = unicodedata.name(char, "")
    if name.startswith(("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")):
        return "other"
    return "latin" if name.startswith(("LATIN", "FULLWIDTH LATIN")) else None


def _mixes_scripts(word: str) -> bool:
    return {"latin", "other"} <= {_script(char) for char in word}


def details(say: Say, request: Request) -> str:
    """Everything about a request, long texts readable."""
    unknown = request.effect == "unknown"
    told = {
        "fingerprint": request.fingerprint,
        "request": request.id,
        "run": request.run_id,
        "asked": f"{request.created_at:%Y-%m-%d %H:%M:%S} UTC",
        "effect": say("term.unknown" if unknown else f"effect.{request.effect}"),
        "why": _why(say, request.evaluation),
    }
    if request.expires_at is not None:
        told["expires"] = f"{request.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    lines = [say(f"term.detail.{name}") + data for name, data in told.items()]
    for name, data in request.args.items():
        lines += [f"{_name(name)} ({type(data).__name__})", _details_of(data)]
    if request.suspend_payload is not None:
        lines += [say("term.says"), _details_of(request.suspend_payload)]
    return "\n".join(lines)


def _details_of(data: Any) -> str:
    if isinstance(data, str):
        return block(data)
    return block(json.dumps(_shown(data), ensure_ascii=False, indent=2))


def payload(data: Any) -> str:
    """What a suspended tool shows above its question."""
    return _details_of(data)


def _why(say: Say, evaluation: Evaluation | None) -> str:
    kind = "unknown" if evaluation is None else str(evaluation.get("type", "unknown"))
    code = None if evaluation is None else evaluation.reason_code
    cause = say(f"why.{kind}" if known(f"why.{kind}") else "why.unknown")
    return cause if code is None else f"{cause} ({say('why.code', code=one_line(str(code)))})"


def state(say: Say, request: Request) -> str:
    """A request's state in words."""
    key = f"state.{request.state}"
    return say(key) if known(key) else request.state


def outcome(say: Say, request: Request) -> str:
    """How a request ended: who, what, when."""
    decision = request.decision
    if request.decided_at is None or decision is None:
        return say("term.nothing_ran", state=state(say, request))
    verdict = f"state.{_VERDICTS.get(str(decision.get('verdict')), request.state)}"
    via = f"after.via.{request.via}"
    told = say(
        "term.by" if decision.get("args") is None else "term.by.edited",
        verdict=say(verdict),
        who=one_line(request.reviewer or "?"),
        via=say(via) if known(via) else f", {one_line(str(request.via))}",
        time=f"{request.decided_at.astimezone():%H:%M:%S %Z}",
        fingerprint=request.short_fingerprint,
    )
    lines = [told]
    if decision.get("reason"):
        lines.append(block(str(decision["reason"])))
    return "\n".join(lines)


def changes(say: Say, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What an edit changed, argument by argument, in signs and in words."""
    lines: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = (name in before, name in after)
        if old and new and _written(before[name]) == _written(after[name]):
            continue
        if old:
            lines.append(say("term.was", what=f"{_name(name)}={value(before[name])}"))
        if new:
            lines.append(say("term.now", what=f"{_name(name)}={value(after[name])}"))
    return "\n".join(lines)


def _written(data: Any) -> str:
    """The whole value as JSON: to Python 1, 1.0 and True are equal, to a tool they are not."""
    return json.dumps(data, sort_keys=True)
