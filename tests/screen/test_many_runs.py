"""What many runs at once cost each other: a panel hears of its own run, and of each change once."""

from __future__ import annotations

from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.desk import desk_of
from hitl_widgets.request import Request
from hitl_widgets.screen import panel as panel_module
from hitl_widgets.screen.panel import RunPanel
from hitl_widgets.screen.views import request_view
from hitl_widgets.store.sqlite import SqliteStore

from .fakes import sent


async def asked(store: SqliteStore, name: str) -> Request:
    @hitl.tool(require_approval=True)
    async def act(name: str) -> str:
        """Act."""
        return name

    turns: list[Any] = [[hitl.call("act", name=name)], "Done."]
    agent = hitl.Agent(name, model=hitl.ScriptedModel(turns), tools=[act], store=store)
    return (await agent.generate("Go")).requests[0]


async def test_a_listener_of_one_run_is_not_told_of_others(store: SqliteStore) -> None:
    desk = desk_of(store)
    mine, other = await asked(store, "a"), await asked(store, "b")
    heard: list[str] = []
    everything: list[str] = []
    stops = [
        desk.subscribe(lambda r: heard.append(r.run_id), mine.run_id),
        desk.subscribe(lambda r: everything.append(r.run_id)),
    ]
    for request in (other, mine):
        await desk.decide(request, hitl.Decline(), drive=False)
    for stop in stops:
        stop()
    assert heard == [mine.run_id]
    assert everything == [other.run_id, mine.run_id]


async def test_a_panel_draws_once_what_it_is_told_twice(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whoever asked, and by the desk: each drawing looks for what can be compared."""
    drawn: list[str] = []

    def counted(request: Request, **more: Any) -> dict[str, Any]:
        drawn.append(request.state)
        return request_view(request, **more)

    monkeypatch.setattr(panel_module, "request_view", counted)
    request = await asked(store, "a")
    panel = RunPanel(run_id=request.run_id, title="a", desk=desk_of(store))
    panel.request(request)
    panel.request(store.request(request.id))
    assert drawn == ["pending"]
    await desk_of(store).decide(request, hitl.Decline(), drive=False)
    await sent(panel, lambda: drawn == ["pending", "declined"])
