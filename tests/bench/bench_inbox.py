"""The inbox over ten thousand requests: when it is open, and how it scrolls.

``python -m tests.bench.bench_inbox [number]``

In a real JupyterLab on this machine. The figures to keep are those of the design: open under a
second after its cell runs, 50 frames per second while the list is scrolled. Run it on a quiet
machine; on a busy one look at the page's own work per frame, which is counted in CPU time: 50
frames per second leave 20 ms for it.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import CDPSession

from hitl_widgets.fingerprint import fingerprint
from hitl_widgets.store.sqlite import SqliteStore
from tests.browser.lab import running_lab
from tests.browser.notebook import Notebook
from tests.browser.session import LabSession, lab_session, running_chromium
from tests.store.making import a_call, a_run, gated

OPEN_MS, FILTER_MS, FPS = 1000, 1000, 50
FRAMES = 240
RUN = 100
"""Requests of one run."""

# From the moment the cell is started to the first frame that shows a filled row.
OPENS = """async ([path, index]) => {
  const before = document.querySelectorAll('.hitl-root [role=grid]').length;
  const from = performance.now();
  const shown = new Promise((resolve) => {
    const look = () => {
      const grids = document.querySelectorAll('.hitl-root [role=grid]');
      if (grids.length > before && grids[grids.length - 1].querySelector('.row .name'))
        resolve(performance.now() - from);
      else requestAnimationFrame(look);
    };
    look();
  });
  await harness.start(path, 'notebook:run-cell', index);
  return shown;
}"""

# Scrolls so many rows per frame for so many frames; the times of the frames, and how many rows
# were drawn without their words.
SCROLLS = """async ([rowsPerFrame, frames]) => {
  const grid = [...document.querySelectorAll('.hitl-root [role=grid]')].at(-1);
  const height = grid.querySelector('.row').offsetHeight;
  grid.scrollTop = 0;
  await new Promise((resolve) => setTimeout(resolve, 500));
  const times = [];
  let empty = 0, drawn = 0;
  await new Promise((resolve) => {
    const step = (now) => {
      times.push(now);
      for (const row of grid.querySelectorAll('.row')) {
        drawn += 1;
        if (!row.querySelector('.name')) empty += 1;
      }
      grid.scrollTop += rowsPerFrame * height;
      if (times.length > frames) resolve();
      else requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  });
  const stopped = performance.now();
  await new Promise((resolve) => {
    const look = () =>
      [...grid.querySelectorAll('.row')].every((row) => row.querySelector('.name'))
        ? resolve() : requestAnimationFrame(look);
    look();
  });
  return { times, empty: empty / drawn, settled: performance.now() - stopped,
           at: Math.round(grid.scrollTop / height) };
}"""

FILTERS = """async (text) => {
  const root = [...document.querySelectorAll('.hitl-root .inbox')].at(-1);
  const input = root.querySelector('input[type=search]');
  const from = performance.now();
  input.value = text;
  input.dispatchEvent(new Event('input', { bubbles: true }));
  await new Promise((resolve) => {
    const look = () => /match/.test(root.querySelector('.matches').textContent)
      ? resolve() : requestAnimationFrame(look);
    look();
  });
  return performance.now() - from;
}"""


def main() -> None:
    """Measure, and print."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    sys.stdout.write("{:56} {:>14} {:>12}\n".format("what", "measured", "to keep"))
    folder = Path(tempfile.mkdtemp(prefix="hitl-bench-"))
    with running_lab(folder) as server, running_chromium() as browser:
        for row in measure(lab_session(server, browser), number):
            sys.stdout.write("{:56} {:>14} {:>12}\n".format(*row))
            sys.stdout.flush()


def measure(lab: LabSession, number: int) -> Iterator[tuple[str, str, str]]:
    """Fill a store, open the inbox on it, and use it."""
    cells = ["import hitl_widgets as hitl", "hitl.inbox()", "hitl.inbox()"]
    notebook = lab.open("bench", cells)
    fill(SqliteStore(notebook.store), number)
    notebook.run(0)
    notebook.wait_done()
    yield "requests that wait", f"{number:,}", ""
    yield "opening, with the bundle and the kernel's imports", ms(opens(lab, notebook, 1)), ""
    lab.wire.reset()
    yield "opening again", ms(opens(lab, notebook, 2)), f"{OPEN_MS} ms"
    received = sum(lab.wire.received.values())
    yield "received for it", f"{received / 1000:.0f} kB", ""
    for name, rows_per_frame in (("slowly", 0.25), ("fast", 2.0), ("flung", 40.0)):
        yield from scrolled(lab, name, rows_per_frame)
    took = float(lab.page.evaluate(FILTERS, f'user-{number - 1}"'))
    yield "text found among all arguments", ms(took), f"{FILTER_MS} ms"


def fill(store: SqliteStore, number: int) -> None:
    """Runs that each wait for many requests."""
    for first in range(0, number, RUN):
        run = f"run_{first}"
        calls = []
        for n in range(first, min(first + RUN, number)):
            args = {"to": f"user-{n}", "amount": n, "note": "for the books, as agreed by mail"}
            made = fingerprint("pay", args)
            call = a_call(f"call_{n}", run, tool_name=("pay", "refund", "mail")[n % 3], args=args)
            calls.append(
                gated(
                    call,
                    f"req_{n}",
                    agent_id=f"agent-{first % 700}",
                    fingerprint=made.text,
                    digests=made.digests,
                    origin={"notebook": f"book-{first % 900}.ipynb"},
                )
            )
        store.open_run(a_run(run), frames={run: {}}, calls=calls)
        store.release(run, "lease", "suspended")


def opens(lab: LabSession, notebook: Notebook, index: int) -> float:
    """Milliseconds until the first rows of the inbox in the cell `index` are drawn."""
    shown = float(lab.page.evaluate(OPENS, [notebook.name, index]))
    notebook.wait_done()
    return shown


def scrolled(lab: LabSession, name: str, rows_per_frame: float) -> Iterator[tuple[str, str, str]]:
    """Scroll for a few seconds."""
    devtools = lab.page.context.new_cdp_session(lab.page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = worked(devtools)
    seen = lab.page.evaluate(SCROLLS, [rows_per_frame, FRAMES])
    work = 1000 * (worked(devtools) - before) / FRAMES
    devtools.detach()
    times: list[float] = seen["times"]
    gaps = [b - a for a, b in itertools.pairwise(times)]
    fps = 1000 * len(gaps) / (times[-1] - times[0])
    slow = statistics.quantiles(gaps, n=20)[-1]
    what = f"scrolled {name} ({rows_per_frame:g} rows a frame, to row {seen['at']:,})"
    yield what, f"{fps:.0f} fps", f"{FPS} fps"
    yield "  a frame, 95th percentile; the slowest", f"{slow:.0f}; {max(gaps):.0f} ms", ""
    yield "  the page's work per frame", f"{work:.1f} ms", f"{1000 / FPS:.0f} ms"
    yield "  rows drawn before their words came", f"{100 * seen['empty']:.0f} %", ""
    yield "  all there after it stops", ms(seen["settled"]), ""


def worked(devtools: CDPSession) -> float:
    """Seconds of CPU that the page's main thread has used for its tasks."""
    found = devtools.send("Performance.getMetrics")["metrics"]
    return next(float(m["value"]) for m in found if m["name"] == "TaskDuration")


def ms(number: float) -> str:
    return f"{number:.0f} ms"


if __name__ == "__main__":
    main()
