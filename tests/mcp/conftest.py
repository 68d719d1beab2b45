"""A real MCP server in a process of its own, over stdio or HTTP."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.store import open_store

SERVER = Path(__file__).parent / "server.py"


class Ledger:
    """The server, and what it ran."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.command = [sys.executable, str(SERVER), str(log)]

    @property
    def ran(self) -> list[str]:
        return self.log.read_text("utf-8").splitlines() if self.log.exists() else []


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ran.log")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Any]:
    opened = open_store(tmp_path / "store.sqlite")
    hitl.configure(store=opened)
    yield opened
    hitl.configure(store=None)
    opened.close()


@pytest.fixture
async def toolset(ledger: Ledger, store: Any) -> AsyncIterator[Callable[..., hitl.MCPToolset]]:
    """Toolsets of the server, closed after the test."""
    made: list[hitl.MCPToolset] = []

    def make(server: Any = None, *args: Any, **options: Any) -> hitl.MCPToolset:
        new = hitl.MCPToolset(server or ledger.command, *args, **options)
        made.append(new)
        return new

    yield make
    for each in made:
        await each.close()


@pytest.fixture
def over_http(ledger: Ledger) -> Iterator[str]:
    """The server's URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [*ledger.command, "http", str(port)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert process.stderr is not None
    for line in process.stderr:
        if b"running on" in line:
            break
    else:
        pytest.fail("the server did not start")
    try:
        draining = threading.Thread(target=process.stderr.read)
        draining.start()
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()  # asked to stop, it waits for clients that still listen
        process.wait()
        draining.join()
        process.stderr.close()
