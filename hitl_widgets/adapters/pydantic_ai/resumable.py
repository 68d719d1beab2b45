"""Stop and resume: a pydantic-ai run that goes on from the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_ai import DeferredToolRequests
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.usage import RunUsage

from ...errors import SnapshotVersion
from .capability import HumanApproval
from .place import LIBRARY, Calls, Place, external_of, within
from .words import answers, asks_of

_REQUESTS = TypeAdapter(DeferredToolRequests)
_USAGE = TypeAdapter(RunUsage)

_NOTES = {
    "deferred tool call": (
        "A nested agent asks through its parent when it has the capability too: "
        "Agent(…, capabilities=[hitl.adapters.pydantic_ai.HumanApproval()]). A tool that asks "
        "again while it runs needs key=…"
    ),
    "output validators": (
        "With key=… the run ends at each pause: make the agent with "
        "output_type=[…, DeferredToolRequests], so that its output validators can stay."
    ),
}
"""Remedies, by the words of pydantic-ai's own error."""


async def run_once(agent: AbstractAgent[Any, Any], prompt: Any, kwargs: dict[str, Any]) -> Any:
    """``agent.run`` with the capability; its errors name the remedy."""
    more = dict(kwargs)
    capabilities = [*(more.pop("capabilities", None) or ()), HumanApproval()]
    try:
        return await agent.run(prompt, capabilities=capabilities, **more)
    except UserError as e:
        for words, note in _NOTES.items():
            if words in str(e):
                e.add_note(note)
        raise


class Resumable:
    """A run that ends at each pause and goes on from the store, here or after a restart."""

    def __init__(
        self,
        agent: AbstractAgent[Any, Any],
        prompt: Any,
        key: str,
        store: Any,
        kwargs: dict[str, Any],
    ) -> None:
        self.agent = agent
        self.prompt = prompt
        self.kwargs = {**kwargs, **_deferring(agent, kwargs.get("output_type"))}
        self.external = external_of(agent, prompt, store=store, key=key, resumable=True)
        self.calls = Calls()

    async def run(self) -> Any:
        """Until it ends; see `run`."""
        frame = await self.external.begin({"library": LIBRARY})
        async with self.external.in_view():
            if frame is None or "messages" not in frame:
                result = await self._go(self.prompt, self.kwargs)
            else:
                call_ids: list[str] = list(frame["calls"])
                await self.external.show_again(call_ids)
                result = await self._go_on(*_loaded(frame), call_ids)
            while isinstance(result.output, DeferredToolRequests):
                result = await self._ask(result)
            await self.external.end("completed", {"text": str(result.output)})
        return result

    async def _go(self, prompt: Any, kwargs: dict[str, Any]) -> Any:
        with within(Place(self.external, bubbles=True, known=self.calls)):
            return await run_once(self.agent, prompt, kwargs)

    async def _ask(self, result: Any) -> Any:
        requests: DeferredToolRequests = result.output
        messages: list[Any] = result.all_messages()
        usage: RunUsage = result.usage
        asks = asks_of(requests, self.calls, {}, ())

        def frame(call_ids: list[str]) -> dict[str, Any]:
            return {
                "library": LIBRARY,
                "messages": ModelMessagesTypeAdapter.dump_python(messages, mode="json"),
                "requests": _REQUESTS.dump_python(requests, mode="json"),
                "usage": _USAGE.dump_python(usage, mode="json"),
                "calls": call_ids,
            }

        call_ids = await self.external.ask(asks, frame)
        return await self._go_on(messages, requests, usage, call_ids)

    async def _go_on(
        self,
        messages: list[Any],
        requests: DeferredToolRequests,
        usage: RunUsage,
        call_ids: list[str],
    ) -> Any:
        results = await answers(self.external, self.calls, requests, call_ids)
        given = {
            "message_history": messages,
            "deferred_tool_results": results,
            "usage": usage,
        }
        return await self._go(None, {**self.kwargs, **given})


def _deferring(agent: AbstractAgent[Any, Any], given: Any) -> dict[str, Any]:
    """The output type with `DeferredToolRequests` beside it; nothing, where the agent has it."""
    wanted = agent.output_type if given is None else given
    types = list(cast("Sequence[Any]", wanted)) if isinstance(wanted, list | tuple) else [wanted]
    if DeferredToolRequests in types:
        return {}
    return {"output_type": [*types, DeferredToolRequests]}


def _loaded(frame: dict[str, Any]) -> tuple[list[Any], DeferredToolRequests, RunUsage]:
    try:
        messages = ModelMessagesTypeAdapter.validate_python(frame["messages"])
        requests = _REQUESTS.validate_python(frame["requests"])
        usage = _USAGE.validate_python(frame.get("usage", {}))
    except ValidationError as e:
        raise SnapshotVersion(
            f"This run was kept by {frame.get('library')} and cannot be read by {LIBRARY}: "
            f"install that one to go on; the run is kept. ({e.error_count()} faults)"
        ) from e
    return list(messages), requests, usage
