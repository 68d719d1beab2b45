"""Variables by name, where a notebook's author means them: in a module, then in the notebook."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

MISSING: Any = object()
"""No variable of that name."""


def spaces_of(owner: Callable[..., Any] | str | None) -> list[Mapping[str, Any]]:
    """Where names are looked up: a function's own module, or one by name; then the notebook."""
    if isinstance(owner, str):
        module = sys.modules.get(owner)
        own = None if module is None else module.__dict__
    else:
        own = getattr(owner, "__globals__", None)
    main = sys.modules.get("__main__")
    spaces: list[Mapping[str, Any]] = [] if own is None else [own]
    if main is not None and main.__dict__ is not own:
        spaces.append(main.__dict__)
    return spaces


def look_up(name: str, spaces: Sequence[Mapping[str, Any]]) -> Any:
    """The variable's value now, or `MISSING`."""
    return next((space[name] for space in spaces if name in space), MISSING)
