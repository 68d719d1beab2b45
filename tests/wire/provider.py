"""A provider on loopback: it says what it was told to, streamed, and keeps what it was sent.

Four wire formats (Ollama speaks OpenAI's chat). Faults: a stream that just ends, a connection
that breaks, a busy provider.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Fault = Literal["truncated", "dropped", "busy"]


@dataclass(frozen=True)
class Call:
    """A tool call in a turn; `raw` in place of `args` to be malformed."""

    name: str
    args: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    raw: str | None = None

    @property
    def text(self) -> str:
        """The arguments as they go over the wire."""
        return json.dumps(self.args) if self.raw is None else self.raw


Turn = list[str | Call]


@dataclass(frozen=True)
class Told:
    """What a request told of earlier turns, whatever its format.

    Attributes
    ----------
    calls
        ``(id, name, arguments)`` of the model's own earlier calls, as the history has them.
    results
        Call id → the result's text.
    tools
        Names of the tools on offer.
    """

    calls: list[tuple[str, str, Any]]
    results: dict[str, str]
    tools: list[str]


class Provider:
    """The server: `turns` are said in order, a fault before a turn comes first."""

    def __init__(self, format_: str) -> None:
        self.format = FORMATS[format_]
        self.turns: list[Turn] = []
        self.faults: list[Fault] = []
        self.bodies: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def told(self) -> Told:
        """What the last request told."""
        return self.format.told(self.bodies[-1])

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            provider.bodies.append(json.loads(self.rfile.read(length)))
            fault = provider.faults.pop(0) if provider.faults else None
            if fault == "busy":
                self._busy()
                return
            events = list(provider.format.events(provider.turns[0], len(provider.bodies)))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.send_header("connection", "close")
            self.end_headers()
            if fault is None:
                provider.turns.pop(0)
            else:
                events = events[: max(1, len(events) // 2)]
            for event in events:
                self._chunk(event)
            if fault == "dropped":
                self.wfile.write(b"ffff\r\n")  # a chunk that never comes
                self.wfile.flush()
            else:
                self._chunk("")

        def _chunk(self, text: str) -> None:
            data = text.encode()
            self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            self.wfile.flush()

        def _busy(self) -> None:
            body = json.dumps({"error": {"message": "slow down", "code": 429}}).encode()
            self.send_response(429)
            self.send_header("content-type", "application/json")
            self.send_header("retry-after-ms", "1")
            self.send_header("connection", "close")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    return Handler


def pieces(text: str) -> list[str]:
    """A text in three pieces, as a stream has it."""
    third = max(1, len(text) // 3)
    return [text[i : i + third] for i in range(0, len(text), third)]


def sse(data: Any, event: str | None = None) -> str:
    """One server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


class Chat:
    """OpenAI's chat completions; Ollama's too."""

    @staticmethod
    def events(turn: Turn, number: int) -> Iterator[str]:
        """A turn as its stream."""
        base = {"id": f"r{number}", "object": "chat.completion.chunk", "created": 1, "model": "m"}

        def chunk(delta: dict[str, Any], reason: str | None = None) -> str:
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            return sse({**base, "choices": [choice]})

        yield chunk({"role": "assistant", "content": ""})
        calls = [part for part in turn if isinstance(part, Call)]
        for part in turn:
            if isinstance(part, str):
                yield from (chunk({"content": piece}) for piece in pieces(part))
        for i, call in enumerate(calls):
            named = {"name": call.name, "arguments": ""}
            head = {"index": i, "id": call.id, "type": "function", "function": named}
            yield chunk({"tool_calls": [head]})
            for piece in pieces(call.text):
                yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
        yield chunk({}, "tool_calls" if calls else "stop")
        usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
        yield sse({**base, "choices": [], "usage": usage})
        yield sse("[DONE]")

    @staticmethod
    def told(body: dict[str, Any]) -> Told:
        """What a request tells."""
        calls = [
            (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
            for m in body["messages"]
            for c in m.get("tool_calls") or ()
        ]
        results = {m["tool_call_id"]: m["content"] for m in body["messages"] if m["role"] == "tool"}
        return Told(calls, results, [t["function"]["name"] for t in body.get("tools", ())])


class Responses:
    """OpenAI's responses."""

    @staticmethod
    def events(turn: Turn, number: int) -> Iterator[str]:
        """A turn as its stream."""
        count = iter(range(10_000))

        def event(type_: str, **more: Any) -> str:
            return sse({"type": type_, "sequence_number": next(count), **more}, type_)

        response: dict[str, Any] = {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1,
            "status": "in_progress",
            "model": "m",
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        yield event("response.created", response=response)
        output: list[dict[str, Any]] = []
        for at, part in enumerate(turn):
            item = _response_item(part, at)
            yield event("response.output_item.added", output_index=at, item=_empty(item))
            where = {"item_id": item["id"], "output_index": at}
            if isinstance(part, Call):
                for piece in pieces(part.text):
                    yield event("response.function_call_arguments.delta", delta=piece, **where)
                yield event("response.function_call_arguments.done", arguments=part.text, **where)
            else:
                where["content_index"] = 0
                for piece in pieces(part):
                    yield event("response.output_text.delta", delta=piece, logprobs=[], **where)
                yield event("response.output_text.done", text=part, logprobs=[], **where)
            yield event("response.output_item.done", output_index=at, item=item)
            output.append(item)
        usage = {
            "input_tokens": 5,
            "output_tokens": 7,
            "total_tokens": 12,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
        done = {**response, "status": "completed", "output": output, "usage": usage}
        yield event("response.completed", response=done)

    @staticmethod
    def told(body: dict[str, Any]) -> Told:
        """What a request tells."""
        items = [i for i in body["input"] if isinstance(i, dict)]
        calls = [
            (i["call_id"], i["name"], json.loads(i["arguments"]))
            for i in items
            if i.get("type") == "function_call"
        ]
        results = {
            i["call_id"]: i["output"] for i in items if i.get("type") == "function_call_output"
        }
        return Told(calls, results, [t["name"] for t in body.get("tools", ())])


def _response_item(part: str | Call, at: int) -> dict[str, Any]:
    if isinstance(part, Call):
        return {
            "type": "function_call",
            "id": f"fc_{at}",
            "call_id": part.id,
            "name": part.name,
            "arguments": part.text,
            "status": "completed",
        }
    content = [{"type": "output_text", "text": part, "annotations": []}]
    return {
        "type": "message",
        "id": f"msg_{at}",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }


def _empty(item: dict[str, Any]) -> dict[str, Any]:
    blank = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
    return {**item, **blank, "status": "in_progress"}


class Anthropic:
    """Anthropic's messages."""

    @staticmethod
    def events(turn: Turn, number: int) -> Iterator[str]:
        """A turn as its stream."""

        def event(type_: str, **more: Any) -> str:
            return sse({"type": type_, **more}, type_)

        message = {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 5, "output_tokens": 1},
        }
        yield event("message_start", message=message)
        for at, part in enumerate(turn):
            if isinstance(part, Call):
                block = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
                deltas = [
                    {"type": "input_json_delta", "partial_json": p} for p in pieces(part.text)
                ]
            else:
                block = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": p} for p in pieces(part)]
            yield event("content_block_start", index=at, content_block=block)
            for delta in deltas:
                yield event("content_block_delta", index=at, delta=delta)
            yield event("content_block_stop", index=at)
        calls = any(isinstance(p, Call) for p in turn)
        delta = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
        yield event("message_delta", delta=delta, usage={"output_tokens": 7})
        yield event("message_stop")

    @staticmethod
    def told(body: dict[str, Any]) -> Told:
        """What a request tells."""
        blocks = [
            b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"]
        ]
        calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
        results = {
            b["tool_use_id"]: _joined(b["content"]) for b in blocks if b["type"] == "tool_result"
        }
        return Told(calls, results, [t["name"] for t in body.get("tools", ())])


def _joined(content: Any) -> str:
    return content if isinstance(content, str) else "".join(b.get("text", "") for b in content)


class Gemini:
    """Google's generateContent."""

    @staticmethod
    def events(turn: Turn, number: int) -> Iterator[str]:
        """A turn as its stream; a call comes in one piece."""

        def event(parts: list[dict[str, Any]], **more: Any) -> str:
            candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
            return sse({"candidates": [candidate], "modelVersion": "m", "responseId": f"r{number}"})

        for part in turn:
            if isinstance(part, Call):
                call = {"id": part.id, "name": part.name, "args": part.args}
                yield event([{"functionCall": call}])
            else:
                yield from (event([{"text": piece}]) for piece in pieces(part))
        last = {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12}
        yield sse({**last, "usageMetadata": usage, "modelVersion": "m", "responseId": f"r{number}"})

    @staticmethod
    def told(body: dict[str, Any]) -> Told:
        """What a request tells."""
        parts = [p for c in body["contents"] for p in c["parts"]]
        calls = [
            (c["id"], c["name"], c.get("args", {}))
            for p in parts
            if (c := p.get("functionCall")) is not None
        ]
        results = {
            r["id"]: json.dumps(r["response"])
            for p in parts
            if (r := p.get("functionResponse")) is not None
        }
        declared = [d for t in body.get("tools", ()) for d in t.get("functionDeclarations", ())]
        return Told(calls, results, [d["name"] for d in declared])


FORMATS: dict[str, Any] = {
    "openai-chat": Chat,
    "openai-responses": Responses,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "ollama": Chat,
}
