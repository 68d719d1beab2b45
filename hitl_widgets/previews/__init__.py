"""What would happen: shown above the buttons, made before the card (``preview=``, ``reads=``).

A preview function gets the call's validated arguments by name and returns something to look at: a
DataFrame, text, a figure, an image, or what the functions here make. Returning a list shows several
things. It must only read: nothing undoes what it does.
"""

from __future__ import annotations

from .kinds import Shown, changes, diff, html, image, markdown, sql, text

__all__ = ["Shown", "changes", "diff", "html", "image", "markdown", "sql", "text"]
