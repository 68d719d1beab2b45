"""A run in the background."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from .. import surface
from ..request import new_id
from .beginning import begin
from .drive import Driver
from .finishing import finish
from .options import RunOptions
from .results import RunResult

if TYPE_CHECKING:
    from .agent import Agent


class RunHandle:
    """A run in the background: await it for its `RunResult`. Made by `Agent.start`.

    Attributes
    ----------
    run_id
        Known at once; another one when the message went to a run that already waited.
    """

    def __init__(self, agent: Agent, prompt: str, key: str | None, options: RunOptions) -> None:
        self.run_id = new_id("run")
        self._agent = agent
        self._begun = False
        self._cancelled = False
        # The task starts after the cell: the cell is noted now, for this task alone.
        context = contextvars.copy_context()
        shown = surface.current()
        if shown is not None:
            context.run(shown.remember_cell)
        self._task = asyncio.get_running_loop().create_task(
            self._run(prompt, key, options), context=context
        )

    def __await__(self) -> Generator[Any, None, RunResult]:
        return asyncio.shield(self._task).__await__()

    def done(self) -> bool:
        """Whether it has ended."""
        return self._task.done()

    def cancel(self) -> None:
        """Cancel the run: what waits is withdrawn, and it ends ``aborted``."""
        self._cancelled = True
        if self._begun and not self.done():
            self._agent.cancel(self.run_id)

    async def _run(self, prompt: str, key: str | None, options: RunOptions) -> RunResult:
        begun = await begin(self._agent, self.run_id, prompt, key, options)
        self.run_id = begun if isinstance(begun, str) else getattr(begun, "run_id", self.run_id)
        self._begun = True
        if self._cancelled:
            if isinstance(begun, Driver):
                begun.cancelled = True
            else:
                self._agent.cancel(self.run_id)
        return await finish(self._agent, begun, background=True)
