"""What the desk asks of whoever knows an agent: its types, its policy, and to drive a run on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import surface
from ..errors import HitlError, LeaseLost, NotPermitted, SnapshotNotFound
from ..request import Request
from . import models
from .asking import in_place
from .mcp import with_later
from .proposals import Circumstances
from .snapshot import Frame
from .toolsets import Entry

if TYPE_CHECKING:
    from .agent import Agent

_log = logging.getLogger("hitl_widgets")


class Expert:
    """An agent, as the desk knows it. See `desk.Expert`."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def check_args(self, request: Request, args: dict[str, Any]) -> dict[str, Any] | None:
        """Validate edited arguments with the tool's own model."""
        entry = self._entry(request)
        return None if entry is None else entry.tool.check(args)

    def _entry(self, request: Request) -> Entry | None:
        asker = at(self.agent, request.agent_path)
        return asker.entries.get(request.tool_name) if asker else None

    def check_answer(self, request: Request, data: Any) -> tuple[Any] | None:
        """Validate an answer with its own model."""
        shape = in_place.get((id(self.agent.store), request.id))
        if shape is None and request.scope.get("how") == "suspend":
            entry = self._entry(request)
            shape = entry.tool.resume_shape if entry else None
        return None if shape is None else (shape.dump(shape.validate(data)),)

    async def permit_edit(self, request: Request, args: dict[str, Any]) -> None:
        """Evaluate the whole policy on edited arguments (R10)."""
        asker = at(self.agent, request.agent_path)
        entry = asker.entries.get(request.tool_name) if asker else None
        if asker is None or entry is None:
            return
        judged = await (await self._circumstances(request, asker.entries)).judge(entry, args)
        if judged.permission == "deny":
            raise NotPermitted(
                f"{request.tool_name} may not be called with the edited arguments: the policy "
                "denies it. The request is still pending."
            )

    async def preview_edit(self, request: Request, args: dict[str, Any]) -> dict[str, Any] | None:
        """See `desk.Expert`."""
        entry = self._entry(request)
        return None if entry is None else (await entry.tool.look(args)).preview

    async def _circumstances(self, request: Request, entries: Mapping[str, Entry]) -> Circumstances:
        desk = self.agent.desk
        root = Frame.load(await desk.read(desk.store.frame, request.run_id))
        calls = await desk.read(desk.store.calls, request.run_id)
        key = next(c.frame for c in calls if c.id == request.tool_call_id)
        frame = root if key == root.key else Frame.load(await desk.read(desk.store.frame, key))
        local = self.agent.local_of(request.run_id, root)
        return Circumstances(
            policy=with_later(frame.policy, entries),
            agent_path=frame.agent_path,
            request_context=root.options.get("request_context"),
            workspace=local.workspace,
            user_messages=models.user_texts(root.messages),
            predicate=None,  # it can only ask, and this decision is the answer to that
        )

    @property
    def title(self) -> str | None:
        """The agent's name, where its loop runs."""
        loop = self.agent.loop
        return self.agent.name if loop is not None and loop.is_running() else None

    def cancel(self, run_id: str) -> None:
        """Cancel the run, whoever drives it by now."""
        loop = self.agent.loop
        if loop is not None and loop.is_running():
            loop.call_soon_threadsafe(self.agent.cancel, run_id)

    def resume(self, run_id: str) -> None:
        """Drive the run on in the background. Called on any thread."""
        loop = self.agent.loop
        if loop is not None and loop.is_running():
            asyncio.run_coroutine_threadsafe(self._drive_on(run_id), loop)

    async def _drive_on(self, run_id: str) -> None:
        """After a decision: into the panel that shows the run, if there is one."""
        from .following import take  # noqa: PLC0415  # it knows experts

        try:
            driver, mine = await take(self.agent, run_id, waits=False, screen=_screen_of)
        except (LeaseLost, SnapshotNotFound):  # somebody else does, or it has ended
            return
        except HitlError:
            _log.exception("run %s was decided but cannot go on here", run_id)
            return
        if mine and driver.task is not None:
            await asyncio.wait([driver.task])
            if driver.error is not None:
                _log.error("run %s stopped", run_id, exc_info=driver.error)


def _screen_of(run_id: str) -> Any:
    shown = surface.current()
    return None if shown is None else shown.screen_of(run_id)


def at(agent: Agent, path: Sequence[str]) -> Agent | None:
    """The agent at a path of agent ids, from this one down."""
    found: Agent | None = agent if path and path[0] == agent.id else None
    for step in path[1:]:
        found = next((a for a in found.agents if a.id == step), None) if found else None
    return found
