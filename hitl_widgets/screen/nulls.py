"""None, on its way to the page and back.

Where Python itself runs in the page (JupyterLite), its None becomes JavaScript's ``undefined``,
which a message loses, and JavaScript's ``null`` becomes an object of its own. Elsewhere nothing is
done.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, cast

NULL: Any = None
"""What JavaScript gets as ``null``, and gives for it."""

if sys.platform == "emscripten":
    NULL = importlib.import_module("pyodide.ffi").jsnull


def to_page(value: Any) -> Any:
    """A JSON value as the page is to get it."""
    return value if NULL is None else _swapped(value, None, NULL)


def from_page(value: Any) -> Any:
    """A JSON value that the page sent."""
    return value if NULL is None else _swapped(value, NULL, None)


def _swapped(value: Any, old: Any, new: Any) -> Any:
    if value is old:
        return new
    if isinstance(value, dict):
        pairs = cast("dict[Any, Any]", value).items()
        return {key: _swapped(inner, old, new) for key, inner in pairs}
    if isinstance(value, list):
        return [_swapped(inner, old, new) for inner in cast("list[Any]", value)]
    return value
