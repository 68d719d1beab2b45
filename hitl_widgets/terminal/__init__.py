"""The same requests at a prompt: in a script, in IPython, and for ``hitl-widgets inbox``.

One prompt at a time in a process, first come first served. It never blocks the event loop, and it
ends at once when the request is decided elsewhere. Nothing but a typed, whole yes is a yes: not an
empty line, not Escape, not the end of the input, and not what was typed before the question stood
there.
"""

from __future__ import annotations

from .asking import put
from .device import Device, Left, Person, find
from .keys import key_of
from .prompts import Prompts
from .shown import asker, outcome, state, summary
from .surface import TerminalSurface

__all__ = [
    "Device",
    "Left",
    "Person",
    "Prompts",
    "TerminalSurface",
    "asker",
    "find",
    "key_of",
    "outcome",
    "put",
    "state",
    "summary",
]
