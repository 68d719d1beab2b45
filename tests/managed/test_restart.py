"""A process that dies while it answers for a session, and the one that attaches after it."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.adapters.managed.double import custom, say, use

from .conftest import ASK_ALL
from .desk import LONG, pending, seen
from .test_live import sent

CHILD = Path(__file__).with_name("child.py")


@pytest.fixture
def child(store: Any) -> Iterator[Callable[..., Any]]:
    """Starts a process that follows a session; it does not outlive the test."""
    started: list[subprocess.Popen[bytes]] = []

    def start(double: Any, session: Any) -> subprocess.Popen[bytes]:
        about = [double.url, double.key, session.id, str(store.location)]
        started.append(
            subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.managed.child", *about],
                stdout=subprocess.PIPE,
                cwd=CHILD.parents[2],
                env={"PYTHONPATH": str(CHILD.parents[2])},
            )
        )
        return started[-1]

    yield start
    for process in started:
        with process:
            process.kill()


async def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.wait)


async def began(process: subprocess.Popen[bytes]) -> None:
    """Wait until the child's tool began."""
    assert process.stdout is not None
    assert await asyncio.to_thread(process.stdout.readline)


@pytest.mark.usefixtures("person")
class TestKilled:
    async def test_what_waited_is_withdrawn_and_asked_anew(
        self, make_double: Any, attach: Any, store: Any, child: Any
    ) -> None:
        """R14."""
        double = make_double([[use("bash", n=1)], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        process = child(double, session)
        [first] = await pending(store)
        await kill(process)
        live = attach(double, session)
        both = await seen(store, lambda rs: [r.state for r in rs] == ["withdrawn", "pending"])
        assert both[0].id == first.id
        with pytest.raises(hitl.HitlError):
            await hitl.decide(first, hitl.Approve())
        await hitl.decide(both[1], hitl.Approve())
        assert await live.until_idle() == "end_turn"
        assert session.ran == [("bash", {"n": 1})]

    async def test_a_custom_tool_that_had_begun_does_not_run_again_by_itself(
        self, make_double: Any, attach: Any, store: Any, child: Any
    ) -> None:
        """R13."""
        double = make_double([[custom("lookup", q="slow")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        process = child(double, session)
        await began(process)
        await kill(process)
        ran: list[str] = []

        def lookup(q: str) -> str:
            ran.append(q)
            return "found"

        live = attach(double, session, lambda _request: hitl.Approve(), {"lookup": lookup})
        found = await seen(store, lambda rs: any(r.state == "pending" for r in rs))
        asked = next(r for r in found if r.state == "pending")
        assert "nobody knows how it ended" in str(asked.message)
        assert ran == [], "not by itself, and not by a rule"
        await hitl.decide(asked, hitl.Respond("it had found 7"))
        assert await live.until_idle() == "end_turn"
        assert ran == []
        assert sent(double)[-1][0]["content"][0]["text"] == "it had found 7"

    async def test_a_result_that_was_not_told_is_told_without_running_again(
        self, make_double: Any, attach: Any, child: Any
    ) -> None:
        double = make_double([[custom("lookup", q="fast")], [say("Ok.")]])
        session = double.new_session(ASK_ALL)
        for _ in range(20):
            double.fail_next("POST", "/events", 503)
        process = child(double, session)
        await asyncio.to_thread(session.log.wait, lambda: double.asked("POST", "/events"), LONG)
        await kill(process)
        double.forget_faults()

        def lookup(q: str) -> str:
            raise AssertionError(q)

        live = attach(double, session, custom_tools={"lookup": lookup})
        assert await live.until_idle() == "end_turn"
        assert sent(double)[-1][0]["content"][0]["text"] == "found fast"
