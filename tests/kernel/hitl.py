"""A page without a browser that shows the product's cards, says hello, decides and types."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kernel.notebook import PATIENCE_SECONDS, Message, Notebook


class Hitl:
    """What a front end knows of the product's widgets in one kernel."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook
        self.questions: list[Message] = []
        self._seen = len(notebook.published)
        self._numbers = itertools.count()

    async def begin(self, store: Path) -> None:
        """A store of its own, no page, and a fresh surface."""
        await self.notebook.run(
            "import os, hitl_widgets as hitl\n"
            "from hitl_widgets import surface\n"
            "from hitl_widgets.screen import hub as hub_module\n"
            f"os.environ['HITL_STORE'] = {str(store)!r}\n"
            "hub_module._pages.clear()\n"
            "if hub_module._hub is not None: hub_module._hub.close()\n"
            "surface.reset()\n"
        )
        self._seen = len(self.notebook.published)
        while await self.notebook.client.stdin_channel.msg_ready():
            await self.notebook.client.get_stdin_msg(timeout=1)

    def forget(self) -> None:
        """Look only at what is shown from now on."""
        self._seen = len(self.notebook.published)

    # -- the input box ------------------------------------------------------------------------

    async def asked(self) -> Message:
        """Wait for the input box; its content."""
        message = await asyncio.wait_for(
            self.notebook.client.get_stdin_msg(timeout=None), PATIENCE_SECONDS
        )
        assert message["msg_type"] == "input_request"
        self.questions.append(message["content"])
        return message["content"]

    def types(self, text: str) -> None:
        """Type into the box."""
        self.notebook.client.input(text)

    # -- cards --------------------------------------------------------------------------------

    def _states(self) -> dict[str, dict[str, Any]]:
        """Every widget opened since the beginning, with its state as last sent."""
        states: dict[str, dict[str, Any]] = {}
        for message in self.notebook.published[self._seen :]:
            content = message["content"]
            if message["msg_type"] == "comm_open":
                states[content["comm_id"]] = dict(content["data"].get("state", {}))
            elif content.get("comm_id") in states and content["data"].get("method") == "update":
                states[content["comm_id"]].update(content["data"]["state"])
        return states

    def _panels(self) -> list[dict[str, Any]]:
        states = self._states()
        return [{"comm": c, **s} for c, s in states.items() if s.get("requests")]

    async def card(self) -> dict[str, Any]:
        """Wait for a panel with a request in it; its state."""
        return (await self.cards(1))[0]

    async def cards(self, number: int) -> list[dict[str, Any]]:
        """Wait for so many panels with a request."""
        look = lambda: len(self._panels()) >= number and self._panels()  # noqa: E731
        return await self.notebook.until(look, f"{number} panels with a request")

    async def shows(self, look: Callable[[dict[str, Any]], bool]) -> None:
        """Wait until a request in a panel is shown like that."""
        await self.notebook.until(
            lambda: any(look(r) for s in self._states().values() for r in s.get("requests") or ()),
            "a request shown like that",
        )

    def decides(self, request: dict[str, Any], decision: dict[str, Any], *, comm: str = "") -> str:
        """Send what a press on the card sends."""
        content = {
            "type": "decide",
            "id": f"m{next(self._numbers)}",
            "request_id": request["id"],
            "fingerprint": request["fingerprint"],
            "decision": decision,
            "visible_ms": 1000,
        }
        return self._custom(comm or self._panels()[-1]["comm"], content)

    async def says_hello(self) -> None:
        """Send what a page sends that shows cards."""

        def hub() -> str | None:
            return next((c for c, s in self._states().items() if "locale" in s), None)

        comm = await self.notebook.until(hub, "the hub")
        content = {
            "type": "hello",
            "id": f"m{next(self._numbers)}",
            "page": "page-1",
            "locale": "en",
        }
        sent = self._custom(comm, content)
        await self.notebook.handled(sent)

    def _custom(self, comm: str, content: dict[str, Any]) -> str:
        data = {"method": "custom", "content": content}
        return self.notebook.send("comm_msg", {"comm_id": comm, "data": data})
