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

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, cast
from uuid import uuid4

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from xxhash import xxh3_128_hexdigest

from ..errors import (
    AgentDefinitionError,
    Declined,
    NotPermitted,
    RunSuspended,
    StaleFingerprint,
)
from ..external import BLOCKED, NO_RETRY, Ask, External, receipt_of
from ..request import Request
from .langgraph_guard import Guard, Held
from .langgraph_words import as_text, asks_of, kind_of, last_words, plain_prompt, renamed

__all__ = ["run"]

LIBRARY = f"langgraph {version('langgraph')}"

RESUME = "__resume__"
"""LangGraph's name for the answers that a checkpoint keeps."""


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
        of its own and cannot be gone on with later.
    key
        Names the run in place of its ``thread_id``.
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
        The same, where nothing could be kept (no thread, or a checkpointer in memory).
    Declined
        A person declined and stopped the run, or declined a plain ``interrupt``, which has no
        word for it: the graph stays where it is.
    OutcomeUnknown
        A tool had started when its process died.
    NotPermitted
        A gated tool was about to run without being approved here and now: nothing ran.
    """
    if getattr(graph, "checkpointer", None) in (None, False, True):
        raise AgentDefinitionError(
            f"The graph {getattr(graph, 'name', graph)!r} has no checkpointer, so it cannot pause "
            "for a human: compile it with checkpointer=SqliteSaver(…) (kept over a restart) or "
            "InMemorySaver()."
        )
    return await _Running(
        graph, prompt, config=dict(config or {}), key=key, store=store, kwargs=kwargs
    ).run()


@dataclass
class _Waiting:
    """One interrupt with our calls about it: one, or several for a batch."""

    interrupt: Any
    asks: list[Ask]
    call_ids: list[str]


class _Running:
    """One graph being run, from interrupt to interrupt."""

    def __init__(
        self,
        graph: Any,
        prompt: Any,
        *,
        config: dict[str, Any],
        key: str | None,
        store: Any,
        kwargs: dict[str, Any],
    ) -> None:
        self.graph = graph
        self.kwargs = kwargs
        self.name = str(getattr(graph, "name", None) or "graph")
        self.input = self._as_input(prompt)
        configurable = dict(config.get("configurable") or {})
        thread = configurable.get("thread_id")
        configurable.setdefault("thread_id", f"hitl-{uuid4()}")
        kept = thread is not None and not isinstance(graph.checkpointer, InMemorySaver)
        self.external = External(
            agent_id=f"langgraph:{self.name}",
            title=self.name,
            prompt=plain_prompt(prompt),
            key=key if key is not None else (None if thread is None else f"thread {thread}"),
            resumable=kept,
            thread_id=None if thread is None else str(thread),
            store=store,
        )
        self.guard = Guard(self.external)
        self.config: dict[str, Any] = {
            **config,
            "configurable": configurable,
            "callbacks": _with(config.get("callbacks"), self.guard),
        }
        self.asynchronous = True
        self.frame: dict[str, Any] = {}

    def _as_input(self, prompt: Any) -> Any:
        if isinstance(prompt, str) and "messages" in getattr(self.graph, "channels", {}):
            return {"messages": [{"role": "user", "content": prompt}]}
        return prompt

    # -- the graph

    async def _state(self) -> Any:
        """The graph's state; learns whether its checkpointer can be awaited."""
        if self.asynchronous:
            try:
                return await self.graph.aget_state(self.config)
            except NotImplementedError:
                self.asynchronous = False
        return await asyncio.to_thread(self.graph.get_state, self.config)

    async def _invoke(self, given: Any) -> Any:
        if self.asynchronous:
            return await self.graph.ainvoke(given, self.config, **self.kwargs)
        work = asyncio.to_thread(self.graph.invoke, given, self.config, **self.kwargs)
        thread = asyncio.ensure_future(work)
        try:
            return await asyncio.shield(thread)
        except asyncio.CancelledError:
            # A thread cannot be stopped. What runs in it is kept by the guard when it ends, and
            # nothing more starts.
            self.guard.stop()
            _left[self.external.id] = thread
            raise

    # -- a run

    async def run(self) -> Any:
        """See `run`."""
        state = await self._state()
        first: dict[str, Any] = {
            "library": LIBRARY,
            "before": _checkpoint(state),
            "asked": {},
        }
        frame = await self.external.begin(first)
        self.frame = frame or first
        left = _left.pop(self.external.id, None)
        if left is not None:
            await asyncio.wait([left])
            state = await self._state()
        if frame is None and state.interrupts and self.input is not None:
            await self.external.end("cancelled", {"finish_reason": "aborted"})
            raise RunSuspended(
                f"{self.name} already waits in this thread for "
                f"{', '.join(repr(i.value)[:80] for i in state.interrupts)}; a new message would "
                "drop that. Run it with the prompt None to have it decided."
            )
        async with self.external.in_view():
            result = await self._begin(state, frame)
            while True:
                state = await self._state()
                if not state.interrupts:
                    break
                result = await self._turn(state)
            await self.external.end("completed", {"text": last_words(result)})
        return result

    async def _begin(self, state: Any, frame: Any) -> Any:
        """Start it, or go on after a restart."""
        if frame is not None:
            await self._know_again()
        if state.interrupts:
            return None
        if frame is not None:
            # In batched mode the graph is past its interrupt while its calls run.
            asked = [c for ids in frame["asked"].values() for c in ids]
            await self.external.decided(asked)
        if frame is None or frame["before"] == _checkpoint(state):
            return await self._invoke(self.input)
        return await self._invoke(None) if state.next else state.values

    async def _know_again(self) -> None:
        """After a restart: calls that were asked about before, and those with a nested agent."""
        store = self.external.store
        for row in await self.external.desk.read(store.calls, self.external.id):
            if row.provider_id is not None:
                self.guard.asked.add(row.provider_id)
            if row.state == "parked":
                held = Held(row.id, row.tool_name, row.args, row.provider_id, None)
                self.guard.held[row.id] = held

    async def _turn(self, state: Any) -> Any:
        """Have what waits decided, and resume."""
        waiting = await self._ask(state)
        every = any(len(one.asks[0].agent_path) > 1 or not _is_tool(one) for one in waiting)
        call_ids = [call_id for one in waiting for call_id in one.call_ids]
        decided = await self.external.decided(call_ids, every=every)
        ready = [one for one in waiting if all(c in decided for c in one.call_ids)]
        state = await self._state()
        now = {i.id: i for i in state.interrupts}
        answers: dict[str, Any] = {}
        for one in ready:
            if one.interrupt.id not in now:
                await self._resumed_elsewhere(one, decided)
                continue
            self._read(one, now[one.interrupt.id])
            answers[one.interrupt.id] = await self._answer(one, decided)
        await self.external.going_on()
        return await self._resume(state, answers)

    async def _resume(self, state: Any, answers: dict[str, Any]) -> Any:
        given = await self._overwrite(state, answers)
        try:
            result = await self._invoke(Command(resume=given) if given else None)
        except BaseException as e:
            await self._left_open(e)
            raise
        for held in [h for h in self.guard.held.values() if h.token is not None]:
            # Seen to go on, not seen to end: a plain interrupt's node, or a call without an id.
            del self.guard.held[held.call_id]
            await self.external.finish(held.call_id, cast("str", held.token), "result", None)
        return result

    async def _left_open(self, error: BaseException) -> None:
        """The graph broke: what was claimed and did not end."""
        if self.external.id in _left:
            return
        for held in [h for h in self.guard.held.values() if h.token is not None]:
            token = cast("str", held.token)
            del self.guard.held[held.call_id]
            if held.started or held.provider_id is None:
                self.external.lose(held.call_id, token)
            else:
                why = f"It did not start: {type(error).__name__}: {error}"
                self.external.finish_now(held.call_id, token, "error", why)

    async def _resumed_elsewhere(self, one: _Waiting, decided: Mapping[str, Request]) -> None:
        why = "the graph was resumed elsewhere, past this interrupt"
        for call_id in one.call_ids:
            if decided[call_id].state in ("approved", "answered"):
                await self.external.block(decided[call_id], why)

    # -- asking

    async def _ask(self, state: Any) -> list[_Waiting]:
        """What waits; questions that are not on the desk yet are put there."""
        asked: dict[str, list[str]] = self.frame["asked"]
        again = await self._to_ask_again(asked)
        waiting = [_Waiting(i, self._read_new(i, state), []) for i in state.interrupts]
        new = [w for w in waiting if w.interrupt.id not in asked or w.interrupt.id in again]
        if new:
            asks = [ask for one in new for ask in one.asks]
            await self.external.ask(asks, partial(self._noted, new))
        for one in waiting:
            one.call_ids = asked[one.interrupt.id]
            self.guard.asked.update(a.provider_id for a in one.asks if a.provider_id is not None)
        old = [one for one in waiting if one not in new]
        if old and not self.frame.get("shown"):
            await self.external.show_again([c for one in old for c in one.call_ids])
        self.frame["shown"] = True
        return waiting

    def _noted(self, new: Sequence[_Waiting], call_ids: list[str]) -> dict[str, Any]:
        left = list(call_ids)
        for one in new:
            self.frame["asked"][one.interrupt.id] = [left.pop(0) for _ in one.asks]
        return {k: v for k, v in self.frame.items() if k != "shown"}

    async def _to_ask_again(self, asked: Mapping[str, list[str]]) -> set[str]:
        """Interrupts that wait although their calls failed in a tool: the approval is used up."""
        external = self.external
        rows = await external.desk.read(external.store.calls, external.id)
        used = {r.id for r in rows if r.state == "failed" and (r.result or {}).get("raised")}
        return {i for i, ids in asked.items() if used & set(ids)}

    def _read_new(self, interrupt: Any, state: Any) -> list[Ask]:
        path = (self.name, *self.guard.paths.get(interrupt.id, ()))
        return asks_of(interrupt, path, state)

    def _read(self, one: _Waiting, interrupt: Any) -> None:
        """The interrupt as it stands now: what would run (R3)."""
        one.interrupt = interrupt
        fresh = asks_of(interrupt, one.asks[0].agent_path, None)
        one.asks = [renamed(new, old) for new, old in zip(fresh, one.asks, strict=True)]

    # -- answering

    async def _answer(self, one: _Waiting, decided: Mapping[str, Request]) -> Any:
        """In LangGraph's words. What is declined comes first: it may stop the run."""
        pairs = list(zip(one.asks, (decided[c] for c in one.call_ids), strict=True))
        no = {
            r.id: await self._refusal(r)
            for _, r in pairs
            if r.state not in ("approved", "answered", "responded", "done", "failed")
        }
        if _is_raw(one):
            return await self._raw(pairs[0][0], pairs[0][1])
        decisions = [no[r.id] if r.id in no else await self._decision(ask, r) for ask, r in pairs]
        return decisions[0] if _is_tool(one) else {"decisions": decisions}

    async def _refusal(self, request: Request) -> dict[str, Any]:
        text = await self.external.no(request)
        if request.kind == "input":
            raise Declined((request.decision or {}).get("reason"), receipt_of(request))
        reason = (request.decision or {}).get("reason")
        if request.state != "declined":
            return {"type": "reject", "message": text}
        return (
            {"type": "reject", "message": f"{reason} ({NO_RETRY})"}
            if reason
            else {"type": "reject"}
        )

    async def _decision(self, ask: Ask, request: Request) -> dict[str, Any]:
        external = self.external
        row = await external.row(request.tool_call_id)
        if request.state == "responded":
            value = (request.decision or {}).get("result")
            await external.answer(request.tool_call_id, "responded", value)
            return {"type": "respond", "message": as_text(value)}
        if row.result is not None:  # made before a restart, or settled by a human
            kind = "respond" if "respond" in ask.allowed else "reject"
            return {"type": kind, "message": as_text(row.result.get("value"))}
        edited = (request.decision or {}).get("args") is not None
        args = row.args if edited else ask.args
        token = await external.claim(request, args, ask.input_schema)
        if token is None:
            return {"type": "reject", "message": BLOCKED.format(request.tool_name)}
        self._hold(ask, request, args, token)
        if not edited:
            return {"type": "approve"}
        return {"type": "edit", "edited_action": {"name": request.tool_name, "args": args}}

    async def _raw(self, ask: Ask, request: Request) -> Any:
        if request.state != "answered":
            raise NotPermitted(
                f"{request.tool_name} ({request.id}) was answered before a restart, and a plain "
                "interrupt cannot be told how it ended. Give the graph the node's result with "
                "graph.update_state(config, values, as_node=…), then run it with the prompt None."
            )
        value = await self.external.given(request.tool_call_id)
        token = await self.external.claim(request, ask.args, ask.input_schema)
        if token is None:
            raise StaleFingerprint(
                f"{request.tool_name} ({request.id}): the graph's question changed since it was "
                "answered. The graph was not resumed; run it again to be asked."
            )
        self._hold(ask, request, ask.args, token)
        return value

    def _hold(self, ask: Ask, request: Request, args: dict[str, Any], token: str) -> None:
        held = Held(request.tool_call_id, request.tool_name, args, ask.provider_id, token)
        self.guard.held[request.tool_call_id] = held

    # -- answers that a checkpoint already holds

    async def _overwrite(self, state: Any, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Replace answers that the checkpoint holds; what is left for ``Command(resume=…)``.

        It keeps the first answer to an interrupt, for a call that failed or whose process died,
        and ignores a second one: a call declined since would run again.
        """
        kept = await self._kept_answers(state) if answers else {}
        tasks = {i.id: task for task in state.tasks for i in task.interrupts}
        left: dict[str, Any] = {}
        for interrupt, value in answers.items():
            task = tasks.get(interrupt)
            before = kept.get(task.id, []) if task is not None else []
            place = _place(task, interrupt, before)
            if task is None or place is None:
                left[interrupt] = value
            else:
                await self._put(state.config, [(RESUME, [*before[:place], value])], task.id)
        return left

    async def _kept_answers(self, state: Any) -> dict[str, list[Any]]:
        saver = self.graph.checkpointer
        if self.asynchronous:
            found = await saver.aget_tuple(state.config)
        else:
            found = await asyncio.to_thread(saver.get_tuple, state.config)
        writes: list[Any] = list(found.pending_writes or ()) if found is not None else []
        return {
            t: list(cast("Any", v))
            for t, name, v in writes
            if name == RESUME and isinstance(v, list)
        }

    async def _put(self, config: Any, writes: list[Any], task: str) -> None:
        saver = self.graph.checkpointer
        if self.asynchronous:
            await saver.aput_writes(config, writes, task)
        else:
            await asyncio.to_thread(saver.put_writes, config, writes, task)


_left: dict[str, asyncio.Future[Any]] = {}
"""Graphs that go on in a thread although nobody waits for them, by run id."""


def _is_tool(one: _Waiting) -> bool:
    return kind_of(one.interrupt.value) == "tool"


def _is_raw(one: _Waiting) -> bool:
    return kind_of(one.interrupt.value) == "raw"


def _with(callbacks: Any, guard: Guard) -> Any:
    if callbacks is None:
        return [guard]
    if isinstance(callbacks, list):
        return [*cast("list[Any]", callbacks), guard]
    manager = callbacks.copy()
    manager.add_handler(guard, inherit=True)
    return manager


def _checkpoint(state: Any) -> str | None:
    config: dict[str, Any] = state.config or {}
    return config.get("configurable", {}).get("checkpoint_id")


def _place(task: Any, interrupt: str, kept: Sequence[Any]) -> int | None:
    """Which of a task's kept answers is this interrupt's; None when it has none.

    An interrupt's id is a hash of its task and of how many answers came before it.
    """
    if task is None:
        return None
    space = f"{task.name}:{task.id}"
    spaces = [f"{space}|{n}" if n else space for n in range(len(kept))]
    ids = [xxh3_128_hexdigest(each.encode()) for each in spaces]
    return ids.index(interrupt) if interrupt in ids else None
