"""Recorded decisions: exact matches are answered, the rest is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

import hitl_widgets as hitl
from hitl_widgets.testing import scripted


@hitl.require_approval
async def delete(name: str) -> str:
    return f"deleted {name}"


@hitl.require_approval(secret=("/token",))
async def pay(amount: float, token: str) -> str:
    return f"paid {amount}"


@pytest.fixture(autouse=True)
def _settings() -> object:
    yield
    hitl.configure(reviewer=None)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return tmp_path / "decisions.json"


async def test_exact_matches_are_replayed_and_nothing_else(
    recorded: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with hitl.reviewer(scripted(hitl.Approve(), hitl.Decline("not this one"))):
        await delete("a")
        with pytest.raises(hitl.Declined):
            await delete("b")
    assert hitl.record(recorded) == 2
    monkeypatch.setenv("HITL_STORE", str(tmp_path / "another.db"))
    assert hitl.replay(recorded) == 2
    assert await delete("a") == "deleted a"
    with pytest.raises(hitl.Declined, match="not this one"):
        await delete("b")
    with pytest.raises(hitl.RunSuspended, match=r"is not in decisions\.json"):
        await delete("c")
    assert {row["via"] for row in hitl.history() if row["verdict"]} == {"replay"}
    assert await hitl.pending() == [], "a question without a key does not outlive its caller"


async def test_what_a_rule_or_a_recording_decided_is_not_recorded(recorded: Path) -> None:
    """R7: only what people decided is worth to be decided by again."""
    with hitl.reviewer(scripted(hitl.Approve())):
        await delete("a")
    with hitl.reviewer(lambda _request: hitl.Approve()):
        await delete("b")
    assert hitl.record(recorded) == 1
    hitl.replay(recorded)
    await delete("a")
    assert hitl.record(recorded) == 1


async def test_the_same_call_is_answered_in_the_order_it_was(recorded: Path) -> None:
    with hitl.reviewer(scripted(hitl.Decline(), hitl.Approve())):
        with pytest.raises(hitl.Declined):
            await delete("a")
        await delete("a")
    hitl.record(recorded)
    hitl.replay(recorded)
    with pytest.raises(hitl.Declined):
        await delete("a")
    assert await delete("a") == "deleted a"
    assert await delete("a") == "deleted a"


async def test_calls_with_secrets_are_neither_recorded_nor_replayed(recorded: Path) -> None:
    with hitl.reviewer(scripted(hitl.Approve())):
        await pay(3.0, "sk-secret")
    assert hitl.record(recorded) == 0
    assert "sk-secret" not in recorded.read_text()


async def test_decisions_made_after_record_are_added(recorded: Path) -> None:
    assert hitl.record(recorded) == 0
    with hitl.reviewer(scripted(hitl.Approve())):
        await delete("a")
    assert hitl.replay(recorded) == 1


async def test_what_is_not_recorded_goes_to_the_reviewer_in_force(recorded: Path) -> None:
    hitl.record(recorded)
    hitl.configure(reviewer=scripted(hitl.Approve()))
    hitl.replay(recorded)
    assert await delete("new") == "deleted new"
    assert hitl.history()[-1]["via"] == "test"


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "none" / "decisions.json"
    with pytest.raises(FileNotFoundError) as caught:
        hitl.record(file)
    assert caught.value.filename == str(file.parent)
    assert "no folder for decisions.json" in str(caught.value)


def test_another_file_is_refused(recorded: Path) -> None:
    recorded.write_text('{"format": "other", "decisions": []}')
    with pytest.raises(hitl.InvalidAnswer, match="format 'other'"):
        hitl.replay(recorded)
    recorded.write_text("[]")
    with pytest.raises(hitl.InvalidAnswer, match="not a file of decisions"):
        hitl.replay(recorded)
