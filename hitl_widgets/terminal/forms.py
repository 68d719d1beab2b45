"""A form at a prompt: field by field, from the schema that a page's form is drawn from.

What is typed becomes the page's data, and `schema.Form.read` says what that means, as it does for
a page. An empty line keeps what stands there: what was typed before, a default, or nothing.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import InvalidAnswer
from ..schema import HIDDEN, Form, shape_of
from ..words import Say, saying
from .device import Person
from .shown import block, one_line, value

Node = dict[str, Any]
Path = tuple[str | int, ...]

ABSENT: Any = object()
"""Nothing was answered here."""

YES, NO = frozenset({"y", "yes", "true"}), frozenset({"n", "no", "false"})


@dataclass
class Typed:
    """What was typed into a form so far, and what is wrong with it."""

    form: Form
    data: Any = ABSENT
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def refused(self, error: InvalidAnswer) -> None:
        """Keep what was typed; the fields named in `error` will be asked again."""
        self.errors = self.form.page_errors(error.errors)


async def fill(device: Person, typed: Typed) -> Any:
    """Ask for every field, or only for those that were refused; the JSON answer.

    Raises
    ------
    Left
        The person left; what was typed is kept in `typed`.
    """
    form = typed.form
    if typed.data is ABSENT:
        # Filled in place, so that what was typed is kept when the person leaves in the middle.
        typed.data = {} if form.data is None else copy.deepcopy(form.data)
    while True:
        filling = _Filling(device, form.schema, typed.errors)
        typed.data = await filling.node(form.schema, typed.data, ())
        try:
            return form.read(typed.data, edited=True)
        except InvalidAnswer as e:
            typed.errors = e.errors


class _Filling:
    """One pass over the form's fields."""

    def __init__(self, device: Person, root: Node, errors: Sequence[Mapping[str, Any]]) -> None:
        self._device = device
        self._word = saying(device.locale)
        self._root = root
        known = [(self._reach(root, tuple(e["path"])), str(e["message"])) for e in errors]
        self._errors = known
        self._again = bool(errors)

    def _reach(self, node: Any, path: Path) -> Path:
        """The part of an error's path that leads to something that is asked here."""
        for depth, step in enumerate(path):
            node = self._plain(node)
            below = node.get("properties", {}).get(step)
            if below is None and _asks(node) != "object":
                return path if _asks(node) in ("list", "tuple") else path[:depth]
            node = below if below is not None else node.get("additionalProperties") or {}
        return path

    def _plain(self, node: Any) -> Node:
        plain = cast("Node", node) if isinstance(node, dict) else {"x-ui": {"field": "json"}}
        while "$ref" in plain:
            target = self._root["$defs"][str(plain["$ref"]).rsplit("/", 1)[-1]]
            plain = {**target, **{k: v for k, v in plain.items() if k != "$ref"}}
        return plain

    async def node(self, node: Any, now: Any, path: Path, *, required: bool = True) -> Any:
        """Ask for one part; `now` stands there, or `ABSENT`."""
        plain = self._plain(node)
        if now is ABSENT and "default" in plain:
            now = plain["default"]
        kind = _asks(plain)
        if plain.get("x-ui", {}).get("widget") == "hidden" or kind == "nothing":
            return now
        if kind != "object" and not self._concerned(path):
            return now
        mine = [message for where, message in self._errors if where == path]
        for message in mine:
            self._device.say(f"  ! {one_line(message)}", "red")
        ask = {
            "object": self._object,
            "list": self._list,
            "tuple": self._tuple,
            "union": self._union,
        }.get(kind)
        if ask is not None:
            return await ask(plain, now, path)
        return await self._scalar(plain, now, path, kind, required=required)

    def _concerned(self, path: Path) -> bool:
        """Whether a part is asked in this pass: the first time all, then what was refused."""
        return not self._again or any(
            where[: len(path)] == path or path[: len(where)] == where for where, _ in self._errors
        )

    # -- one line --------------------------------------------------------------------------------

    async def _scalar(self, node: Node, now: Any, path: Path, kind: str, *, required: bool) -> Any:
        told = node.get("description")
        if told:
            self._device.say(block(str(told)), "dim")
        options = _options(node) if kind != "boolean" else []
        for number, (_, label) in enumerate(options, 1):
            self._device.say(f"  {number}  {one_line(label)}")
        secret = node.get("x-ui", {}).get("widget") == "password"
        label = self._label(node, now, path, kind, required=required, secret=secret)
        while True:
            text = await self._device.line(label, secret=secret)
            if not text.strip() and not (secret and text):
                if now is not ABSENT or not required or kind == "text":
                    return now
                self._device.say(f"  {self._word('term.needed')}", "red")
                continue
            try:
                return _read(self._word, kind, text, options)
            except ValueError as e:
                self._device.say(f"  ! {e}", "red")

    def _label(
        self, node: Node, now: Any, path: Path, kind: str, *, required: bool, secret: bool
    ) -> str:
        hint = _hint(self._word, node, kind)
        words = [self._name(node, path)]
        if hint:
            words.append(f"({one_line(hint)})")
        if now is not ABSENT and now is not None:
            words.append(f"[{HIDDEN if secret else _standing(node, now)}]")
        elif not required:
            words.append(self._word("term.optional"))
        return " ".join(words) + ": "

    def _name(self, node: Node, path: Path) -> str:
        name = path[-1] if path else self._word("term.untitled")
        title = one_line(str(node.get("title") or name))
        parents = [one_line(str(step)) for step in path[:-1]]
        return " › ".join([*parents, title])  # noqa: RUF001

    # -- containers ------------------------------------------------------------------------------

    async def _object(self, node: Node, now: Any, path: Path) -> Any:
        out = cast("Node", now) if isinstance(now, dict) else {}
        await self._properties(node, out, path)
        for part in _conditions(node, out):
            await self._properties(part, out, path)
        extra = node.get("additionalProperties")
        if isinstance(extra, dict) and self._concerned(path):
            await self._entries(cast("Node", extra), out, path, set(node.get("properties", {})))
        return out

    async def _properties(self, node: Node, out: dict[str, Any], path: Path) -> None:
        needed = node.get("required", ())
        for key, part in node.get("properties", {}).items():
            done = await self.node(part, out.get(key, ABSENT), (*path, key), required=key in needed)
            if done is not ABSENT:
                out[key] = done

    async def _entries(self, extra: Node, out: dict[str, Any], path: Path, known: set[str]) -> None:
        for key in [k for k in out if k not in known]:
            out[key] = await self.node(extra, out[key], (*path, key))
        if self._again:
            return
        label = self._word("term.entry", name=self._name({}, path))
        while key := await self._device.line(label):
            done = await self.node(extra, ABSENT, (*path, key))
            if done is not ABSENT:
                out[key] = done

    async def _list(self, node: Node, now: Any, path: Path) -> Any:
        out: list[Any] = []
        name = self._name(node, path)
        for place, item in enumerate(cast("list[Any]", now) if isinstance(now, list) else []):
            out.append(await self.node(node["items"], item, (*path, place)))
        while await self._yes(self._word(f"term.add.{'more' if out else 'one'}", name=name)):
            done = await self.node(node["items"], ABSENT, (*path, len(out)))
            out.append(None if done is ABSENT else done)
        return out

    async def _yes(self, label: str) -> bool:
        return (await self._device.line(label)).strip().lower() in YES

    async def _tuple(self, node: Node, now: Any, path: Path) -> Any:
        old = cast("list[Any]", now) if isinstance(now, list) else []
        out: list[Any] = []
        for place, item in enumerate(node["items"]):
            before = old[place] if place < len(old) else ABSENT
            done = await self.node(item, before, (*path, place))
            out.append(None if done is ABSENT else done)
        return out

    async def _union(self, node: Node, now: Any, path: Path) -> Any:
        branches: list[Node] = [self._plain(b) for b in node["anyOf"]]
        if not node.get("x-nullable"):  # a page's "choose" stands for nothing chosen yet
            branches = [b for b in branches if b.get("type") != "null"]
        if now is not ABSENT and now is not None and not self._again:
            label = self._word("term.change", name=self._name(node, path), value=value(now))
            if not await self._yes(label):
                return now
        titles = [str(b.get("title", n)) for n, b in enumerate(branches, 1)]
        kinds: Node = {"title": node.get("title"), "enum": list(range(len(branches)))}
        kinds["x-ui"] = {"enumNames": titles}
        picked: int = await self._scalar(kinds, ABSENT, path, "choice", required=True)
        branch = branches[picked]
        title = node.get("title") or branch.get("title")
        return await self.node({**branch, "title": title}, ABSENT, path)


def _asks(node: Node) -> str:  # noqa: PLR0911 - by kind
    """How a part is asked for."""
    if node.get("x-ui", {}).get("field") == "json":
        return "json"
    if "anyOf" in node:
        return "union"
    if "enum" in node:
        return "boolean" if all(isinstance(v, bool) for v in node["enum"]) else "choice"
    match node.get("type"):
        case "object":
            return "object"
        case "array":
            items = node.get("items")
            if isinstance(items, list):
                return "tuple"
            choices = isinstance(items, dict) and node.get("uniqueItems") and "enum" in items
            return "choices" if choices else "list"
        case "boolean":
            return "boolean"
        case "integer" | "number":
            return "number"
        case "null":
            return "nothing"
        case _:
            return "text"


def _options(node: Node) -> list[tuple[Any, str]]:
    source: Any = node if "enum" in node else node.get("items")
    if not isinstance(source, dict) or "enum" not in source:
        return []
    values: list[Any] = list(cast("Node", source)["enum"])
    names = node.get("x-ui", {}).get("enumNames") or map(str, values)
    return list(zip(values, map(str, names), strict=True))


def _hint(word: Say, node: Node, kind: str) -> str:
    if kind in ("choice", "choices", "boolean", "json", "number"):
        return word(f"term.hint.{'integer' if node.get('type') == 'integer' else kind}")
    told = node.get("x-ui", {}).get("placeholder") or node.get("format")
    return str(told) if told else ""


def _standing(node: Node, now: Any) -> str:
    if isinstance(now, bool):
        return "y" if now else "n"
    labels = {json.dumps(v): label for v, label in _options(node)}
    return one_line(labels[json.dumps(now)]) if json.dumps(now) in labels else value(now)


def _read(say: Say, kind: str, text: str, options: Sequence[tuple[Any, str]]) -> Any:
    """What was typed, as the page's data; whether it is valid is not judged here."""
    word = text.strip()
    match kind:
        case "choice":
            return _option(say, word, options)
        case "choices":
            return [_option(say, w.strip(), options) for w in word.split(",") if w.strip()]
        case "boolean":
            if word.lower() in YES | NO:
                return word.lower() in YES
            raise ValueError(say("term.type.boolean"))
        case "number":
            return _number(word)
        case "json":
            return word
        case _:
            return text


def _option(say: Say, word: str, options: Sequence[tuple[Any, str]]) -> Any:
    for option, label in options:
        if word.lower() == label.lower():
            return option
    if word.isdecimal() and 0 < int(word) <= len(options):
        return options[int(word) - 1][0]
    raise ValueError(say("term.type.choice", n=len(options)))


def _number(word: str) -> Any:
    """A float where it is exactly what was typed, else the text: nothing is rounded here."""
    try:
        number = float(word)
    except ValueError:
        return word
    is_float = repr(number) == word and number - number == 0
    return number if is_float else word


def _conditions(node: Node, data: Mapping[str, Any]) -> list[Node]:
    """The parts of an object that its values so far call for."""
    found: list[Node] = []
    parts = [p for p in (node, *node.get("allOf", ())) if "if" in p]
    for part in parts:
        try:
            shape_of(part["if"]).validate(dict(data))
            found.append(part.get("then", {}))
        except InvalidAnswer:
            found.append(part.get("else", {}))
    more: dict[str, Any] = node.get("dependencies", {})
    # A list only names what is required too.
    found += [part for key, part in more.items() if key in data and isinstance(part, dict)]
    return found
