"""Conversations, kept per thread and resource in the agent's own store."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Memory:
    """Keep an agent's conversations: `thread_id` names one, `resource_id` says whose it is."""

    def document(self, thread_id: str, resource_id: str | None) -> str:
        """The name of the store's document that holds a conversation."""
        return f"thread/{len(resource_id or '')}:{resource_id or ''}/{thread_id}"
