"""A graph with its checkpointer: reading its state, moving it on, what a checkpoint remembers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, cast
from uuid import uuid4

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables.config import CONFIG_KEYS, merge_configs
from langgraph.checkpoint.memory import InMemorySaver
from xxhash import xxh3_128_hexdigest

from ...errors import AgentDefinitionError

LIBRARY = f"langgraph {version('langgraph')}"

LEAST = "1.2.20"
"""Before it, two interrupts of one task had the same id."""

RESUME = "__resume__"
"""LangGraph's name for the answers that a checkpoint keeps."""

_left: dict[str, concurrent.futures.Future[None]] = {}
"""Graphs that go on in a thread although nobody waits for them, by run id."""


class Graph:
    """A graph in one of its threads.

    Attributes
    ----------
    thread
        The caller's thread; None: the run has one of its own.
    durable
        Whether its checkpoints outlive this process.

    Raises
    ------
    AgentDefinitionError
        It cannot pause, or an option is not known to it.
    """

    def __init__(
        self, graph: Any, config: Mapping[str, Any] | None, kwargs: Mapping[str, Any]
    ) -> None:
        _check(graph, config, kwargs)
        self.graph = graph
        self.kwargs = kwargs
        self.name = str(getattr(graph, "name", None) or "graph")
        bound = _whole(getattr(graph, "config", None))
        self.config = _whole(config)
        configurable = {**bound["configurable"], **self.config["configurable"]}
        if configurable.get("checkpoint_id") is not None:
            raise AgentDefinitionError(
                "checkpoint_id: hitl.run goes on from a thread's newest checkpoint. To go back, "
                "fork it first: graph.update_state(earlier_config, None) makes the earlier one "
                "the newest."
            )
        thread = configurable.get("thread_id")
        self.thread = None if thread is None else str(thread)
        self.config["configurable"] = {"thread_id": f"hitl-{uuid4()}", **configurable}
        callbacks = [{"callbacks": given.get("callbacks")} for given in (bound, self.config)]
        self.config["callbacks"] = merge_configs(*cast("Any", callbacks)).get("callbacks")
        self.durable = not isinstance(graph.checkpointer, InMemorySaver)
        self._awaited = True

    @property
    def thread_id(self) -> str:
        """The thread's id in the checkpointer."""
        return self.config["configurable"]["thread_id"]

    def go_to(self, thread_id: str) -> None:
        """Go on in the thread that an earlier process gave the run."""
        self.config["configurable"]["thread_id"] = thread_id

    def watched_by(self, handler: BaseCallbackHandler) -> None:
        """Have a callback handler hear of everything that happens inside."""
        callbacks = self.config["callbacks"]
        if callbacks is None or isinstance(callbacks, list):
            self.config["callbacks"] = [*cast("list[Any]", callbacks or ()), handler]
            return
        manager = callbacks.copy()
        manager.add_handler(handler, inherit=True)
        self.config["callbacks"] = manager

    def as_input(self, prompt: Any) -> Any:
        """A text as a user message, where the graph takes messages."""
        if isinstance(prompt, str) and "messages" in getattr(self.graph, "channels", {}):
            return {"messages": [{"role": "user", "content": prompt}]}
        return prompt

    # -- moving

    async def state(self) -> Any:
        """Where it is; learns whether its checkpointer can be awaited."""
        if self._awaited:
            try:
                return await self.graph.aget_state(self.config)
            except NotImplementedError:
                self._awaited = False
        return await asyncio.to_thread(self.graph.get_state, self.config)

    async def invoke(self, given: Any, run_id: str, stop: Callable[[], None]) -> Any:
        """Move it on. `stop` is called when it has to be left to go on in a thread."""
        if self._awaited:
            return await self.graph.ainvoke(given, self.config, **self.kwargs)
        over: concurrent.futures.Future[None] = concurrent.futures.Future()

        def work() -> Any:
            try:
                return self.graph.invoke(given, self.config, **self.kwargs)
            except (NotImplementedError, TypeError) as e:
                e.add_note(
                    f"{self.graph.checkpointer.__class__.__name__} cannot be awaited, so the graph "
                    "runs by invoke(), without its async tools and nodes. To use those: "
                    "AsyncSqliteSaver, or another checkpointer that can be awaited."
                )
                raise
            finally:
                over.set_result(None)

        thread = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            # A thread cannot be stopped. What runs in it is kept by the guard when it ends, and
            # nothing more starts.
            stop()
            _left[run_id] = over
            raise

    # -- answers that a checkpoint already holds

    async def kept_answers(self, state: Any) -> dict[str, list[Any]]:
        """Answers that the checkpoint holds for unfinished tasks, by task id."""
        saver = self.graph.checkpointer
        if self._awaited:
            found = await saver.aget_tuple(state.config)
        else:
            found = await asyncio.to_thread(saver.get_tuple, state.config)
        writes: list[Any] = list(found.pending_writes or ()) if found is not None else []
        return {
            t: list(cast("Any", v))
            for t, name, v in writes
            if name == RESUME and isinstance(v, list)
        }

    async def overwrite(self, state: Any, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Replace answers that the checkpoint holds; what is left for ``Command(resume=…)``.

        It keeps the first answer to an interrupt, for a call that failed or whose process died,
        and ignores a second one: a call declined since would run again.
        """
        kept = await self.kept_answers(state) if answers else {}
        tasks = {i.id: task for task in state.tasks for i in task.interrupts}
        left: dict[str, Any] = {}
        for interrupt, value in answers.items():
            task = tasks.get(interrupt)
            before = kept.get(task.id, []) if task is not None else []
            place = place_of(task, interrupt, before)
            if task is None or place is None:
                left[interrupt] = value
            else:
                await self._put(state.config, [(RESUME, [*before[:place], value])], task.id)
        return left

    async def _put(self, config: Any, writes: list[Any], task: str) -> None:
        saver = self.graph.checkpointer
        if self._awaited:
            await saver.aput_writes(config, writes, task)
        else:
            await asyncio.to_thread(saver.put_writes, config, writes, task)


def is_left(run_id: str) -> bool:
    """Whether a run's graph goes on in a thread although nobody waits for it."""
    return run_id in _left


async def wait_for_left(run_id: str) -> bool:
    """Wait until a graph that was left in a thread has come to its end; whether there was one."""
    over = _left.get(run_id)
    if over is None:
        return False
    await asyncio.wait([asyncio.wrap_future(over)])
    _left.pop(run_id, None)
    return True


def checkpoint_of(state: Any) -> str | None:
    """A state's checkpoint id; None before the first."""
    config: dict[str, Any] = state.config or {}
    return config.get("configurable", {}).get("checkpoint_id")


def place_of(task: Any, interrupt: str, kept: Sequence[Any]) -> int | None:
    """Which of a task's kept answers is this interrupt's; None when it has none.

    An interrupt's id is a hash of its task and of how many answers came before it.
    """
    if task is None:
        return None
    space = f"{task.name}:{task.id}"
    spaces = [f"{space}|{n}" if n else space for n in range(len(kept))]
    ids = [xxh3_128_hexdigest(each.encode()) for each in spaces]
    return ids.index(interrupt) if interrupt in ids else None


# -- what was given --------------------------------------------------------------------------------


def _check(graph: Any, config: Mapping[str, Any] | None, kwargs: Mapping[str, Any]) -> None:
    if _number(version("langgraph")) < _number(LEAST):
        raise AgentDefinitionError(
            f"{LIBRARY} is too old: hitl.run needs {LEAST}. "
            "pip install --upgrade 'hitl-widgets[langchain]'"
        )
    if getattr(graph, "checkpointer", None) in (None, False, True):
        raise AgentDefinitionError(
            f"The graph {getattr(graph, 'name', graph)!r} has no checkpointer, so it cannot pause "
            "for a human: compile it with checkpointer=SqliteSaver(…) (kept over a restart) or "
            "InMemorySaver()."
        )
    if config is not None and not isinstance(cast("Any", config), Mapping):
        raise AgentDefinitionError(
            f"config={config!r}: give a mapping, such as {{'configurable': {{'thread_id': 'a'}}}}."
        )
    known = inspect.signature(graph.ainvoke).parameters
    unknown = sorted(set(kwargs) - set(known))
    if unknown:
        raise AgentDefinitionError(
            f"{', '.join(f'{name}=' for name in unknown)}: not known to graph.invoke, which takes "
            f"{', '.join(f'{n}=' for n in list(known)[2:-1])}. A thread goes into "
            "config={'configurable': {'thread_id': 'a'}}."
        )


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def _whole(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """A config with all that is configurable in its place: LangGraph takes it beside it too."""
    given = dict(config or {})
    beside = {k: given.pop(k) for k in list(given) if k not in CONFIG_KEYS}
    found = {k: v for k, v in beside.items() if v is not None}
    return {**given, "configurable": {**(given.get("configurable") or {}), **found}}
