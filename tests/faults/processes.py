"""Processes that start in milliseconds: children of one that has imported everything.

Each is a real process of its own and dies by SIGKILL or `os._exit`, without cleaning up, as a
killed kernel does.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Any

FULL = os.environ.get("HITL_TEST_ALL") == "1"
"""Full sizes: ``make test-all``."""

LONG = 60
"""Seconds after which a process that should have ended hangs."""


def context() -> ForkServerContext:
    """Where processes come from."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload(["tests.faults.line", "tests.adapters.acts"])
    return found


def start(act: Callable[..., Any], *args: Any) -> BaseProcess:
    """Have a process run `act`, a function of a module."""
    process = context().Process(target=act, args=args)
    process.start()
    return process


def ended(process: BaseProcess) -> int:
    """Wait for a process's end; its exit code."""
    process.join(LONG)
    assert process.exitcode is not None, "a process hangs"
    return process.exitcode


@contextmanager
def started(act: Callable[..., Any], *args: Any) -> Iterator[BaseProcess]:
    """A process that runs `act`, killed at the end of the block."""
    process = start(act, *args)
    try:
        yield process
    finally:
        process.kill()
        process.join(LONG)


def race(act: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> list[Any]:
    """What processes gave back that began together: ``act(*arguments, begin)`` in each.

    `begin` waits for all of them.
    """
    here = context()
    barrier, answers = here.Barrier(len(arguments)), here.Queue()
    children = [
        here.Process(target=_racing, args=(act, args, barrier, answers)) for args in arguments
    ]
    for child in children:
        child.start()
    try:
        return [answers.get(timeout=LONG * (5 if FULL else 1)) for _ in children]
    finally:
        for child in children:
            child.kill()
            child.join(LONG)


def _racing(act: Callable[..., Any], args: tuple[Any, ...], barrier: Any, answers: Any) -> None:
    try:
        answers.put(act(*args, lambda: barrier.wait(LONG)))
    except BaseException as error:  # noqa: BLE001  # handed to the test
        answers.put(f"{type(error).__name__}: {error}")
