"""Many runs in one kernel, each with two approvals: ``python -m tests.bench.bench_runs``.

A real ipykernel. A script plays the page: it hears the panels' comms and sends what a press on
Approve sends, as soon as a card is there. Nobody is that fast, so this finds where the kernel
saturates. Measured are decisions per second, the time from a press to the kernel's answer, the
delay of the kernel's event loop, its memory and processor time, and what goes over the wire.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client import AsyncKernelManager

ROOT = Path(__file__).parents[2]
APPROVALS = 2
LIMIT = 600
"""Seconds after which a measurement is given up."""

DEFINE = """
import asyncio, json, os, time
import hitl_widgets as hitl

@hitl.tool(require_approval=True, effect="write")
async def act(n: int, text: str) -> int:
    "Act."
    ran.append(text)
    return n

ran = []

def agent_for(n):
    text = f"the text of run {n}"
    return hitl.Agent(
        f"bench-{n}",
        model=hitl.ScriptedModel([
            [hitl.call("act", n=1, text=text)], [hitl.call("act", n=2, text=text)], "done",
        ]),
        tools=[act],
    )

def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

async def delays(late):
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.02)
        late.append(time.perf_counter() - began - 0.02)

async def bench(count):
    late = []
    ran.clear()
    agents = [agent_for(n) for n in range(count)]
    before, cpu, began = rss(), time.process_time(), time.perf_counter()
    watching = asyncio.ensure_future(delays(late))
    handles = [agent.start("go") for agent in agents]
    ended = [await handle for handle in handles]
    took, spent, after = time.perf_counter() - began, time.process_time() - cpu, rss()
    watching.cancel()
    assert sorted(ran) == sorted(2 * [f"the text of run {n}" for n in range(count)])
    assert all(result.text == "done" for result in ended), {r.finish_reason for r in ended}
    late.sort()
    at = lambda share: late[min(len(late) - 1, int(share * len(late)))]
    print(json.dumps({
        "seconds": took, "cpu": spent, "before": before, "after": after,
        "late": [at(0.5), at(0.95), late[-1]],
    }))
"""
WAL = """
from hitl_widgets.store import files
files.journal_for = lambda *_, **__: ("WAL", "to compare")
"""
START = """
bench_task = asyncio.ensure_future(bench({count}))
# Nobody awaits it: a fault would otherwise be told by the garbage collector, or never.
bench_task.add_done_callback(lambda task: task.result())
"""


@dataclass(slots=True)
class Found:
    """What one measurement found; times in seconds, sizes in bytes."""

    runs: int
    seconds: float
    cpu: float
    before: int
    after: int
    late: Sequence[float]
    answers: list[float] = field(default_factory=list[float])
    messages: int = 0
    sent: int = 0

    @property
    def decisions(self) -> int:
        """Approvals that were given."""
        return self.runs * APPROVALS


class Page:
    """A kernel, and a page that approves every card as soon as it hears of it."""

    def __init__(self, store: Path, *, wal: bool = False) -> None:
        self._store = store
        self._define = WAL + DEFINE if wal else DEFINE
        self._states: dict[str, dict[str, Any]] = {}
        self._pressed: dict[str, float] = {}
        self._asked: set[str] = set()
        self._numbers = itertools.count()
        self.answers: list[float] = []
        self.messages = self.bytes = 0

    async def start(self) -> None:
        """Start the kernel and define the agents."""
        self.manager = AsyncKernelManager(kernel_name="python3")
        path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path, "HITL_STORE": str(self._store)}
        await self.manager.start_kernel(env=env)
        self.client = self.manager.client()
        self.client.start_channels()
        await self.client.wait_for_ready(timeout=60)
        await self._printed(self.client.execute(self._define))

    async def stop(self) -> None:
        """End the kernel."""
        self.client.stop_channels()
        await self.manager.shutdown_kernel(now=True)

    async def measure(self, count: int) -> Found:
        """Have `count` runs at once."""
        self.answers, self.messages, self.bytes = [], 0, 0
        started = self.client.execute(START.format(count=count))
        told = json.loads(await self._printed(started, line=True))
        return Found(count, answers=self.answers, messages=self.messages, sent=self.bytes, **told)

    async def _printed(self, cell: str, *, line: bool = False) -> str:
        """Wait for the cell's end, or for its first line, which may come after its end."""
        async with asyncio.timeout(LIMIT):
            while True:
                message = await self.client.get_iopub_msg(timeout=None)
                kind, content = message["msg_type"], message["content"]
                if kind.startswith("comm"):
                    self._hear(kind, content)
                elif kind == "error" or (kind == "stream" and content["name"] == "stderr"):
                    raise RuntimeError(content.get("text") or "\n".join(content["traceback"]))
                elif kind == "stream" and line:
                    return content["text"]
                elif not line and kind == "status" and _ends(message, cell):
                    return ""

    def _hear(self, kind: str, content: dict[str, Any]) -> None:
        comm, data = content["comm_id"], content["data"]
        self.messages += 1
        self.bytes += len(json.dumps(data))
        if kind == "comm_open":
            state = self._states[comm] = dict(data.get("state", {}))
            if "locale" in state:
                self._send(comm, {"type": "hello", "page": "bench", "locale": "en"})
        elif data.get("method") == "update" and comm in self._states:
            self._states[comm].update(data["state"])
        elif data.get("method") == "custom":
            pressed = self._pressed.pop(data["content"]["id"], None)
            if pressed is not None:
                assert data["content"]["type"] == "ack", data["content"]
                self.answers.append(time.perf_counter() - pressed)
            return
        for request in self._states.get(comm, {}).get("requests") or ():
            if request["state"] == "pending" and request["id"] not in self._asked:
                self._asked.add(request["id"])
                self._press(comm, request)

    def _press(self, comm: str, request: dict[str, Any]) -> None:
        decision = {
            "type": "decide",
            "request_id": request["id"],
            "fingerprint": request["fingerprint"],
            "decision": {"verdict": "approve"},
            "visible_ms": 1000,
        }
        self._pressed[self._send(comm, decision)] = time.perf_counter()

    def _send(self, comm: str, content: dict[str, Any]) -> str:
        id_ = f"m{next(self._numbers)}"
        data = {"method": "custom", "content": {"id": id_, **content}}
        session = self.client.session
        message = session.msg("comm_msg", {"comm_id": comm, "data": data})
        self.client.shell_channel.socket.send_multipart(session.serialize(message))
        return id_


def _ends(message: dict[str, Any], cell: str) -> bool:
    idle = message["content"]["execution_state"] == "idle"
    return idle and message["parent_header"].get("msg_id") == cell


async def measured(counts: Sequence[int], store: Path, *, wal: bool = False) -> list[Found]:
    """One kernel, one measurement after the other; the first warms it up and is left out."""
    page = Page(store, wal=wal)
    await page.start()
    try:
        await page.measure(2)
        return [await page.measure(count) for count in counts]
    finally:
        await page.stop()


HEAD = ("runs", "s", "dec/s", "press→ack ms: median, p95", "loop late ms: median, p95, max")
HEAD += ("memory MB: +, kB/run", "CPU s", "messages", "kB/run")


def row(found: Found) -> tuple[str, ...]:
    """A measurement as cells of the table."""
    answers = sorted(found.answers)
    p95 = answers[int(0.95 * len(answers))]
    grown = found.after - found.before
    return (
        str(found.runs),
        f"{found.seconds:.1f}",
        f"{found.decisions / found.seconds:.0f}",
        f"{1000 * statistics.median(answers):.0f}, {1000 * p95:.0f}",
        ", ".join(f"{1000 * late:.0f}" for late in found.late),
        f"{grown / 1e6:+.1f}, {grown / 1000 / found.runs:.0f}",
        f"{found.cpu:.1f}",
        str(found.messages),
        f"{found.sent / 1000 / found.runs:.1f}",
    )


def fsync_ms(folder: Path) -> float:
    """Milliseconds of one fsync of 4 kB there, median: what durability costs on this disk."""
    took: list[float] = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(50):
            file.write(b"x" * 4096)
            began = time.perf_counter()
            os.fsync(file.fileno())
            took.append(time.perf_counter() - began)
    (folder / "fsync").unlink()
    return 1000 * statistics.median(took)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--runs", type=int, nargs="+", default=[25, 50, 100, 200, 400])
    parser.add_argument("--folder", type=Path, help="where the store is; another disk")
    parser.add_argument(
        "--wal", action="store_true", help="on WAL, whatever this SQLite is fit for"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hitl-bench-", dir=given.folder) as folder:
        say = sys.stdout.write
        say(f"one fsync there: {fsync_ms(Path(folder)):.1f} ms\n{' | '.join(HEAD)}\n")
        for found in asyncio.run(measured(given.runs, Path(folder) / "store.db", wal=given.wal)):
            say(" | ".join(row(found)) + "\n")


if __name__ == "__main__":
    main()
