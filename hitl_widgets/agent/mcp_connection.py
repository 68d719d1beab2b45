"""One connection to an MCP server: the tools that it lists, its calls, what it asks meanwhile."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from ..elicitation import Calling, callback
from ..errors import AgentDefinitionError, HitlError

if TYPE_CHECKING:
    from .mcp import MCPToolset

CONNECTION_CLOSED = -32000
"""The SDK's error code of a request whose connection went away."""

MOST_PAGES = 1_000
"""A list of tools that has more pages is taken for one without end."""

WENT_AWAY = (
    "{0}: the server went away before it answered; whether it did anything is not known. Find "
    "out before you call it again."
)

_log = logging.getLogger("hitl_widgets")


class ToolFailed(HitlError):
    """A server's tool ended in an error; its text is for the model."""


class Connection:
    """One connection, on one event loop, held by a task of its own.

    The SDK's client has to be left by the task that entered it.
    """

    def __init__(self, toolset: MCPToolset) -> None:
        self._toolset = toolset
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Future[Any] = self._loop.create_future()
        self._over = asyncio.Event()
        self._stale = True
        self._listing = asyncio.Lock()
        self._calls: list[Calling] = []
        self._task = asyncio.ensure_future(self._serve())

    @property
    def lives(self) -> bool:
        """Whether it can be used on this event loop."""
        here = self._loop is asyncio.get_running_loop()
        return here and not self._task.done() and not self._over.is_set()

    async def ready(self) -> None:
        """Wait until it is connected."""
        try:
            await asyncio.shield(self._ready)
        except HitlError:
            raise
        except ModuleNotFoundError as e:
            raise AgentDefinitionError(
                f"MCPToolset needs the extra: pip install 'hitl-widgets[mcp]' ({e})."
            ) from e
        except Exception as e:
            raise AgentDefinitionError(
                f"The MCP server {self._toolset.server!r} can not be reached: {_words(e)}. Check "
                "the command or URL."
            ) from e

    async def fresh(self) -> None:
        """See that the list of tools is the server's latest, as far as it told."""
        async with self._listing:
            if not self._stale:
                return
            self._stale = False
            try:
                self._toolset.take(await self._listed(await self._ready))
            except BaseException:
                self._stale = True
                raise

    async def _listed(self, client: Any) -> list[Any]:
        listed: list[Any] = []
        cursor: str | None = None
        seen: set[str | None] = set()
        while cursor not in seen and len(seen) < MOST_PAGES:
            seen.add(cursor)
            try:
                page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            except Exception as e:
                raise AgentDefinitionError(
                    f"The MCP server {self._toolset.server!r} does not list its tools: {_words(e)}"
                ) from e
            listed += page.tools
            cursor = page.next_cursor
            if cursor is None:
                return listed
        raise AgentDefinitionError(
            f"The MCP server {self._toolset.server!r} lists tools without end: no page of "
            f"{len(seen)} was the last. Its list can not be used."
        )

    async def call(self, name: str, args: dict[str, Any], calling: Calling) -> Any:
        """Call a tool; see `MCPToolset.call`."""
        client = await self._ready
        called = asyncio.ensure_future(client.call_tool(name, args))
        self._calls.append(calling)
        try:
            await asyncio.wait({called, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone = not called.done()
            called.cancel()
            self._calls.remove(calling)
            calling.over()
        if gone:
            raise ToolFailed(WENT_AWAY.format(name))
        try:
            result = called.result()
        except Exception as e:
            if getattr(e, "code", None) != CONNECTION_CLOSED:
                raise ToolFailed(f"{name}: {_words(e)}") from e
            self._over.set()  # the next call connects anew
            raise ToolFailed(WENT_AWAY.format(name)) from e
        return _result(name, result)

    def _at_work(self) -> Calling | None:
        """The call that the server works on; of several, none: it does not say which one asks."""
        return self._calls[0] if len(self._calls) == 1 else None

    async def close(self) -> None:
        """Disconnect."""
        if self._loop.is_closed():
            return
        self._over.set()
        if self._loop is asyncio.get_running_loop():
            with suppress(Exception):
                await self._task

    async def _serve(self) -> None:
        try:
            async with (
                self._toolset.client(
                    message_handler=self._hear, elicitation_callback=self._asks()
                ) as client,
                asyncio.TaskGroup() as tasks,
            ):
                listening = tasks.create_task(self._listen(client))
                self._ready.set_result(client)
                await self._over.wait()
                listening.cancel()
        except Exception as e:  # noqa: BLE001  # told to whoever waits for the connection
            if not self._ready.done():
                self._ready.set_exception(e)
                return
            _log.exception("the connection to %r broke", self._toolset.server)

    def _asks(self) -> Any:
        return callback(store=self._toolset.store, who=self._at_work)

    async def _hear(self, message: Any) -> None:
        """Servers up to 2025-11-25 say by themselves that their tools changed."""
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            self._stale = True

    async def _listen(self, client: Any) -> None:
        """Later ones say it to whoever listens."""
        from mcp.client.subscriptions import (  # noqa: PLC0415
            ListenNotSupportedError,
            SubscriptionLost,
        )
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415

        while True:
            try:
                async with client.listen(tools_list_changed=True) as changes:
                    self._stale = True  # nothing is replayed: what came before is listed anew
                    async for _ in changes:
                        self._stale = True
            except SubscriptionLost:
                await asyncio.sleep(1)
            except (ListenNotSupportedError, MCPError):
                return


def _result(name: str, result: Any) -> Any:
    """A call's result as JSON: what is structured, else its text."""
    blocks = [b.model_dump(mode="json", by_alias=True, exclude_none=True) for b in result.content]
    text = "\n".join(b["text"] if b["type"] == "text" else json.dumps(b) for b in blocks)
    if result.is_error:
        raise ToolFailed(text or f"{name} failed.")
    if result.structured_content is not None:
        return result.structured_content
    return text


def _words(error: BaseException) -> str:
    """An error's words; of a group, those of what is in it."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        return "; ".join(_words(e) for e in group.exceptions)
    return f"{type(error).__name__}: {error}"
