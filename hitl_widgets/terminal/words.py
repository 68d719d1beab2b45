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

ONE_LINE = 160
"""A longer call is shown with one argument on each line."""

BAR = "│ "
"""Stands before every line of a text that is not ours."""

_CAUSES = {
    "tool": "this tool always needs approval",
    "run": "this run asks before every tool",
    "function": "a rule of this run wants a person to look",
    "effect": "its effect is destructive",
    "always_ask": "its toolset always asks",
    "grant": "its standing permission does not cover this call",
    "auto": "an automatic check wants a person to decide",
}
_VERDICTS = {"approve": "approved", "decline": "declined", "answer": "answered"} | {
    "respond": "answered in place of the tool"
}
_VIAS = {
    "card": "on a card",
    "inbox": "in the inbox",
    "terminal": "in a terminal",
    "api": "from code",
    "http": "over HTTP",
    "replay": "replayed from a file",
    "rule": "by a rule",
    "test": "in a test",
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


def question(request: Request) -> str:
    """The question itself, with its mark."""
    if request.kind == "input":
        asked = request.message or f"{request.tool_name} asks for data"
        return one_line(asked) if "\n" not in asked else f"{block(asked)}\nThe answer:"
    if request.message is None:
        return f"Allow {call(request)}?"
    asked = f"{block(request.message)}\nYes or no" if "\n" in request.message else ""
    asked = asked or one_line(request.message).rstrip("? ")
    return f"{asked}?" if not request.args else f"{asked}?  {call(request)}"


def summary(request: Request) -> str:
    """A request on one line, for a list; what is cut is shown when it is opened."""
    line = call(request) if request.message is None else one_line(request.message)
    line = " ".join(line.split("\n"))
    return line if len(line) <= ONE_LINE else f"{line[:ONE_LINE]}… ({len(line):,} characters)"


def heading(request: Request, now: datetime) -> str:
    """Who asks, how grave it is, and what identifies exactly this call."""
    path = " › ".join(map(one_line, request.agent_path)) or "a function"  # noqa: RUF001
    words = [f"{path} asks", request.short_fingerprint]
    if request.effect != "unknown":
        words.insert(1, request.effect)
    if request.declined_before:
        words.append(f"declined before: {request.declined_before} times")
    if request.quorum > 1:
        words.append(f"{len(request.votes)} of {request.quorum} reviewers")
    if request.expires_at is not None:
        left = max(0, round((request.expires_at - now).total_seconds()))
        end = "it is declined" if request.on_expire == "decline" else "the run ends"
        words.append(f"in {left} s {end}")
    return " · ".join(words)


def warnings(request: Request) -> Iterator[str]:
    """What a person could be deceived by in what is shown."""
    text = value(request.args) + one_line(request.tool_name + (request.message or ""))
    mixed = sorted({word for word in text.split() if _mixes_scripts(word)})
    if mixed:
        letters = sorted({f"U+{ord(c):04X} {c}" for w in mixed for c in w if _script(c) == "other"})
        yield f"Contains look-alike letters: {', '.join(letters)}. Read it letter by letter."
    if "[U+" in text:
        yield "Contains invisible or direction-changing characters; each is shown by its number."


def _script(char: str) -> str | None:
    if not char.isalpha():
        return None
    name = unicodedata.name(char, "")
    if name.startswith(("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")):
        return "other"
    return "latin" if name.startswith(("LATIN", "FULLWIDTH LATIN")) else None


def _mixes_scripts(word: str) -> bool:
    return {"latin", "other"} <= {_script(char) for char in word}


def details(request: Request) -> str:
    """Everything about a request, long texts readable."""
    lines = [
        f"fingerprint  {request.fingerprint}",
        f"request      {request.id}",
        f"run          {request.run_id}",
        f"asked        {request.created_at:%Y-%m-%d %H:%M:%S} UTC",
        f"effect       {request.effect}",
        f"why          {_why(request.evaluation)}",
    ]
    if request.expires_at is not None:
        lines.append(f"expires      {request.expires_at:%Y-%m-%d %H:%M:%S} UTC")
    for name, data in request.args.items():
        lines += [f"{_name(name)} ({type(data).__name__})", _details_of(data)]
    if request.suspend_payload is not None:
        lines += ["it says", _details_of(request.suspend_payload)]
    return "\n".join(lines)


def _details_of(data: Any) -> str:
    if isinstance(data, str):
        return block(data)
    return block(json.dumps(_shown(data), ensure_ascii=False, indent=2))


def payload(data: Any) -> str:
    """What a suspended tool shows above its question."""
    return _details_of(data)


def _why(evaluation: Evaluation | None) -> str:
    kind = "unknown" if evaluation is None else str(evaluation.get("type", "unknown"))
    code = None if evaluation is None else evaluation.reason_code
    cause = _CAUSES.get(kind, "its policy says so")
    return cause if code is None else f"{cause} (reason code: {one_line(str(code))})"


def outcome(request: Request) -> str:
    """How a request ended: who, what, when."""
    if request.decided_at is None or request.decision is None:
        return f"{request.state}. Nothing ran."
    verdict = _VERDICTS.get(str(request.decision.get("verdict")), request.state)
    if request.decision.get("args") is not None:
        verdict += " with changes"
    who = one_line(request.reviewer or "?")
    when = request.decided_at.astimezone()
    via = _VIAS.get(request.via or "", request.via or "?")
    lines = [f"{verdict} by {who}, {via}, at {when:%H:%M:%S %Z} · {request.short_fingerprint}"]
    if request.decision.get("reason"):
        lines.append(block(str(request.decision["reason"])))
    return "\n".join(lines)


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """What an edit changed, argument by argument, in signs and in words."""
    lines: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = (name in before, name in after)
        if old and (not new or before[name] != after[name]):
            lines.append(f"− was {_name(name)}={value(before[name])}")  # noqa: RUF001
        if new and (not old or before[name] != after[name]):
            lines.append(f"+ now {_name(name)}={value(after[name])}")
    return "\n".join(lines)
