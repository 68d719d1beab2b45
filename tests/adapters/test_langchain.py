"""LangChain's agents and LangGraph's graphs: decisions, questions, siblings, nesting."""

from __future__ import annotations

import asyncio
import operator
import sqlite3
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

import hitl_widgets as hitl

from .desk import calls, nobody_decides, runs, states, store
from .graphs import MODES, THREAD, agent, delete_graph, returned, tool


class Disk:
    """A tool that remembers what it did."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def delete(self, path: str) -> str:
        self.ran.append(path)
        return f"deleted {path}"


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture(params=["awaited", "in a thread"])
def saver(request: pytest.FixtureRequest) -> Any:
    """One checkpointer that can be awaited, and one that cannot."""
    if request.param == "awaited":
        return InMemorySaver()
    return SqliteSaver(sqlite3.connect(":memory:", check_same_thread=False))


def delete(disk: Disk, saver: Any, *paths: str, **options: Any) -> Any:
    return delete_graph(saver, *paths, delete=disk.delete, **options)


class TestDecisions:
    @MODES
    async def test_an_approved_call_runs_once_and_its_true_result_is_kept(
        self, disk: Disk, saver: Any, mode: str
    ) -> None:
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(delete(disk, saver, "a.csv", mode=mode), "go", config=THREAD)
        assert result["messages"][-1].content == "finished"
        assert disk.ran == ["a.csv"]
        assert returned(result) == ["deleted a.csv", "contents of r.csv"]
        assert calls() == [("delete_file", "done", "deleted a.csv")]
        assert runs() == ["completed"]

    @MODES
    async def test_a_declined_call_does_not_run_and_the_model_is_told_why(
        self, disk: Disk, saver: Any, mode: str
    ) -> None:
        """R11."""
        with hitl.reviewer(lambda _: hitl.Decline("we still need it")):
            result = await hitl.run(delete(disk, saver, "a.csv", mode=mode), "go", config=THREAD)
        assert disk.ran == []
        assert "we still need it" in returned(result)[0]
        assert "Do not make the same call again" in returned(result)[0]
        assert states() == [("delete_file", "declined")]

    @MODES
    async def test_an_edit_runs_as_edited_and_everybody_is_told_the_truth(
        self, disk: Disk, saver: Any, mode: str
    ) -> None:
        """R10: LangChain's own notice tells the model; our audit has both."""
        with hitl.reviewer(lambda _: hitl.Approve(args={"path": "copy.csv"})):
            result = await hitl.run(delete(disk, saver, "a.csv", mode=mode), "go", config=THREAD)
        assert disk.ran == ["copy.csv"]
        assert "human reviewer replaced" in returned(result)[0]
        assert "copy.csv" in returned(result)[0]
        (request,) = store().requests()
        assert (request.args, request.decision["args"]) == ({"path": "a.csv"}, {"path": "copy.csv"})
        assert "deleted copy.csv" in calls()[0][2]

    async def test_an_edit_that_the_tool_does_not_take_decides_nothing(self, disk: Disk) -> None:
        """R4: judged by the schema that the interrupt brings along."""
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            graph = delete(disk, InMemorySaver(), "a.csv")
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            request = await seen.get()
            with pytest.raises(hitl.InvalidAnswer) as refused:
                await hitl.decide(request, hitl.Approve(args={"path": 7}))
            assert refused.value.errors[0]["path"] == ["path"]
            await hitl.decide(request, hitl.Approve())
            await running
        assert disk.ran == ["a.csv"]

    @MODES
    async def test_a_response_stands_in_for_the_tool(
        self, disk: Disk, saver: Any, mode: str
    ) -> None:
        with hitl.reviewer(lambda _: hitl.Respond({"already": "gone"})):
            result = await hitl.run(delete(disk, saver, "a.csv", mode=mode), "go", config=THREAD)
        assert disk.ran == []
        assert returned(result)[0] == '{"already": "gone"}'
        assert calls() == [("delete_file", "done", {"already": "gone"})]

    @MODES
    async def test_only_what_the_agent_allows_is_taken(self, disk: Disk, mode: str) -> None:
        """Allowed decisions come from the framework; a refused one leaves it pending."""
        gated = {"delete_file": {"allowed_decisions": ["approve", "reject"]}}
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            graph = delete(disk, InMemorySaver(), "a.csv", gated=gated, mode=mode)
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            request = await seen.get()
            assert request.allowed == ("approve", "decline")
            with pytest.raises(hitl.NotAsked):
                await hitl.decide(request, hitl.Respond("x"))
            with pytest.raises(hitl.NotPermitted, match="does not allow edits"):
                await hitl.decide(request, hitl.Approve(args={"path": "b"}))
            await hitl.decide(request, hitl.Approve())
            await running
        assert disk.ran == ["a.csv"]

    async def test_declining_to_stop_ends_the_run(self, disk: Disk, saver: Any) -> None:
        with hitl.reviewer(lambda _: hitl.Decline("stop", stop=True)), pytest.raises(hitl.Declined):
            await hitl.run(delete(disk, saver, "a.csv"), "go", config=THREAD)
        assert disk.ran == []
        assert runs() == ["declined"]

    async def test_a_rule_that_changes_its_mind_does_not_undo_a_decline(self, disk: Disk) -> None:
        """F5: LangChain judges `when` again on resume and would run the declined tool."""
        asked: list[bool] = []

        def once(_: Any) -> bool:
            asked.append(True)
            return len(asked) == 1

        gated = {"delete_file": {"allowed_decisions": ["approve", "reject"], "when": once}}
        graph = delete(disk, InMemorySaver(), "a.csv", gated=gated)
        with (
            hitl.reviewer(lambda _: hitl.Decline("no")),
            pytest.raises(hitl.NotPermitted, match="not what was approved"),
        ):
            await hitl.run(graph, "go", config=THREAD)
        assert len(asked) == 2
        assert disk.ran == []


class TestSeveral:
    @MODES
    async def test_siblings_wait_together_and_each_gets_its_own_decision(
        self, disk: Disk, saver: Any, mode: str
    ) -> None:
        """R9, F10."""
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            graph = delete(disk, saver, "a.csv", "b.csv", "c.csv", mode=mode)
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            asked = [await seen.get() for _ in range(3)]
            assert len({r.turn for r in asked}) == len({r.run_id for r in asked}) == 1
            by_path = {r.args["path"]: r for r in asked}
            await hitl.decide(by_path["c.csv"], hitl.Approve())
            await hitl.decide(by_path["a.csv"], hitl.Decline("a stays"))
            await hitl.decide(by_path["b.csv"], hitl.Approve(args={"path": "b2.csv"}))
            result = await running
        assert sorted(disk.ran) == ["b2.csv", "c.csv"]
        told = returned(result)
        assert "a stays" in told[0]
        assert "deleted b2.csv" in told[1]
        assert told[2:] == ["deleted c.csv", "contents of r.csv"]

    async def test_per_call_an_approved_one_runs_while_its_sibling_waits(
        self, disk: Disk, saver: Any
    ) -> None:
        """R9: not so in batched mode, where LangChain takes all decisions at once."""
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            graph = delete(disk, saver, "a.csv", "b.csv")
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            first, second = await seen.get(), await seen.get()
            done = asyncio.Event()
            loop = asyncio.get_running_loop()
            stop = hitl_desk().subscribe(
                lambda r: r.state == "done" and loop.call_soon_threadsafe(done.set)
            )
            await hitl.decide(first, hitl.Approve())
            await done.wait()
            stop()
            assert disk.ran == ["a.csv"]
            assert states() == [("delete_file", "done"), ("delete_file", "pending")]
            await hitl.decide(second, hitl.Approve())
            await running
        assert disk.ran == ["a.csv", "b.csv"]
        assert len(store().requests()) == 2


def hitl_desk() -> Any:
    from hitl_widgets.desk import desk_of

    return desk_of(store())


class TestNested:
    def family(self, disk: Disk, saver: Any) -> Any:
        child = agent(
            None,
            [tool(disk.delete, "delete_file")],
            [("delete_file", {"path": "n.csv"})],
            "child done",
            name="child",
        )

        async def delegate(task: str) -> str:
            disk.ran.append("delegate")
            return (await child.ainvoke({"messages": [("user", task)]}))["messages"][-1].content

        return agent(
            saver,
            [tool(disk.delete, "delete_file"), tool(delegate, "delegate")],
            [("delegate", {"task": "clean"}), ("delete_file", {"path": "t.csv"})],
            "finished",
            gated={"delete_file": True, "delegate": True},
        )

    async def test_a_nested_agents_request_is_decided_at_the_top(self, disk: Disk) -> None:
        """The wrapper's own approval holds over LangGraph's second run of its body, and counts
        as one call; provider's ids of parent and child are the same."""
        reviewer = hitl.testing.scripted(lambda _: hitl.Approve())
        with hitl.reviewer(reviewer):
            result = await hitl.run(self.family(disk, InMemorySaver()), "go", config=THREAD)
        assert result["messages"][-1].content == "finished"
        paths = {(r.tool_name, r.args.get("path")): r.agent_path for r in reviewer.seen}
        assert paths["delete_file", "n.csv"] == ("boss", "child")
        assert paths["delete_file", "t.csv"] == ("boss",)
        assert sorted(p for p in disk.ran if p != "delegate") == ["n.csv", "t.csv"]
        assert sorted(states()) == [
            ("delegate", "done"),
            ("delete_file", "done"),
            ("delete_file", "done"),
        ]
        assert ("delegate", "done", "child done") in calls()


class Fix(BaseModel):
    column: str
    impute: bool = True


class State(TypedDict):
    out: Annotated[list[Any], operator.add]


def questions(saver: Any) -> Any:
    """A graph that asks twice in a node, once with a schema."""

    def ask(_: State) -> dict[str, Any]:
        fix = interrupt({"question": "which column?"}, response_schema=Fix)
        sure = interrupt("sure?")
        return {"out": [getattr(fix, "column", fix), sure]}

    graph = StateGraph(State)
    graph.add_node("ask", ask)
    graph.add_edge(START, "ask")
    return graph.compile(checkpointer=saver, name="asker")


class TestInterrupts:
    async def test_any_interrupt_is_a_form_and_its_answer_resumes_the_graph(
        self, saver: Any
    ) -> None:
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(questions(saver), {"out": []}, config=THREAD))
            first = await seen.get()
            assert first.kind == "input"
            assert first.suspend_payload == {"question": "which column?"}
            with pytest.raises(hitl.InvalidAnswer):
                await hitl.decide(first, hitl.Answer({"impute": False}))
            await hitl.decide(first, hitl.Answer({"column": "age"}))
            second = await seen.get()
            assert second.message == "sure?"
            await hitl.decide(second, hitl.Answer(False))  # F4: an answer like any
            result = await running
        assert result["out"] == ["age", False]
        assert [s for _, s in states()] == ["done", "done"]

    async def test_declining_one_leaves_the_graph_where_it_is(self, saver: Any) -> None:
        """A plain interrupt has no word for no."""
        graph = questions(saver)
        with hitl.reviewer(lambda _: hitl.Decline("not now")), pytest.raises(hitl.Declined):
            await hitl.run(graph, {"out": []}, config=THREAD)
        assert graph.get_state(THREAD).next == ("ask",)
        answers = iter([{"column": "age"}, "yes"])
        with hitl.reviewer(lambda _: hitl.Answer(next(answers))):
            result = await hitl.run(graph, None, config=THREAD)
        assert result["out"] == ["age", "yes"]

    async def test_a_new_message_does_not_drop_what_waits_in_the_thread(self, disk: Disk) -> None:
        """R15, F27: LangChain drops the pause and leaves an unanswered call in the history."""
        saver = InMemorySaver()
        graph = delete(disk, saver, "a.csv")
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            await seen.get()
            running.cancel()
            await asyncio.wait([running])
            with pytest.raises(hitl.RunSuspended) as refused:
                await hitl.run(graph, "never mind", config=THREAD)
        assert "'go'" in str(refused.value)
        assert "never mind" in str(refused.value)
        assert states() == [("delete_file", "pending")]

    async def test_what_was_paused_without_us_is_taken_over(self, disk: Disk) -> None:
        graph = delete(disk, InMemorySaver(), "a.csv")
        graph.invoke({"messages": [("user", "go")]}, THREAD)
        with pytest.raises(hitl.RunSuspended, match="prompt None"):
            await hitl.run(graph, "another", config=THREAD)
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(graph, None, config=THREAD)
        assert disk.ran == ["a.csv"]

    async def test_what_was_resumed_elsewhere_meanwhile_is_not_run_again(self, disk: Disk) -> None:
        """R1: the graph went on without us; our approval runs nothing."""
        from langgraph.types import Command

        graph = delete(disk, InMemorySaver(), "a.csv")
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(graph, "go", config=THREAD))
            request = await seen.get()
            (theirs,) = graph.get_state(THREAD).interrupts
            graph.invoke(Command(resume={theirs.id: {"type": "approve"}}), THREAD)
            assert disk.ran == ["a.csv"]
            await hitl.decide(request, hitl.Approve())
            await running
        assert disk.ran == ["a.csv"]
        assert states() == [("delete_file", "blocked")]


class TestSetUp:
    async def test_a_graph_without_a_checkpointer_cannot_pause(self, disk: Disk) -> None:
        with pytest.raises(hitl.AgentDefinitionError, match="checkpointer"):
            await hitl.run(delete(disk, None, "a.csv"), "go")

    async def test_without_a_thread_it_runs_in_one_of_its_own(self, disk: Disk) -> None:
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(delete(disk, InMemorySaver(), "a.csv"), "go")
        assert disk.ran == ["a.csv"]

    async def test_the_callers_own_callbacks_and_options_stay(self, disk: Disk) -> None:
        from langchain_core.callbacks import BaseCallbackHandler

        heard: list[str] = []

        class Listener(BaseCallbackHandler):
            def on_tool_end(self, output: Any, **_: Any) -> None:
                heard.append(output.content)

        config = {**THREAD, "callbacks": [Listener()]}
        with hitl.reviewer(lambda _: hitl.Approve()):
            graph = delete(disk, InMemorySaver(), "a.csv")
            result = await hitl.run(graph, "go", config=config, version="v2")
        assert sorted(heard) == ["contents of r.csv", "deleted a.csv"]
        assert result.value["messages"][-1].content == "finished"

    async def test_a_tool_that_raises_is_kept_as_failed_and_asked_for_again(
        self, saver: Any
    ) -> None:
        """An approval is used up by the call that it let run."""
        ran: list[str] = []

        def explode(path: str) -> str:
            ran.append(path)
            if len(ran) == 1:
                raise ZeroDivisionError("boom")
            return "fine"

        graph = delete_graph(saver, "a.csv", delete=explode)
        with hitl.reviewer(lambda _: hitl.Approve()):
            with pytest.raises(ZeroDivisionError):
                await hitl.run(graph, "go", config=THREAD)
            assert calls() == [("delete_file", "failed", "ZeroDivisionError: boom")]
            result = await hitl.run(graph, None, config=THREAD)
        assert returned(result)[0] == "fine"
        assert ran == ["a.csv", "a.csv"]
        assert states() == [("delete_file", "failed"), ("delete_file", "done")]

    @pytest.mark.parametrize(
        ("second", "ran", "told"),
        [
            (hitl.Decline("enough"), ["a.csv"], "enough"),
            (hitl.Approve(args={"path": "b.csv"}), ["a.csv", "b.csv"], "deleted b.csv"),
            (hitl.Respond("never mind"), ["a.csv"], "never mind"),
        ],
        ids=["declined", "edited", "responded"],
    )
    async def test_the_second_answer_counts_though_the_checkpoint_holds_the_first(
        self, saver: Any, second: Any, ran: list[str], told: str
    ) -> None:
        """LangGraph keeps the first answer of a call that failed and ignores any other."""
        did: list[str] = []

        def explode(path: str) -> str:
            did.append(path)
            if len(did) == 1:
                raise ZeroDivisionError("boom")
            return f"deleted {path}"

        graph = delete_graph(saver, "a.csv", delete=explode)
        decisions = iter([hitl.Approve(), second])
        with hitl.reviewer(lambda _: next(decisions)):
            with pytest.raises(ZeroDivisionError):
                await hitl.run(graph, "go", config=THREAD)
            result = await hitl.run(graph, None, config=THREAD)
        assert did == ran
        assert told in returned(result)[0]
        assert result["messages"][-1].content == "finished"
