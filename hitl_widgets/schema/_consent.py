"""Which answers are consent (R7): a model's text never gives those."""

from __future__ import annotations

from typing import Any

from hitl_widgets.schema._document import MAX_HOPS, Document, alternatives
from hitl_widgets.schema._json import is_list


def asks_for_consent(doc: Document) -> bool:
    """Apply R7: the answer is a boolean, or all its required fields are.

    If no field is required, all fields count; there has to be at least one. Fields with one
    possible value ask nothing and are left out. Of a union, one such branch is enough.
    """
    return _consents(doc, doc.root, 0)


def _consents(doc: Document, node: Any, depth: int) -> bool:
    if depth > MAX_HOPS:
        return True
    if _is_boolean(doc, node, depth):
        return True
    plain = doc.plain(node)
    if "properties" not in plain:
        return any(_consents(doc, b, depth + 1) for b in alternatives(plain))
    fields: dict[str, Any] = plain["properties"]
    required = [fields[k] for k in plain.get("required", ()) if k in fields]
    asked = [f for f in required or fields.values() if not _is_constant(doc, f)]
    return bool(asked) and all(_is_boolean(doc, f, depth) for f in asked)


def _is_constant(doc: Document, node: Any) -> bool:
    plain = doc.plain(node)
    value = (
        plain.get("const", *plain["enum"])
        if len(plain.get("enum", ())) == 1
        else (plain.get("const"))
    )
    return value is not None and not isinstance(value, bool)


def _is_boolean(doc: Document, node: Any, depth: int) -> bool:
    """Tell whether a value is yes or no, or nothing."""
    if depth > MAX_HOPS:
        return True
    plain = doc.plain(node)
    if "const" in plain:
        return isinstance(plain["const"], bool)
    if "enum" in plain:
        values = [v for v in plain["enum"] if v is not None]
        return bool(values) and all(isinstance(v, bool) for v in values)
    branches = alternatives(plain)
    if branches and "properties" not in plain:
        real = [b for b in branches if doc.kind(b) != "null"]
        return bool(real) and all(_is_boolean(doc, b, depth + 1) for b in real)
    kinds = plain.get("type")
    return {*kinds} - {"null"} == {"boolean"} if is_list(kinds) else kinds == "boolean"
