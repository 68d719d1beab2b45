"""Other frameworks' agents at the same desk: one room each, loaded when it is named.

Each needs its framework, an optional extra; importing this package loads none of them.
"""

from __future__ import annotations

import importlib
from typing import Any

_ADAPTERS = ("langchain", "managed_agents", "mcp", "pydantic_ai")

__all__ = list(_ADAPTERS)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _ADAPTERS:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
