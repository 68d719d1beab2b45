"""A JSON Schema document: its references, its kinds of nodes, and which branch a value fits.

Nodes are plain dicts (or booleans). `Document.plain` gives a node as one flat dict: references
followed, ``allOf`` merged. That is right for drawing forms and explaining errors; whether a value
is valid is never decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from hitl_widgets.errors import ToolDefinitionError
from hitl_widgets.schema._json import is_kind, is_list, is_object, same

Node = dict[str, Any]

SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})
MAX_HOPS: Final = 32
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
DEFINITIONS: Final = ("$defs", "definitions")

# Keywords whose value is a schema, a list of schemas, or a name → schema mapping.
_ONE: Final = (
    "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems",
    "items", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema",
)  # fmt: skip
_MANY: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")


def subschemas(node: Any) -> Iterator[Node]:
    """Yield the schemas directly inside a node."""
    if not is_object(node):
        return
    for key in _ONE:
        if is_object(node.get(key)):
            yield node[key]
    for key in _MANY:
        if is_list(node.get(key)):
            yield from (n for n in node[key] if is_object(n))
    for key in _NAMED:
        if is_object(node.get(key)):
            yield from (n for n in node[key].values() if is_object(n))


def every_node(root: Any) -> Iterator[Node]:
    """Yield a schema and all schemas inside it."""
    todo = [root]
    while todo:
        node = todo.pop()
        if is_object(node):
            yield node
            todo.extend(subschemas(node))


class Document:
    """One JSON Schema with everything it refers to.

    Parameters
    ----------
    root
        The whole schema. Nothing outside it is ever loaded.

    Raises
    ------
    ToolDefinitionError
        A reference leads out of the document or nowhere.
    """

    def __init__(self, root: Any) -> None:
        self.root: Node = root if is_object(root) else {} if root else {"not": {}}
        self._targets: dict[str, Any] = {}
        self._ids: dict[str, Node] = {}
        for node in every_node(self.root):
            self._register(node)
        self._edges = {ref: self._refs_of(self.target(ref)) for ref in self._all_refs()}
        self.cyclic: frozenset[str] = frozenset(r for r in self._edges if self._reaches_itself(r))

    # -- references ------------------------------------------------------------------------------

    def _register(self, node: Node) -> None:
        for key in ("$id", "id"):
            if isinstance(node.get(key), str):
                self._ids[node[key].rstrip("#")] = node
        for key in ("$anchor", "$dynamicAnchor"):
            if isinstance(node.get(key), str):
                self._ids["#" + node[key]] = node

    def _all_refs(self) -> set[str]:
        return self._refs_of(self.root)

    def _refs_of(self, node: Any) -> set[str]:
        return {r for n in every_node(node) if (r := reference(n)) is not None}

    def _reaches_itself(self, ref: str) -> bool:
        todo, seen = list(self._edges.get(ref, ())), set[str]()
        while todo:
            step = todo.pop()
            if step == ref:
                return True
            if step not in seen:
                seen.add(step)
                todo.extend(self._edges.get(step, ()))
        return False

    def target(self, ref: str) -> Any:
        """Return the node that a reference names."""
        if ref not in self._targets:
            self._targets[ref] = self._find(ref)
        return self._targets[ref]

    def _find(self, ref: str) -> Any:
        if ref in self._ids:
            return self._ids[ref]
        base, _, fragment = ref.partition("#")
        node: Any = self.root if not base else self._by_id(base)
        if node is not None and not fragment:
            return node
        if node is not None and fragment.startswith("/"):
            for step in fragment[1:].split("/"):
                node = _step(node, unquote(step).replace("~1", "/").replace("~0", "~"))
                if node is None:
                    break
            else:
                return node
        raise ToolDefinitionError(
            f"The schema refers to {ref!r}, which is not in it, and nothing is loaded from "
            "elsewhere. Put the definition under $defs and refer to it as '#/$defs/<name>'."
        )

    def _by_id(self, base: str) -> Node | None:
        if base in self._ids:
            return self._ids[base]
        # "$id": "https://host/a/b.json" is also meant by "b.json" beside it.
        ends = [n for i, n in self._ids.items() if not i.startswith("#") and i.endswith("/" + base)]
        return ends[0] if len(ends) == 1 else None

    # -- nodes -----------------------------------------------------------------------------------

    def follow(self, node: Any) -> Node:
        """Follow references; what stands beside a ``$ref`` wins over its target."""
        if not is_object(node):
            return {} if node in (True, None) else {"not": {}}
        hops = 0
        while (ref := reference(node)) is not None and hops < MAX_HOPS:
            target = self.target(ref)
            beside = {k: v for k, v in node.items() if k not in REFERENCES}
            node = {**(target if is_object(target) else {}), **beside}
            hops += 1
        return {k: v for k, v in node.items() if k not in REFERENCES}

    def plain(self, node: Any, _depth: int = 0) -> Node:
        """Return a node with references followed and ``allOf`` merged into it."""
        flat = self.follow(node)
        parts = flat.get("allOf")
        if not is_list(parts) or _depth > MAX_HOPS:
            return flat
        merged = {k: v for k, v in flat.items() if k != "allOf"}
        kept: list[Any] = []
        for part in parts:
            plain = self.plain(part, _depth + 1)
            if "if" in plain or (alternatives(plain) and alternatives(merged)):
                kept.append(part)  # a condition belongs to its own then and else
            else:
                merged = merge(merged, plain)
        return {**merged, "allOf": kept} if kept else merged

    def kind(self, node: Any) -> str | None:
        """Return the node's JSON type without null, or None where it has none or several."""
        plain = self.plain(node)
        kinds = plain.get("type")
        if is_list(kinds):
            real = [k for k in kinds if k != "null"]
            return real[0] if len(real) == 1 else "null" if not real else None
        if isinstance(kinds, str):
            return kinds
        if "properties" in plain:
            return "object"
        return "array" if "prefixItems" in plain or "items" in plain else None

    def nullable(self, node: Any, _depth: int = 0) -> bool:
        """Tell whether null is among the values that a node names."""
        plain = self.plain(node)
        kinds = plain.get("type")
        if kinds == "null" or (is_list(kinds) and "null" in kinds):
            return True
        if "const" in plain:
            return plain["const"] is None
        if "enum" in plain:
            return None in plain["enum"]
        return _depth < MAX_HOPS and any(self.nullable(a, _depth + 1) for a in alternatives(plain))

    def real_branches(self, node: Any) -> list[Any]:
        """Return the branches of a union, unions inside it flattened, null left out."""
        out: list[Any] = []
        for branch in alternatives(self.plain(node)):
            plain = self.plain(branch)
            inside = alternatives(plain)
            if inside and "properties" not in plain and reference(branch) not in self.cyclic:
                out += self.real_branches(branch)
            elif self.kind(branch) != "null" and plain.get("const", 0) is not None:
                out.append(branch)
        return out

    def fit(self, node: Any, value: Any, _depth: int = 0) -> float:  # noqa: PLR0911 - by kind
        """Say how well a value fits a node: 0 not at all, the higher the better."""
        plain = self.plain(node)
        branches = alternatives(plain)
        if branches and "properties" not in plain:
            if _depth > MAX_HOPS:
                return 0
            return max((self.fit(b, value, _depth + 1) for b in branches), default=0)
        if "const" in plain:
            return 3 if same(plain["const"], value) else 0
        if "enum" in plain:
            return 3 if any(same(v, value) for v in plain["enum"]) else 0
        kinds = plain.get("type", self.kind(plain))
        kinds = kinds if is_list(kinds) else [kinds]
        if not any(k is None or is_kind(value, k) for k in kinds):
            return 0
        if is_object(value):
            return self._fit_object(plain, value, _depth)
        if is_list(value) and value and _depth < MAX_HOPS:
            item = plain.get("items")
            if is_object(item):
                return 1 + min(self.fit(item, v, _depth + 1) > 0 for v in value)
        return 1

    def _fit_object(self, plain: Node, value: dict[str, Any], depth: int) -> float:
        props = plain.get("properties", {})
        score = 1.0
        for key, sub in props.items():
            if key not in value:
                score -= 0.25 * (key in plain.get("required", ()))
                continue
            sub_plain = self.plain(sub)
            if "const" in sub_plain or "enum" in sub_plain:  # a tag: it decides
                if not self.fit(sub_plain, value[key], depth + 1):
                    return 0
                score += 1
            elif depth < MAX_HOPS:
                score += 0.5 + 0.5 * (self.fit(sub, value[key], depth + 1) > 0)
        if not is_object(plain.get("additionalProperties")):
            score -= 0.5 * sum(k not in props for k in value)
        return max(score, 0.1)

    def child(self, node: Any, key: str | int) -> Any:
        """Return the schema of one property or item, or None when the node names none."""
        plain = self.plain(node)
        if isinstance(key, int):
            return _item(plain, key)
        props = plain.get("properties", {})
        if key in props:
            return props[key]
        for pattern, sub in plain.get("patternProperties", {}).items():
            if matches(pattern, key):
                return sub
        extra = plain.get("additionalProperties")
        if extra is not None and extra is not False:
            return extra
        for word in ("then", "else"):
            found = self.child(plain[word], key) if is_object(plain.get(word)) else None
            if found is not None:
                return found
        return None


def reference(node: Any) -> str | None:
    """Return what a node refers to, or None."""
    if is_object(node):
        for key in REFERENCES:
            if isinstance(node.get(key), str):
                return node[key]
    return None


def alternatives(node: Mapping[str, Any]) -> list[Any]:
    """Return the branches of a union node."""
    return node.get("anyOf") or node.get("oneOf") or []


def matches(pattern: str, text: str) -> bool:
    """Match as JSON Schema does; a pattern that Python cannot read matches nothing."""
    import re  # noqa: PLC0415 - kept beside its only use

    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


def merge(one: Node, two: Node) -> Node:
    """Merge two schemas that both hold; `one` wins where only one value can stand."""
    out = {**two, **one}
    if "properties" in one and "properties" in two:
        props = dict(one["properties"])
        for key, sub in two["properties"].items():
            props[key] = {"allOf": [props[key], sub]} if key in props else sub
        out["properties"] = props
    if "required" in one and "required" in two:
        out["required"] = [
            *one["required"],
            *(r for r in two["required"] if r not in one["required"]),
        ]
    for key, pick in (("minimum", max), ("maximum", min), ("minLength", max), ("maxLength", min)):
        if key in one and key in two:
            out[key] = pick(one[key], two[key])
    return out


def _step(node: Any, key: str) -> Any:
    if is_object(node):
        return node.get(key)
    if is_list(node) and key.isdigit() and int(key) < len(node):
        return node[int(key)]
    return None


def _item(plain: Node, index: int) -> Any:
    items = plain.get("items")
    fixed = plain.get("prefixItems") or (items if is_list(items) else [])
    if 0 <= index < len(fixed):
        return fixed[index]
    return plain.get("additionalItems") if is_list(items) else items
