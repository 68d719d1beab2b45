"""Conversations, kept per thread and resource in the agent's own store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..desk import Desk
from . import models


@dataclass(frozen=True, slots=True)
class Memory:
    """Keep an agent's conversations: `thread_id` names one, `resource_id` says whose it is.

    A conversation is kept in pieces, one per run, so that a run that goes on later replaces
    nothing but its own.
    """

    async def messages(
        self, desk: Desk, thread_id: str, resource_id: str | None
    ) -> models.Messages:
        """The conversation so far, oldest first."""
        pieces = await self._pieces(desk, thread_id, resource_id)
        return [m for piece in pieces for m in models.load(piece["messages"])]

    async def keep(
        self,
        desk: Desk,
        thread_id: str,
        resource_id: str | None,
        piece: str,
        messages: models.Messages,
    ) -> None:
        """Keep a piece of it, in place of what the piece was before."""
        pieces = await self._pieces(desk, thread_id, resource_id)
        new = {"piece": piece, "messages": models.dump(messages)}
        places = [i for i, p in enumerate(pieces) if p["piece"] == piece]
        if places:
            pieces[places[0]] = new
        else:
            pieces.append(new)
        name = _document(thread_id, resource_id)
        await desk.write(desk.store.put_document, name, {"pieces": pieces})

    async def _pieces(
        self, desk: Desk, thread_id: str, resource_id: str | None
    ) -> list[dict[str, Any]]:
        kept = await desk.read(desk.store.document, _document(thread_id, resource_id))
        return kept["pieces"] if kept else []


def _document(thread_id: str, resource_id: str | None) -> str:
    """The name of the store's document that holds a conversation."""
    whose = "-" if resource_id is None else f"{len(resource_id)}:{resource_id}"
    return f"thread/{whose}/{thread_id}"
