"""Terminals as they come: other languages and encodings, narrow ones, and ones that go away."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.terminal import key_of
from hitl_widgets.words import LOCALES, saying
from tests.terminal.conftest import ROOT, Run
from tests.terminal.test_prompt import AGENT, GATED

Rows = Callable[[], list[dict[str, Any]]]

JAPANESE = {"LC_ALL": "", "LC_MESSAGES": "", "LANG": "ja_JP.UTF-8"}
SILENT = GATED.replace('print("RAN", id)', 'print("RAN")')


class TestLanguages:
    def test_the_environments_language_is_spoken_and_understood(self, run: Run, rows: Rows) -> None:
        terminal = run(AGENT, **JAPANESE)
        shown = terminal.sees("[e] 編集")
        assert 'delete_record(id="abc-123") を許可しますか？' in shown  # noqa: RUF001
        assert "[y] はい  [n] いいえ" in shown
        terminal.types("はい。")
        terminal.sees("何も決まっていません。")
        terminal.sees("[e] 編集")
        terminal.types("はい")
        assert "承認: " in terminal.sees("def-456")
        terminal.sees("[e] 編集")
        terminal.types("t")
        terminal.sees("理由と、代わりにすべきこと:")
        terminal.types("保管してください")
        terminal.ends()
        assert [r["state"] for r in rows()] == ["done", "declined"]
        assert rows()[1]["decision"]["reason"] == "保管してください"

    def test_the_language_that_was_set_comes_first(self, run: Run) -> None:
        terminal = run(
            GATED.replace("async def main", "hitl.configure(locale='en')\n    async def main"),
            **JAPANESE,
        )
        terminal.sees("Allow delete_record(")
        terminal.sees("[d]etails")
        terminal.types("n")
        terminal.ends()

    @pytest.mark.parametrize("locale", LOCALES)
    def test_every_offer_has_a_key_of_its_own(self, locale: str) -> None:
        say = saying(locale)
        names = ("yes", "fill", "no", "why.agent", "details", "edit", "respond")
        offers = [say(f"term.{name}") for name in names]
        assert [key_of(o.partition("[")[2][0], offers) for o in offers] == list("yantder")
        for typed in ("", " ", "yn", "y n", "\u0443", "yes no", "は", "[y]"):
            assert key_of(typed, offers) is None, typed


class TestEncodings:
    def test_what_a_terminal_cannot_show_is_spelt_out(self, run: Run, rows: Rows) -> None:
        code = SILENT.replace('"abc-123"', '"日…"').replace(", e)", ", ascii(str(e)))")
        terminal = run(code, **JAPANESE, PYTHONIOENCODING="ascii")
        shown = terminal.sees("[d]etails")
        assert 'id="[U+65E5]..."' in shown
        terminal.types("d")
        assert "| [U+65E5]..." in terminal.sees("Allow ")
        terminal.sees("[d]etails")
        terminal.types("t")
        terminal.sees("instead:")
        terminal.types("やめて")
        assert "[U+3084]" in terminal.ends()
        assert rows()[0]["decision"]["reason"] == "やめて"

    def test_bytes_that_are_no_text_are_replaced(self, run: Run, rows: Rows) -> None:
        """Halves of characters would break the store, or the request to the model."""
        terminal = run(GATED)
        terminal.sees("[d]etails")
        terminal.sees(">")
        terminal.types("t")
        terminal.sees("instead:")
        os.write(terminal.child.child_fd, b"caf\xe9\r")
        terminal.ends()
        assert rows()[0]["decision"]["reason"] == "caf\ufffd"

    @pytest.mark.usefixtures("store")
    def test_a_list_is_printed_wherever_it_goes(self) -> None:
        """Into a pipe of any encoding, which may close early."""
        with contextlib.suppress(hitl.RunSuspended):
            hitl.confirm_sync("日本\u202e?", key="k")
        command = f"{sys.executable} -m hitl_widgets inbox list"
        env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
        shell: dict[str, Any] = {"shell": True, "capture_output": True, "env": env, "timeout": 60}
        done = subprocess.run(command, check=False, **shell)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"\\u65e5\\u672c[U+202E]" in done.stdout
        done = subprocess.run(f"{command} | true", check=False, **shell)
        assert done.stderr == b""


class TestSizes:
    def test_a_narrow_terminal_shows_all_of_it(self, run: Run) -> None:
        terminal = run(GATED)
        terminal.child.setwinsize(5, 8)
        shown = terminal.sees("[d]etails")
        assert 'delete_record(id="abc-123"' in shown.replace("\n", "")
        terminal.types("y")
        assert "GOT deleted abc-123" in terminal.ends()


class TestGone:
    def test_a_terminal_that_closes_decides_nothing(self, run: Run, store: Path) -> None:
        """The program goes on if it wants to; what it waits for is decided elsewhere (R5)."""
        terminal = run("import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + _flat())
        terminal.sees("[d]etails")
        terminal.sees(">")
        (request,) = asyncio.run(hitl.pending(store))
        with Path(os.devnull).open() as nothing:  # closes it, and leaves the fixture a file
            os.dup2(nothing.fileno(), terminal.child.child_fd)
        asyncio.run(hitl.decide(request, hitl.Approve()))
        assert terminal.child.wait() == 0
        assert (store.parent / "got").read_text() == "deleted abc-123"

    @pytest.mark.parametrize(
        "steps",
        [
            ("t", "instead:"),
            ("e", 'Id ["abc-123"]:'),
            ("e", 'Id ["abc-123"]:', "other", "these changes?"),
        ],
    )
    def test_ctrl_c_at_every_prompt_runs_nothing(
        self, run: Run, store: Path, steps: tuple[str, ...]
    ) -> None:
        """R16: the agent's request goes on waiting."""
        terminal = run(AGENT)
        terminal.sees("[e]dit")
        for types, sees in zip(steps[::2], steps[1::2], strict=True):
            terminal.types(types)
            terminal.sees(sees)
        terminal.presses("\x03")
        assert "KeyboardInterrupt" in terminal.ends()
        assert "RAN" not in terminal.seen
        assert [r.state for r in asyncio.run(hitl.pending(store))] == ["pending", "pending"]


def _flat() -> str:
    """The gated script, with its result in a file: nobody can read its terminal any more."""
    code = GATED.replace(
        'print("GOT", await delete_record("abc-123"))',
        "got = await delete_record('abc-123')\n"
        "            import os, pathlib\n"
        "            pathlib.Path(os.environ['HITL_STORE']).with_name('got').write_text(got)",
    ).replace('print("RAN", id)', "pass")
    return "\n".join(line.removeprefix("    ") for line in code.splitlines())
