"""``%hitl inbox | history | doctor``: the same functions, shorter to type."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.magic import Magics, line_magic, magics_class

_WORDS = ("inbox", "history", "doctor")


@magics_class
class HitlMagics(Magics):
    """The ``%hitl`` magic."""

    @line_magic
    def hitl(self, line: str) -> Any:
        """``%hitl inbox``, ``%hitl history``, ``%hitl doctor``."""
        word = line.strip()
        if word not in _WORDS:
            print(f"%hitl takes one word: {', '.join(_WORDS)}.")  # noqa: T201  # to the person
            return None
        return getattr(sys.modules["hitl_widgets"], word)()
