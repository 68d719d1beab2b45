"""What a student decides in each lesson, and in its solved exercises, for HITL_REVIEWER."""

from __future__ import annotations

import functools

import hitl_widgets as hitl
from hitl_widgets.request import Decision
from hitl_widgets.testing import ScriptedReviewer, scripted

_DECISIONS: dict[str, tuple[list[Decision], list[Decision]]] = {
    "01": ([hitl.Approve(), hitl.Decline("Keep the customer.")], [hitl.Approve()]),
    "02": (
        [
            hitl.Answer({"city": "Oslo", "days": 2, "travel_by": "train"}),
            hitl.Approve(),
            hitl.Answer({"city": "Turin"}),
            hitl.Answer({"option": "red"}),
        ],
        [hitl.Answer({"name": "Ada", "age": 36}), hitl.Answer([3, 7])],
    ),
    "03": (
        [hitl.Approve(), hitl.Decline("Keep them."), hitl.Approve()],
        [hitl.Approve(), hitl.Respond([0])],
    ),
    "15": (
        [
            hitl.Approve(),
            hitl.Decline("Keep the sources."),
            hitl.Answer({"result": "Leave it."}),
        ],
        [],
    ),
}
"""Lesson number → decisions of the lesson, and those of its exercises."""


@functools.cache  # one script for the whole notebook, however often it is looked up
def __getattr__(name: str) -> ScriptedReviewer:
    """``lesson_03`` and ``solution_03``."""
    kind, _, number = name.partition("_")
    if number not in _DECISIONS:
        raise AttributeError(name)
    lesson, exercises = _DECISIONS[number]
    return scripted(*lesson, *(exercises if kind == "solution" else ()))
