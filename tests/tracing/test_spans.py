"""OpenTelemetry: the GenAI shape, pauses and links, contents only when asked for."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import hitl_widgets as hitl
from hitl_widgets.agent import tracing

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

ROOT = Path(__file__).resolve().parents[2]


class Spans:
    """What was exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = provider.get_tracer("test")

    def named(self, prefix: str) -> list[ReadableSpan]:
        """In the order of their starts."""
        found = [s for s in self.exporter.get_finished_spans() if s.name.startswith(prefix)]
        return sorted(found, key=lambda s: s.start_time or 0)

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.named(name)
        return span


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    made = Spans()
    monkeypatch.setattr(tracing, "_tracer", made.tracer)
    monkeypatch.delenv(tracing.CONTENT, raising=False)
    return made


@hitl.tool(require_approval=True, secret=("/token",))
async def delete_record(id: str, token: str = "") -> dict[str, str]:  # noqa: A002
    """Delete a record by ID."""
    return {"deleted": id}


@hitl.tool
def count() -> int:
    """Count the records."""
    return 3


@hitl.tool
async def explode() -> None:
    """Fail."""
    raise ZeroDivisionError("secret words")


def agent(*turns: Any, **options: Any) -> hitl.Agent:
    tools = options.pop("tools", [delete_record, count, explode])
    return hitl.Agent("traced", model=hitl.ScriptedModel(list(turns)), tools=tools, **options)


DELETE = [hitl.call("delete_record", id="zebra-7")]


class TestShape:
    async def test_a_run_is_an_agent_with_its_model_turns_and_tools(self, spans: Spans) -> None:
        await agent([hitl.call("count")], "There are 3.").run("How many?", thread_id="t1")
        root = spans.one("invoke_agent traced")
        assert root.kind is SpanKind.INTERNAL
        assert root.attributes is not None
        told = dict(root.attributes)
        assert told["gen_ai.operation.name"] == "invoke_agent"
        assert told["gen_ai.provider.name"] == "function"
        assert told["gen_ai.agent.id"] == "traced"
        assert told["gen_ai.conversation.id"] == "t1"
        assert told["hitl.finish_reason"] == "stop"
        assert told["hitl.run_id"].startswith("run_")
        chats = spans.named("chat scripted")
        assert [s.kind for s in chats] == [SpanKind.CLIENT] * 2
        tool = spans.one("execute_tool count")
        assert tool.attributes is not None
        assert tool.attributes["gen_ai.tool.name"] == "count"
        assert tool.attributes["hitl.permission"] == "allow"
        assert root.context is not None
        for child in (*chats, tool):
            assert child.parent is not None
            assert child.parent.span_id == root.context.span_id

    async def test_a_nested_agent_is_inside_its_supervisor(self, spans: Spans) -> None:
        child = hitl.Agent(
            "child", model=hitl.ScriptedModel([[hitl.call("count")], "3"]), tools=[count]
        )
        boss = agent([hitl.call("agent-child", prompt="count")], "done", tools=[], agents=[child])
        await boss.run("go")
        root, nested = spans.one("invoke_agent traced"), spans.one("invoke_agent child")
        assert root.context is not None
        assert nested.context is not None
        assert nested.context.trace_id == root.context.trace_id
        inner = spans.one("execute_tool count")
        assert inner.parent is not None
        assert inner.parent.span_id == nested.context.span_id
        assert nested.attributes is not None
        assert nested.attributes["hitl.agent_path"] == "traced/child"

    async def test_an_error_is_named_and_its_words_stay_out(self, spans: Spans) -> None:
        await agent([hitl.call("explode")], "Sorry.").run("go")
        tool = spans.one("execute_tool explode")
        assert tool.status.status_code is StatusCode.ERROR
        assert tool.attributes is not None
        assert tool.attributes["error.type"] == "ZeroDivisionError"
        assert "secret words" not in tool.to_json()

    async def test_the_callers_own_span_is_the_parent(self, spans: Spans) -> None:
        with spans.tracer.start_as_current_span("a cell") as cell:
            await agent("Hello.").run("Hi")
        parent = spans.one("invoke_agent traced").parent
        assert parent is not None
        assert parent.span_id == cell.get_span_context().span_id


class TestPauses:
    async def test_a_pause_ends_the_span_and_the_resumption_links_to_it(self, spans: Spans) -> None:
        mine = agent(DELETE, "Gone.")
        out = await mine.generate("Delete zebra-7")
        (first,) = spans.named("invoke_agent")
        assert first.attributes is not None
        assert first.attributes["hitl.finish_reason"] == "suspended"
        (event,) = first.events
        assert event.name == "gen_ai.agent.paused"
        assert event.attributes is not None
        assert event.attributes["gen_ai.agent.pause.reason"] == "human_input"
        await mine.approve_tool_call_generate(run_id=out.run_id)
        first, second = spans.named("invoke_agent")
        (link,) = second.links
        assert first.context is not None
        assert link.context.span_id == first.context.span_id
        tool = spans.one("execute_tool delete_record")
        assert tool.attributes is not None
        assert tool.attributes["hitl.approval.outcome"] == "approved"
        assert tool.attributes["hitl.approval.via"] == "api"
        assert isinstance(tool.attributes["hitl.approval.wait_s"], float)
        assert second.context is not None
        assert tool.parent is not None
        assert tool.parent.span_id == second.context.span_id

    async def test_the_link_holds_over_a_restart(self, spans: Spans) -> None:
        """The earlier span ended in another process: its id is in the snapshot."""
        code = """
import asyncio, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
import hitl_widgets as hitl

@hitl.tool(require_approval=True, secret=("/token",))
async def delete_record(id: str, token: str = "") -> dict[str, str]:
    "Delete a record by ID."
    return {"deleted": id}

async def main():
    model = hitl.ScriptedModel([[hitl.call("delete_record", id="zebra-7")], "Gone."])
    agent = hitl.Agent("traced", model=model, tools=[delete_record])
    out = await agent.generate("Delete zebra-7")
    span = next(s for s in exporter.get_finished_spans() if s.name.startswith("invoke_agent"))
    print(out.run_id, format(span.context.span_id, "016x"))

asyncio.run(main())
"""
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", code],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ,
        )
        run_id, span_id = done.stdout.split()
        await agent(DELETE, "Gone.").approve_tool_call_generate(run_id=run_id)
        (link,) = spans.one("invoke_agent").links
        assert format(link.context.span_id, "016x") == span_id

    async def test_an_edit_and_a_refusal_are_told(self, spans: Spans) -> None:
        decisions = iter([hitl.Approve(args={"id": "b"}), hitl.Decline("no")])
        with hitl.reviewer(lambda _: next(decisions)):
            await agent(DELETE, DELETE, "Well.").run("go")
        tool = spans.one("execute_tool delete_record")
        assert tool.attributes is not None
        assert tool.attributes["hitl.approval.outcome"] == "edited"
        events = [e for s in spans.named("invoke_agent") for e in s.events]
        (refused,) = [e for e in events if e.name == "hitl.approval"]
        assert refused.attributes is not None
        assert refused.attributes["hitl.approval.outcome"] == "refused"

    async def test_a_nested_agent_has_a_span_for_each_time_it_moved(self, spans: Spans) -> None:
        child = hitl.Agent(
            "child", model=hitl.ScriptedModel([DELETE, "gone"]), tools=[delete_record]
        )
        asks = [hitl.call("agent-child", prompt=p) for p in ("one", "two")]
        boss = agent(asks, "done", tools=[], agents=[child])
        out = await boss.generate("go")
        assert len(spans.named("invoke_agent child")) == 2
        for request in await hitl.pending():
            out = await boss.approve_tool_call_generate(
                run_id=out.run_id, tool_call_id=request.tool_call_id
            )
        assert out.text == "done"
        assert len(spans.named("invoke_agent traced")) == 3
        inside = {s.context.span_id for s in spans.named("invoke_agent child") if s.context}
        for tool in spans.named("execute_tool"):
            assert tool.parent is not None
            assert tool.parent.span_id in inside

    async def test_an_interrupt_is_no_error(self, spans: Spans) -> None:
        started = asyncio.Event()

        @hitl.tool
        async def sleep() -> None:
            """Wait for ever."""
            started.set()
            await asyncio.Event().wait()

        running = asyncio.ensure_future(agent([hitl.call("sleep")], tools=[sleep]).run("go"))
        await started.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        root = spans.one("invoke_agent")
        assert root.attributes is not None
        assert root.attributes["hitl.interrupted"] is True
        assert root.status.status_code is StatusCode.UNSET


class TestContents:
    async def test_by_default_no_span_holds_what_was_said(self, spans: Spans) -> None:
        with hitl.reviewer(lambda _: hitl.Approve()):
            await agent(DELETE, "Gone for good.").run("Please delete zebra-7")
        everything = "".join(s.to_json() for s in spans.exporter.get_finished_spans())
        for words in ("zebra-7", "Gone for good", "Please delete", "deleted"):
            assert words not in everything, words

    async def test_when_asked_for_they_do_and_secrets_stay_masked(
        self, spans: Spans, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """R17."""
        monkeypatch.setenv(tracing.CONTENT, "true")
        delete = [hitl.call("delete_record", id="zebra-7", token="hunter2")]
        with hitl.reviewer(lambda _: hitl.Approve()):
            await agent(delete, "Gone for good.").run("Please delete zebra-7")
        everything = "".join(s.to_json() for s in spans.exporter.get_finished_spans())
        for words in ("zebra-7", "Gone for good", "Please delete", "deleted"):
            assert words in everything, words
        assert "hunter2" not in everything


class TestWithoutAnSdk:
    async def test_nothing_is_recorded_and_nothing_kept(self) -> None:
        assert not trace.get_current_span().is_recording()
        mine = agent(DELETE, "Gone.")
        out = await mine.generate("Delete zebra-7")
        frame = mine.store.frame(out.run_id)
        assert tracing.TRACEPARENT not in frame["options"]
        assert (await mine.approve_tool_call_generate(run_id=out.run_id)).text == "Gone."
