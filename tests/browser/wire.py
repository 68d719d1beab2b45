"""Count what goes over the kernels' websockets, by message type."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page, WebSocket


def message_type(frame: str | bytes) -> str:
    """Return the message type of one frame of the ``v1.kernel.websocket.jupyter.org`` protocol.

    A binary frame starts with the number of offsets and the offsets (64-bit, little-endian); the
    first part is the channel's name, the second the header. A text frame is one JSON object.
    """
    if isinstance(frame, str):
        return str(json.loads(frame)["header"]["msg_type"])
    second, third = (int.from_bytes(frame[8 * i : 8 * i + 8], "little") for i in (2, 3))
    return str(json.loads(frame[second:third])["msg_type"])


class Wire:
    """Bytes received from and sent to kernels by `page` since the last :meth:`reset`."""

    def __init__(self, page: Page) -> None:
        self.received: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        page.on("websocket", self._watch)

    def _watch(self, socket: WebSocket) -> None:
        if "/channels" in socket.url:
            socket.on("framereceived", lambda frame: self._add(self.received, frame))
            socket.on("framesent", lambda frame: self._add(self.sent, frame))

    @staticmethod
    def _add(counter: Counter[str], frame: str | bytes) -> None:
        counter[message_type(frame)] += len(frame)

    def reset(self) -> None:
        """Start counting from nothing."""
        self.received.clear()
        self.sent.clear()
