"""Reviewers with a script: by tool, by predicate, in order, with a delay; never by default."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.testing import AutoApprove, check_exercise, scripted
from scripts.message_examples import DELETE

pytest_plugins = ["pytester"]


@hitl.tool(require_approval=True)
async def wipe(disk: str) -> str:
    """Wipe a disk."""
    return f"wiped {disk}"


@hitl.tool(require_approval=True)
async def keep(disk: str) -> str:
    """Keep a disk."""
    return f"kept {disk}"


def told(messages: Any) -> str:
    return " | ".join(str(part.content) for part in messages[-1].parts)


def agent(*calls: Any) -> hitl.Agent:
    return hitl.Agent("a", tools=[wipe, keep], model=hitl.ScriptedModel([[*calls], told]))


class TestAScript:
    async def test_decides_by_tool_every_time(self) -> None:
        with hitl.reviewer(scripted(("keep", hitl.Approve()), ("wipe", hitl.Decline("No.")))):
            result = await agent(
                hitl.call("keep", disk="a"),
                hitl.call("wipe", disk="b"),
                hitl.call("keep", disk="c"),
            ).run("go")
        assert "kept a" in result.text
        assert "kept c" in result.text
        assert "wiped" not in result.text

    async def test_decides_by_predicate(self) -> None:
        def only_a(request: hitl.Request) -> hitl.Approve | hitl.Decline:
            return hitl.Approve() if request.args["disk"] == "a" else hitl.Decline("Not that one.")

        with hitl.reviewer(scripted(only_a)):
            result = await agent(hitl.call("wipe", disk="a"), hitl.call("wipe", disk="b")).run("go")
        assert "wiped a" in result.text
        assert "wiped b" not in result.text

    async def test_decides_in_order_each_decision_once(self) -> None:
        reviewer = scripted(hitl.Approve(), hitl.Decline("Enough."))
        with hitl.reviewer(reviewer):
            result = await agent(hitl.call("wipe", disk="a"), hitl.call("wipe", disk="b")).run("go")
        assert [r.args["disk"] for r in reviewer.seen] == ["a", "b"]
        assert "wiped a" in result.text
        assert "Enough." in result.text

    async def test_takes_its_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slept: list[float] = []
        real = asyncio.sleep

        async def sleep(seconds: float) -> None:
            slept.append(seconds)
            await real(0)

        monkeypatch.setattr(asyncio, "sleep", sleep)
        request: Any = object()
        assert await scripted(hitl.Approve(), delay=2.5)(request) == hitl.Approve()
        assert slept == [2.5]

    async def test_is_recorded_as_a_tests_doing_and_never_as_a_person(self) -> None:
        with hitl.reviewer(scripted(hitl.Approve())):
            await agent(hitl.call("wipe", disk="a")).run("go")
        row = hitl.history()[-1]
        assert (row["via"], "ScriptedReviewer" in row["reviewer"]) == ("test", True)


class TestAutoApprove:
    async def test_says_yes_only_where_it_was_asked_for(self) -> None:
        with pytest.raises(hitl.RunSuspended):
            await agent(hitl.call("wipe", disk="a")).run("go")
        with hitl.reviewer(AutoApprove()):
            result = await agent(hitl.call("wipe", disk="b")).run("go")
        assert result.text == "wiped b"

    def test_makes_up_no_answer(self) -> None:
        assert AutoApprove()(replace(DELETE, kind="input")) is None
        assert AutoApprove()(DELETE) == hitl.Approve()


def test_the_fixture_is_there_for_every_test_and_ends_with_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import hitl_widgets as hitl
        from hitl_widgets import deciders

        def test_uses_it(hitl_reviewer):
            made = hitl_reviewer(hitl.Approve())
            assert deciders.in_force() is made

        def test_has_nobody_left():
            assert deciders.in_force() is None
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_an_exercise_that_was_not_begun_is_no_error() -> None:
    done = check_exercise("1", {"a": True, "b": lambda: 1 / 0 > 0})
    assert not done
    assert done.checks == {"a": True, "b": False}
    assert str(done) == "Exercise 1: not yet\n  ✓ a\n  ○ b"
    shown = done._repr_html_()
    assert "<li>○ not yet: b</li>" in shown
    assert "list-style: none" in shown, "its own mark stands in the place of a bullet"
