"""What a decision may cost, and that what is saved there loses nothing (R1, R2, R21)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.agent.frames import FrameRun
from hitl_widgets.store import connection
from hitl_widgets.store.base import Vote
from hitl_widgets.store.sqlite import SqliteStore

from .making import Witness, agent_on, store_at, tell_back, until

GO = [[hitl.call("delete_record", id="abc")], tell_back]
TWICE = [[hitl.call("delete_record", id=i)] for i in "ab"]


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many durable transactions there were."""
    found, write = [0], connection.Database.write

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        found[0] += 1
        return write(self, *args, **kwargs)

    monkeypatch.setattr(connection.Database, "write", counted)
    return found


async def test_an_approval_costs_four_commits(tmp_path: Path, commits: list[int]) -> None:
    """The question, the decision, the claim and the result: each durable, nothing else is."""
    saw = Witness()
    agent = agent_on(store_at(tmp_path), [*TWICE, "end"], [saw.deleting()])
    run = await agent.generate("go")
    commits[0] = 0
    run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert (run.finish_reason, commits[0]) == ("suspended", 4)
    assert saw.did == ["a"]


async def test_a_waiting_run_pays_no_more(tmp_path: Path, commits: list[int]) -> None:
    saw, found = Witness(), list[int]()

    def approve(_: hitl.Request) -> hitl.Approve:
        found.append(commits[0])
        return hitl.Approve()

    agent = agent_on(store_at(tmp_path), [*TWICE, "end"], [saw.deleting()])
    with hitl.reviewer(approve):
        await agent.run("go")
    assert saw.did == ["a", "b"]
    assert found[1] - found[0] == 4


async def test_a_free_call_costs_none(tmp_path: Path, commits: list[int]) -> None:
    """R13: its rows survive the process, and need no fsync."""
    saw = Witness()
    free = saw.deleting(require_approval=False)
    agent = agent_on(store_at(tmp_path), [*TWICE, "end"], [free])
    await agent.generate("go")
    assert (saw.did, commits[0]) == (["a", "b"], 2)  # the run's start and its end


async def test_a_turn_is_read_to_act_and_when_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ended is final: that its end was news to the driver is no reason to read it again."""
    reads, read = [0], FrameRun._read_rows  # pyright: ignore[reportPrivateUsage]

    def counted(frame: FrameRun) -> Any:
        reads[0] += 1
        return read(frame)

    monkeypatch.setattr(FrameRun, "_read_rows", counted)
    saw = Witness()
    agent = agent_on(store_at(tmp_path), [*TWICE, "end"], [saw.deleting()])
    run = await agent.generate("go")
    reads[0] = 0
    run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert (run.finish_reason, reads[0], saw.did) == ("suspended", 2, ["a"])


def afterwards(store: Any, method: str, act: Callable[[], None]) -> None:
    """Have `act` happen on the store's thread, once, right after `method`."""
    kept = getattr(store, method)

    def both(*args: Any, **kwargs: Any) -> Any:
        done = kept(*args, **kwargs)
        if getattr(store, method) is both and store.requests(states=["pending"]):
            setattr(store, method, kept)
            act()
        return done

    setattr(store, method, both)


async def test_a_decision_made_while_the_lease_goes_is_acted_on(tmp_path: Path) -> None:
    """R21: the lease went with the question, and whoever decides at once is not forgotten."""
    saw, store = Witness(), store_at(tmp_path)
    agent = agent_on(store, GO, [saw.deleting()])

    def decide() -> None:
        (request,) = store.requests(states=["pending"])
        store.decide([Vote(request.id, "approved", {"verdict": "approve"}, "ada", "os", "test")])

    afterwards(store, "save", decide)
    run = await agent.generate("go")
    assert (run.finish_reason, saw.did) == ("stop", ["abc"])


async def test_a_decision_on_another_thread_counts_on_a_driver_that_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It finds the driver at work and leaves the rest to it, which is just letting go."""
    saw, store = Witness(), store_at(tmp_path)
    agent = agent_on(store, GO, [saw.deleting()])
    leave, threads = FrameRun.leave, list[threading.Thread]()

    def decide_first(frame: FrameRun) -> None:
        if not threads:
            (request,) = store.requests(states=["pending"])
            decide = agent.desk.decide(request, hitl.Approve())
            threads.append(threading.Thread(target=asyncio.run, args=(decide,)))
            threads[0].start()
            threads[0].join()
        leave(frame)

    monkeypatch.setattr(FrameRun, "leave", decide_first)
    run = await agent.generate("go")
    assert run.finish_reason == "suspended"
    await until(lambda: store.run(run.run_id).state == "completed")
    assert saw.did == ["abc"]


class SlowStore(SqliteStore):
    """Its `decide` comes back, once it was recorded, when it is let go."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.recorded, self.go = threading.Event(), threading.Event()

    def decide(self, *args: Any, **kwargs: Any) -> Any:
        receipts = super().decide(*args, **kwargs)
        self.recorded.set()
        assert self.go.wait(20)
        return receipts


async def test_an_interrupt_in_the_decision_leaves_no_lease_behind(tmp_path: Path) -> None:
    """R16, R21: it was recorded with the lease; who is interrupted then does not keep that."""
    saw, store = Witness(), SlowStore(tmp_path / "a.db")
    agent = agent_on(store, GO, [saw.deleting()])
    run = await agent.generate("go")
    deciding = asyncio.ensure_future(agent.approve_tool_call(run_id=run.run_id))
    await asyncio.to_thread(store.recorded.wait, 20)
    deciding.cancel()
    await asyncio.sleep(0)  # it hears of it while the store is still busy
    store.go.set()
    with pytest.raises(asyncio.CancelledError):
        await deciding
    assert store.run(run.run_id).owner is None
    assert saw.did == []
    (done,) = await agent.resume_decided()
    assert (done.finish_reason, saw.did) == ("stop", ["abc"])


@pytest.mark.parametrize("memory", [None, hitl.Memory()], ids=["with the question", "after it"])
async def test_a_run_that_another_process_drove_while_its_driver_left_is_not_driven_twice(
    tmp_path: Path, memory: Any
) -> None:
    """R21, F35: what the one that left has in memory is of yesterday; it makes no turn again."""
    saw, turns = Witness(), [[hitl.call("delete_record", id=i)] for i in "abc"]
    options: dict[str, Any] = {"memory": memory}
    agent = agent_on(store_at(tmp_path), [*turns, "end"], [saw.deleting()], **options)
    other = agent_on(store_at(tmp_path), [*turns, "end"], [saw.deleting()], **options)

    def drive() -> None:
        """All that an approval elsewhere leads to, after the lease was given back."""
        (request,) = other.store.requests(states=["pending"])
        asyncio.run(other.approve_tool_call_generate(run_id=request.run_id))

    afterwards(agent.store, "release" if memory else "save", drive)
    run = await agent.generate("go", thread_id="t")
    assert [r.args["id"] for r in run.requests] == ["b"]
    for _ in "bc":
        run = await agent.approve_tool_call_generate(run_id=run.run_id)
    assert (run.finish_reason, saw.did) == ("stop", ["a", "b", "c"])
    assert len(agent.store.calls(run.run_id)) == 3
