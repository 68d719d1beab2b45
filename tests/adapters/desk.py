"""What the tests of adapters share: looking at the store, deciding, other processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import hitl_widgets as hitl
from hitl_widgets.store import open_store

ROOT = Path(__file__).resolve().parents[2]

Decide = Callable[[hitl.Request], Any]


def store() -> Any:
    """The store of this test."""
    return open_store(os.environ["HITL_STORE"])


def states() -> list[tuple[str, str]]:
    """Tool and state of every request, in order of opening."""
    return [(r.tool_name, r.state) for r in store().requests()]


def calls() -> list[tuple[str, str, Any]]:
    """Tool, state and kept result of every call."""
    return [
        (c.tool_name, c.state, (c.result or {}).get("value"))
        for run in store().runs()
        for c in store().calls(run.id)
    ]


def runs() -> list[str]:
    """State of every run."""
    return [run.state for run in store().runs()]


def nested(depth: int) -> Any:
    """A list in a list in a list…"""
    value: Any = "bottom"
    for _ in range(depth):
        value = [value]
    return value


class Hanging:
    """A tool that hangs until its run is cancelled; a stubborn one swallows that and returns."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.ran: list[str] = []
        self._begun = asyncio.Event()
        self._stubborn = stubborn

    async def act(self) -> str:
        self._begun.set()
        try:
            await asyncio.Event().wait()
        except BaseException:
            if not self._stubborn:
                raise
            self.ran.append("act")
        return "done all the same"

    async def cancel(self, run: Awaitable[Any]) -> None:
        """Approve whatever `run` asks, and cancel it in the middle of the tool."""
        with hitl.reviewer(lambda _: hitl.Approve()):
            running = asyncio.ensure_future(run)
            await self._begun.wait()
            running.cancel()
            await asyncio.wait([running])
        assert self._stubborn or running.cancelled()


@contextmanager
def nobody_decides(seen: asyncio.Queue[hitl.Request]) -> Iterator[None]:
    """Somebody is there and passes: what is asked waits, and lands in `seen`."""
    with hitl.reviewer(seen.put_nowait):
        yield


class Process:
    """Another process doing one of `acts`, killed at the end if it still lives."""

    def __init__(self, act: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.adapters.acts", act, *arguments],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ,
        )

    def said(self, word: str) -> str:
        """Wait for the line that begins with `word`; what follows it."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(word):
                return line[len(word) :].strip()
        raise AssertionError(f"the process ended without saying {word!r}")

    def go(self) -> None:
        """Give it its line."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()


def race(act: str, name: str) -> list[str]:
    """Two processes that go on with one run at once; what each said."""
    with Process(act, name, "race") as one, Process(act, name, "race") as two:
        for process in (one, two):
            process.said("ready")
        for process in (one, two):
            process.go()
        return [one.process.communicate()[0], two.process.communicate()[0]]
