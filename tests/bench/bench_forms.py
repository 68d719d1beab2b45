"""Forms: how long a large one takes to show, and what cards cost on the wire. Prints a table.

``python -m tests.bench.bench_forms``

The figures to keep are those of the design: bundle at most 320 kB (105 kB compressed), a card's own
messages at most 5 kB plus its data, 20 cards at most one bundle and 120 kB.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import comm
from comm.base_comm import BaseComm
from ipywidgets import Widget

from hitl_widgets.request import Request
from hitl_widgets.schema import shape_of
from hitl_widgets.screen import hub
from hitl_widgets.screen.form import RequestForm
from hitl_widgets.screen.views import request_view
from tests.browser.forms_page import FormsPage
from tests.browser.session import running_chromium
from tests.conformance.forms.models import Hundred

RUNS = 15
BUNDLE_LIMIT, ZIPPED_LIMIT = 320_000, 105_000
CARD_LIMIT, TWENTY_LIMIT = 5_000, 120_000


class _Comm(BaseComm):
    """Counts the bytes of what would go over the wire."""

    total = 0

    def publish_msg(self, _kind: str, data: Any = None, **_more: Any) -> None:
        _Comm.total += len(json.dumps(data, ensure_ascii=False).encode())


class _Desk:
    """Nobody decides here."""

    def subscribe(self, _callback: Any) -> Any:
        return lambda: None


def main() -> None:
    """Measure, and print."""
    rows = [*bundle(), *wire(), *page()]
    for row in [("what", "measured", "at most"), *rows]:
        sys.stdout.write("{:52} {:>12} {:>12}\n".format(*row))


def bundle() -> Iterator[tuple[str, str, str]]:
    code = hub.BUNDLE.read_bytes()
    yield "bundle", kilo(len(code)), kilo(BUNDLE_LIMIT)
    yield "bundle, gzip", kilo(len(gzip.compress(code, 9))), kilo(ZIPPED_LIMIT)


def wire() -> Iterator[tuple[str, str, str]]:
    """Bytes from the kernel when forms are shown; the first brings the bundle with it."""
    with counted():
        data = len(json.dumps(request_view(asked(0))).encode())
        first = cost(lambda: show(1))
        second = cost(lambda: show(1))
        twenty = cost(lambda: show(18)) + first + second
    size = hub.BUNDLE.stat().st_size
    yield "one form of 1 field: its data", kilo(data), ""
    yield "one form of 1 field, after the bundle: all", kilo(second), kilo(CARD_LIMIT + data)
    yield "20 forms, less the bundle", kilo(twenty - size), kilo(TWENTY_LIMIT)
    with counted():
        show(1)
        hundred = cost(lambda: RequestForm(asked(1, Hundred), desk=_Desk()))
    yield "one form of 100 fields, after the bundle", kilo(hundred), ""


@contextmanager
def counted() -> Iterator[None]:
    before, comm.create_comm, hub._hub = comm.create_comm, _Comm, None
    try:
        yield
    finally:
        Widget.close_all()
        comm.create_comm, hub._hub = before, None


def cost(does: Any) -> int:
    before = _Comm.total
    does()
    return _Comm.total - before


def show(count: int) -> None:
    for number in range(count):
        RequestForm(asked(number), desk=_Desk())


def asked(number: int, kind: Any = str) -> Request:
    return Request(
        id=f"r_bench_{number}_{getattr(kind, '__name__', kind)}",
        run_id="run_bench",
        tool_call_id="c_bench",
        ordinal=0,
        kind="input",
        tool_name="ask",
        args={},
        fingerprint="hf1:" + "a" * 52,
        state="pending",
        agent_id="ask",
        agent_path=(),
        created_at=datetime.now(UTC),
        allowed=("answer", "decline"),
        message="Which city?",
        resume_schema=shape_of(kind).json_schema,
    )


def page() -> Iterator[tuple[str, str, str]]:
    """Milliseconds in the page, from the view to the drawn form; the median of some runs."""
    with running_chromium() as browser:
        forms = FormsPage(browser.new_page(viewport={"width": 760, "height": 900}))
        for name, kind in (("1 field", str), ("100 fields", Hundred)):
            view = request_view(asked(2, kind))
            times = [forms.page.evaluate(TIMED, view) for _ in range(RUNS)]
            yield f"show a form of {name}, ms (facts: 22-29 for 100)", f"{first(times):.0f}", ""
        typing = [forms.page.evaluate(TYPED, str(i)) for i in range(RUNS)]
        yield "one key in a form of 100 fields, ms", f"{first(typing):.0f}", "16"
        assert forms.problems == []


def first(times: list[float]) -> float:
    return statistics.median(times)


TIMED = """async view => {
  const began = performance.now();
  await window.show(view);
  document.body.getBoundingClientRect();
  return performance.now() - began;
}"""
TYPED = """async text => {
  const box = document.querySelector('.form input[type="text"]');
  const began = performance.now();
  box.value += text;
  box.dispatchEvent(new InputEvent('input', { bubbles: true, data: text }));
  await new Promise(drawn => setTimeout(drawn));
  document.body.getBoundingClientRect();
  return performance.now() - began;
}"""


def kilo(size: int) -> str:
    return f"{size / 1000:.1f} kB"


if __name__ == "__main__":
    main()
