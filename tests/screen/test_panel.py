"""One output per run: live, redrawn after a reload, frozen at its end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hitl_widgets.events import chunk
from hitl_widgets.screen import hub
from hitl_widgets.screen.panel import RunPanel
from hitl_widgets.screen.surface import WidgetSurface
from hitl_widgets.screen.timeline import LONGEST_CAUSE, Timeline
from scripts.message_examples import ASK, DELETE, decided

from .fakes import FakeDesk, say, sent, updates


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool, dict[str, Any]]]:
    """What was displayed: display id, whether as an update, the data."""
    out: list[tuple[str, bool, dict[str, Any]]] = []

    def publish(data: Any, _metadata: Any, display_id: str, *, update: bool) -> None:
        out.append((display_id, update, data))

    monkeypatch.setattr(hub, "_publish", publish)
    return out


def a_panel(desk: FakeDesk | None = None, title: str = "data-agent") -> RunPanel:
    return RunPanel(run_id=DELETE.run_id, title=title, desk=desk or FakeDesk())


def tell(panel: RunPanel, type_: Any, **payload: Any) -> None:
    panel.chunk(chunk(type_, DELETE.run_id, ("data-agent",), **payload))


def call(panel: RunPanel, id_: str, permission: str = "allow") -> None:
    tell(
        panel,
        "tool-call",
        tool_call_id=id_,
        tool_name="find_user",
        args={},
        evaluated_permission=permission,
        evaluation=None,
    )


def items(panel: RunPanel) -> list[tuple[str, str]]:
    return [(i.get("tool") or i["text"], i.get("status", "text")) for i in panel.view["items"]]


class TestTheTimeline:
    def test_joins_text_and_keeps_the_order_of_calls(self) -> None:
        panel = a_panel()
        for word in ("I look ", "first."):
            tell(panel, "text-delta", text=word)
        call(panel, "c1")
        tell(panel, "text-delta", text="Found.")
        assert items(panel) == [
            ("I look first.", "text"),
            ("find_user", "running"),
            ("Found.", "text"),
        ]

    @pytest.mark.parametrize(
        ("end", "status"),
        [("tool-result", "done"), ("tool-error", "failed"), ("tool-output-denied", "declined")],
    )
    def test_says_how_a_call_ended(self, end: str, status: str) -> None:
        panel = a_panel()
        call(panel, "c1")
        tell(panel, end, tool_call_id="c1", result=1, error="x", reason=None)
        assert items(panel) == [("find_user", status)]
        assert panel.view["items"][0]["seconds"] is not None

    def test_says_what_a_failed_call_raised_on_one_line_and_keeps_it(self) -> None:
        panel = a_panel()
        call(panel, "c1")
        tell(panel, "tool-progress", tool_call_id="c1", fraction=0.5, message="half")
        tell(panel, "tool-error", tool_call_id="c1", error="ValueError: no\n  such " + "x" * 900)
        note = panel.view["items"][0]["note"]
        assert note.startswith("ValueError: no such xxx")
        assert len(note) == LONGEST_CAUSE + 1
        assert f"find_user: failed · {note}" in panel.record()["text/plain"]

    def test_shows_progress(self) -> None:
        panel = a_panel()
        call(panel, "c1")
        tell(panel, "tool-progress", tool_call_id="c1", fraction=0.5, message="half")
        assert panel.view["items"][0]["progress"] == 0.5
        assert panel.view["items"][0]["note"] == "half"

    def test_follows_a_request_that_was_decided_elsewhere(self) -> None:
        desk = FakeDesk(DELETE)
        panel = a_panel(desk)
        panel.request(DELETE)
        assert (items(panel), panel.view["state"]) == ([("delete_record", "waiting")], "suspended")
        desk.change(decided(DELETE, "executing", "approve"))
        assert (items(panel), panel.view["state"]) == ([("delete_record", "running")], "running")
        assert panel.requests[0]["decided"]["reviewer"] == "user-17"

    def test_another_runs_request_is_not_its_business(self) -> None:
        desk = FakeDesk()
        panel = a_panel(desk)
        desk.change(replace(DELETE, run_id="run_other"))
        assert panel.requests == []

    async def test_streamed_text_does_not_send_arguments_again(self) -> None:
        panel = a_panel(FakeDesk(DELETE))
        panel.request(DELETE)
        for _ in range(50):
            tell(panel, "text-delta", text="word ")
            await asyncio.sleep(0)
        await sent(panel, lambda: "word" in str(panel.view["items"]))
        assert len(updates(panel, "requests")) == 1
        assert len(updates(panel, "view")) < 5

    def test_a_chunk_that_cannot_be_drawn_does_not_end_the_run(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        panel = a_panel()
        tell(panel, "tool-result")
        assert "could not be drawn" in caplog.text


class TestTheEnd:
    def test_the_output_is_swapped_once_for_the_record(
        self, published: list[tuple[str, bool, dict[str, Any]]]
    ) -> None:
        panel = a_panel(FakeDesk(DELETE))
        panel._ipython_display_()
        panel.request(decided(DELETE, "done", "approve"))
        panel.ended("completed", {"text": "All gone."})
        (first, was_update, live), (second, is_update, record) = published
        assert (first, was_update, is_update) == (second, False, True)
        assert "application/vnd.jupyter.widget-view+json" in live
        assert set(record) == {"text/plain", "text/html"}
        assert "All gone." in record["text/plain"]
        assert "Approved by user-17" in record["text/plain"]

    def test_then_nothing_of_it_is_left(
        self, published: list[tuple[str, bool, dict[str, Any]]]
    ) -> None:
        desk = FakeDesk()
        panel = a_panel(desk)
        panel._ipython_display_()
        panel.ended("completed", {"text": ""})
        assert panel.comm is None
        assert panel.layout.comm is None
        assert desk.listeners == []
        assert len(published) == 2

    def test_but_a_page_that_was_loaded_meanwhile_keeps_its_panel(
        self, published: list[tuple[str, bool, dict[str, Any]]]
    ) -> None:
        panel = a_panel()
        panel._ipython_display_()
        say(hub.hub(), {"type": "hello", "id": "h1", "page": "reloaded", "locale": "en"})
        assert not panel.late
        panel.ended("completed", {"text": ""})
        assert panel.comm is not None
        assert panel.late  # so it says that the saved notebook will not have the record
        assert len(published) == 2

    def test_not_while_somebody_is_at_work_in_it(
        self, published: list[tuple[str, bool, dict[str, Any]]]
    ) -> None:
        panel = a_panel()
        panel._ipython_display_()
        say(panel, {"type": "focus", "id": "f1", "inside": True})
        panel.ended("completed", {"text": ""})
        assert [update for _, update, _ in published] == [False]
        say(panel, {"type": "focus", "id": "f2", "inside": False})
        assert [update for _, update, _ in published] == [False, True]

    def test_while_pending_the_fallback_says_how_to_decide(
        self, published: list[tuple[str, bool, dict[str, Any]]]
    ) -> None:
        panel = a_panel(FakeDesk(DELETE))
        panel.request(DELETE)
        panel._ipython_display_()
        assert "hitl-widgets inbox" in published[0][2]["text/plain"]

    def test_an_interrupt_leaves_it_live(
        self, published: list[tuple[str, bool, dict[str, Any]]]
    ) -> None:
        """R16."""
        desk = FakeDesk(DELETE)
        panel = a_panel(desk)
        panel._ipython_display_()
        panel.request(DELETE)
        panel.paused()
        assert panel.view["paused"]
        assert len(published) == 1
        assert desk.listeners != []

    def test_a_verbs_cards_are_recorded_without_a_run(self) -> None:
        panel = a_panel(title="")
        panel.request(decided(ASK, "done", "answer", data={"city": "Oslo"}))
        assert panel.record()["text/plain"].startswith("Input: Which city")


class TestTheSurface:
    def surface(self) -> WidgetSurface:
        return WidgetSurface(can_ask=lambda _background: True, origin=dict)

    def test_opens_one_output_per_run(
        self,
        published: list[tuple[str, bool, dict[str, Any]]],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        desk = FakeDesk()
        monkeypatch.setattr("hitl_widgets.screen.deskport.desk_of", lambda _store: desk)
        surface = self.surface()
        one = surface.run_started(run_id="r1", title="a", store=None, cancel=None)
        again = surface.run_started(run_id="r1", title="a", store=None, cancel=None)
        other = surface.run_started(run_id="r2", title="a", store=None, cancel=None)
        assert one is again
        assert one is not other
        assert len(published) == 2


class TestWhereTheTimeGoes:
    def test_each_second_is_counted_once_and_a_sub_agent_is_what_it_does(self) -> None:
        now = [0.0]
        timeline = Timeline(lambda: now[0])

        def happens(after: float, kind: Any, **payload: Any) -> None:
            now[0] += after
            timeline.add(chunk(kind, "run_1", ("boss",), **payload))

        delegated = {"tool_call_id": "c1", "tool_name": "agent-clerk", "args": {}}
        asked = {"tool_call_id": "c2", "tool_name": "drop", "args": {}}
        happens(2, "tool-call", evaluated_permission="allow", **delegated)  # model 2
        happens(1, "tool-call", evaluated_permission="ask", **asked)  # model 1
        happens(5, "tool-progress", tool_call_id="c2", fraction=0.1, message=None)  # human 5
        happens(3, "tool-result", tool_call_id="c2", result=None)  # tools 3
        happens(1, "tool-result", tool_call_id="c1", result=None)  # model 1
        spent = timeline.times()
        assert (spent.model, spent.tools, spent.human) == (4.0, 3.0, 5.0)
