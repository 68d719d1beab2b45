"""Functions of a user's around tool calls and decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Block:
    """A `before_tool_call` hook's refusal: text for the model."""

    text: str


@dataclass(slots=True)
class HookCall:
    """A call as hooks see it; `prepare_tool_call` may change `args`."""

    tool_name: str
    args: dict[str, Any]
    run_id: str
    tool_call_id: str
    agent_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hooks:
    """Functions (sync or async) around tool calls and decisions.

    Parameters
    ----------
    prepare_tool_call
        Before the gate; may change ``call.args``, which are validated again.
    before_tool_call
        After the claim, just before the body: None, or `Block` with text for the model. If it
        changed arguments the call is refused (F20).
    after_tool_call
        ``(call, result)`` after the body.
    on_request, on_decision
        Told the `Request` when it opens, and when it is decided.
    """

    prepare_tool_call: Callable[[HookCall], Any] | None = None
    before_tool_call: Callable[[HookCall], Any] | None = None
    after_tool_call: Callable[[HookCall, Any], Any] | None = None
    on_request: Callable[[Any], Any] | None = None
    on_decision: Callable[[Any], Any] | None = None
