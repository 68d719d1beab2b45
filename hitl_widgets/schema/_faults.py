"""What is wrong with a value: pydantic's and jsonschema's complaints as ``{path, message, type}``.

Paths lead into the data as it was given. pydantic puts the names of union branches into its
paths and complains for every branch; here the tags are taken out, and only the complaints of the
branch that the value fits best stay. Messages never quote the value: it may be a secret.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hitl_widgets.schema._document import MAX_HOPS, Document, Node, alternatives, reference
from hitl_widgets.schema._json import ABSENT, is_list, is_object
from hitl_widgets.schema._pydantic import DECIMAL

Fault = dict[str, Any]
Path = list[str | int]
Choice = tuple[int, int]  # (length of the path down to a union, index of the branch taken there)


def fault(path: Iterable[str | int], message: str, kind: str) -> Fault:
    """Make one error."""
    return {"path": list(path), "message": message, "type": kind}


# -- pydantic -------------------------------------------------------------------------------------


def from_pydantic(doc: Document, errors: Sequence[Mapping[str, Any]], data: Any) -> list[Fault]:
    """Turn ``ValidationError.errors()`` into faults.

    Parameters
    ----------
    doc
        The schema that pydantic wrote for the validated type.
    errors
        With keys ``loc``, ``msg``, ``type``.
    data
        The JSON value that was validated.
    """
    placed: list[tuple[Fault, tuple[Choice, ...]]] = []
    for error in errors:
        loc = list(error["loc"])
        path, choices = error_path(doc, loc, data)
        message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
        placed.append((fault(path, message, str(error["type"])), choices))
    return _joined(_chosen(doc, placed, data))


def error_path(doc: Document, loc: Sequence[Any], data: Any) -> tuple[Path, tuple[Choice, ...]]:
    """Strip the names of union branches from a pydantic location.

    Returns the path into the data and, for each union on the way, which branch was meant.
    """
    found = _Reader(doc).read(_Step(doc.root, tuple(loc), data))
    return (list(found.path), found.choices) if found else (_by_data(loc, data), ())


@dataclass(frozen=True)
class _Step:
    """How far a location is read: the node and value reached, the rest, the way so far."""

    node: Any
    rest: tuple[Any, ...]
    data: Any
    path: tuple[str | int, ...] = ()
    choices: tuple[Choice, ...] = ()


class _Reader:
    """Reads a pydantic location along a schema; dead ends are taken back."""

    def __init__(self, doc: Document) -> None:
        self._doc = doc

    def read(self, at: _Step) -> _Step | None:
        """Return the last step, or None where the location does not follow the schema."""
        if not at.rest or at.rest == ("[key]",):
            return at
        if len(at.choices) > MAX_HOPS:
            return None
        plain = self._doc.plain(at.node)
        branches = [b for b in alternatives(plain) if self._doc.kind(b) != "null"]
        if branches and "properties" not in plain:
            return self._read_union(at, plain, branches)
        return self._read_child(at, plain)

    def _read_union(self, at: _Step, plain: Node, branches: list[Any]) -> _Step | None:
        tagged = len(branches) > 1 and plain.get("format") != DECIMAL
        named = [str(at.rest[0]) in self._labels(plain, b) for b in branches]
        for index in sorted(range(len(branches)), key=lambda i: not named[i]) if tagged else ():
            choices = (*at.choices, (len(at.path), index))
            into = replace(at, node=branches[index], rest=at.rest[1:], choices=choices)
            found = self.read(into)
            if found:
                return found
        steps = (self.read(replace(at, node=b)) for b in branches)
        return next((s for s in steps if s), None)

    def _labels(self, plain: Node, branch: Any) -> set[str]:
        ref = reference(branch) or ""
        flat = self._doc.plain(branch)
        word = _WORD.get(str(flat.get("type")), "")
        mapping: Node = plain.get("discriminator", {}).get("mapping", {})
        tags = {tag for tag, target in mapping.items() if target == ref}
        return {ref.rsplit("/", 1)[-1], str(flat.get("title", "")), word} | tags

    def _read_child(self, at: _Step, plain: Node) -> _Step | None:
        head, kind, data = at.rest[0], self._doc.kind(plain), at.data
        child = self._doc.child(plain, head)
        if isinstance(head, int) and kind in ("array", None):
            inner = data[head] if is_list(data) and -1 < head < len(data) else None
        elif isinstance(head, str) and kind in ("object", None):
            inner = data.get(head) if is_object(data) else None
            known = child is not None or (is_object(data) and head in data)
            if not known and len(at.rest) > 1:
                return None
        else:
            return None
        return self.read(_Step(child, at.rest[1:], inner, (*at.path, head), at.choices))


_WORD = {"integer": "int", "number": "float", "string": "str", "boolean": "bool"}


def _by_data(loc: Sequence[Any], data: Any) -> Path:
    """Read a location by the data alone; what leads nowhere is taken for a tag."""
    path: Path = []
    for index, key in enumerate(loc):
        inside = _inside(data, key)
        if inside is not ABSENT:
            data = inside
        elif not (is_object(data) and isinstance(key, str) and index == len(loc) - 1):
            continue
        path.append(key)
    return path


def _chosen(
    doc: Document, placed: list[tuple[Fault, tuple[Choice, ...]]], data: Any
) -> list[Fault]:
    """Keep, at every union, the complaints of the branch that the value fits best."""
    out: list[Fault] = []
    best: dict[tuple[str | int, ...], set[int]] = {}
    for error, choices in placed:
        kept = True
        for depth, index in choices:
            place = tuple(error["path"][:depth])
            if place not in best:
                best[place] = _best_branches(doc, place, choices, data)
            kept = kept and index in best[place]
        if kept:
            out.append(error)
    return out or [e for e, _ in placed]


def _best_branches(
    doc: Document, place: tuple[str | int, ...], choices: tuple[Choice, ...], data: Any
) -> set[int]:
    node, value, taken = doc.root, data, dict(choices)
    for depth in range(len(place) + 1):
        branches = [b for b in alternatives(doc.plain(node)) if doc.kind(b) != "null"]
        if depth == len(place):
            scores = [doc.fit(b, value) for b in branches]
            top = max(scores, default=0)
            return {i for i, s in enumerate(scores) if s == top}
        if branches and depth in taken:
            node = branches[taken[depth]]
        node = doc.child(node, place[depth])
        value = _inside(value, place[depth])
    return set()


def _inside(value: Any, key: Any) -> Any:
    if is_object(value):
        return value.get(key, ABSENT)
    found = is_list(value) and isinstance(key, int) and 0 <= key < len(value)
    return value[key] if found else ABSENT


def _joined(faults: list[Fault]) -> list[Fault]:
    """Join what is said twice about one place, as the branches of a union do."""
    by_path: dict[tuple[str | int, ...], Fault] = {}
    for item in faults:
        key = tuple(item["path"])
        first = by_path.setdefault(key, dict(item))
        if first != item and item["message"] not in first["message"].split(", or: "):
            first["message"] += ", or: " + item["message"]
    return list(by_path.values())


# -- jsonschema -----------------------------------------------------------------------------------


def from_jsonschema(doc: Document, errors: Iterable[Any], data: Any) -> list[Fault]:
    """Turn jsonschema's ``ValidationError`` objects into faults."""
    out: list[Fault] = []
    for error in errors:
        out += _explain(doc, error, data)
    out.sort(key=lambda f: [str(p) for p in f["path"]])
    return _joined(out)


def _explain(doc: Document, error: Any, data: Any, depth: int = 0) -> list[Fault]:
    path: Path = list(error.absolute_path)
    word = str(error.validator)
    if word in ("anyOf", "oneOf") and error.context and depth < MAX_HOPS:
        inside = _of_best_branch(doc, error)
        if inside:
            return [f for e in inside for f in _explain(doc, e, data, depth + 1)]
        return [fault(path, "Choose one of the possible forms of this value", word)]
    if word == "required":
        missing = [k for k in error.validator_value if k not in error.instance]
        return [fault([*path, key], "Field required", "missing") for key in missing]
    if word == "dependentRequired":
        return _dependent(error, path)
    if word in ("additionalProperties", "unevaluatedProperties"):
        extra = _extra_keys(doc, error)
        if extra:
            return [fault([*path, k], "This field is not expected here", word) for k in extra]
    return [fault(path, _words(error), word)]


def _of_best_branch(doc: Document, error: Any) -> list[Any]:
    """Return the complaints of the one branch that the value was meant for, or nothing."""
    branches = error.validator_value
    scores = [0 if doc.kind(b) == "null" else doc.fit(b, error.instance) for b in branches]
    real = [i for i, b in enumerate(branches) if doc.kind(b) != "null"]
    top = max(scores)
    winners = [i for i, s in enumerate(scores) if s == top] if top else real
    if len(winners) != 1:
        return []
    return [e for e in error.context if e.schema_path and e.schema_path[0] == winners[0]]


def _dependent(error: Any, path: Path) -> list[Fault]:
    out: list[Fault] = []
    for key, needs in error.validator_value.items():
        if key in error.instance:
            out += [
                fault([*path, n], f"Field required when {key!r} is given", "missing")
                for n in needs
                if n not in error.instance
            ]
    return out


def _extra_keys(doc: Document, error: Any) -> list[str]:
    if not is_object(error.instance) or not is_object(error.schema):
        return []
    known = {k: v for k, v in error.schema.items() if k != "additionalProperties"}
    return [k for k in error.instance if doc.child(known, k) is None]


def _words(error: Any) -> str:  # noqa: PLR0911 - one line per keyword
    """Say what a keyword asks for, without the value."""
    want = error.validator_value
    match error.validator:
        case "type":
            kinds = want if is_list(want) else [want]
            return f"Should be {' or '.join(_KINDS.get(k, str(k)) for k in kinds)}"
        case "enum":
            return f"Should be one of {', '.join(map(json.dumps, want))}"
        case "const":
            return f"Should be {json.dumps(want)}"
        case "format":
            return f"Should be a valid {want}"
        case "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties":
            return f"{_COUNTS[error.validator]} {want} {_UNITS[error.validator]}"
        case word if word in _BOUNDS:
            return f"{_BOUNDS[word]} {want}"
        case word:
            return _OTHER.get(str(word), f"Does not satisfy {word!r}")


_KINDS = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false",
    "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip
_COUNTS = {
    "minItems": "Should have at least", "maxItems": "Should have at most",
    "minLength": "Should have at least", "maxLength": "Should have at most",
    "minProperties": "Should have at least",
}  # fmt: skip
_UNITS = {
    "minItems": "items", "maxItems": "items", "minLength": "characters",
    "maxLength": "characters", "minProperties": "entries",
}  # fmt: skip
_BOUNDS = {
    "minimum": "Should be at least", "maximum": "Should be at most",
    "exclusiveMinimum": "Should be greater than", "exclusiveMaximum": "Should be less than",
    "multipleOf": "Should be a multiple of", "pattern": "Should match the pattern",
    "maxProperties": "Should have no more entries than",
}  # fmt: skip
_OTHER = {
    "uniqueItems": "Each item may stand only once",
    "not": "This value is excluded",
    "oneOf": "Fits several of the possible forms, and should fit exactly one",
    "contains": "No item is of the kind that has to be there",
    "propertyNames": "A name is not allowed here",
    "additionalProperties": "A field is not expected here",
}
