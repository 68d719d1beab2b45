"""``kill -9`` at each step from a decision to the checkpoint: the tool's effect happens once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import hitl_widgets as hitl

from .desk import Process, calls, states, store

ACTS = pytest.mark.parametrize("act", ["pydantic_ai", "langchain", "batched"])


def did() -> list[str]:
    """What the tool did, in whatever process."""
    file = Path(os.environ["HITL_STORE"] + ".log")
    return file.read_text().split() if file.exists() else []


def killed(act: str, where: str) -> None:
    """Run it with one approved call, until it kills itself."""
    with Process(act, "k", f"dies {where}") as process:
        assert process.ended() != 0
    store().sweep()


def resumed(act: str) -> str:
    """Run it again where nobody can be asked; what it said."""
    with Process(act, "k", "one") as process:
        return process.rest()


@ACTS
def test_between_the_decision_and_the_claim_the_approval_holds(act: str) -> None:
    killed(act, "when decided")
    assert states() == [("delete_file", "approved")]
    assert did() == []
    assert "result finished" in resumed(act)
    assert did() == ["a.csv"]
    assert calls() == [("delete_file", "done", "deleted a.csv")]


@ACTS
async def test_between_the_claim_and_the_tools_end_nobody_knows(act: str) -> None:
    """R13: a human looks, and says what happened."""
    killed(act, "in the tool")
    assert states() == [("delete_file", "outcome_unknown")]
    assert "OutcomeUnknown" in resumed(act)
    await hitl.settle(store().requests()[0], "happened", result="it is gone")
    said = resumed(act)
    assert ("NotPermitted" if act == "batched" else "result finished") in said
    assert did() == ["a.csv"]


@ACTS
def test_between_the_tools_end_and_the_checkpoint_its_result_stands(act: str) -> None:
    killed(act, "before the checkpoint")
    assert calls() == [("delete_file", "done", "deleted a.csv")]
    said = resumed(act)
    assert ("NotPermitted" if act == "batched" else "result finished") in said
    assert did() == ["a.csv"]
