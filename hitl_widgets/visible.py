"""Characters that do not show, or that turn text around, spelt out as ``U+202E``."""

from __future__ import annotations

import unicodedata

_KEPT = frozenset("\n\t")
# Joiners that scripts and emoji need are shown too: whoever reads a record must see what ran.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = frozenset("\u00a0\u115f\u1160\u2800\u3164\uffa0")


def is_hidden(char: str) -> bool:
    """Whether a reader would not see `char`, or see it in the wrong place."""
    return char not in _KEPT and (unicodedata.category(char) in _HIDDEN or char in _BLANK)


def spelt(char: str) -> str:
    """A character by its number."""
    return f"[U+{ord(char):04X}]"


def visible(text: str) -> str:
    """`text` with every hidden character as ``U+XXXX``."""
    return "".join(spelt(c) if is_hidden(c) else c for c in text)
