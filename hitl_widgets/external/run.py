"""One run of another framework's agent, from its beginning to whatever ends it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any

from pydantic_core import to_jsonable_python

from ..errors import Declined, Expired, LeaseLost, NoReviewer, RunSuspended, Withdrawn
from ..events import chunk
from ..fingerprint import digest
from ..request import Run, RunState
from ..waiting import names_of
from .asking import CHECKS, words_of
from .calls import Calls


class External(Calls):
    """One run of another framework's agent.

    Parameters
    ----------
    agent_id
        ``"<framework>:<name>"``: the colon keeps it apart from the ids of our own agents.
    title
        The agent's name, for the panel.
    prompt
        What the run is about: JSON. With a key, another prompt is another run (R22), and None
        is whichever run the key names.
    key
        Names the run, so that running the cell again goes on with it.
    resumable
        Whether what waits outlives this process.
    """

    def __init__(
        self,
        *,
        agent_id: str,
        title: str,
        prompt: Any,
        key: str | None = None,
        resumable: bool = False,
        thread_id: str | None = None,
        store: Any = None,
    ) -> None:
        super().__init__(title=title, resumable=resumable, store=store)
        self.agent_id = agent_id
        self.prompt = to_jsonable_python(prompt, fallback=repr)
        self.key = key
        self.thread_id = thread_id
        self._cancel_asked = False
        self._task: asyncio.Task[Any] | None = None
        self._over = False

    # -- beginning

    async def begin(self, frame: Any = None) -> Any:
        """Open the run; returns the frame of an unfinished one of the same key, else None.

        Raises
        ------
        RunSuspended
            The key's run waits for a human with another prompt (R15), or somebody else waits
            for it.
        """
        run = self._new_run(
            "agent",
            self.agent_id,
            key=self.key,
            key_digest=None if self.key is None else digest(self.prompt),
            thread_id=self.thread_id,
            resumable=self.resumable,
        )
        run = replace(run, origin={**run.origin, "prompt": words_of(self.prompt)})
        stored = await self._open_run(run, frames=None if frame is None else {run.id: frame})
        self.run = stored
        if stored.id == run.id:
            return None
        await self._same_prompt(stored, run)
        await self._adopt(stored)
        if not self._means(stored, run):
            await self.end("cancelled", {"why": "another prompt took its place"})
            self._over = False
            return await self.begin(frame)
        return await self.desk.read(self.store.frame, stored.id)

    def _means(self, stored: Run, mine: Run) -> bool:
        """Whether an unfinished run is what the caller asks for: None is whatever waits."""
        return self.prompt is None or stored.key_digest == mine.key_digest

    async def _same_prompt(self, stored: Run, mine: Run) -> None:
        if self._means(stored, mine):
            return
        states = ("pending", "approved", "answered", "responded", "executing", "outcome_unknown")
        waiting = await self.desk.read(self.store.requests, run_id=stored.id, states=states)
        if waiting:
            raise RunSuspended(
                f"{self.title} waits for a human under {self.key!r}: {names_of(waiting)}, asked by "
                f"{stored.origin.get('prompt')!r}. {mine.origin['prompt']!r} would drop that. "
                "Decide it (hitl.inbox()) and run the earlier prompt again, or use another key or "
                "thread.",
                waiting,
            )

    async def _adopt(self, run: Run) -> None:
        kept = _parked.pop((id(self.store), run.id), None)
        if kept is not None:
            self.token = kept
            return
        try:
            self.run = await self.desk.write(self.store.adopt, run.id, self.token)
        except LeaseLost as e:
            raise RunSuspended(
                f"{self.title} under {self.key!r} is already waited for elsewhere. {e}"
            ) from e

    @asynccontextmanager
    async def in_view(self) -> AsyncGenerator[None]:
        """Show the run and have its messages flow; what ends it early is written down."""
        self.desk.experts[self.agent_id] = CHECKS
        self._task = asyncio.current_task()
        with self._driving(self.id):
            try:
                with self._on_screen():
                    yield
            except asyncio.CancelledError:
                if not self._cancel_asked:
                    await self._interrupted()
                    raise
                await self.end("cancelled", {"finish_reason": "aborted"})
                raise Withdrawn(f"{self.title} was cancelled: nothing more of it runs.") from None
            except Exception as e:
                await self._broke(e)
                raise
            finally:
                for call_id in self._checked:
                    CHECKS.by_call.pop(call_id, None)

    @contextmanager
    def _on_screen(self) -> Generator[None]:
        shown = self.shown
        if shown is None or not self.asking:
            yield
            return
        with shown.waiting():
            self.screen = shown.run_started(
                run_id=self.id, title=self.title, store=self.store, cancel=self._cancel
            )
            yield

    def _cancel(self) -> None:
        self._cancel_asked = True
        if self._task is not None:
            self._task.cancel()

    # -- the end

    async def end(self, state: RunState, outcome: Mapping[str, Any]) -> None:
        """End it: what still waits is withdrawn."""
        if self._over:
            return
        self._over = True
        told = {"text": "", "finish_reason": "stop" if state == "completed" else state, **outcome}
        try:
            await self.desk.write(self.store.end_run, self.id, self.token, state, told)
        except LeaseLost:  # it had ended before
            return
        if self.screen is not None:
            if told["text"]:
                path = (self.title,)
                self.screen.chunk(chunk("text-delta", self.id, path, text=told["text"]))
            reason = told["finish_reason"]
            self.screen.chunk(chunk("finish", self.id, (self.title,), finish_reason=reason))
            self.screen.ended(state, told)

    async def _broke(self, error: Exception) -> None:
        """Keep what can be gone on with; end the rest."""
        match error:
            case LeaseLost():
                return
            case RunSuspended():
                await self._leave()
            case Declined():
                await self.end("declined", {"finish_reason": "declined"})
            case NoReviewer() | Withdrawn() | Expired():
                await self.end("cancelled", {"finish_reason": "aborted", "why": str(error)})
            case _ if self.resumable:
                await self._leave()
                error.add_note(f"Run {self.id} is kept: running this again goes on with it.")
            case _:
                await self.end("failed", {"finish_reason": "error", "why": str(error)})

    async def _interrupted(self) -> None:
        """An interrupt leaves everything decidable where somebody can come back (R16)."""
        if self.key is None:
            await self.end("cancelled", {"finish_reason": "aborted", "why": "interrupted"})
        else:
            await self._leave()

    async def _leave(self) -> None:
        if self.resumable:
            await self.desk.write(self.store.release, self.id, self.token, "suspended")
        else:
            # Only this process can go on with it. It stays the owner, so that its requests are
            # withdrawn when it dies.
            _parked[(id(self.store), self.id)] = self.token
        if self.screen is not None:
            self.screen.paused()


_parked: dict[tuple[int, str], str] = {}
"""Leases of runs that only this process can go on with while nobody waits for them."""
