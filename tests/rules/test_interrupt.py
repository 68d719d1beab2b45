"""R16, F23, F29 and cancelling: what an interrupt leaves, what a cancel ends, true results."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.desk import Desk

from .making import Witness, agent_on, chunks_of, store_at, tell_back, until

GO = [[hitl.call("delete_record", id="abc")], tell_back]


def nobody(_: Any) -> None:
    """A reviewer who passes: the run waits for somebody else."""


async def interrupted(agent: hitl.Agent, ready: Any) -> str:
    """Start `run` as a cell does, and interrupt it once `ready()`; its run's id."""
    with hitl.reviewer(nobody):
        cell = asyncio.ensure_future(agent.run("go"))
        await until(ready)
        cell.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cell
    (run,) = agent.store.runs()
    return run.id


async def test_an_interrupted_cell_leaves_its_request_decidable_and_deciding_drives_on(
    tmp_path: Path,
) -> None:
    """R16, F29: in the background; `attach` gives the result."""
    saw, store = Witness(), store_at(tmp_path)
    agent = agent_on(store, GO, [saw.deleting()])
    run_id = await interrupted(agent, lambda: store.requests(states=("pending",)))
    (request,) = await hitl.pending(store)
    assert store.frame(run_id)
    assert store.run(run_id).state == "suspended"
    assert store.run(run_id).owner is None
    await hitl.decide(request, hitl.Approve())
    await until(lambda: store.run(run_id).state == "completed")
    assert saw.did == ["abc"]
    assert (await agent.attach(run_id)).text == "told: {'deleted': 'abc'}"


@pytest.mark.parametrize(
    ("decision", "told", "did"),
    [
        (hitl.Approve(), "told: {'deleted': 'abc'}", ["abc"]),
        (hitl.Decline("no"), "declined", []),
        (hitl.Respond({"deleted": "by hand"}), "by hand", []),
    ],
    ids=["approve", "decline", "respond"],
)
async def test_what_is_decided_in_the_moment_of_the_interrupt_drives_the_run_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decision: Any, told: str, did: list[str]
) -> None:
    """R16, R21: whatever it was; the driver that leaves is the only one who can hear of it."""
    saw, store, elsewhere = Witness(), store_at(tmp_path), Desk(store_at(tmp_path))
    agent = agent_on(store, GO, [saw.deleting()])
    release = store.release

    def decided_meanwhile(*args: Any) -> None:
        (request,) = elsewhere.store.requests()
        asyncio.run(elsewhere.decide(request, decision))
        release(*args)

    monkeypatch.setattr(store, "release", decided_meanwhile)
    run_id = await interrupted(agent, lambda: store.runs(states=("suspended",)))
    await until(lambda: store.run(run_id).state == "completed")
    assert told in (await agent.attach(run_id)).text
    assert saw.did == did


async def test_wait_for_is_an_interrupt_and_no_cancel(tmp_path: Path) -> None:
    """R16."""
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    with hitl.reviewer(nobody), pytest.raises(TimeoutError):
        await asyncio.wait_for(agent.run("go"), 0.3)
    assert [r.state for r in await hitl.pending(agent.store)] == ["pending"]


def test_a_loop_that_closes_is_an_interrupt(tmp_path: Path) -> None:
    """R16: and another loop goes on."""
    saw, store = Witness(), store_at(tmp_path)
    agent = agent_on(store, GO, [saw.deleting()])

    async def leave() -> str:
        with hitl.reviewer(nobody):
            handle = agent.start("go")
            await until(lambda: store.requests(states=("pending",)))
        return handle.run_id

    run_id = asyncio.run(leave())
    assert store.run(run_id).state == "suspended"
    done = asyncio.run(agent.approve_tool_call_generate(run_id=run_id))
    assert done.finish_reason == "stop"
    assert saw.did == ["abc"]


async def test_a_body_interrupted_in_the_middle_is_of_unknown_outcome(tmp_path: Path) -> None:
    """R13, R16; what it returns on its way out is ignored (R8)."""
    began, saw = asyncio.Event(), Witness()

    @hitl.tool
    async def work() -> str:
        "Work."
        began.set()
        try:
            await asyncio.sleep(60)
        except BaseException:  # noqa: BLE001
            return "made up"
        return "done"

    agent = agent_on(store_at(tmp_path), [[hitl.call("work")], tell_back], [work, saw.deleting()])
    cell = asyncio.ensure_future(agent.run("go"))
    await asyncio.wait_for(began.wait(), 10)
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    (request,) = await hitl.pending(agent.store)
    assert request.state == "outcome_unknown"
    await asyncio.sleep(0)
    (call,) = agent.store.calls(request.run_id)
    assert call.result is None


async def test_an_interrupted_cell_keeps_a_body_that_waits_for_its_answer(tmp_path: Path) -> None:
    """R16: the body in `ctx.ask` is not run again while the kernel lives."""
    entered: list[int] = []

    @hitl.tool
    async def ask(ctx: hitl.ToolContext) -> str:
        "Ask."
        entered.append(1)
        return await ctx.ask(str, "?")

    store = store_at(tmp_path)
    agent = agent_on(store, [[hitl.call("ask")], tell_back], [ask])
    run_id = await interrupted(agent, lambda: store.requests(states=("pending",)))
    done = await agent.resume_generate("here", run_id=run_id)
    assert done.text == "told: here"
    assert entered == [1]


async def test_a_body_that_waits_is_kept_when_its_run_breaks_off(tmp_path: Path) -> None:
    """R8, R16: a reviewer's fault ends the wait, not what waits."""
    entered: list[int] = []

    @hitl.tool
    async def ask(ctx: hitl.ToolContext) -> str:
        "Ask."
        entered.append(1)
        return await ctx.ask(str, "?")

    agent = agent_on(store_at(tmp_path), [[hitl.call("ask")], tell_back], [ask])
    with hitl.reviewer(lambda _: 1 / 0), pytest.raises(ZeroDivisionError):  # type: ignore[arg-type,return-value]
        await agent.run("go")
    (request,) = await hitl.pending(agent.store)
    done = await agent.resume_generate("here", run_id=request.run_id)
    assert done.text == "told: here"
    assert entered == [1]


class TestSyncTools:
    """A thread cannot be stopped: its true result is kept, whoever still waits (R13)."""

    def working(self) -> tuple[hitl.Tool, threading.Event, threading.Event]:
        began, may_end = threading.Event(), threading.Event()

        @hitl.tool
        def work() -> str:
            "Work."
            began.set()
            assert may_end.wait(20)
            return "true result"

        return work, began, may_end

    async def test_interrupted(self, tmp_path: Path) -> None:
        work, began, may_end = self.working()
        agent = agent_on(store_at(tmp_path), [[hitl.call("work")], tell_back], [work])
        cell = asyncio.ensure_future(agent.run("go"))
        await until(began.is_set)
        cell.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cell
        (run,) = agent.store.runs()
        assert await hitl.pending(agent.store) == []
        attached = asyncio.ensure_future(agent.attach(run.id))
        await asyncio.sleep(0.1)  # it must wait for the thread, and not run the body again
        assert not attached.done()
        may_end.set()
        assert (await attached).text == "told: true result"

    async def test_cancelled(self, tmp_path: Path) -> None:
        work, began, may_end = self.working()
        agent = agent_on(store_at(tmp_path), [[hitl.call("work")], tell_back], [work])
        handle = agent.start("go")
        await until(began.is_set)
        handle.cancel()
        assert (await handle).finish_reason == "aborted"
        (call,) = agent.store.calls(handle.run_id)
        assert call.state == "executing"
        may_end.set()
        (call,) = await until(
            lambda: [c for c in agent.store.calls(handle.run_id) if c.state == "done"]
        )
        assert call.result["value"] == "true result"
        assert await hitl.pending(agent.store) == []

    async def test_suspended_while_nobody_waited(self, tmp_path: Path) -> None:
        began, may_end = threading.Event(), threading.Event()

        @hitl.tool(resume_schema=str)
        def ask(ctx: hitl.ToolContext) -> Any:
            "Ask."
            if ctx.resume_data:
                return ctx.resume_data
            began.set()
            assert may_end.wait(20)
            return ctx.suspend("?")

        store = store_at(tmp_path)
        agent = agent_on(store, [[hitl.call("ask")], tell_back], [ask])
        cell = asyncio.ensure_future(agent.run("go"))
        await until(began.is_set)
        cell.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cell
        may_end.set()
        (request,) = await until(lambda: store.requests(states=("pending",)))
        done = await agent.resume_generate("late", run_id=request.run_id)
        assert done.text == "told: late"

    async def test_beyond_its_time_limit_it_is_still_waited_for(self, tmp_path: Path) -> None:
        @hitl.tool(timeout=0.01)
        def work() -> str:
            "Work."
            threading.Event().wait(0.2)
            return "true result"

        agent = agent_on(store_at(tmp_path), [[hitl.call("work")], tell_back], [work])
        assert (await agent.generate("go")).text == "told: true result"


class TestCancel:
    """Only `handle.cancel()`, the panel's Cancel and decline-and-stop cancel a run (R16)."""

    async def test_what_waits_is_withdrawn(self, tmp_path: Path) -> None:
        saw, store = Witness(), store_at(tmp_path)
        agent = agent_on(store, GO, [saw.deleting()])
        with hitl.reviewer(nobody):
            handle = agent.start("go")
            (request,) = await until(lambda: store.requests(states=("pending",)))
        handle.cancel()
        result = await handle
        assert result.finish_reason == "aborted"
        assert store.request(request.id).state == "withdrawn"
        assert store.run(handle.run_id).state == "cancelled"
        with pytest.raises(hitl.AlreadyDecided):
            await hitl.decide(request, hitl.Approve())
        assert (await agent.attach(handle.run_id)).finish_reason == "aborted"
        assert saw.did == []

    async def test_at_once(self, tmp_path: Path) -> None:
        saw = Witness()
        agent = agent_on(store_at(tmp_path), GO, [saw.deleting(require_approval=False)])
        handle = agent.start("go")
        handle.cancel()
        assert (await handle).finish_reason == "aborted"
        assert saw.did == []

    async def test_in_the_middle_of_a_body(self, tmp_path: Path) -> None:
        began = asyncio.Event()

        @hitl.tool
        async def work() -> None:
            "Work."
            began.set()
            await asyncio.sleep(60)

        agent = agent_on(store_at(tmp_path), [[hitl.call("work")], "never"], [work])
        handle = agent.start("go")
        await asyncio.wait_for(began.wait(), 10)
        handle.cancel()
        handle.cancel()
        assert (await handle).finish_reason == "aborted"
        (request,) = await hitl.pending(agent.store)
        assert request.state == "outcome_unknown"
        await hitl.settle(request, "give_up")
        assert await hitl.pending(agent.store) == []

    async def test_after_its_cell_was_interrupted(self, tmp_path: Path) -> None:
        store = store_at(tmp_path)
        agent = agent_on(store, GO, [Witness().deleting()])
        run_id = await interrupted(agent, lambda: store.requests(states=("pending",)))
        agent.cancel(run_id)
        await until(lambda: store.run(run_id).state == "cancelled")
        assert [r.state for r in store.requests(run_id=run_id)] == ["withdrawn"]

    async def test_awaiting_a_handle_that_is_interrupted_goes_on(self, tmp_path: Path) -> None:
        saw, store = Witness(), store_at(tmp_path)
        agent = agent_on(store, GO, [saw.deleting()])
        with hitl.reviewer(nobody):
            handle = agent.start("go")
            (request,) = await until(lambda: store.requests(states=("pending",)))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(_done(handle)), 0.05)
        await hitl.decide(request, hitl.Approve())
        assert (await handle).finish_reason == "stop"


async def _done(handle: Any) -> Any:
    return await handle


async def test_a_tools_time_limit_tells_the_truth(tmp_path: Path) -> None:
    """R13: unknown, but for reads and idempotent tools, which just failed."""

    @hitl.tool(timeout=0.05, idempotent=True)
    async def again() -> None:
        "Hang."
        await asyncio.sleep(60)

    agent = agent_on(store_at(tmp_path), [[hitl.call("again")], tell_back], [again])
    result = await agent.generate("go")
    assert "no result within 0.05 s" in result.text


async def test_progress_and_messages_are_chunks(tmp_path: Path) -> None:
    @hitl.tool
    async def work(ctx: hitl.ToolContext) -> None:
        "Work."
        ctx.progress(0.5, "half")
        ctx.log_message("note")

    @hitl.tool
    def thread(ctx: hitl.ToolContext) -> None:
        "Work."
        ctx.progress(1.0, "all")

    turn = [hitl.call("work"), hitl.call("thread")]
    heard = await chunks_of(
        await agent_on(store_at(tmp_path), [turn, "end"], [work, thread]).stream("go")
    )
    said = {(c.payload.fraction, c.payload.message) for c in heard if c.type == "tool-progress"}
    assert said == {(0.5, "half"), (None, "note"), (1.0, "all")}


async def test_a_dropped_stream_does_not_stop_its_run(tmp_path: Path) -> None:
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting(require_approval=False)])
    stream = await agent.stream("go")
    async for _ in stream.full_stream:
        break
    run_id = stream.run_id
    del stream
    await until(lambda: agent.store.run(run_id).state == "completed")
    assert saw.did == ["abc"]


async def test_a_decision_moves_the_run_though_its_stream_is_not_read(tmp_path: Path) -> None:
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    run = await agent.generate("go")
    await agent.approve_tool_call(run_id=run.run_id)
    await until(lambda: agent.store.run(run.run_id).state == "completed")
    assert saw.did == ["abc"]


async def test_no_chunk_comes_twice_and_text_goes_on_after_a_decision(tmp_path: Path) -> None:
    """F32."""
    saw = Witness()
    turns = [["Before. ", hitl.call("delete_record", id="a")], "After."]
    agent = agent_on(store_at(tmp_path), turns, [saw.deleting()])
    first = await agent.stream("go")
    before = [t async for t in first.text_stream]
    again = await agent.approve_tool_call(run_id=first.run_id)
    after = [t async for t in again.text_stream]
    assert ("".join(before), "".join(after)) == ("Before. ", "After.")
    assert (first.finish_reason, again.finish_reason) == ("suspended", "stop")


async def test_a_reviewer_that_raises_ends_the_wait_with_its_error_and_decides_nothing(
    tmp_path: Path,
) -> None:
    """R5."""
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    with hitl.reviewer(lambda _: 1 / 0), pytest.raises(ZeroDivisionError):
        await agent.run("go")
    assert [r.state for r in await hitl.pending(agent.store)] == ["pending"]
    assert saw.did == []


async def test_the_reviewer_in_force_at_the_start_stays_with_the_run(tmp_path: Path) -> None:
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    with hitl.reviewer(lambda _: hitl.Approve()):
        run = await agent.generate("go")
    assert run.finish_reason == "suspended", "generate never asks"
    with hitl.reviewer(lambda _: hitl.Decline()):
        result = await agent.attach(run.run_id)
    assert result.text == "told: {'deleted': 'abc'}"
