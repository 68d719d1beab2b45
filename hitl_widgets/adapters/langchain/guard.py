"""What a LangGraph run really does, watched from inside by a callback handler.

It keeps the true result of every approved call, lets no call start whose claim is not held here,
and learns which nested agent asked. A checkpoint remembers an approval for ever and would run the
tool again after a crash, or under a second resume: this is what stops it (R1).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp

from ...errors import NotPermitted
from ...external import External, plain
from ...request import new_id
from ..results import USED_UP
from .words import same


@dataclass
class Held:
    """A call that was claimed here and not finished.

    Attributes
    ----------
    provider_id
        LangChain's tool call id; None where none is known: then its name and arguments tell.
    token
        Of the claim; None while the call is parked (a nested agent of it waits).
    kind
        ``raw``: the answer to a plain interrupt, whose node cannot be seen to end.
    """

    call_id: str
    name: str
    args: dict[str, Any]
    provider_id: str | None
    token: str | None
    started: bool = False
    kind: Literal["call", "raw"] = "call"


@dataclass
class _Asked:
    name: str
    provider_id: str | None
    args: Mapping[str, Any]


def _is(one: Held | _Asked, name: str, provider_id: str | None, args: Mapping[str, Any]) -> bool:
    """Whether what starts is this call: by its id, or by its arguments where none is known."""
    if one.name != name:
        return False
    if one.provider_id is None or provider_id is None:
        return same(one.args, args)
    return one.provider_id == provider_id


@dataclass
class _Started:
    name: str
    parent: UUID | None
    graph: str | None
    held: Held | None = None


@dataclass
class Guard(BaseCallbackHandler):
    """The handler; its methods are called on whatever thread the graph runs.

    Attributes
    ----------
    held
        Claims, by our call id.
    paths
        Interrupt id → names of the nested agents from the outside in.
    """

    external: External
    held: dict[str, Held] = field(default_factory=dict[str, Held])
    paths: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    raise_error = True

    def __post_init__(self) -> None:
        self._runs: dict[UUID, _Started] = {}
        self._asked: list[_Asked] = []
        self._used_up: set[tuple[str, str | None]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    __hash__ = object.__hash__

    def stop(self) -> None:
        """Let nothing more start: whoever waited has gone."""
        self._stopped = True

    def ask(self, name: str, provider_id: str | None, args: Mapping[str, Any]) -> None:
        """Let this call not start without a claim from now on."""
        self._asked.append(_Asked(name, provider_id, args))

    def hold(self, held: Held) -> None:
        """Let a claimed call start, once."""
        self.ask(held.name, held.provider_id, held.args)
        self.held[held.call_id] = held

    def open(self) -> list[Held]:
        """What is claimed and was not seen to end."""
        return [held for held in list(self.held.values()) if held.token is not None]

    # -- graphs

    def on_chain_start(
        self,
        serialized: dict[str, Any] | None,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """See `BaseCallbackHandler`."""
        del serialized, inputs
        name = str(kwargs.get("name") or "")
        node = (metadata or {}).get("langgraph_node")
        nested = node is not None and name != node and not name.startswith("Runnable")
        self._runs[run_id] = _Started(name, parent_run_id, name if nested else None)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """See `BaseCallbackHandler`: an interrupt passes through every graph that holds it."""
        del kwargs
        started = self._runs.pop(run_id, None)
        if started is None or started.graph is None or not isinstance(error, GraphBubbleUp):
            return
        for interrupt in _interrupts(error):
            self.paths[interrupt.id] = (started.graph, *self.paths.get(interrupt.id, ()))

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """See `BaseCallbackHandler`."""
        del outputs, kwargs
        self._runs.pop(run_id, None)

    # -- tools

    def on_tool_start(
        self,
        serialized: dict[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """See `BaseCallbackHandler`: raises when a gated call starts without its claim."""
        del input_str
        name = str((serialized or {}).get("name") or kwargs.get("name") or "")
        if self._stopped:
            raise NotPermitted(f"{name} does not start: whoever waited for this run has gone.")
        with self._lock:
            held = self._holding(name, kwargs.get("tool_call_id"), inputs or {})
            self._runs[run_id] = _Started(name, parent_run_id, None, held)
        if held is not None and held.token is None:
            held.token = new_id("t")
            external = self.external
            external.desk.write_now(
                external.store.resume_call, held.call_id, external.token, held.token
            )

    def _holding(self, name: str, provider_id: str | None, args: Mapping[str, Any]) -> Held | None:
        mine = [
            h
            for h in list(self.held.values())
            if h.kind == "call" and _is(h, name, provider_id, args)
        ]
        for held in mine:
            if not held.started and same(held.args, args):
                held.started = True
                return held
        if not mine and not any(_is(one, name, provider_id, args) for one in self._asked):
            return None
        raise NotPermitted(self._why(name, provider_id, args))

    def _why(self, name: str, provider_id: str | None, args: Mapping[str, Any]) -> str:
        if (name, provider_id) in self._used_up:
            return f"{USED_UP.format(name)} To try again, let the model call it again."
        return (
            f"Tool call blocked: {name} ({provider_id}) was about to run as "
            f"{plain(dict(args))!r}, and that is not what was approved here and now. Nothing ran. "
            "The graph's checkpoint holds an earlier approval. hitl.history() has what really "
            "ran: give the graph the results of this turn's calls with graph.update_state(config, "
            "{'messages': [ToolMessage(…), …]}, as_node='tools') and run it with the prompt None, "
            "or start a new thread."
        )

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """See `BaseCallbackHandler`: the true result is kept."""
        del kwargs
        held = self._ended(run_id)
        if held is None or held.token is None:
            return
        failed = isinstance(output, ToolMessage) and output.status == "error"
        value = output.content if isinstance(output, ToolMessage) else output
        self._finish(held, "error" if failed else "result", value)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """See `BaseCallbackHandler`: it failed, or a nested agent of it asks something."""
        del kwargs
        held = self._ended(run_id)
        if held is None or held.token is None:
            return
        if isinstance(error, GraphBubbleUp):
            external = self.external
            external.desk.write_now(external.store.park, held.call_id, held.token, None)
            held.token, held.started = None, False
        elif isinstance(error, asyncio.CancelledError):
            self.held.pop(held.call_id, None)
            self.external.lose(held.call_id, held.token)
        else:
            self._finish(held, "error", f"{type(error).__name__}: {error}")

    def _ended(self, run_id: UUID) -> Held | None:
        started = self._runs.pop(run_id, None)
        return None if started is None else started.held

    def _finish(self, held: Held, kind: str, value: Any) -> None:
        assert held.token is not None
        self._used_up.add((held.name, held.provider_id))
        self.external.finish_now(held.call_id, held.token, kind, value)
        self.held.pop(held.call_id, None)


def _interrupts(error: GraphBubbleUp) -> list[Any]:
    found: Any = error.args[0] if error.args else ()
    if not isinstance(found, list | tuple):
        return []
    return [i for i in cast("list[Any]", found) if hasattr(i, "id")]
