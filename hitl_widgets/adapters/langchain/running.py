"""One graph being run, from interrupt to interrupt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from langgraph.types import Command
from pydantic import ValidationError

from ...errors import AgentDefinitionError, InvalidAnswer, RunSuspended
from ...external import Ask, External
from ...request import Request
from .answering import Waiting, answer
from .checkpoints import LIBRARY, Graph, checkpoint_of, is_left, place_of, wait_for_left
from .guard import Guard, Held
from .words import asks_of, last_words, plain_prompt, refused, renamed, told_to_model

MAX_REFUSED = 3
"""So often may answers to one question be refused by the graph before the run is ended."""


class Running:
    """A graph in one thread, with its run at the desk.

    Attributes
    ----------
    frame
        What the store keeps of it: the checkpoint before it began, and by interrupt id the calls
        that were asked about.
    """

    def __init__(self, graph: Graph, prompt: Any, *, key: str | None, store: Any) -> None:
        self.graph = graph
        self.input = graph.as_input(prompt)
        if key is not None and graph.thread is not None:
            raise AgentDefinitionError(
                f"key={key!r} and the thread_id {graph.thread!r} both name the run: give one. "
                "Without a thread_id a key's run has a thread of its own."
            )
        named = key if graph.thread is None else f"thread {graph.thread}"
        self.external = External(
            agent_id=f"langgraph:{graph.name}",
            title=graph.name,
            prompt=plain_prompt(prompt),
            key=named,
            resumable=graph.durable and named is not None,
            thread_id=graph.thread,
            store=store,
        )
        self.guard = Guard(self.external)
        graph.watched_by(self.guard)
        self.frame: dict[str, Any] = {}
        self.shown = False
        self.refusals: dict[str, list[str]] = {}

    async def run(self) -> Any:
        """See `run`."""
        state = await self.graph.state()
        first: dict[str, Any] = {
            "library": LIBRARY,
            "thread": self.graph.thread_id,
            "before": checkpoint_of(state),
            "asked": {},
        }
        frame = await self.external.begin(first)
        self.frame = frame or first
        if frame is not None and self.graph.thread is None:
            self.graph.go_to(frame["thread"])
        if await wait_for_left(self.external.id) or frame is not None:
            state = await self.graph.state()
        if frame is None and state.interrupts and self.input is not None:
            await self.external.end("cancelled", {"finish_reason": "aborted"})
            raise RunSuspended(
                f"{self.graph.name} already waits in this thread for "
                f"{', '.join(repr(i.value)[:80] for i in state.interrupts)}; a new message would "
                "drop that. Run it with the prompt None to have it decided."
            )
        async with self.external.in_view():
            result = await self._begin(state, frame)
            while True:
                state = await self.graph.state()
                if not state.interrupts:
                    break
                result = await self._turn(state)
            await self.external.end("completed", {"text": last_words(result)})
        return result

    async def _begin(self, state: Any, frame: Any) -> Any:
        """Start it, or go on after a restart."""
        if state.next:
            await self._know_again()
        if state.interrupts:
            return None
        if frame is not None:
            # In batched mode the graph is past its interrupt while its calls run.
            asked = [c for ids in frame["asked"].values() for c in ids]
            await self.external.decided(asked)
        if frame is None or frame["before"] == checkpoint_of(state):
            return await self._invoke(self.input)
        return await self._invoke(None) if state.next else state.values

    async def _know_again(self) -> None:
        """What was asked about before in this thread, by this run and by earlier ones."""
        external, store = self.external, self.external.store
        runs = {external.id}
        if external.thread_id is not None:
            named = {"agent_id": external.agent_id, "thread_id": external.thread_id}
            runs |= {run.id for run in await external.desk.read(store.runs, **named)}
        for run_id in runs:
            for row in await external.desk.read(store.calls, run_id):
                if run_id == external.id and row.state == "parked":
                    held = Held(row.id, row.tool_name, row.args, row.provider_id, None)
                    self.guard.held[row.id] = held
                raised = (row.result or {}).get("raised")
                if run_id == external.id or row.state != "failed" or raised:
                    self.guard.ask(row.tool_name, row.provider_id, row.args)

    async def _invoke(self, given: Any) -> Any:
        return await self.graph.invoke(given, self.external.id, self.guard.stop)

    # -- a turn

    async def _turn(self, state: Any) -> Any:
        """Have what waits decided, and resume."""
        waiting = await self._ask(state)
        every = any(len(one.asks[0].agent_path) > 1 or one.kind != "tool" for one in waiting)
        call_ids = [call_id for one in waiting for call_id in one.call_ids]
        decided = await self.external.decided(call_ids, every=every)
        ready = [one for one in waiting if all(c in decided for c in one.call_ids)]
        state = await self.graph.state()
        now = {i.id: i for i in state.interrupts}
        for one in [one for one in ready if one.interrupt.id not in now]:
            await self._resumed_elsewhere(one, decided)
        ready = [one for one in ready if one.interrupt.id in now]
        for one in ready:
            _read(one, now[one.interrupt.id])
        try:
            return await self._resume(state, ready, decided)
        except BaseException as e:
            if await self._refused(e, ready):
                return None
            self._left_open(e)
            raise

    async def _resume(
        self, state: Any, ready: Sequence[Waiting], decided: Mapping[str, Request]
    ) -> Any:
        answers = await answer(self.external, self.guard, ready, decided)
        await self.external.going_on()
        given = await self.graph.overwrite(state, answers)
        result = await self._invoke(Command(resume=given) if given else None)
        await self._gone_by()
        return result

    async def _gone_by(self) -> None:
        """What was claimed and not seen to end: a plain interrupt, or a call without a run."""
        if not self.guard.open():
            return
        state = await self.graph.state()
        for held in self.guard.open():
            raw = held.kind == "raw"
            kind, value = ("result", None) if raw else told_to_model(held.provider_id, state)
            await self._end(held, kind, value)

    def _left_open(self, error: BaseException) -> None:
        """The graph broke: what was claimed and did not end."""
        if is_left(self.external.id):
            return
        for held in self.guard.open():
            del self.guard.held[held.call_id]
            if held.started or held.kind == "raw":
                self.external.lose(held.call_id, held.token or "")
            else:
                why = f"It did not start: {type(error).__name__}: {error}"
                self.external.finish_now(held.call_id, held.token or "", "error", why)

    async def _refused(self, error: BaseException, ready: Sequence[Waiting]) -> bool:
        """Whether all that broke is that the graph took no answer: it is asked for again (R4).

        LangGraph checks an answer with the question's own model, and keeps none that fails.
        """
        if not isinstance(error, ValidationError):
            return False
        state = await self.graph.state()
        kept = await self.graph.kept_answers(state)
        tasks = {i.id: task for task in state.tasks for i in task.interrupts}
        for one in ready:
            held = self.guard.held.get(one.call_ids[0])
            if one.kind == "batch" or held is None or held.started:
                continue
            task = tasks.get(one.interrupt.id)
            if task is None and one.kind == "raw":  # its node went on
                await self._end(held, "result", None)
            elif place_of(task, one.interrupt.id, kept.get(getattr(task, "id", ""), [])) is None:
                self.refusals.setdefault(one.interrupt.id, []).append(refused(error))
                await self._end(held, "error", refused(error))
        if any(len(before) >= MAX_REFUSED for before in self.refusals.values()):
            self._left_open(error)
            errors = [{"path": list(x["loc"]), "message": x["msg"]} for x in error.errors()]
            raise InvalidAnswer(errors, f"{self.graph.name} took none of the answers") from error
        return not self.guard.open()

    async def _end(self, held: Held, kind: str, value: Any) -> None:
        self.guard.held.pop(held.call_id, None)
        await self.external.finish(held.call_id, held.token or "", kind, value)

    async def _resumed_elsewhere(self, one: Waiting, decided: Mapping[str, Request]) -> None:
        why = "the graph was resumed elsewhere, past this interrupt"
        for call_id in one.call_ids:
            if decided[call_id].state in ("approved", "answered"):
                await self.external.block(decided[call_id], why)

    # -- asking

    async def _ask(self, state: Any) -> list[Waiting]:
        """What waits; questions that are not on the desk yet are put there."""
        asked: dict[str, list[str]] = self.frame["asked"]
        again = await self._to_ask_again(asked)
        waiting = [Waiting(i, self._read_new(i, state), []) for i in state.interrupts]
        new = [w for w in waiting if w.interrupt.id not in asked or w.interrupt.id in again]
        if new:
            asks = [ask for one in new for ask in one.asks]
            await self.external.ask(asks, partial(self._noted, new))
        for one in waiting:
            one.call_ids = asked[one.interrupt.id]
            if one.kind != "raw":
                for ask in one.asks:
                    self.guard.ask(ask.name, ask.provider_id, ask.args)
        old = [one for one in waiting if one not in new]
        if old and not self.shown:
            await self.external.show_again([c for one in old for c in one.call_ids])
        self.shown = True
        return waiting

    def _noted(self, new: Sequence[Waiting], call_ids: list[str]) -> dict[str, Any]:
        left = list(call_ids)
        for one in new:
            self.frame["asked"][one.interrupt.id] = [left.pop(0) for _ in one.asks]
        return self.frame

    async def _to_ask_again(self, asked: Mapping[str, list[str]]) -> set[str]:
        """Interrupts that wait although their calls failed in a tool: the approval is used up."""
        external = self.external
        rows = await external.desk.read(external.store.calls, external.id)
        used = {r.id for r in rows if r.state == "failed" and (r.result or {}).get("raised")}
        return {i for i, ids in asked.items() if used & set(ids)}

    def _read_new(self, interrupt: Any, state: Any) -> list[Ask]:
        path = (self.graph.name, *self.guard.paths.get(interrupt.id, ()))
        why = self.refusals.get(interrupt.id, [""])[-1]
        return asks_of(interrupt, path, state, why)


def _read(one: Waiting, interrupt: Any) -> None:
    """Take the interrupt as it stands now: what would run (R3)."""
    one.interrupt = interrupt
    fresh = asks_of(interrupt, one.asks[0].agent_path, None)
    one.asks = [renamed(new, old) for new, old in zip(fresh, one.asks, strict=True)]
