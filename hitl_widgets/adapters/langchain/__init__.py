"""LangGraph's graphs and LangChain's agents at the desk.

A graph stops at its interrupts and keeps itself in its checkpointer; people decide; it is resumed
by interrupt id. With a durable checkpointer and a ``thread_id`` it can be decided after a restart
and resumed by running the cell again.

What asks: LangChain's `HumanInTheLoopMiddleware`, best with ``interrupt_mode="per_call"`` (each
call a card, each resumed when it is decided; in ``"batched"`` mode all of a turn's calls are
cards, and resumed together), and any ``interrupt(value, response_schema=…)`` (a form). LangChain
has no way to pass on an approver's note: it is kept in the audit, the model does not see it.

When a process dies while approved calls run, nothing runs again by itself. In ``per_call`` mode
the settled call goes on from what a human said of it. In ``"batched"`` mode LangGraph holds the
approvals in its state, past any interrupt: the run stops with `NotPermitted`, which says how to
give the graph the results.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .checkpoints import Graph
from .running import Running

__all__ = ["run"]


async def run(
    graph: Any,
    prompt: Any = None,
    *,
    config: Mapping[str, Any] | None = None,
    key: str | None = None,
    store: Any = None,
    **kwargs: Any,
) -> Any:
    """Run a LangGraph graph or LangChain agent; people decide its interrupts.

    Parameters
    ----------
    prompt
        The graph's input; a text becomes a user message where the graph has ``messages``. None
        goes on with what waits in the thread.
    config
        As for ``graph.invoke``; its ``thread_id`` names the run. Without one the run gets one
        of its own.
    key
        Names the run where there is no ``thread_id``. With neither it cannot be gone on with.
    store
        Path or store object; None: the configured default.
    **kwargs
        Given to ``graph.invoke`` or ``ainvoke``.

    Returns
    -------
    object
        What the graph's last ``invoke`` returned.

    Raises
    ------
    RunSuspended
        Nobody can be asked here, or the thread waits with another prompt.
    NoReviewer
        The same, where nothing could be kept (no thread and no key, or a checkpointer in memory).
    Declined
        A person declined and stopped the run, or declined a plain ``interrupt``, which has no
        word for it: the graph stays where it is.
    OutcomeUnknown
        A tool had started when its process died.
    NotPermitted
        A gated tool was about to run without being approved here and now: nothing ran.
    AgentDefinitionError
        The graph cannot pause, or an option is not known to it.
    """
    return await Running(Graph(graph, config, kwargs), prompt, key=key, store=store).run()
