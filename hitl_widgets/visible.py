"""Text that shows what it is: what does not show is spelt as ``U+202E``, a number is no text."""

from __future__ import annotations

import json
import unicodedata
from itertools import pairwise

_KEPT = frozenset("\n\t")
# Joiners that scripts and emoji need are shown too: whoever reads a record must see what ran.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = frozenset("\u00a0\u1680\u202f\u205f\u2800") | {chr(n) for n in range(0x2000, 0x200B)}
# What Unicode calls ignorable is not drawn, although its category is a letter's or a mark's.
_UNDRAWN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0") | {
    chr(n) for ends in ((0xFE00, 0xFE10), (0xE0100, 0xE01F0)) for n in range(*ends)
}
_EMOJI = "\ufe0f"


def is_hidden(char: str, before: str = " ") -> bool:
    """Whether a reader would not see `char`, or see it in the wrong place.

    `before` it stands another character: the selector that makes an emoji of a symbol is seen.
    """
    if char == _EMOJI and unicodedata.category(before) == "So":
        return False
    odd = unicodedata.category(char) in _HIDDEN or char in _BLANK or char in _UNDRAWN
    return odd and char not in _KEPT


def spelt(char: str) -> str:
    """A character by its number."""
    return f"[U+{ord(char):04X}]"


def visible(text: str) -> str:
    """`text` with every hidden character as ``U+XXXX``."""
    odd = {char for char in set(text) if is_hidden(char)}
    if not odd:  # as almost always: a megabyte is not taken apart for nothing
        return text
    told = (
        spelt(c) if c in odd and is_hidden(c, before) else c for before, c in pairwise(f" {text}")
    )
    return "".join(told)


def reads_as_json(text: str) -> bool:
    """Whether text without its quotes would pass for a number, a truth value or an object."""
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):  # a number, or an object, beyond what Python reads
        return True
    return True
