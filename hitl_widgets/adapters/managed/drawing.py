"""Events in the panel's timeline: what stands around the cards, which the presenter opens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from .history import Event, History, part, permission_of
from .run import SessionRun


class Drawing:
    """Draws each event once.

    Parameters
    ----------
    call_id
        The desk's id of a call, if it was put to the desk.
    """

    def __init__(
        self, run: SessionRun, history: History, call_id: Callable[[str], str | None]
    ) -> None:
        self._run = run
        self._history = history
        self._call_id = call_id
        self._drawn: set[str] = set()

    def show(self, event: Event) -> None:
        """Draw an event."""
        if event["id"] in self._drawn:
            return
        self._drawn.add(event["id"])
        path = self._history.agent_path(event, self._run.title)
        match event["type"]:
            case "agent.message":
                self._run.say("text-delta", path, text=_text(event.get("content")))
            case "agent.tool_use" | "agent.mcp_tool_use":
                self._call(event, path)
            case "agent.tool_result" | "agent.mcp_tool_result":
                self._result(event, path)
            case "session.error":
                words = part(event, "error").get("message", "error")
                self._run.say("error", path, error=f"\n{words}\n")
            case _:
                pass

    def _call(self, event: Event, path: tuple[str, ...]) -> None:
        permission = permission_of(event)
        if permission not in ("allow", "deny"):
            return
        call = self._history.calls[event["id"]]
        self._run.say(
            "tool-call",
            path,
            tool_call_id=call.id,
            tool_name=call.name,
            args=call.args,
            evaluated_permission=permission,
            evaluation=event.get("evaluation"),
        )
        if permission == "deny":
            self._run.say("tool-output-denied", path, tool_call_id=call.id, reason=None)

    def _result(self, event: Event, path: tuple[str, ...]) -> None:
        target = str(event.get("tool_use_id") or event.get("mcp_tool_use_id"))
        call, told = self._history.calls.get(target), event.get("content")
        about: dict[str, Any] = {"tool_call_id": self._call_id(target) or target}
        if not event.get("is_error"):
            self._run.say("tool-result", path, **about, result=told)
        elif call is not None and call.denied:
            self._run.say("tool-output-denied", path, **about, reason=_text(told))
        else:
            self._run.say("tool-error", path, **about, error=_text(told))


def _text(content: Any) -> str:
    """The text of a message's blocks; of anything else, nothing."""
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    return "".join(str(part({"block": b}, "block").get("text") or "") for b in blocks)
