"""A script in a real pseudo-terminal, and a person who types at it."""

from __future__ import annotations

import os
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

import hitl_widgets as hitl

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 20

# What a terminal obeys and a person does not see: the prompt's own drawing.
DRAWING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08|\r")


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, *arguments: str, store: Path, **env: str) -> None:
        self.child: Any = pexpect.spawn(
            sys.executable,
            list(arguments),
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "HITL_STORE": str(store),
                "TERM": "xterm-256color",
                **env,
            },
            timeout=PATIENCE_SECONDS,
            encoding="utf-8",
            dimensions=(50, 220),
        )
        self.child.delaybeforesend = None
        self.seen = ""

    def sees(self, text: str) -> str:
        """Wait until this text is shown; what a person reads up to and with it."""
        self.child.expect_exact(text)
        shown = self.child.before + self.child.after
        self.seen += shown
        return DRAWING.sub("", shown)

    def types(self, text: str) -> None:
        """Type a line."""
        self.child.send(text + "\r")

    def presses(self, key: str) -> None:
        """Press a key."""
        self.child.send(key)

    def ends(self) -> str:
        """Wait for the end of the program; what was shown since the last look."""
        self.child.expect(pexpect.EOF)
        shown = self.child.before
        self.seen += shown
        self.child.close()
        return DRAWING.sub("", shown)

    @property
    def exit_code(self) -> int:
        return self.child.exitstatus


Run = Callable[..., Terminal]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "requests.db"
    monkeypatch.setenv("HITL_STORE", str(path))
    return path


@pytest.fixture
def run(store: Path, tmp_path: Path) -> Iterator[Run]:
    """Run a script (text), or a command (several arguments), in a terminal."""
    started: list[Terminal] = []

    def start(*arguments: str, **env: str) -> Terminal:
        if len(arguments) == 1:
            script = tmp_path / f"script{len(started)}.py"
            script.write_text(textwrap.dedent(arguments[0]), encoding="utf-8")
            arguments = (str(script),)
        started.append(Terminal(*arguments, store=store, **env))
        return started[-1]

    yield start
    for terminal in started:
        if terminal.child.isalive():
            terminal.child.kill(signal.SIGKILL)
        terminal.child.close(force=True)


@pytest.fixture
def rows(store: Path) -> Callable[[], list[dict[str, Any]]]:
    return lambda: list(hitl.history(store))
