"""Servers that misbehave: the run is told, nothing hangs, and no card is left over (R12)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets
import hitl_widgets as hitl
from hitl_widgets import surface
from hitl_widgets.elicitation import host_of
from hitl_widgets.request import Request
from tests.managed.desk import LONG, Surface, seen

ROGUE = Path(__file__).parent / "rogue.py"
Rogue = Callable[[str], hitl.MCPToolset]


@pytest.fixture
def rogue(toolset: Any, ledger: Any) -> Rogue:
    """A toolset of the server that misbehaves in the way it is told."""

    def make(how: str) -> hitl.MCPToolset:
        command = [sys.executable, str(ROGUE), str(ledger.log), how]
        return toolset(command, "always_allow", mode="legacy")

    return make


def agent_of(store: Any, tools: hitl.MCPToolset) -> hitl.Agent:
    model = hitl.ScriptedModel([hitl.call("plain"), lambda messages: str(messages[-1])])
    return hitl.Agent("clerk", model=model, tools=[tools], store=store)


class TestLists:
    @pytest.mark.parametrize(
        ("how", "words"),
        [
            ("pages-without-end", "without end"),
            ("same-page-again", "without end"),
            ("one-bad-schema", "does not list its tools"),
            ("a-name-twice", "two tools called 'plain'"),
            ("refuses-to-list", "no list today"),
        ],
    )
    async def test_a_list_that_cannot_be_used_is_said(
        self, store: Any, rogue: Rogue, how: str, words: str
    ) -> None:
        with pytest.raises(hitl.AgentDefinitionError, match=words):
            await asyncio.wait_for(agent_of(store, rogue(how)).generate("Go."), 20)


class TestAnswers:
    async def test_what_is_no_result_is_an_error_for_the_model(
        self, store: Any, rogue: Rogue
    ) -> None:
        out = await agent_of(store, rogue("no-result")).generate("Go.")
        assert out.finish_reason == "stop"
        assert "ToolFailed" in (out.text or "")

    async def test_lines_that_are_no_messages_are_passed_over(
        self, store: Any, rogue: Rogue
    ) -> None:
        out = await agent_of(store, rogue("garbage")).generate("Go.")
        assert "ran" in (out.text or "")


class TestWhatItAsks:
    @pytest.mark.parametrize("how", ["dies-while-it-asks", "answers-while-it-asks"])
    async def test_a_question_ends_with_the_call_that_asked_it(
        self, store: Any, rogue: Rogue, how: str
    ) -> None:
        """R12."""
        asked: list[Request] = []

        async def slow(request: Request) -> Any:
            asked.append(request)
            await asyncio.Event().wait()

        with hitl.reviewer(slow):
            out = await asyncio.wait_for(agent_of(store, rogue(how)).run("Go."), 20)
        assert out.finish_reason == "stop"
        assert [r.message for r in asked] == ["Which city?"]
        assert [r.state for r in store.requests()] == ["withdrawn"]

    @pytest.mark.parametrize(
        "how",
        ["no-form", "address javascript:alert(1)", "address https://evil.example\\@good.example/"],
    )
    async def test_what_cannot_be_shown_truly_is_refused_and_nobody_is_asked(
        self, store: Any, rogue: Rogue, ledger: Any, how: str
    ) -> None:
        with hitl.reviewer(lambda _r: pytest.fail("nobody is to be asked")):
            out = await agent_of(store, rogue(how)).run("Go.")
        assert out.finish_reason == "stop"
        assert "-32602" in ledger.ran[-1]
        assert store.requests() == []

    @pytest.mark.parametrize(
        "url",
        [
            "https://evil.example\\@good.example/",
            "https://good.example\t.evil.example/",
            "https://good.example\u200b.evil.example/",
            "http://[::1",
            "file:///etc/passwd",
            "https:///path",
            "good.example",
            "",
        ],
    )
    def test_only_an_address_that_everybody_reads_alike(self, url: str) -> None:
        with pytest.raises(hitl.ToolDefinitionError):
            host_of(url)

    def test_the_host_is_where_the_browser_goes(self) -> None:
        assert host_of("https://good.example@evil.example:8443/good.example") == "evil.example"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
class TestInTheRunsPanel:
    @pytest.fixture
    def shown(self) -> Any:
        shown = Surface()
        surface.provide(lambda: shown)
        yield shown
        surface.provide(hitl_widgets._make_surface)

    async def test_it_is_shown_with_the_run_whose_call_asks(
        self, store: Any, toolset: Any, ledger: Any, shown: Surface, mode: str
    ) -> None:
        agent = hitl.Agent(
            "clerk",
            model=hitl.ScriptedModel([hitl.call("book"), "Done."]),
            tools=[toolset(policy="always_allow", mode=mode)],
            store=store,
        )
        going = asyncio.ensure_future(agent.run("Book."))
        [request] = await seen(store, lambda rs: any(r.state == "pending" for r in rs))
        [panel] = shown.screens
        run_id = next(r.id for r in store.runs() if r.agent_id == "clerk")
        assert (panel.run_id, panel.title) == (run_id, "clerk")
        await asyncio.wait_for(panel.drew.wait(), LONG)
        assert request.agent_path == ("clerk",)
        assert request.scope["under"] == run_id
        await hitl.decide(request, hitl.Answer({"city": "Kyoto", "nights": 2}))
        out = await going
        assert (out.finish_reason, ledger.ran) == ("stop", ["book Kyoto 2"])
        assert shown.screens == [panel]
        assert panel.drawn[request.id].state == "done"
        assert panel.end is not None
        assert panel.end[0] == "completed"

    async def test_a_run_that_is_cancelled_takes_it_back(
        self, store: Any, toolset: Any, ledger: Any, shown: Surface, mode: str
    ) -> None:
        """R12."""
        agent = hitl.Agent(
            "clerk",
            model=hitl.ScriptedModel([hitl.call("book"), "Done."]),
            tools=[toolset(policy="always_allow", mode=mode)],
            store=store,
        )
        handle = agent.start("Book.")
        [request] = await seen(store, lambda rs: any(r.state == "pending" for r in rs))
        handle.cancel()
        await seen(store, lambda _rs: store.request(request.id).state == "withdrawn")
        assert "book Kyoto" not in str(ledger.ran)
        assert shown.screens
