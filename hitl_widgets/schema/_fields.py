"""Which control a schema node becomes: one decision, shared by the form and the way back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from hitl_widgets.schema._document import (
    SCALARS,
    Document,
    Node,
    alternatives,
    merge,
    reference,
)
from hitl_widgets.schema._json import is_list, is_object, same
from hitl_widgets.schema._pydantic import DECIMAL
from hitl_widgets.schema._secrets import is_secret

Kind = Literal[
    "json", "union", "choice", "choices", "constant", "number", "text", "list", "tuple", "object",
    "nothing",
]  # fmt: skip

YES_NO: Final = ((True, "Yes"), (False, "No"))
_BOUNDS: Final = frozenset(
    ("type", "pattern", "title", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
     "multipleOf")
)  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A schema node as a form sees it.

    Attributes
    ----------
    kind
        The control: ``json`` is a text area, ``choices`` a list of check boxes, ``nothing`` a
        value that is always null.
    plain
        The node, references followed; of an optional scalar the scalar itself.
    nullable
        Null is a possible value.
    options
        Values and labels of ``choice`` and ``choices``.
    branches
        The forms of a ``union``, null left out.
    none_label
        What null is called.
    secret
        It is never shown.
    """

    kind: Kind
    plain: Node
    nullable: bool = False
    options: tuple[tuple[Any, str], ...] = ()
    branches: tuple[Any, ...] = ()
    none_label: str = "None"
    secret: bool = False

    @property
    def default(self) -> Any:
        """The default that is not null, or None."""
        return self.plain.get("default")

    @property
    def explicit_none(self) -> bool:
        """Whether null is an option of its own, and not what an empty control means."""
        return self.kind == "choice" and self.none_label != "None"


def field_of(doc: Document, node: Any) -> Field:
    """Decide which control a node becomes."""
    plain = doc.plain(node)
    nullable = doc.nullable(plain)
    found = _field(doc, plain, nullable)
    if is_secret(plain) and not found.secret:
        scalar = found.kind in ("text", "number", "choice") or doc.kind(found.plain) is None
        kind: Kind = "text" if scalar else "json"
        return Field(kind, found.plain, found.nullable, secret=True)
    return found


def _field(doc: Document, plain: Node, nullable: bool) -> Field:  # noqa: C901, FBT001, PLR0911 - by kind
    if "const" in plain:
        return _constant(plain)
    options = options_of(doc, plain)
    if options:
        return _choice(plain, options, nullable)
    if alternatives(plain) and not _only_narrows(doc, plain):
        return _union(doc, plain, nullable)
    plain = _without(plain, "anyOf", "oneOf", "discriminator")
    kinds = plain.get("type")
    if is_list(kinds):
        real = [k for k in kinds if k != "null"]
        if len(real) > 1:
            branches = tuple({**_without(plain, "title", "default"), "type": k} for k in real)
            return Field("union", plain, nullable, branches=branches)
        plain = {**plain, "type": real[0] if real else "null"}
    kind = doc.kind(plain)
    match kind:
        case "boolean":
            return Field("choice", plain, nullable, YES_NO)
        case "integer" | "number":
            return Field("number", plain, nullable)
        case "string":
            return Field("text", plain, nullable)
        case "null":
            return Field("nothing", plain, nullable=True)
        case "array" | "object":
            found = _list(doc, plain) if kind == "array" else _object(doc, plain)
            if nullable and found.kind != "json":  # a picker: "None", or the thing
                inner = {**_without(plain, "default"), "type": kind}
                return Field("union", plain, nullable=True, branches=(inner,))
            return replace(found, nullable=nullable)
        case _:
            return Field("json", plain, nullable=True)


def _choice(plain: Node, options: list[tuple[Any, str]], nullable: bool) -> Field:  # noqa: FBT001
    kept = tuple(o for o in options if o[0] is not None)
    rest = _without(plain, "anyOf", "oneOf", "discriminator", "enumNames")
    found = Field("choice", {**rest, "enum": [v for v, _ in kept]}, nullable, kept)
    label = next((n for v, n in options if v is None), "None")
    return replace(found, none_label=label)


def _constant(plain: Node) -> Field:
    value = plain["const"]
    if value is None:
        return Field("nothing", plain, nullable=True)
    if isinstance(value, bool):  # "I agree" has to be chosen, though only one answer is possible
        return Field("choice", plain, options=tuple(o for o in YES_NO if o[0] is value))
    return Field("constant", plain, options=((value, str(value)),))


def _union(doc: Document, plain: Node, nullable: bool) -> Field:  # noqa: FBT001
    branches = doc.real_branches(plain)
    rest = _without(plain, "anyOf", "oneOf", "discriminator")
    if "properties" in plain:  # what all branches share stands beside them
        base = _without(rest, "title", "description", "default")
        branches = [merge(doc.plain(b), base) for b in branches]
        return Field("union", _without(plain, "properties", "required"), branches=tuple(branches))
    if is_decimal(doc, plain, branches):
        text = next(doc.plain(b) for b in branches if doc.kind(b) == "string")
        merged = {**text, **rest, "type": "string", "format": DECIMAL}
        if merged.get("default") is not None:
            merged["default"] = str(merged["default"])
        return Field("text", merged, nullable)
    if len(branches) == 1:
        inner = field_of(doc, {**doc.plain(branches[0]), **rest})
        if inner.kind not in ("object", "list", "tuple", "choices", "union"):
            return replace(inner, nullable=nullable or inner.nullable)
        if inner.kind == "union":
            return Field("union", inner.plain, nullable=True, branches=inner.branches)
    if not branches:
        return Field("nothing", plain, nullable=True)
    return Field("union", plain, nullable, branches=tuple(branches))


def is_decimal(doc: Document, plain: Node, branches: list[Any]) -> bool:
    """Tell whether a union is a number that is kept as text, so that 19.90 stays 19.90."""
    if {doc.kind(b) for b in branches} != {"number", "string"} or len(branches) != 2:  # noqa: PLR2004
        return False
    if plain.get("format") == DECIMAL:
        return True
    return all(_BOUNDS.issuperset(doc.plain(b)) and "enum" not in doc.plain(b) for b in branches)


def _list(doc: Document, plain: Node) -> Field:
    items = plain.get("items", True)
    if plain.get("prefixItems") or is_list(items):
        return Field("tuple", plain)
    item = doc.plain(items) if is_object(items) else {}
    options = options_of(doc, item)
    if options and all(v is not None for v, _ in options):
        return Field("choices", plain, options=tuple(options))
    return Field("list", plain)


def _object(doc: Document, plain: Node) -> Field:
    extra = value_schema(plain)
    if plain.get("properties") or any(k in plain for k in ("if", "dependentSchemas")):
        return Field("object", plain)
    if extra is None:  # {"properties": {}} asks nothing, {"type": "object"} takes anything
        empty = "properties" in plain or plain.get("additionalProperties") is False
        return Field("object" if empty else "json", plain)
    typed = is_object(extra) and field_of(doc, extra).kind != "json"
    if reference(extra) in doc.cyclic:
        typed = True
    return Field("object" if typed else "json", plain)


def value_schema(plain: Node) -> Any:
    """Return the schema of a mapping's values, or None."""
    found = plain.get("patternProperties", {})
    if len(found) == 1 and not plain.get("additionalProperties"):
        return next(iter(found.values()))
    if found:
        return True  # several kinds of keys: no control but JSON
    extra = plain.get("additionalProperties")
    return None if extra is False else extra


def options_of(doc: Document, plain: Node) -> list[tuple[Any, str]]:
    """Return values and labels where a node lists its values, else nothing."""
    if "enum" in plain:
        names = plain.get("enumNames") or [_label(v) for v in plain["enum"]]
        pairs = list(zip(plain["enum"], map(str, names), strict=False))
        # An Enum class with two names for one value lists it twice.
        return [p for i, p in enumerate(pairs) if not any(same(p[0], q[0]) for q in pairs[:i])]
    out: list[tuple[Any, str]] = []
    for branch in alternatives(plain):
        flat = doc.plain(branch)
        if "const" in flat:
            out.append((flat["const"], str(flat.get("title", _label(flat["const"])))))
        elif "enum" in flat and not alternatives(flat):
            out += options_of(doc, flat)
        elif flat.get("type") == "null":
            out.append((None, str(flat.get("title", "None"))))
        else:
            return []
    return out if any(v is not None for v, _ in out) else []


def _label(value: Any) -> str:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return "None" if value is None else str(value)


def _only_narrows(doc: Document, plain: Node) -> bool:
    """Tell whether the branches only add conditions to what the node already says."""
    branches = [doc.plain(b) for b in alternatives(plain)]
    if plain.get("type") in SCALARS:
        return True
    return "properties" in plain and not any(
        "properties" in b or b.get("type") == "null" for b in branches
    )


def _without(node: Node, *keys: str) -> Node:
    return {k: v for k, v in node.items() if k not in keys}
