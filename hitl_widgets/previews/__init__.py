"""What would happen: shown above the buttons, made before the card (``preview=``, ``reads=``).

A preview function gets the call's validated arguments by name and returns something to look at: a
DataFrame, text, a figure, an image, or what the functions here make. Returning a list shows several
things. It must only read: nothing undoes what it does.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .kinds import Shown, changes, diff, html, image, markdown, sql, text

__all__ = ["Shown", "changes", "diff", "html", "image", "markdown", "sql", "text"]


def __getattr__(name: str) -> Any:
    """Load what makes previews when it is used: every tool knows this room."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(".kinds", __name__), name)
