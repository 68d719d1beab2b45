"""A JSON Schema → the schema that the page's form is drawn from.

The page's form library draws raw schemas badly: it asks "option 1 or 2" for every optional field,
preselects what nobody chose, loses unions at the root, and shows tuples not at all. What it draws
well is written here, and the hints for its controls ride inside, under ``x-ui``, so that
recursion keeps them:

``field``
    ``"json"``: a text area. Its value is exchanged as JSON *text*, so that no number is rounded.
``widget``
    ``radio``, ``select``, ``checkboxes``, ``textarea``, ``password``, ``hidden``, ``text``, or
    ``num`` (a text box; its value is a number, or text where a number would be rounded).
``enumNames``, ``placeholder``, ``readonly``, ``inputmode``, ``format``
    Labels of the options, and how the control looks.
``emptyValue``
    What a cleared text box gives. Without it a cleared box gives nothing.
``root``
    On the top: the only property, which holds a value that is no object.

`_form.Form` leads the data back. The page decides nothing about validity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from hitl_widgets.schema._document import Document, Node, reference
from hitl_widgets.schema._fields import Field, field_of, value_schema
from hitl_widgets.schema._json import is_list, is_object, page_safe
from hitl_widgets.schema._pydantic import DECIMAL

ROOT: Final = "value"
CHOOSE: Final = "— choose —"
NONE: Final = "None"
ANSWER: Final = "Answer"
MANY_LETTERS: Final = 200
ONE_LINE: Final = 80
FEW: Final = 4

WORDS: Final = {
    "string": "Text", "integer": "Whole number", "number": "Number", "boolean": "Yes / no",
    "array": "List", "object": "Object", "null": NONE,
}  # fmt: skip
PLACEHOLDERS: Final = {
    "duration": "ISO 8601, e.g. PT1H30M",
    "uuid": "e.g. 3fa85f64-5717-4562-b3fc-2c963f66afa6",
    "time": "HH:MM:SS",
    "ipv4": "e.g. 10.0.0.1",
    "path": "a file path",
    "date-time": "e.g. 2026-01-31T13:45:00Z",
}
NATIVE: Final = frozenset({"date", "email"})  # formats whose browser control loses nothing
_TOLD: Final = ("title", "description", "default", "deprecated", "readOnly")


def prepare(schema: Node) -> Node:
    """Write the schema that the form is drawn from.

    Parameters
    ----------
    schema
        Any JSON Schema; see the module for what is in the result.
    """
    return Preparer(Document(schema)).form()


@dataclass(frozen=True)
class _Place:
    """Where a node stands: see `Preparer._node`."""

    key: str | None
    tag: str | None
    beside: str | None
    required: bool


class Preparer:
    """Writes one form's schema."""

    def __init__(self, doc: Document) -> None:
        self._doc = doc
        self._defs: dict[str, Node] = {}
        self._names: dict[str, str] = {}
        self._draw: dict[str, Callable[[Field, Node, Node, _Place], None]] = {
            "choice": self._choice,
            "constant": self._constant,
            "choices": self._choices,
            "text": self._text,
            "number": self._number,
            "list": self._list,
            "tuple": self._tuple,
            "object": self._object,
            "nothing": self._nothing,
            "json": self._json,
        }

    def form(self) -> Node:
        root = self._doc.root
        form = self._node(root, required=True)
        if field_of(self._doc, root).kind != "object" or "$ref" in form:
            form.setdefault("title", ANSWER)
            form = {
                "type": "object",
                "properties": {ROOT: form},
                "required": [ROOT],
                "x-ui": {"root": ROOT},
            }
        return {**form, "$defs": self._defs} if self._defs else form

    def _node(
        self,
        source: Any,
        *,
        required: bool,
        key: str | None = None,
        tag: str | None = None,
        beside: str | None = None,
    ) -> Node:
        """Write one node.

        A branch of a union gets as `tag` the property that tells the branches apart, or ""; its
        properties get the same as `beside`.
        """
        if reference(source) in self._doc.cyclic:
            return self._recursive(source, key, required=required)
        place = _Place(key, tag, beside, required)
        field = field_of(self._doc, source)
        node: Node = {k: v for k, v in field.plain.items() if k in _KEPT}
        if node.get("default", 0) is None:
            del node["default"]
        elif "default" in node:
            node["default"] = page_safe(node["default"])
        if field.kind == "union":
            return self._union(field, node)
        ui: Node = {}
        self._draw[field.kind](field, node, ui, place)
        if place.key is not None and place.key == place.beside and "enum" in node:
            ui["widget"] = "hidden"  # choosing the branch chose its tag
            node.setdefault("default", node["enum"][0])
        if field.nullable:
            node["x-nullable"] = True
        return {**node, "x-ui": ui} if ui else node

    # -- recursion -------------------------------------------------------------------------------

    def _recursive(self, source: Node, key: str | None, *, required: bool) -> Node:
        ref = reference(source)
        assert ref is not None
        if ref not in self._names:
            name = re.sub(r"[^A-Za-z0-9_-]+", "_", ref.rsplit("/", 1)[-1]).strip("_") or "root"
            while name in self._defs:
                name += "_"
            self._names[ref] = name
            self._defs[name] = {}  # the place is taken while its inside is written
            target = self._doc.follow(self._doc.target(ref))
            self._defs[name] = self._node(target, required=True)
        told = {k: source[k] for k in _TOLD if source.get(k) is not None}
        node: Node = {**told, "$ref": f"#/$defs/{self._names[ref]}"}
        if key is None or field_of(self._doc, source).kind != "object" or "default" in told:
            return node
        # Drawn at once, a thing inside itself would never end: the person opens it.
        title = told.get("title", self._title(source))
        closed = {"type": "null", "title": CHOOSE if required else NONE}
        return {**told, "anyOf": [closed, {**node, "title": title}]}

    # -- unions ----------------------------------------------------------------------------------

    def _union(self, field: Field, node: Node) -> Node:
        tag = self._tag(field)
        out: list[Node] = []
        for branch in field.branches:
            inner = self._node(branch, required=True, tag=tag or "")
            inner.pop("default", None) if "properties" in inner else None
            title = self._title(branch)
            same = sum(str(b["title"]).startswith(title) for b in out)
            out.append({**inner, "title": f"{title} {same + 1}" if same else title})
        told: Node = {k: node[k] for k in _TOLD if k in node}
        if "default" not in told:
            # Nothing is chosen until a person chooses.
            out.insert(0, {"type": "null", "title": NONE if field.nullable else CHOOSE})
        elif field.nullable:
            out.append({"type": "null", "title": NONE})
        union: Node = {**told, "anyOf": out}
        if tag:
            union["discriminator"] = {"propertyName": tag}
        if field.nullable:
            union["x-nullable"] = True
        return union

    def _tag(self, field: Field) -> str | None:
        """Return the property whose one value differs in every branch."""
        declared = field.plain.get("discriminator", {}).get("propertyName")
        plain = [self._doc.plain(b) for b in field.branches]
        if len(plain) < 2:  # noqa: PLR2004
            return None
        names = [declared] if declared else list(plain[0].get("properties", {}))
        for name in names:
            values = [self._tag_value(p.get("properties", {}).get(name)) for p in plain]
            if None not in values and len(set(values)) == len(values):
                return name
        return None

    def _tag_value(self, node: Any) -> str | None:
        plain = self._doc.plain(node) if is_object(node) else {}
        if "const" in plain:
            return json.dumps(plain["const"], sort_keys=True)
        values = plain.get("enum", ())
        return json.dumps(values[0]) if len(values) == 1 else None

    def _title(self, node: Any) -> str:
        plain = self._doc.plain(node)
        if plain.get("title"):
            return str(plain["title"])
        if "const" in plain or "enum" in plain:
            return " / ".join(map(str, plain.get("enum", [plain.get("const")])))
        kind = self._doc.kind(plain)
        word = WORDS.get(kind or "", "Value")
        if kind == "array" and is_object(plain.get("items")):
            item = self._title(plain["items"])
            return "List of values" if "[" in item else "List of " + item.lower()
        named = plain.get("format") and plain.get("format") != DECIMAL
        return f"{word} ({plain['format']})" if named else word

    # -- controls --------------------------------------------------------------------------------

    def _choice(self, field: Field, node: Node, ui: Node, place: _Place) -> None:
        values = [page_safe(v) for v, _ in field.options]
        labels = [n for _, n in field.options]
        has_default = "default" in node
        node.pop("const", None)
        node["type"] = _type_of(values)
        if node["type"] == "boolean" and has_default and len(values) > 1 and not field.nullable:
            node.pop("enum", None)
            return  # one check box
        if field.explicit_none or (field.nullable and has_default):  # a filled one can be cleared
            values, labels = [*values, None], [*labels, field.none_label]
        node["enum"] = values
        if labels != [str(v) for v in values]:
            ui["enumNames"] = labels
        few = len(values) <= FEW and not has_default and place.required and not field.nullable
        ui["widget"] = "radio" if few else "select"

    def _constant(self, field: Field, node: Node, ui: Node, place: _Place) -> None:
        value = page_safe(field.options[0][0])
        node.pop("const", None)
        node["default"] = value
        if is_object(value) or is_list(value):
            node.pop("type", None)
            node["default"] = json.dumps(value, indent=2)
            ui["field"] = "json"
        else:
            node["type"] = _type_of([value])
            node["enum"] = [value]
        ui["widget"] = "text" if place.beside is None else "hidden"
        ui["readonly"] = True

    def _choices(self, field: Field, node: Node, ui: Node, _: _Place) -> None:
        values = [page_safe(v) for v, _ in field.options]
        labels = [n for _, n in field.options]
        item: Node = {"type": _type_of(values), "enum": values}
        if labels != [str(v) for v in values]:
            item["x-ui"] = {"enumNames": labels}
            ui["enumNames"] = labels
        ui["widget"] = "checkboxes"
        node["type"] = "array"
        node["items"] = item
        node["uniqueItems"] = True

    def _number(self, _field: Field, node: Node, ui: Node, _: _Place) -> None:
        ui["widget"] = "num"
        ui["inputmode"] = "numeric" if node.get("type") == "integer" else "decimal"

    def _nothing(self, _field: Field, node: Node, _ui: Node, _: _Place) -> None:
        node["type"] = "null"

    def _text(self, field: Field, node: Node, ui: Node, _: _Place) -> None:
        form = node.pop("format", None)
        node["type"] = "string"
        node.pop("enum", None)
        default = node.get("default")
        many_lines = isinstance(default, str) and ("\n" in default or len(default) > ONE_LINE)
        long = node.get("maxLength", 0) > MANY_LETTERS or field.plain.get("contentMediaType")
        if form in PLACEHOLDERS:
            ui["placeholder"] = PLACEHOLDERS[form]
        elif field.plain.get("examples"):
            ui["placeholder"] = f"e.g. {field.plain['examples'][0]}"
        if field.secret:
            ui["widget"] = "password"
            node.pop("default", None)
        elif form == DECIMAL:
            ui["inputmode"] = "decimal"
            if default is not None:
                node["default"] = str(default)
        elif form in NATIVE:
            node["format"] = form
        elif form == "textarea" or many_lines or (long and not form):
            ui["widget"] = "textarea"
        elif form:
            ui["format"] = form
        if isinstance(default, str) and not field.nullable and not form:
            ui["emptyValue"] = ""  # clearing what stood there is an answer; never typed is none

    def _json(self, field: Field, node: Node, ui: Node, _: _Place) -> None:
        """Write a text area for any JSON; no type, so that the page leaves its text alone."""
        ui["field"] = "json"
        node.clear()
        node.update({k: field.plain[k] for k in _TOLD if k in field.plain})
        if field.secret:
            ui["widget"] = "password"
        if field.secret or node.get("default") is None:
            node.pop("default", None)
        else:
            node["default"] = json.dumps(node["default"], indent=2)

    # -- containers ------------------------------------------------------------------------------

    def _list(self, field: Field, node: Node, _ui: Node, _: _Place) -> None:
        node["items"] = self._node(field.plain.get("items", True), required=True)

    def _tuple(self, field: Field, node: Node, _ui: Node, _: _Place) -> None:
        items = field.plain.get("items")
        fixed: list[Any] = items if is_list(items) else field.plain["prefixItems"]
        rest = field.plain.get("additionalItems") if is_list(items) else items
        node["type"] = "array"
        titles = map(str, range(1, len(fixed) + 1))
        node["items"] = [
            {"title": title, **self._node(item, required=True, key=title)}
            for title, item in zip(titles, fixed, strict=True)
        ]
        if is_object(rest) and field.plain.get("maxItems") != len(fixed):
            node["additionalItems"] = self._node(rest, required=True)
        node.pop("minItems", None)
        node.pop("maxItems", None)

    def _object(self, field: Field, node: Node, _ui: Node, place: _Place) -> None:
        plain = field.plain
        node["type"] = "object"
        self._properties(plain, node, place.tag)
        extra = value_schema(plain)
        if is_object(extra) and (
            not plain.get("properties") or field_of(self._doc, extra).kind != "json"
        ):
            node["additionalProperties"] = self._node(extra, required=True)
        elif plain.get("additionalProperties") is False:
            node["additionalProperties"] = False
        for word in ("then", "else"):
            if is_object(plain.get(word)) and "if" in plain:
                node[word] = self._part(plain[word])
                node["if"] = plain["if"]
        parts = [p for p in plain.get("allOf", ()) if is_object(p) and "if" in p]
        if parts:
            node["allOf"] = [
                {"if": p["if"], **{w: self._part(p[w]) for w in ("then", "else") if w in p}}
                for p in parts
            ]
        self._dependencies(plain, node)

    def _properties(self, plain: Node, node: Node, tag: str | None) -> None:
        required = plain.get("required", ())
        node["properties"] = {
            key: self._node(sub, required=key in required, key=key, beside=tag)
            for key, sub in plain.get("properties", {}).items()
            if sub is not False
        }
        if required:
            node["required"] = list(required)

    def _part(self, source: Any) -> Node:
        """Write what a condition adds."""
        plain = self._doc.plain(source)
        node: Node = {}
        self._properties(plain, node, None)
        return node

    def _dependencies(self, plain: Node, node: Node) -> None:
        found: Node = {**plain.get("dependentRequired", {})}
        sources = {**plain.get("dependentSchemas", {}), **plain.get("dependencies", {})}
        for key, source in sources.items():
            found[key] = self._part(source) if is_object(source) else source
        if found:
            node["dependencies"] = found


# Keywords that the page needs: to draw, and to see which branch of a union a value is.
_KEPT: Final = frozenset(
    (*_TOLD, "type", "format", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
     "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "maxItems")
)  # fmt: skip


def _type_of(values: list[Any]) -> str:
    kinds = {type(v).__name__ for v in values if v is not None}
    names = {"bool": "boolean", "int": "integer", "float": "number"}
    if len(kinds) == 1:
        return names.get(kinds.pop(), "string")
    return "number" if kinds == {"int", "float"} else "string"
