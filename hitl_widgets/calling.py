"""Calling what users gave: what such a function raises is its own affair, and ends nothing else.

asyncio lets some exceptions through everything: a `SystemExit` (a parser's ``exit``) ends the
loop, a `StopIteration` never comes out of a thread's future, and the `CancelledError` of a task
of the function's own looks like one of ours.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any


def is_for_us(error: BaseException) -> bool:
    """Whether it is meant for whoever called: an interrupt, or the end of the task that called."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt)


def said(error: BaseException) -> str:
    """An exception in words; its own words may fail."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # a broken __str__ hides nothing else
        return type(error).__name__


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """What a function returns, awaited when it is asynchronous.

    Raises
    ------
    Exception
        What it raised; what is no `Exception` as the cause of a `RuntimeError`.
    """
    try:
        answer = function(*args)
        return await answer if inspect.isawaitable(answer) else answer
    except Exception:
        raise
    except BaseException as e:
        if is_for_us(e):
            raise
        raise RuntimeError(f"it raised {said(e)}") from e


async def call_on(threads: Executor, function: Callable[..., Any], *args: Any) -> Any:
    """`call`, a synchronous function on one of `threads`, with the caller's context."""
    if inspect.iscoroutinefunction(function):
        return await call(function, *args)

    def outcome() -> tuple[Any, BaseException | None]:
        try:
            return function(*args), None
        except BaseException as e:  # noqa: BLE001  # raised where it is waited for
            return None, e

    carry = contextvars.copy_context().run
    answer, error = await asyncio.wrap_future(threads.submit(carry, outcome))
    if error is not None:
        raise error if isinstance(error, Exception) else RuntimeError(f"it raised {said(error)}")
    return await call(lambda: answer)
