"""HTTP: who may ask, JSON in and out, and the event streams."""

from __future__ import annotations

import json
import queue
import socket
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from .agents import ApiError
from .log import CUT, END, Log, new_id
from .routes import Stream, route

BETA = "managed-agents-2026-04-01"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    # Headers and body are written in pieces; without this each answer waits for the peer's ACK.
    disable_nagle_algorithm = True

    @property
    def double(self) -> Any:
        """The `Double` that listens."""
        return cast("Any", self.server).double

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: the terminal is the caller's."""

    def do_GET(self) -> None:
        """See `BaseHTTPRequestHandler`."""
        self._handle()

    def do_POST(self) -> None:
        """See `BaseHTTPRequestHandler`."""
        self._handle()

    def do_DELETE(self) -> None:
        """See `BaseHTTPRequestHandler`."""
        self._handle()

    def _handle(self) -> None:
        parts = urlsplit(self.path)
        try:
            body = self._body()
            self.double.note(self.command, parts.path, body)
            faulty, status = self.double.fault(self.command, parts.path)
            self._check_caller(status)
            query = parse_qs(parts.query, keep_blank_values=True)
            answer = route(self.double, self.command, parts.path, query, body)
        except ApiError as error:
            self._reply(error.status, _error(error))
            return
        if faulty:
            self._cut()
        elif isinstance(answer, Stream):
            self._stream(answer.log)
        else:
            self._reply(200, answer)

    def _body(self) -> Any:
        length = int(self.headers.get("content-length") or 0)
        if not length:
            return None
        try:
            return json.loads(self.rfile.read(length))
        except ValueError as e:
            raise ApiError(400, f"The body is no JSON: {e}") from e

    def _check_caller(self, told: int | None) -> None:
        if told is not None:
            raise ApiError(told, f"the double was told to answer {told}")
        given = self.headers.get("x-api-key") or self.headers.get("authorization", "")
        if given.removeprefix("Bearer ") != self.double.key:
            raise ApiError(401, "invalid x-api-key")
        if not self.headers.get("anthropic-version"):
            raise ApiError(400, "anthropic-version: header is required")
        if BETA not in self.headers.get("anthropic-beta", ""):
            raise ApiError(404, "Not Found")

    def _reply(self, status: int, answer: Any) -> None:
        data = json.dumps(answer).encode()
        with suppress(OSError):  # the client has left
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.send_header("request-id", new_id("req"))
            self.end_headers()
            self.wfile.write(data)

    def _cut(self) -> None:
        """Break the connection as a network does."""
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    # -- streams ---------------------------------------------------------------------------------

    def _stream(self, log: Log) -> None:
        events = log.open()
        try:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            self._frames(events)
        except OSError:  # the client has left
            self.close_connection = True
        finally:
            log.leave(events)

    def _frames(self, events: queue.SimpleQueue[Any]) -> None:
        while True:
            try:
                event = events.get(timeout=self.double.heartbeat)
            except queue.Empty:
                event = {"type": "ping"}
            if event is END:
                self.wfile.write(b"0\r\n\r\n")
                return
            if event == CUT:
                self._cut()
                return
            frame = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(frame), frame))


def _error(error: ApiError) -> dict[str, Any]:
    return {
        "type": "error",
        "error": {"type": error.kind, "message": str(error)},
        "request_id": new_id("req"),
    }
