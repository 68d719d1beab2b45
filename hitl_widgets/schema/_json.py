"""JSON values: what they are, and when two are the same."""

from __future__ import annotations

import json
import math
from typing import Any, Final, TypeGuard

MAX_BITS: Final = 14_280  # 4,299 digits: Python reads no longer integer from text
MAX_DEPTH: Final = 200  # far deeper than any form, far below Python's own limit
MAX_SAFE: Final = 2**53 - 1  # JavaScript rounds integers beyond


class Absent:
    """The type of `ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent()  # nothing was given: not even null


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Tell whether a value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Tell whether a value is a JSON list."""
    return isinstance(value, list)


def is_json(value: Any, depth: int = 0) -> bool:
    """Tell whether a value is plain JSON: what ``json.loads`` could have given."""
    if type(value) is int:
        return value.bit_length() <= MAX_BITS
    if value is None or type(value) in (str, float, bool):
        return True
    if depth > MAX_DEPTH:
        return False
    if type(value) is list:
        return is_list(value) and all(is_json(v, depth + 1) for v in value)
    if type(value) is not dict or not is_object(value):
        return False
    return all(type(k) is str and is_json(v, depth + 1) for k, v in value.items())


def is_kind(value: Any, kind: str | None) -> bool:
    """Tell whether a JSON value has a JSON type."""
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer":
        return isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    kinds: dict[str | None, Any] = {
        "string": str, "number": (int, float), "array": list, "object": dict, "null": type(None),
    }  # fmt: skip
    return kind in kinds and isinstance(value, kinds[kind])


def same(one: Any, two: Any) -> bool:
    """Compare as JSON does: True is not 1, and 1 is 1.0."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if is_object(one) and is_object(two):
        return one.keys() == two.keys() and all(same(one[k], two[k]) for k in one)
    if is_list(one) and is_list(two):
        return len(one) == len(two) and all(map(same, one, two))
    numbers = type(one) in (int, float) and type(two) in (int, float)
    return bool((numbers or type(one) is type(two)) and one == two)


def canonical(value: Any) -> str:
    """Write JSON in one way only; for digests and order, not a standard's form."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def page_safe(value: Any) -> Any:
    """Return a value that the page reads exactly: numbers that it would lose become text."""
    if is_object(value):
        return {k: page_safe(v) for k, v in value.items()}
    if is_list(value):
        return [page_safe(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if type(value) is int and abs(value) > MAX_SAFE:
        return str(value)
    return value


def is_text(value: Any) -> TypeGuard[str]:
    """Tell whether a value is text that UTF-8 can carry: no half of a surrogate pair."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
