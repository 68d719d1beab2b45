"""A question that nobody awaited yet is neither a yes nor a no."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Generator
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Unanswered(Coroutine[Any, Any, T_co]):
    """A coroutine that does not count as true: ``if hitl.confirm(…):`` must not act by itself.

    Raises
    ------
    TypeError
        It is asked whether it is true.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T_co], name: str) -> None:
        self._coroutine = coroutine
        self._name = name

    def __bool__(self) -> bool:
        raise TypeError(
            f"{self._name}(…) was not awaited, so nobody was asked: write `await {self._name}(…)`."
        )

    def __repr__(self) -> str:
        return f"<{self._name}(…), which nobody was asked yet: write `await {self._name}(…)`>"

    def __await__(self) -> Generator[Any, Any, T_co]:
        return self._coroutine.__await__()

    def send(self, value: Any, /) -> Any:
        """See `collections.abc.Coroutine`."""
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """See `collections.abc.Coroutine`."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """See `collections.abc.Coroutine`."""
        self._coroutine.close()


def unanswered(
    name: str,
) -> Callable[[Callable[P, Coroutine[Any, Any, T]]], Callable[P, Unanswered[T]]]:
    """Have an async function give `Unanswered`; `name`: how its users call it."""

    def asking(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Unanswered[T]]:
        @functools.wraps(function)
        def asked(*args: P.args, **kwargs: P.kwargs) -> Unanswered[T]:
            return Unanswered(function(*args, **kwargs), name)

        # Frameworks that are handed it as a tool look whether it has to be awaited (Python 3.12+).
        mark = getattr(inspect, "markcoroutinefunction", None)
        return asked if mark is None else mark(asked)

    return asking
