"""One question without an agent, from opening to what its caller gets.

It is a run of kind ``verb`` with one call, so that the same desk, store, cards and rules hold.
With ``key=`` it can be answered after a restart, by running the cell again (R22); without, it is
withdrawn when there is nobody left to return to (R14, R16).
"""

from __future__ import annotations

from .asking import Asking
from .question import Question, Under

__all__ = ["Asking", "Question", "Under"]
