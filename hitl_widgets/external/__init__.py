"""Another framework's agent at the desk: its questions become requests like any other.

An adapter translates: it knows when its framework asks and how it wants to be answered. What
happens in between is here, once for all frameworks: opening, showing, waiting, the one claim,
what was done, interrupts, and nobody being there.

A run that can be gone on with after a restart keeps a *frame*, the adapter's own JSON. One that
lives only in this process (an asyncio run parked in place) has none: its requests are withdrawn
when the process dies (R14).
"""

from __future__ import annotations

from ..waiting import plain, receipt_of
from .asking import BLOCKED, NO_RETRY, Ask, Check, notes_for_model
from .run import External

__all__ = [
    "BLOCKED",
    "NO_RETRY",
    "Ask",
    "Check",
    "External",
    "notes_for_model",
    "plain",
    "receipt_of",
]
