"""LangGraph: threads, keys and options; what is wrong is named."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import hitl_widgets as hitl

from .desk import ROOT, calls, nobody_decides, runs, states, store
from .graphs import THREAD, delete_graph


class TestOptions:
    def graph(self, ran: list[str]) -> Any:
        def delete(path: str) -> str:
            ran.append(path)
            return "deleted"

        return delete_graph(InMemorySaver(), "a", delete=delete)

    async def test_a_thread_bound_to_the_graph_is_its_thread(self) -> None:
        ran: list[str] = []
        graph = self.graph(ran).with_config({"configurable": {"thread_id": "bound"}})
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(graph, "go")
        assert ran == ["a"]
        assert [r.key for r in store().runs()] == ["thread bound"]

    async def test_a_thread_beside_configurable_is_the_thread(self) -> None:
        """As LangGraph takes it."""
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(self.graph(ran), "go", config={"thread_id": "t"})
        assert [r.key for r in store().runs()] == ["thread t"]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"config": "t"}, "config"),
            ({"thread_id": "t"}, "thread_id"),
            (
                {"config": {"configurable": {"thread_id": "t", "checkpoint_id": "1"}}},
                "checkpoint_id",
            ),
        ],
        ids=["config", "thread", "checkpoint"],
    )
    async def test_a_wrong_option_is_named(self, options: dict[str, Any], said: str) -> None:
        ran: list[str] = []
        with (
            hitl.reviewer(lambda _: hitl.Approve()),
            pytest.raises((TypeError, hitl.AgentDefinitionError), match=said),
        ):
            await hitl.run(self.graph(ran), "go", **options)
        assert ran == []

    async def test_a_bound_listener_goes_on_hearing(self) -> None:
        heard: list[str] = []

        class Listener(BaseCallbackHandler):
            def on_tool_end(self, output: Any, **_: Any) -> None:
                heard.append(output.content)

        ran: list[str] = []
        graph = self.graph(ran).with_config({"callbacks": [Listener()]})
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(graph, "go", config=THREAD)
        assert sorted(heard) == ["contents of r.csv", "deleted"]

    async def test_a_key_without_a_thread_goes_on_in_the_runs_own_thread(self) -> None:
        """R22."""
        ran: list[str] = []
        graph = self.graph(ran)
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(graph, "go", key="k"))
            request = await seen.get()
            running.cancel()
            await asyncio.wait([running])
            await hitl.decide(request, hitl.Approve())
            await hitl.run(graph, "go", key="k")
        assert ran == ["a"]
        assert states() == [("delete_file", "done")]

    async def test_two_keys_in_one_thread_would_be_two_runs_of_it(self) -> None:
        """R1: the thread alone names the run."""
        ran: list[str] = []
        with pytest.raises(hitl.AgentDefinitionError, match="both name the run"):
            await hitl.run(self.graph(ran), "go", config=THREAD, key="k")

    async def test_an_older_langgraph_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from hitl_widgets.adapters.langchain import checkpoints

        monkeypatch.setattr(checkpoints, "version", lambda _: "1.2.9")
        with pytest.raises(hitl.AgentDefinitionError, match=r"too old: hitl\.run needs 1\.2\.20"):
            await hitl.run(self.graph([]), "go", config=THREAD)

    async def test_the_extra_asks_for_what_the_adapter_needs(self) -> None:
        from hitl_widgets.adapters.langchain.checkpoints import LEAST

        declared = (ROOT / "pyproject.toml").read_text("utf-8")
        assert declared.count(f'"langgraph>={LEAST},<2"') == 2

    async def test_a_command_as_the_prompt_does_not_pass_by_the_desk(self) -> None:
        ran: list[str] = []
        graph = self.graph(ran)
        graph.invoke({"messages": [("user", "go")]}, THREAD)
        command = Command(resume={"type": "approve"})
        with pytest.raises(hitl.RunSuspended):
            await hitl.run(graph, command, config=THREAD)
        assert ran == []

    async def test_a_breakpoint_is_no_end(self) -> None:
        """`interrupt_before` stops a graph without asking: what was approved did not run."""
        ran: list[str] = []

        def delete(path: str) -> str:
            ran.append(path)
            return "deleted"

        graph = delete_graph(InMemorySaver(), "a", delete=delete, mode="batched")
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(graph, "go", config=THREAD, interrupt_before=["tools"])
        assert calls() == [
            ("delete_file", "failed", "The graph went on without it: it was not seen to run.")
        ]
        with pytest.raises(hitl.NotPermitted, match="update_state"):
            await hitl.run(graph, None, config=THREAD)
        assert ran == []

    @pytest.mark.parametrize("mode", ["values", "updates", ["values", "messages"]])
    async def test_a_stream_mode_is_the_frameworks_own(self, mode: Any) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(self.graph(ran), "go", config=THREAD, stream_mode=mode)
        assert ran == ["a"]
        assert runs() == ["completed"]
