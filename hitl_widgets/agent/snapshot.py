"""What is kept of a paused agent: a frame per agent of a run, root or nested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import SnapshotVersion
from ..policy import Policy
from . import models

VERSION = 1

_RECENT = 64
"""Histories whose JSON is remembered."""


@dataclass(slots=True)
class Frame:
    """One agent's part of a run.

    Attributes
    ----------
    key
        The run's id for the root, ``<run id>/<call id>`` for a nested agent.
    step
        Model turns made.
    turn
        Id of the turn whose calls are not all answered; None when the model is next.
    usage
        Of this agent and of those it delegated to in earlier turns: ``input_tokens``,
        ``output_tokens``, ``requests``.
    cost
        What that cost, where the model library knows the price.
    options
        The JSON part of the run's options (root frame).
    begins
        Messages before this one came from memory or `message_history`.
    seconds
        Seconds of driving, before this process (root frame).
    """

    key: str
    agent_id: str
    agent_path: tuple[str, ...]
    messages: models.Messages
    policy: Policy
    step: int = 0
    turn: str | None = None
    usage: dict[str, int] = field(default_factory=dict[str, int])
    cost: float = 0.0
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    begins: int = 0
    seconds: float = 0.0

    def dump(self) -> dict[str, Any]:
        """JSON of the frame, with the versions that wrote it."""
        return {
            "version": VERSION,
            "library": models.LIBRARY,
            "key": self.key,
            "agent_id": self.agent_id,
            "agent_path": list(self.agent_path),
            "messages": _histories.dump(self.key, self.messages),
            "policy": self.policy.to_json(),
            "step": self.step,
            "turn": self.turn,
            "usage": self.usage,
            "cost": self.cost,
            "options": self.options,
            "begins": self.begins,
            "seconds": self.seconds,
        }

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Frame:
        """Back from its JSON; nothing in it is fetched or trusted beyond its schema.

        Raises
        ------
        SnapshotVersion
            Written by a newer version of this package; the snapshot is kept.
        """
        if data.get("version") != VERSION:
            raise SnapshotVersion(
                f"Run {data.get('key')} was saved as snapshot version {data.get('version')} "
                f"(with {data.get('library')}), and this version of hitl-widgets reads "
                f"{VERSION}. Upgrade hitl-widgets to go on; the snapshot is kept."
            )
        return cls(
            key=data["key"],
            agent_id=data["agent_id"],
            agent_path=tuple(data["agent_path"]),
            messages=_histories.load(data["key"], data["messages"]),
            policy=Policy.from_json(data["policy"]),
            step=data["step"],
            turn=data["turn"],
            usage=dict(data["usage"]),
            cost=data["cost"],
            options=dict(data["options"]),
            begins=data["begins"],
            seconds=data["seconds"],
        )


class _Histories:
    """The histories that this process wrote or read last, message by message with its JSON.

    A history only grows, and its messages are never changed in place: what was written before need
    not be made, or validated, again.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, list[tuple[models.Message, Any]]] = {}

    def dump(self, key: str, messages: models.Messages) -> list[Any]:
        """`models.dump`."""
        known = self._by_key.get(key, [])
        both = list(zip(known, messages, strict=False))
        same = next((i for i, ((m, _), now) in enumerate(both) if m is not now), len(both))
        new = messages[same:]
        written = [*known[:same], *zip(new, models.dump(new), strict=True)]
        self._remember(key, written)
        return [data for _, data in written]

    def load(self, key: str, data: list[Any]) -> models.Messages:
        """`models.load`."""
        known = self._by_key.get(key, [])
        if [d for _, d in known] == data:
            return [message for message, _ in known]
        messages = models.load(data)
        self._remember(key, list(zip(messages, data, strict=True)))
        return messages

    def _remember(self, key: str, history: list[tuple[models.Message, Any]]) -> None:
        # Any thread, and no lock that a forked child would inherit: each step stands alone.
        self._by_key.pop(key, None)
        self._by_key[key] = history
        for oldest in list(self._by_key)[:-_RECENT]:
            self._by_key.pop(oldest, None)


_histories = _Histories()
