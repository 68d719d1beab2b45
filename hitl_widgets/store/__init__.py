"""What is kept: runs, snapshots, tool calls, requests, grants and the audit trail."""

from __future__ import annotations

from .base import Store
from .opening import check_store, open_store

__all__ = ["Store", "check_store", "open_store"]
