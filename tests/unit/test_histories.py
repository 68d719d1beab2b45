"""A history's JSON is remembered, and what was remembered is never taken for what is stored."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from hitl_widgets.agent import models
from hitl_widgets.agent.snapshot import Frame
from hitl_widgets.policy import Policy


@pytest.fixture
def frame() -> Frame:
    first = models.user_message("Delete a", None)
    return Frame("run_1", "agent", ("agent",), [first], Policy())


def anew(data: dict[str, Any]) -> dict[str, Any]:
    """The frame's JSON as a process makes it that remembers nothing of it."""
    messages = models.load(deepcopy(data["messages"]))
    return {**data, "messages": models.dump(messages)}


def test_what_is_written_is_what_a_process_without_a_memory_writes(frame: Frame) -> None:
    frame.dump()
    frame.messages.append(models.user_message("Delete b", None))
    frame.messages.append(models.user_message("Delete c", None))
    written = frame.dump()
    assert written == anew(written)
    assert [m["parts"][0]["content"] for m in written["messages"]] == [
        "Delete a",
        "Delete b",
        "Delete c",
    ]


def test_a_message_that_was_replaced_or_taken_back_is_not_written_as_it_was(frame: Frame) -> None:
    frame.messages.append(models.user_message("Delete b", None))
    frame.dump()
    frame.messages[-1] = models.user_message("Delete c", None)
    assert frame.dump()["messages"][-1]["parts"][0]["content"] == "Delete c"
    frame.messages.pop()
    assert len(frame.dump()["messages"]) == 1
    frame.messages[0] = models.user_message("Delete d", None)
    assert frame.dump()["messages"][0]["parts"][0]["content"] == "Delete d"


def test_what_is_stored_counts_and_not_what_is_remembered(frame: Frame) -> None:
    """Another process may have driven it on, or the file may be another one."""
    kept = deepcopy(frame.dump())
    kept["messages"][0]["parts"][0]["content"] = "Delete b"
    loaded = Frame.load(kept)
    assert models.user_texts(loaded.messages) == ("Delete b",)
    assert loaded.dump()["messages"] == kept["messages"]


def test_a_loaded_history_is_nobody_elses_list(frame: Frame) -> None:
    kept = deepcopy(frame.dump())
    one, two = Frame.load(kept), Frame.load(kept)
    one.messages.append(models.user_message("more", None))
    assert len(two.messages) == len(frame.messages) == 1
    assert two.dump() == kept
