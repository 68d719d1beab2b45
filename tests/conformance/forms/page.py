"""A model of the page: what the form library does to a form's data before a person does anything.

It fills in defaults, makes empty objects and lists where a section is drawn, and reads JSON with
JavaScript's numbers. It keeps what it does not know.
"""

from __future__ import annotations

import json
from typing import Any

NOTHING = object()


def untouched(schema: dict[str, Any], data: Any = None) -> Any:
    """Return what the page sends for a form that nobody touched."""
    received = NOTHING if data is None else json.loads(json.dumps(data), parse_int=_rounded)
    return _drawn(schema, received, schema)


def _rounded(text: str) -> int:
    return int(float(text)) if abs(int(text)) > 2**53 else int(text)


def _drawn(node: dict[str, Any], data: Any, root: dict[str, Any]) -> Any:
    if "$ref" in node:
        target = root["$defs"][node["$ref"].rpartition("/")[2]]
        node = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
    if data is NOTHING and "default" in node:
        data = json.loads(json.dumps(node["default"]), parse_int=_rounded)
    if "anyOf" in node:  # the first branch of an untouched union is null
        return None if data is NOTHING else data
    if node.get("type") == "array":
        return [] if data is NOTHING else data
    if node.get("type") != "object" or not (data is NOTHING or isinstance(data, dict)):
        return data
    out = {} if data is NOTHING else dict(data)
    for key, part in node.get("properties", {}).items():
        drawn = _drawn(part, out.get(key, NOTHING), root)
        if drawn is not NOTHING:
            out[key] = drawn
    return out
