"""What was decided: rows, what stands out in them, and how a cell shows both."""

from __future__ import annotations

from .history import History
from .patterns import Blind, Repeated
from .tables import table

__all__ = ["Blind", "History", "Repeated", "table"]
