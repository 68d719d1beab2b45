"""What a tool's body is handed: `ToolContext`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..unanswered import unanswered


class _Recorded:
    """The pause is recorded already: awaiting it is allowed, and does nothing (R8)."""

    def __await__(self) -> Generator[None, None, None]:
        return
        yield


class Link(Protocol):
    """The engine's end of a running body."""

    def suspend(self, payload: Any) -> None:
        """Note the pause."""
        ...

    async def ask(self, kind: Any, message: str, initial: Any) -> Any:
        """Ask for data and wait in place."""
        ...

    async def confirm(self, message: str) -> bool:
        """Ask yes or no and wait in place."""
        ...

    async def step(self, name: str, fn: Callable[[], Any]) -> Any:
        """Run `fn` once, and remember its result."""
        ...

    def progress(self, fraction: float | None, message: str) -> None:
        """Say how far the body is."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """A running tool's view of its run; found by its annotation, at any position.

    Attributes
    ----------
    resume_data
        The latest answer, an instance of the resume model; None on the first pass.
    answers
        All answers to this call's `suspend`, oldest first.
    suspend_payload
        The payload of the suspension that was answered last.
    request_context
        JSON given to the run, kept over a restart.
    workspace
        Any object given to the run; not kept: give it again on resume.
    """

    run_id: str
    tool_call_id: str
    agent_path: tuple[str, ...]
    resume_data: Any = None
    answers: tuple[Any, ...] = ()
    suspend_payload: Any = None
    request_context: Any = None
    workspace: Any = None
    _link: Link = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    def suspend(self, payload: Any = None) -> Awaitable[None]:
        """Pause the run and ask a human for `resume_data`.

        Return right after it: the body runs again from the top when the answer is there.

        Raises
        ------
        InvalidAnswer
            The payload does not fit the tool's ``suspend_schema``: nothing is opened.
        """
        self._link.suspend(payload)
        return _Recorded()

    @unanswered("ctx.ask")
    async def ask(self, kind: Any, message: str = "", initial: Any = None) -> Any:
        """Ask a human for data and wait in place, while the kernel lives.

        After a restart the body is replayed up to here; use `step` for what must not run twice.

        Parameters
        ----------
        kind
            A pydantic model, any type, or a JSON Schema.

        A human who declines ends the call with that result; the body is discarded.

        Raises
        ------
        ReplayMismatch
            The replayed body asked something else than before the restart.
        """
        return await self._link.ask(kind, message, initial)

    @unanswered("ctx.confirm")
    async def confirm(self, message: str) -> bool:
        """Ask a human yes or no and wait in place; only a human answers this (R7)."""
        return await self._link.confirm(message)

    async def step(self, name: str, fn: Callable[[], Any]) -> Any:
        """Run `fn` once; its result as JSON, which outlives a re-run of the body and a restart.

        What JSON has no words for comes back as JSON says it, the first time too: a date as text,
        a model as a dict.
        """
        return await self._link.step(name, fn)

    def progress(self, fraction: float | None = None, message: str = "") -> None:
        """Show how far the tool is: `fraction` from 0 to 1, or None for unknown."""
        self._link.progress(fraction, message)

    def log_message(self, text: str) -> None:
        """Show a line of text with the tool's progress."""
        self._link.progress(None, text)
