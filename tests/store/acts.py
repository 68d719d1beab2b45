"""What another process does to a store: ``python -m tests.store.acts ACT PATH [ARGUMENT]``.

An act prints one line when it is done, then waits for a line or the end of its input, and dies
without cleaning up, as a killed kernel does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hitl_widgets.errors import AlreadyDecided, HitlError
from hitl_widgets.store.sqlite import SqliteStore

from .making import (
    FINGERPRINT,
    RESULT,
    a_request,
    a_run,
    a_vote,
    claim,
    free,
    gated,
    running,
    waiting,
)

ROOT = Path(__file__).parents[2]


def _open(store: SqliteStore, _: str) -> str:
    waiting(store)
    return store.owner


def _claim(store: SqliteStore, _: str) -> str:
    running(store)
    return store.owner


def _verb(store: SqliteStore, _: str) -> str:
    waiting(store, run={"kind": "verb", "resumable": False})
    return store.owner


def _approved_verb(store: SqliteStore, _: str) -> str:
    waiting(store, run={"kind": "verb", "resumable": False})
    store.decide([a_vote()])
    return store.owner


def _mixed(store: SqliteStore, _: str) -> str:
    """A resumable run with one request that is not."""
    waiting(store, resumable=False)
    return store.owner


def _unsaved(store: SqliteStore, _: str) -> str:
    store.open_run(a_run())
    return store.owner


def _free(store: SqliteStore, template: str) -> str:
    store.open_run(a_run(), frames={"run_1": 1})
    store.save("run_1", "lease", calls=[free(template=json.loads(template))], durable=False)
    return store.owner


def _free_calls(store: SqliteStore, _: str) -> str:
    """Two that finished and one that runs."""
    store.open_run(a_run(), frames={"run_1": "first"})
    for n in range(3):
        new = free(f"c{n}")
        store.save("run_1", "lease", frames={"run_1": n}, calls=[new], durable=False)
        if n < 2:
            store.finish(f"c{n}", "call", "done", RESULT, durable=False)
    return store.owner


def _parked(store: SqliteStore, _: str) -> str:
    running(store)
    store.park("call_1", "call", a_request("req_2", ordinal=1))
    return store.owner


def _idempotent(store: SqliteStore, _: str) -> str:
    store.open_run(a_run(), frames={"run_1": 1})
    new = gated()
    new = replace(new, template={**new.template, "idempotent": True})
    store.save("run_1", "lease", calls=[new])
    store.decide([a_vote()])
    claim(store)
    return store.owner


def _decide(store: SqliteStore, name: str) -> str:
    sys.stdin.readline()
    try:
        store.decide([a_vote(reviewer=name, fingerprint=FINGERPRINT)])
    except AlreadyDecided as error:
        return f"lost to {error.by}"
    return "won"


def _race_claim(store: SqliteStore, name: str) -> str:
    sys.stdin.readline()
    try:
        claim(store, by=name)
    except HitlError as error:
        return type(error).__name__
    return "won"


def _decide_own(store: SqliteStore, request_id: str) -> str:
    sys.stdin.readline()
    store.decide([a_vote(request_id, reviewer=request_id)])
    return "won"


def _owner(store: SqliteStore, _: str) -> str:
    return store.owner


ACTS = {name.lstrip("_"): act for name, act in list(globals().items()) if name.startswith("_")}


class Other:
    """A process that acts."""

    def __init__(self, act: str, path: Path | str, argument: str = "") -> None:
        command = [sys.executable, "-m", "tests.store.acts", act, str(path), argument]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def go(self) -> None:
        """Let an act that waits for its start begin."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def said(self) -> str:
        """What the act printed."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the other process died: {self.process.wait()}"
        return line.rstrip("\n")

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@contextmanager
def other(act: str, path: Path | str, argument: str = "") -> Iterator[Other]:
    """A process that acts, killed at the end of the block."""
    process = Other(act, path, argument)
    try:
        yield process
    finally:
        process.kill()


def dead(act: str, path: Path | str, argument: str = "") -> str:
    """Let a process act and kill it; what it said."""
    with other(act, path, argument) as process:
        return process.said()


if __name__ == "__main__":
    act, path, *rest = sys.argv[1:]
    sys.stdout.write(ACTS[act](SqliteStore(path), rest[0] if rest else "") + "\n")
    sys.stdout.flush()
    sys.stdin.readline()
    os._exit(0)
