"""A real HTTP server on the loopback address, and a process that tells nobody at the end."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import hitl_widgets as hitl

PATIENCE = 20
"""Seconds; far above the grace and a delivery."""


class Hook(ThreadingHTTPServer):
    """What apprise's ``json://`` talks to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: queue.Queue[dict[str, Any]] = queue.Queue()
        self.answer = 200

    @property
    def url(self) -> str:
        return f"json://127.0.0.1:{self.server_port}/hook"

    def message(self) -> dict[str, Any]:
        """Wait for the next message."""
        return self.received.get(timeout=PATIENCE)


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.put(json.loads(body))
        self.send_response(self.server.answer)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _quiet_in_the_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("hitl_widgets.notifying.thread.GRACE", 0.2)
    yield
    hitl.configure(notify=None)
