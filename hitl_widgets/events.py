"""What a run says while it moves: chunks."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Literal

ChunkType = Literal[
    "start",
    "step-start",
    "text-delta",
    "reasoning-delta",
    "tool-call",
    "tool-call-approval",
    "tool-call-suspended",
    "tool-result",
    "tool-error",
    "tool-output-denied",
    "tool-progress",
    "step-finish",
    "finish",
    "error",
]


@dataclass(frozen=True, slots=True)
class Chunk:
    """One thing that happened in a run.

    Attributes
    ----------
    type
        One of `ChunkType`; names follow the stream parts of the AI SDK and Mastra.
    run_id
        The root run's id.
    payload
        Read by attribute: ``text-delta`` has `text`; ``tool-call`` has `tool_call_id`,
        `tool_name`, `args`, `evaluated_permission`, `evaluation`; ``tool-call-approval`` has
        `tool_call_id`, `tool_name`, `args`, `fingerprint`; ``tool-call-suspended`` adds
        `suspend_payload` and `resume_schema`; ``tool-result`` has `result`; ``tool-error`` has
        `error`; ``tool-output-denied`` has `reason`; ``finish`` has `finish_reason`.
    agent_path
        Ids of the agents from the root to the speaker, inclusive.
    """

    type: ChunkType
    run_id: str
    payload: SimpleNamespace = field(default_factory=SimpleNamespace)
    agent_path: tuple[str, ...] = ()


def chunk(type_: ChunkType, run_id: str, agent_path: tuple[str, ...] = (), **payload: Any) -> Chunk:
    """Make a `Chunk` with `payload` as its attributes."""
    return Chunk(type_, run_id, SimpleNamespace(**payload), agent_path)
