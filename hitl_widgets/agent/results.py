"""What a caller gets: the feed of a run, a stream of it, and its result."""

from __future__ import annotations

import asyncio
import html
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from ..events import Chunk
from ..request import Request

FinishReason = Literal[
    "stop", "suspended", "budget-reached", "length", "declined", "aborted", "error"
]


@dataclass(frozen=True, slots=True)
class RunResult:
    """How a run ended, or where it waits.

    Attributes
    ----------
    text, output
        The final text; the validated object when an ``output_type`` was given, else the text.
    finish_reason
        ``stop``, ``suspended``, ``budget-reached``, ``length``, ``declined``, ``aborted``,
        ``error``.
    requests
        What waits for a human when it is suspended: pending, or of unknown outcome.
    usage
        ``input_tokens``, ``output_tokens``, ``requests``, ``tool_calls``: totals.
    messages
        The history (pydantic-ai messages), secrets masked.
    """

    run_id: str
    text: str = ""
    output: Any = None
    finish_reason: FinishReason = "stop"
    requests: tuple[Request, ...] = ()
    usage: dict[str, int] = field(default_factory=dict[str, int])
    messages: list[Any] = field(default_factory=list[Any], repr=False)

    @property
    def suspend_payload(self) -> Request | None:
        """The latest pending request, in the model's call order; None when nothing waits."""
        return next((r for r in reversed(self.requests) if r.state == "pending"), None)

    def _repr_html_(self) -> str:
        waiting = "".join(
            f"<li>{html.escape(r.tool_name)}: <code>{html.escape(r.id)}</code> {r.state}</li>"
            for r in self.requests
        )
        waiting = f"<ul>{waiting}</ul>" if waiting else ""
        return (
            f"<p>{html.escape(self.text)}</p><p><strong>{self.finish_reason}</strong> "
            f"<code>{html.escape(self.run_id)}</code></p>{waiting}"
        )


@dataclass(frozen=True, slots=True)
class _Pause:
    """Nothing could move at this point of a feed; `generation` counts what had been seen."""

    generation: int


class Feed:
    """Everything one driver says, in order. Streams are views of it."""

    def __init__(self) -> None:
        self.entries: list[Chunk | _Pause] = []
        self.closed = False
        self.error: BaseException | None = None
        self._changed = asyncio.Event()

    def emit(self, chunk: Chunk) -> None:
        """Add a chunk."""
        self.entries.append(chunk)
        self._announce()

    def pause(self, generation: int) -> None:
        """Nothing else can move until a human decides."""
        self.entries.append(_Pause(generation))
        self._announce()

    def close(self, error: BaseException | None = None) -> None:
        """The driver has gone."""
        self.closed, self.error = True, error
        self._announce()

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def view(self, start: int, generation: int) -> AsyncIterator[Chunk]:
        """Chunks from `start` on, up to the next pause that has seen `generation`, or the end."""
        index = start
        while True:
            while index < len(self.entries):
                entry = self.entries[index]
                index += 1
                if isinstance(entry, Chunk):
                    yield entry
                elif entry.generation >= generation:
                    return
            if self.closed:
                return
            await self._changed.wait()


class RunStream:
    """A view of a moving run. Dropping it does not stop the run.

    Attributes
    ----------
    run_id
        The run.
    asks_back
        The message could not fill in what waits: the text asks for it again.
    """

    def __init__(
        self,
        run_id: str,
        feed: Feed,
        start: int,
        generation: int,
        result: Callable[[], Any],
        *,
        asks_back: bool = False,
    ) -> None:
        self.asks_back = asks_back
        self.run_id = run_id
        self._feed = feed
        self._start = start
        self._generation = generation
        self._result = result
        self._finish: FinishReason | None = None

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the stream ended; None while it has not."""
        return self._finish

    @property
    def full_stream(self) -> AsyncIterator[Chunk]:
        """Every chunk, ending with ``finish``. May be iterated again, from the beginning."""
        return self._chunks()

    @property
    def text_stream(self) -> AsyncIterator[str]:
        """The text alone, as it comes."""
        return self._texts()

    async def result(self) -> RunResult:
        """Wait for the end of the stream and get the `RunResult`."""
        async for _ in self._chunks():
            pass
        return await self._result()

    async def _chunks(self) -> AsyncIterator[Chunk]:
        async for chunk in self._feed.view(self._start, self._generation):
            if chunk.type == "finish":
                self._finish = chunk.payload.finish_reason
            yield chunk
        if self._feed.error is not None:
            raise self._feed.error

    async def _texts(self) -> AsyncIterator[str]:
        async for chunk in self._chunks():
            if chunk.type == "text-delta" and len(chunk.agent_path) == 1:
                yield chunk.payload.text
