"""Decisions in LangGraph's words: what an interrupt is resumed with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import Declined, NotPermitted, StaleFingerprint
from ...external import BLOCKED, NO_RETRY, Ask, External, receipt_of
from ...request import Request
from ..results import kept_result, was_edited
from .guard import Guard, Held
from .words import Kind, as_text, kind_of

_POSITIVE = ("approved", "answered", "responded", "done", "failed")


@dataclass
class Waiting:
    """One interrupt with our calls about it: one, or several for a batch."""

    interrupt: Any
    asks: list[Ask]
    call_ids: list[str]

    @property
    def kind(self) -> Kind:
        """What it is."""
        return kind_of(self.interrupt)


async def answer(
    external: External, guard: Guard, ready: Sequence[Waiting], decided: Mapping[str, Request]
) -> dict[str, Any]:
    """What each interrupt is resumed with. What is declined comes first: it may stop the run.

    Raises
    ------
    Declined
        The run was to stop, or a plain interrupt was declined, which has no word for it.
    """
    no = {
        call_id: await _refusal(external, decided[call_id])
        for one in ready
        for call_id in one.call_ids
        if decided[call_id].state not in _POSITIVE
    }
    return {one.interrupt.id: await _answer(external, guard, one, decided, no) for one in ready}


async def _answer(
    external: External,
    guard: Guard,
    one: Waiting,
    decided: Mapping[str, Request],
    no: Mapping[str, dict[str, Any]],
) -> Any:
    if one.kind == "raw":
        return await _raw(external, guard, one.asks[0], decided[one.call_ids[0]])
    decisions = [
        no[call_id] if call_id in no else await _decision(external, guard, ask, decided[call_id])
        for ask, call_id in zip(one.asks, one.call_ids, strict=True)
    ]
    return decisions[0] if one.kind == "tool" else {"decisions": decisions}


async def _refusal(external: External, request: Request) -> dict[str, Any]:
    text = await external.no(request)
    reason = (request.decision or {}).get("reason")
    if request.kind == "input":
        raise Declined(reason, receipt_of(request))
    if request.state != "declined":
        return {"type": "reject", "message": text}
    return {"type": "reject", **({"message": f"{reason} ({NO_RETRY})"} if reason else {})}


async def _decision(external: External, guard: Guard, ask: Ask, request: Request) -> dict[str, Any]:
    kept = await kept_result(external, request)
    if kept is not None:
        text = as_text(kept[0])
        if "respond" in ask.allowed:
            return {"type": "respond", "message": text}
        return {"type": "reject", "message": f"none: it did run. Its result: {text}"}
    edited = was_edited(request)
    args = (await external.row(request.tool_call_id)).args if edited else ask.args
    token = await external.claim(request, args, ask.input_schema)
    if token is None:
        return {"type": "reject", "message": BLOCKED.format(request.tool_name)}
    guard.hold(Held(request.tool_call_id, request.tool_name, args, ask.provider_id, token))
    if not edited:
        return {"type": "approve"}
    return {"type": "edit", "edited_action": {"name": request.tool_name, "args": args}}


async def _raw(external: External, guard: Guard, ask: Ask, request: Request) -> Any:
    if request.state != "answered":
        raise NotPermitted(
            f"{request.tool_name} ({request.id}) was answered before a restart, and a plain "
            "interrupt cannot be told how it ended. Give the graph the node's result with "
            "graph.update_state(config, values, as_node=…), then run it with the prompt None."
        )
    value = await external.given(request.tool_call_id)
    token = await external.claim(request, ask.args, ask.input_schema)
    if token is None:
        raise StaleFingerprint(
            f"{request.tool_name} ({request.id}): the graph's question changed since it was "
            "answered. The graph was not resumed; run it again to be asked."
        )
    guard.hold(Held(request.tool_call_id, request.tool_name, ask.args, None, token, kind="raw"))
    return value
