"""R13, R14, R21, F15-F17, F35: death, restart, and several drivers."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl

from .making import Witness, agent_on, last_told, store_at, tell_back

GO = [[hitl.call("delete_record", id="abc")], tell_back]

CHILD = """
import asyncio, os, sys, time
import hitl_widgets as hitl
from pathlib import Path
out = Path(sys.argv[1])

def note(text):
    with (out / "did.txt").open("a") as f:
        f.write(text + "\\n")

@hitl.tool(require_approval=True)
async def delete_record(id: str) -> str:
    "Delete."
    note(f"delete {id}")
    return "deleted " + id

@hitl.tool
async def write(n: int) -> int:
    "Write something."
    note(f"write {n}")
    await asyncio.sleep(60)
    return n

@hitl.tool(effect="read")
async def read(n: int) -> int:
    "Read something."
    note(f"read {n}")
    if (out / "wait").exists():
        await asyncio.sleep(60)
    return n

def agent(turns):
    return hitl.Agent("clerk", model=hitl.ScriptedModel(turns), store=str(out / "hitl.db"),
                      tools=[delete_record, write, read])

def tell(messages):
    return "told: " + str([p.content for p in messages[-1].parts])
"""


def in_child(tmp_path: Path, code: str, *, wait: bool = True) -> subprocess.Popen[str]:
    """Run code in a process of its own, after `CHILD`."""
    script = (
        CHILD + "\nasync def main():\n" + "\n".join("    " + line for line in code.splitlines())
    )
    child = subprocess.Popen(
        [sys.executable, "-c", script + "\nasyncio.run(main())", str(tmp_path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    if wait:
        out, err = child.communicate(timeout=60)
        assert child.returncode == 0, err
        child.said = out  # type: ignore[attr-defined]
    return child


async def kill_when(child: Any, condition: Any) -> None:
    async with asyncio.timeout(30):
        while not condition():
            assert child.poll() is None, child.stderr.read()
            await asyncio.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.communicate()


def did(tmp_path: Path) -> list[str]:
    path = tmp_path / "did.txt"
    return path.read_text().splitlines() if path.exists() else []


def here(tmp_path: Path, turns: Any) -> hitl.Agent:
    """The child's agent, in this process."""
    scope: dict[str, Any] = {}
    old, sys.argv = sys.argv, ["x", str(tmp_path)]
    try:
        exec(CHILD, scope)  # noqa: S102
    finally:
        sys.argv = old
    return scope["agent"](turns)


TURNS = '[[hitl.call("delete_record", id="a"), hitl.call("delete_record", id="b")], tell]'


async def test_what_waited_when_its_process_was_killed_is_listed_decided_and_finished_here(
    tmp_path: Path,
) -> None:
    """R14, F15: everything a screen needs is there, from nothing."""
    code = f"""
with hitl.reviewer(lambda r: None):
    await agent({TURNS}).run("go", thread_id="t", resource_id="u")
"""
    child = in_child(tmp_path, code, wait=False)
    store = store_at(tmp_path)
    await kill_when(child, lambda: len(store.requests(states=("pending",))) == 2)
    both = [hitl.call("delete_record", id=i) for i in "ab"]
    agent = here(tmp_path, [both, lambda m: str(last_told(m))])
    (run,) = await agent.list_suspended_runs(thread_id="t")
    assert (run.thread_id, run.resource_id, run.agent_id) == ("t", "u", "clerk")
    request = run.tool_calls[0]
    assert (request.tool_name, request.args, request.kind) == (
        "delete_record",
        {"id": "a"},
        "approval",
    )
    assert request.fingerprint.startswith("hf1:")
    assert request.input_schema
    await agent.approve_tool_call_generate(
        run_id=run.run_id, tool_call_id=request.tool_call_id, fingerprint=request.fingerprint
    )
    stream = await agent.send_tool_approval(thread_id="t", approved=False, reason="no")
    result = await stream.result()
    assert result.text.startswith("['deleted a', 'The human declined")
    assert did(tmp_path) == ["delete a"]


async def test_a_call_that_was_running_when_its_process_was_killed_is_of_unknown_outcome(
    tmp_path: Path,
) -> None:
    """R13: free calls too; nothing re-executes by itself; a human settles it."""
    code = """
with hitl.reviewer(lambda r: None):
    await agent([[hitl.call("write", n=1), hitl.call("delete_record", id="x")], tell]).run("go")
"""
    child = in_child(tmp_path, code, wait=False)
    await kill_when(
        child, lambda: did(tmp_path) and store_at(tmp_path).requests(states=("pending",))
    )
    agent = here(tmp_path, [[hitl.call("write", n=1), hitl.call("delete_record", id="x")],
                            lambda m: str(last_told(m))])  # fmt: skip
    unknown = [r for r in await hitl.pending(agent.store) if r.state == "outcome_unknown"]
    assert [r.tool_name for r in unknown] == ["write"]
    result = await agent.approve_tool_call_generate(run_id=unknown[0].run_id)
    assert result.finish_reason == "suspended"
    assert [r.state for r in result.requests] == ["outcome_unknown"]
    assert did(tmp_path) == ["write 1", "delete x"]
    with pytest.raises(hitl.RunSuspended, match="settle"):
        await agent.attach(result.run_id)
    await hitl.settle(unknown[0], "happened", result=41)
    assert (await agent.attach(result.run_id)).text == "[41, 'deleted x']"
    assert did(tmp_path) == ["write 1", "delete x"]


async def test_run_again_opens_a_new_request_whose_approval_really_runs_it(
    tmp_path: Path,
) -> None:
    """R13: settled by a human, asked again, then run once more."""
    saw = Witness()
    started = asyncio.Event()

    @hitl.tool(require_approval=True)
    async def slow(n: int) -> int:
        "Be slow the first time."
        saw.did.append(n)
        if len(saw.did) == 1:
            started.set()
            await asyncio.sleep(60)
        return n

    agent = agent_on(store_at(tmp_path), [[hitl.call("slow", n=5)], tell_back], [slow])
    with hitl.reviewer(lambda _: hitl.Approve()):
        waiting = asyncio.ensure_future(agent.run("go"))
        await asyncio.wait_for(started.wait(), 10)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    (unknown,) = await hitl.pending(agent.store)
    assert unknown.state == "outcome_unknown"
    await hitl.settle(unknown, "run_again")
    (again,) = await hitl.pending(agent.store)
    assert (again.state, again.fingerprint) == ("pending", unknown.fingerprint)
    assert saw.did == [5]
    done = await agent.approve_tool_call_generate(run_id=again.run_id)
    assert done.text == "told: 5"
    assert saw.did == [5, 5]


async def test_giving_up_tells_the_model(tmp_path: Path) -> None:
    @hitl.tool(timeout=0.05)
    async def hang() -> None:
        "Hang."
        await asyncio.sleep(60)

    agent = agent_on(store_at(tmp_path), [[hitl.call("hang")], tell_back], [hang])
    result = await agent.generate("go")
    assert [r.state for r in result.requests] == ["outcome_unknown"]
    await hitl.settle(result.requests[0], "give_up")
    assert "gave it up" in (await agent.attach(result.run_id)).text


async def test_reads_run_again_after_a_death_and_nothing_else_does(tmp_path: Path) -> None:
    """R13: effect="read"; a nested or gated sibling keeps its result."""
    (tmp_path / "wait").touch()
    code = """
with hitl.reviewer(lambda r: hitl.Approve()):
    await agent([[hitl.call("delete_record", id="x"), hitl.call("read", n=2)], tell]).run("go")
"""
    child = in_child(tmp_path, code, wait=False)

    def both() -> bool:
        done = store_at(tmp_path).requests(states=("done",))
        return "read 2" in did(tmp_path) and bool(done)

    await kill_when(child, both)
    (tmp_path / "wait").unlink()
    agent = here(tmp_path, [[hitl.call("delete_record", id="x"), hitl.call("read", n=2)],
                            lambda m: str(last_told(m))])  # fmt: skip
    (run,) = agent.store.runs()
    assert (await agent.attach(run.id)).text == "['deleted x', 2]"
    assert sorted(did(tmp_path)) == ["delete x", "read 2", "read 2"]


async def test_a_run_that_died_before_anything_was_saved_is_lost_and_its_key_is_free(
    tmp_path: Path,
) -> None:
    """R13, R22."""
    code = 'await agent([[hitl.call("write", n=1)], tell]).run("go", key="k")'
    child = in_child(tmp_path, code, wait=False)
    await kill_when(child, lambda: did(tmp_path))
    saw = Witness()
    agent = agent_on(
        str(tmp_path / "hitl.db"), [[hitl.call("look", id="1")], "end"], [saw.looking()]
    )
    (lost,) = agent.store.runs()
    result = await agent.run("go", key="k")
    assert result.text == "end"
    assert result.run_id != lost.id
    assert agent.store.run(lost.id).outcome["finish_reason"] == "lost"
    assert "Lost" in (await agent.attach(lost.id)).text


async def test_attach_waits_for_a_run_that_another_process_drives_and_takes_it_when_that_dies(
    tmp_path: Path,
) -> None:
    """R21."""
    code = f"""
with hitl.reviewer(lambda r: None):
    await agent({TURNS}).run("go")
"""
    child = in_child(tmp_path, code, wait=False)
    store = store_at(tmp_path)
    async with asyncio.timeout(30):
        while len(store.requests(states=("pending",))) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    both = [hitl.call("delete_record", id=i) for i in "ab"]
    agent = here(tmp_path, [both, lambda m: str(last_told(m))])
    (run,) = agent.store.runs()
    with hitl.reviewer(lambda _: hitl.Approve()):
        waiting = asyncio.ensure_future(agent.attach(run.id))
        first, second = store.requests(states=("pending",))
        await hitl.decide(agent.store.request(first.id), hitl.Approve())
        # The living driver acts; it is killed once that is on record.
        await kill_when(child, lambda: store.request(first.id).state == "done")
        assert (await asyncio.wait_for(waiting, 20)).text == "['deleted a', 'deleted b']"
    assert did(tmp_path) == ["delete a", "delete b"]
    assert store.request(second.id).state == "done"


async def test_two_processes_that_decide_two_calls_of_one_run_lose_nothing(tmp_path: Path) -> None:
    """F35, R21: several rounds, both at once."""
    (run_id, first, second) = json.loads(
        in_child(
            tmp_path,
            f"""
import json
run = await agent({TURNS}).generate("go")
print(json.dumps([run.run_id, *[r.tool_call_id for r in run.requests]]))
""",
        ).said  # type: ignore[attr-defined]
    )
    go = tmp_path / "go"
    children = [
        in_child(
            tmp_path,
            f"""
clerk = agent({TURNS})
while not Path({str(go)!r}).exists():
    time.sleep(0.001)
result = await clerk.approve_tool_call_generate(run_id={run_id!r}, tool_call_id={call_id!r})
print(result.finish_reason, result.text)
""",
            wait=False,
        )
        for call_id in (first, second)
    ]
    await asyncio.sleep(1.5)  # both are up; which of them is quicker does not matter
    go.touch()
    said = [child.communicate(timeout=60) for child in children]
    assert [c.returncode for c in children] == [0, 0], said
    assert sorted(did(tmp_path)) == ["delete a", "delete b"]
    ends = [out.split()[0] for out, _ in said]
    assert "stop" in ends
    assert store_at(tmp_path).run(run_id).outcome["text"] == "told: ['deleted a', 'deleted b']"


async def test_renamed_and_missing_tools_and_agents_are_named_and_the_snapshot_is_kept(
    tmp_path: Path,
) -> None:
    """R14, F16."""
    saw = Witness()
    run = await agent_on(store_at(tmp_path), GO, [saw.deleting()]).generate("go")
    renamed = agent_on(store_at(tmp_path), GO, [saw.deleting(id="erase_record")])
    with pytest.raises(hitl.UnknownTool, match="delete_record"):
        await renamed.approve_tool_call(run_id=run.run_id)
    with pytest.raises(hitl.UnknownTool, match="delete_record"):
        await renamed.attach(run.run_id)
    other = agent_on(renamed.store, GO, [saw.deleting()], id="other")
    with pytest.raises(hitl.UnknownAgent, match="clerk"):
        await other.attach(run.run_id)
    right = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    assert (await right.approve_tool_call_generate(run_id=run.run_id)).finish_reason == "stop"
    assert saw.did == ["abc"]


@pytest.mark.parametrize("newer", ["snapshot", "library"])
async def test_a_newer_snapshot_is_named_and_kept_and_nothing_is_decided(
    tmp_path: Path, newer: str
) -> None:
    """R14."""
    saw = Witness()
    agent = agent_on(store_at(tmp_path), GO, [saw.deleting()])
    run = await agent.generate("go")
    frame = agent.store.frame(run.run_id)
    if newer == "snapshot":
        changed = {**frame, "version": 99}
    else:
        changed = {**frame, "messages": [{"kind": "request", "parts": [{"part_kind": "hologram"}]}]}
    agent.store._db.write(lambda tx: tx.snapshots.__setitem__(run.run_id, changed))
    with pytest.raises(hitl.SnapshotVersion, match=r"kept"):
        await agent.approve_tool_call(run_id=run.run_id)
    assert (await hitl.pending(agent.store))[0].state == "pending"
    agent.store._db.write(lambda tx: tx.snapshots.__setitem__(run.run_id, frame))
    assert (await agent.approve_tool_call_generate(run_id=run.run_id)).finish_reason == "stop"


async def test_lone_surrogates_survive_a_restart(tmp_path: Path) -> None:
    """In arguments that run, and in those that are refused and only stand in history."""
    odd, saw = "a\ud800b\udfff", []

    @hitl.tool(require_approval=True, input_schema={"type": "object", "required": ["x"]})
    async def take(x: str) -> str:
        "Take."
        saw.append(x)
        return x

    turns = [[hitl.call("take", x=odd), hitl.call("unknown", x=odd)], "end"]
    run = await agent_on(store_at(tmp_path), turns, [take]).generate("go")
    later = agent_on(store_at(tmp_path), turns, [take])
    assert run.requests[0].args == {"x": odd}
    done = await later.approve_tool_call_generate(run_id=run.run_id)
    assert done.finish_reason == "stop"
    assert saw == [odd]
    assert done.messages[1].parts[1].args == {"x": odd}
    assert done.messages[2].parts[0].content == odd


async def test_a_model_that_fails_keeps_the_run_and_attach_tries_again(tmp_path: Path) -> None:
    """What was done is not done again."""
    broken, saw = [True], Witness()

    def flaky(_: Any) -> str:
        if broken:
            broken.clear()
            raise ConnectionError("gone")
        return "end"

    agent = agent_on(store_at(tmp_path), [[hitl.call("look", id="1")], flaky], [saw.looking()])
    with pytest.raises(ConnectionError) as caught:
        await agent.generate("go")
    assert "attach" in caught.value.__notes__[0]
    (run,) = agent.store.runs()
    assert (await agent.attach(run.id)).text == "end"
    assert saw.did == ["look 1"]


async def test_a_suspended_run_survives_without_anything_in_memory_and_is_gone_at_the_end(
    tmp_path: Path,
) -> None:
    """R17, F14: the snapshot is deleted, the file is private."""
    agent = agent_on(store_at(tmp_path), GO, [Witness().deleting()])
    run = await agent.generate("go")
    assert agent.store.frame(run.run_id)
    assert (tmp_path / "hitl.db").stat().st_mode & 0o777 == 0o600
    done = await agent.approve_tool_call_generate(run_id=run.run_id)
    with pytest.raises(hitl.SnapshotNotFound):
        agent.store.frame(run.run_id)
    attached = await agent.attach(run.run_id)
    assert (attached.text, attached.usage) == (done.text, done.usage)
    assert await agent.list_suspended_runs() == []
