"""A forked child acts for itself: its parent's threads, loops and bodies are not in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import asyncio, os, signal, sys
import hitl_widgets as hitl

def free(context):
    return False

@hitl.tool(require_approval=free)
def add(a: int, b: int) -> int:
    "Add, on a thread."
    return a + b

@hitl.tool(require_approval=True)
async def delete(id: str) -> str:
    "Delete."
    return "gone"

def agent(store, turns):
    return hitl.Agent("clerk", model=hitl.ScriptedModel(turns), tools=[add, delete], store=store)

adding = [[hitl.call("add", a=1, b=2)], lambda m: f"told: {m[-1].parts[-1].content}"]
one = agent(sys.argv[1], adding)
print((asyncio.run(one.generate("go"))).text, flush=True)

async def main():
    other = agent(sys.argv[1] + "2", [[hitl.call("delete", id="x")], "end"])
    handle = None
    with hitl.reviewer(lambda request: None):
        handle = other.start("go")
        while not other.store.requests(states=("pending",)):
            await asyncio.sleep(0.01)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            child()
        finally:
            os._exit(0)
    print("child ended", os.waitpid(pid, 0)[1], flush=True)
    print((await handle).text, flush=True)

def child():
    print("child", asyncio.run(one.generate("again")).text, flush=True)

    async def decide():
        (request,) = await hitl.pending(sys.argv[1] + "2")
        return await hitl.decide(request, hitl.Approve(), reviewer="child")

    print("child", asyncio.run(decide()).state, flush=True)

asyncio.run(main())
"""


def test_a_child_runs_tools_and_rules_and_decides_for_its_parent(tmp_path: Path) -> None:
    """R21: the run that the parent drives is the parent's; it hears of the decision and goes on."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path / "a.db")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = done.stdout.splitlines()
    expected = ["told: 3", "child told: 3", "child approved", "child ended 0", "end"]
    assert said == expected, done.stdout + done.stderr
