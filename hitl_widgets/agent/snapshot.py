"""What is kept of a paused agent: a frame per agent of a run, root or nested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import SnapshotVersion
from ..policy import Policy
from . import models

VERSION = 1


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
            "messages": models.dump(self.messages),
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
            messages=models.load(data["messages"]),
            policy=Policy.from_json(data["policy"]),
            step=data["step"],
            turn=data["turn"],
            usage=dict(data["usage"]),
            cost=data["cost"],
            options=dict(data["options"]),
            begins=data["begins"],
            seconds=data["seconds"],
        )
