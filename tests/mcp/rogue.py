"""An MCP server that misbehaves: ``python rogue.py LOG HOW``. Raw JSON-RPC over stdio.

No SDK would let a server do these things, so this one is written by hand.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

LOG, HOW = Path(sys.argv[1]), sys.argv[2]
PLAIN: dict[str, Any] = {"name": "plain", "inputSchema": {"type": "object"}}
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def log(what: object) -> None:
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(what) + "\n")


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def initialize(params: dict[str, Any]) -> dict[str, Any]:
    return {
        "protocolVersion": params["protocolVersion"],
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "rogue\u202e\x1b[31m", "version": "1"},
    }


def listed(params: dict[str, Any]) -> dict[str, Any]:
    match HOW:
        case "pages-without-end":
            page = int(params.get("cursor") or 0)
            return {"tools": [PLAIN], "nextCursor": str(page + 1)}
        case "same-page-again":
            return {"tools": [PLAIN], "nextCursor": "again"}
        case "one-bad-schema":
            bad = {"name": "bad", "inputSchema": {"type": "object", "properties": {"a": 7}}}
            return {"tools": [bad, PLAIN]}
        case "a-name-twice":
            return {"tools": [PLAIN, {**PLAIN, "annotations": {"readOnlyHint": True}}]}
        case _:
            return {"tools": [PLAIN]}


def called(key: Any) -> None:
    log("called")
    if HOW == "dies-while-it-asks":
        send(id="e1", method="elicitation/create", params=form())
        time.sleep(0.5)
        os._exit(1)
    if HOW == "answers-while-it-asks":
        send(id="e1", method="elicitation/create", params=form())
        time.sleep(0.5)
    if HOW.startswith("address "):
        params = {"mode": "url", "message": "Go.", "url": HOW[8:], "elicitationId": "1"}
        send(id="e1", method="elicitation/create", params=params)
        return
    if HOW == "no-form":
        params = {"mode": "form", "message": "What?", "requestedSchema": {"type": "array"}}
        send(id="e1", method="elicitation/create", params=params)
        return
    if HOW == "garbage":
        sys.stdout.write("this is no JSON\n\x00\xff\n{}\n[]\n")
        sys.stdout.flush()
    if HOW == "no-result":
        send(id=key, result={"nothing": True})
        return
    send(id=key, result={"content": [{"type": "text", "text": "ran"}]})


def form() -> dict[str, Any]:
    return {"mode": "form", "message": "Which city?", "requestedSchema": CITY}


call_id: Any = None
for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            send(id=message["id"], result=initialize(message["params"]))
        case "tools/list" if HOW == "refuses-to-list":
            send(id=message["id"], error={"code": -32603, "message": "no list today"})
        case "tools/list":
            send(id=message["id"], result=listed(message.get("params") or {}))
        case "tools/call":
            call_id = message["id"]
            called(call_id)
        case None:  # an answer of the client's
            log({"answer": message.get("result") or message.get("error")})
            if message["id"] == "e1" and HOW != "answers-while-it-asks":
                send(id=call_id, result={"content": [{"type": "text", "text": "ran"}]})
        case str() if "id" in message:
            send(id=message["id"], error={"code": -32601, "message": "unknown"})
        case _:
            pass
