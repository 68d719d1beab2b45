"""What the tests of adapters share: looking at the store, deciding, other processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import hitl_widgets as hitl
from hitl_widgets.store import open_store
from tests.faults.processes import context, ended, start

from . import acts

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

    def __init__(self, act: str, name: str, how: str) -> None:
        self._line, there = context().Pipe()
        self._process = start(acts.do, there, dict(os.environ), act, name, how)
        there.close()

    def said(self, word: str) -> str:
        """Wait for the line that begins with `word`; what follows it."""
        for line in self._lines():
            if line.startswith(word):
                return line[len(word) :].strip()
        raise AssertionError(f"the process ended without saying {word!r}")

    def rest(self) -> str:
        """All that it says up to its end."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        with contextlib.suppress(EOFError):
            while True:
                yield self._line.recv()

    def go(self) -> None:
        """Give it its line."""
        self._line.send("go")

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self.ended()

    def ended(self) -> int:
        """Wait for its end; its exit code."""
        return ended(self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._line.close()


def race(act: str, name: str) -> list[str]:
    """Two processes that go on with one run at once; what each said."""
    with Process(act, name, "race") as one, Process(act, name, "race") as two:
        for process in (one, two):
            process.said("ready")
        for process in (one, two):
            process.go()
        return [one.rest(), two.rest()]
