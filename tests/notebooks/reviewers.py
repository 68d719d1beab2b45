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
        [hitl.Approve(), hitl.Approve(), hitl.Decline("Keep them."), hitl.Approve()],
        [hitl.Approve(), hitl.Respond([0])],
    ),
    "04": ([hitl.Decline("Ask finance first.")], []),
    "05": ([hitl.Decline("Who is Mallory?")], []),
    "06": (
        [
            hitl.Approve(args={"to": "team@example.com", "subject": "Party", "text": "Beer."}),
            hitl.Decline("Wait until Friday."),
            *[hitl.Decline() for _ in range(3)],
            hitl.Approve(note="Only this once."),
            hitl.Respond("sent by hand"),
        ],
        [],
    ),
    "07": ([hitl.Approve()], []),
    "08": ([hitl.Approve() for _ in range(4)], []),
    "09": ([], []),
    "10": ([hitl.Decline("No gossip.")], []),
    "11": ([], []),
    "12": ([], []),
    "13": ([hitl.Approve()], [hitl.Approve()]),
    "14": (
        [
            hitl.Approve(),
            hitl.Decline("Keep b.csv."),
            hitl.Approve(),
            hitl.Answer({"city": "Turin"}),
        ],
        [hitl.Decline("Not today.")],
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
