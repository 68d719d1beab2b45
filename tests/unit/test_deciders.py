"""Scripted reviewers and the process's settings."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets import cli, deciders
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import a_request


def approve(_: Any) -> hitl.Approve:
    return hitl.Approve()


async def decline(_: Any) -> hitl.Decline:
    return hitl.Decline()


@pytest.fixture(autouse=True)
def _as_before() -> Any:
    before = deciders.settings()
    yield
    hitl.configure(headless=before.headless, record=before.record, reviewer=before.reviewer)


def test_the_innermost_reviewer_is_in_force_then_the_settings_then_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert deciders.in_force() is None
    monkeypatch.setenv("HITL_REVIEWER", f"{__name__}:approve")
    assert deciders.in_force() is approve
    hitl.configure(reviewer=decline)
    assert deciders.in_force() is decline
    with hitl.reviewer(approve):
        with hitl.reviewer(decline):
            assert deciders.in_force() is decline
        assert deciders.in_force() is approve


@pytest.mark.parametrize("spec", ["nothere:x", "json:nothere", "json", "json:__name__"])
def test_a_reviewer_that_cannot_be_loaded_is_an_error(
    spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R5: never no reviewer instead."""
    monkeypatch.setenv("HITL_REVIEWER", spec)
    with pytest.raises(hitl.AgentDefinitionError, match="HITL_REVIEWER"):
        deciders.in_force()


async def test_sync_and_async_reviewers_are_consulted_alike() -> None:
    assert await deciders.consult(approve, None) == hitl.Approve()  # type: ignore[arg-type]
    assert await deciders.consult(decline, None) == hitl.Decline()  # type: ignore[arg-type]


def test_a_reviewer_is_recorded_as_a_rule_never_as_a_click() -> None:
    """R18."""
    request = a_request()
    assert deciders.identity(approve, request) == (hitl.Reviewer("rule:approve", "rule"), "rule")
    assert deciders.identity(hitl.testing.AutoApprove(), request)[1] == "test"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"headless": "run"}, ValueError),
        ({"record": "some"}, ValueError),
        ({"locale": "xx"}, ValueError),
        ({"colour": 1}, TypeError),
    ],
    ids=["headless", "record", "locale", "unknown"],
)
def test_settings_that_make_no_sense_change_nothing(wrong: Any, error: Any) -> None:
    before = deciders.settings()
    with pytest.raises(error):
        hitl.configure(**wrong)
    assert deciders.settings() == before


@pytest.mark.parametrize(
    ("headless", "ends"),
    [("suspend", hitl.RunSuspended), ("error", hitl.NoReviewer), ("decline", None)],
    ids=["suspend", "error", "decline"],
)
async def test_nobody_there_means_what_was_declared_and_never_run_it_anyway(
    tmp_path: Path, headless: str, ends: Any
) -> None:
    """R5, F25."""
    ran: list[int] = []

    @hitl.tool(require_approval=True)
    async def act() -> None:
        "Act."
        ran.append(1)

    turns = [[hitl.call("act")], lambda m: str(m[-1].parts[0].content)]
    agent = hitl.Agent("a", model=hitl.ScriptedModel(turns), tools=[act], store=tmp_path / "a.db")
    hitl.configure(headless=headless)
    if ends is None:
        result = await agent.run("go")
        assert "declined" in result.text
    else:
        with pytest.raises(ends, match="act"):
            await agent.run("go")
    (run,) = agent.store.runs()
    expected = {"suspend": "suspended", "error": "cancelled", "decline": "completed"}
    assert run.state == expected[headless]
    assert ran == []


async def test_the_error_names_the_command_that_decides(tmp_path: Path) -> None:
    """R5."""

    @hitl.tool(require_approval=True)
    async def act() -> None:
        "Act."

    agent = hitl.Agent(
        "a",
        model=hitl.ScriptedModel([[hitl.call("act")], "e"]),
        tools=[act],
        store=tmp_path / "a.db",
    )
    with pytest.raises(hitl.RunSuspended) as caught:
        await agent.run("go")
    (request,) = caught.value.requests
    text = str(caught.value)
    assert f"hitl-widgets inbox approve {request.id} --store {tmp_path / 'a.db'}" in text
    assert f"agent.attach({request.run_id!r})" in text


async def test_the_command_that_is_named_for_a_question_answers_it(tmp_path: Path) -> None:
    """R5."""
    store = tmp_path / "my store.db"
    with pytest.raises(hitl.RunSuspended) as caught:
        await hitl.ask(int, "How many?", key="n", store=store)
    (command,) = (line for line in str(caught.value).splitlines() if "inbox answer" in line)
    _, *options = shlex.split(command.replace("JSON", "7"))
    assert await asyncio.to_thread(cli.main, options) == 0
    assert await hitl.ask(int, "How many?", key="n", store=store) == 7


async def test_no_shell_is_named_for_a_store_that_only_this_process_has() -> None:
    with pytest.raises(hitl.RunSuspended, match=r"in this process: await hitl\.decide"):
        await hitl.ask(int, "How many?", key="n", store=SqliteStore(":memory:"))
