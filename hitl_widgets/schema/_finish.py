"""What the page sends → the JSON value that was meant.

A cleared nullable field is null, "— choose —" is no answer, and text stands for what the page
cannot carry: JSON, and numbers that JavaScript would round.
"""

from __future__ import annotations

import json
import re
from typing import Any

from hitl_widgets.schema._document import Document
from hitl_widgets.schema._fields import Field, field_of, value_schema
from hitl_widgets.schema._json import ABSENT, is_list, is_object, page_safe, same


def finish(doc: Document, node: Any, value: Any) -> Any:  # noqa: C901, PLR0911 - one case per kind
    """Lead one part back; `ABSENT` where nothing was answered."""
    field = field_of(doc, node)
    if value is ABSENT:
        return ABSENT
    if value is None:
        return None if field.nullable and field.kind != "json" else ABSENT
    match field.kind:
        case "json":
            return parse(value) if isinstance(value, str) else value
        case "number":
            return number(value)
        case "choice" | "constant":
            return next((o for o, _ in field.options if same(page_safe(o), value)), value)
        case "choices" if is_list(value):
            texts = {page_safe(o): o for o, _ in field.options if page_safe(o) is not o}
            return [texts.get(v, v) if isinstance(v, str) else v for v in value]
        case "text" if value == "":  # an empty box: never given, or cleared
            return "" if isinstance(field.default, str) and not field.nullable else ABSENT
        case "text" if field.secret and doc.kind(field.plain) in ("integer", "number"):
            return number(value)
        case "union":
            branch = best_branch(doc, field, value)
            return value if branch is None else finish(doc, branch, value)
        case "object" if is_object(value):
            return _object(doc, field, value)
        case "list" | "tuple" if is_list(value):
            items = [finish(doc, item_of(doc, field, i), v) for i, v in enumerate(value)]
            return [None if v is ABSENT else v for v in items]
        case _:
            return value


def _object(doc: Document, field: Field, value: dict[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, part in value.items():
        sub = property_of(doc, field, key)
        done = finish(doc, sub, part)
        if done is ABSENT and key not in field.plain.get("properties", {}):
            done = None  # an entry that a person named is never dropped: without a value it errs
        if done is not ABSENT and not is_untouched(doc, field, key, part):
            out[key] = done
    for key in field.plain.get("properties", {}):
        if key not in out and value.get(key, "") == "" and is_cleared(doc, field, key):
            out[key] = None
    return out


def is_cleared(doc: Document, field: Field, key: str) -> bool:
    """Tell whether an empty control of a property means null."""
    inner = field_of(doc, property_of(doc, field, key))
    if not inner.nullable or inner.kind == "json":
        return False
    if inner.explicit_none:
        return False  # null is one of the options
    return key in field.plain.get("required", ()) or inner.default is not None


def is_untouched(doc: Document, field: Field, key: str, value: Any) -> bool:
    """Tell whether an optional part holds only what the page itself puts there."""
    if key in field.plain.get("required", ()) or key not in field.plain.get("properties", {}):
        return False
    sub = property_of(doc, field, key)
    inner = field_of(doc, sub)
    if inner.default is not None or inner.kind not in ("object", "list", "tuple", "choices"):
        return False
    return is_blank(doc, sub, value)


def is_blank(doc: Document, node: Any, value: Any) -> bool:
    """Tell whether a part is as the page draws it when nothing is known: empty, or its default."""
    if value is ABSENT or value is None or value in ([], {}):
        return True
    field = field_of(doc, node)
    if field.default is not None:
        shown = page_safe(field.default)
        return same(value, shown) or (field.kind == "json" and same(_read(value), shown))
    if field.kind == "constant":
        return same(value, page_safe(field.options[0][0]))
    if field.kind == "object" and is_object(value):
        return all(is_blank(doc, property_of(doc, field, k), v) for k, v in value.items())
    if field.kind == "tuple" and is_list(value):
        return all(is_blank(doc, item_of(doc, field, i), v) for i, v in enumerate(value))
    return False


def _read(value: Any) -> Any:
    return parse(value) if isinstance(value, str) else value


def best_branch(doc: Document, field: Field, value: Any) -> Any:
    """Return the branch of a union that a value fits best, or None if it fits none."""
    scores = [doc.fit(b, value) for b in field.branches]
    top = max(scores, default=0)
    return field.branches[scores.index(top)] if top > 0 else None


def property_of(doc: Document, field: Field, key: str) -> Any:
    """Return the schema of one property; ``True`` where nothing is said about it."""
    plain = field.plain
    if key in plain.get("properties", {}):
        return plain["properties"][key]
    parts = [plain, *(p for p in plain.get("allOf", ()) if is_object(p))]
    words = [p[w] for p in parts for w in ("then", "else") if is_object(p.get(w))]
    words += plain.get("dependentSchemas", {}).values()
    for part in words:
        found = doc.plain(part).get("properties", {}).get(key)
        if found is not None:
            return found
    extra = value_schema(plain)
    return True if extra is None else extra


def item_of(doc: Document, field: Field, index: int) -> Any:
    """Return the schema of one item; ``True`` where nothing is said about it."""
    found = doc.child(field.plain, index)
    return True if found is None else found


def parse(text: str) -> Any:
    """Read JSON text; what is no JSON is the text itself, and no text is nothing."""
    if not text.strip():
        return ABSENT
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def number(value: Any) -> Any:
    """Read a number that was sent as text; anything else stays as it is."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if re.fullmatch(r"[-+]?\d{1,4000}", text):
        return int(text)
    if text in ("NaN", "Infinity", "-Infinity"):
        return float(text)
    return ABSENT if not text else value
