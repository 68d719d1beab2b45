"""A decision in another process wakes the run that waits: ``python -m tests.bench.bench_wake``.

One process waits in `Agent.run`; another decides, as an inbox in another notebook does. Measured
is the time from the moment when the decision is on the disk to the first line of the tool's body.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import hitl_widgets as hitl

ROOT = Path(__file__).parents[2]

DECIDER = """
import asyncio, sys, time
import hitl_widgets as hitl
async def main():
    for line in sys.stdin:
        request = (await hitl.pending(sys.argv[1], state="pending"))[0]
        assert request.id == line.strip()
        await hitl.decide(request, hitl.Approve(), fingerprint=request.fingerprint)
        print(time.time(), flush=True)
asyncio.run(main())
"""


async def wakes(folder: Path, count: int = 20) -> list[float]:
    """Milliseconds from each decision to the tool's body."""
    began: list[float] = []
    opened: asyncio.Queue[str] = asyncio.Queue()

    @hitl.tool(require_approval=True)
    async def touch() -> str:
        "Do something."
        began.append(time.time())
        return "ok"

    async def watch(request: hitl.Request) -> None:
        await opened.put(request.id)

    store = str(folder / "store.sqlite")
    agent = hitl.Agent(
        "waiter",
        model=hitl.ScriptedModel([*[[hitl.call("touch")] for _ in range(count)], "done"]),
        tools=[touch],
        store=store,
        hooks=hitl.Hooks(on_request=watch),
    )
    decider = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", DECIDER, store),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert decider.stdin is not None
    assert decider.stdout is not None

    def nobody(_: Any) -> None:
        """Waits for somebody else."""

    with hitl.reviewer(nobody):
        running = asyncio.ensure_future(agent.run("go"))
        decided: list[float] = []
        for _ in range(count):
            decider.stdin.write((await opened.get() + "\n").encode())
            decided.append(float(await decider.stdout.readline()))
        assert (await running).text == "done"
    decider.stdin.close()
    await decider.wait()
    return [1000 * (b - d) for d, b in zip(decided, began, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--count", type=int, default=50)
    with tempfile.TemporaryDirectory() as folder:
        took = asyncio.run(wakes(Path(folder), parser.parse_args().count))
    say = print
    say(
        f"{len(took)} decisions of another process: woken after {statistics.median(took):.0f} ms "
        f"(median), {max(took):.0f} ms at most"
    )


if __name__ == "__main__":
    main()
