"""pydantic-ai's agents at the desk.

Two forms. Without ``key=`` the live run is parked in place while people decide (pydantic-ai's
inline handler): nothing of it outlives the process. With ``key=`` the run ends at each pause and
is resumed from what the store keeps (`DeferredToolRequests`): it survives a restart, by running
the cell again.

In both, the claim is made just before the tool's body runs and its true result is kept just
after, by the `HumanApproval` capability. pydantic-ai wants all answers of a turn at once: an
approved call starts when its siblings are decided too.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai.agent import AbstractAgent

from .capability import HumanApproval
from .place import Place, external_of, within
from .resumable import Resumable, run_once

__all__ = ["HumanApproval", "run"]


async def run(
    agent: AbstractAgent[Any, Any],
    prompt: Any = None,
    *,
    key: str | None = None,
    store: Any = None,
    **kwargs: Any,
) -> Any:
    """Run a pydantic-ai agent; people decide its deferred tool calls.

    Parameters
    ----------
    prompt
        The user prompt, as for ``agent.run``.
    key
        Names the run, so that it survives a restart: the same cell run again goes on with it.
    store
        Path or store object; None: the configured default.
    **kwargs
        Given to ``agent.run``: ``deps``, ``message_history``, ``usage_limits``…

    Returns
    -------
    pydantic_ai.run.AgentRunResult

    Raises
    ------
    RunSuspended
        With a key: nobody can be asked here.
    NoReviewer
        Without one: nobody can be asked, and nothing ran.
    Declined
        A person declined and stopped the run, or declined the same call three times.
    OutcomeUnknown
        With a key: a tool had started when its process died.
    """
    if key is not None:
        return await Resumable(agent, prompt, key, store, kwargs).run()
    external = external_of(agent, prompt, store=store)
    await external.begin()
    async with external.in_view():
        with within(Place(external)):
            result = await run_once(agent, prompt, kwargs)
        await external.end("completed", {"text": str(result.output)})
    return result
