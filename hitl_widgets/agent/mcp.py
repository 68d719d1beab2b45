"""Tools of an MCP server, stdio or streamable HTTP, through the `mcp` SDK (2.3 or later).

A server is somebody else's code: its tools ask by default, those that it adds later too, and what
it says about them (annotations) can make a call look more dangerous, never safe: a hint that is
absent says nothing, and none of them lifts a gate.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, cast

from ..elicitation import Calling, callback
from ..errors import AgentDefinitionError, ToolDefinitionError
from ..policy import Auto, Policy, disabled
from ..request import Effect
from ..schema import Shape, shape_of
from ..standalone import Under
from .context import ToolContext
from .mcp_connection import Connection
from .tools import Tool
from .toolsets import Config, Entry, entry_of

CONTEXT = "\0context"
"""Where a tool's body finds its context: no server's parameter has that name."""


class MCPToolset:
    """A server's tools under a common policy.

    Parameters
    ----------
    server
        A command (``"python server.py"``, or a list of its words), a URL (``http…``, streamable
        HTTP), or anything that `mcp.Client` takes.
    policy
        ``"always_ask"`` (the default), ``"always_allow"`` or `auto(evaluator)`: for tools without
        an entry in `configs`, those that the server adds later too.
    configs
        The server's name of a tool → policy of that tool, or `disabled`.
    env
        More environment variables for a command; it gets few by itself.
    prefix
        Put before every tool's name, where two servers use the same.
    timeout
        Seconds that the server may take for one answer; None: as long as it likes.
    mode
        How the protocol is agreed on; see `mcp.Client`.
    store
        Where what the server asks of a person is kept; the agent's store unless given.

    Notes
    -----
    It connects when a run first needs it, once per event loop, and stays connected until
    `close` (or ``async with``). What the server asks of a person (elicitation) becomes an
    ``input`` request; it is withdrawn with this process, for the server's question dies with it.
    """

    def __init__(
        self,
        server: Any,
        policy: Config = "always_ask",
        configs: Mapping[str, Config] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        prefix: str = "",
        timeout: float | None = None,
        mode: str = "auto",
        store: Any = None,
    ) -> None:
        _check_policies(policy, configs or {})
        self.server = server
        self.policy = policy
        self.configs = dict(configs or {})
        self.prefix = prefix
        self.entries: dict[str, Entry] = {}
        self._env = None if env is None else dict(env)
        self._timeout = timeout
        self._mode = mode
        self.store = store
        self._connection: Connection | None = None

    def __repr__(self) -> str:
        return f"MCPToolset({self.server!r}, tools={list(self.entries)})"

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def connect(self, store: Any = None) -> None:
        """Connect, or see that the connection lives; `entries` holds the server's tools then.

        Parameters
        ----------
        store
            Where its elicitations go, if the toolset was given none: its agent's store.

        Raises
        ------
        AgentDefinitionError
            The server can not be reached, or `configs` names a tool that it does not have.
        """
        self.store = store if self.store is None else self.store
        await (await self._connected()).fresh()

    async def close(self) -> None:
        """Disconnect; a command's process ends."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def call(
        self, name: str, args: Mapping[str, Any], context: ToolContext | None = None
    ) -> Any:
        """Call a tool of the server by its own name, ungated: what an approved call does.

        Parameters
        ----------
        context
            Of the agent's call, if it is one: what the server asks meanwhile is shown with its
            run.

        Raises
        ------
        ToolFailed
            The server says so, or it went away meanwhile.
        """
        under = None if context is None else Under(context.run_id, context.agent_path)
        return await (await self._connected()).call(name, dict(args), Calling(under))

    async def _connected(self) -> Connection:
        connection = self._connection
        if connection is None or not connection.lives:
            connection = self._connection = Connection(self)
        await connection.ready()
        return connection

    def client(self, **callbacks: Any) -> Any:
        """An `mcp.Client` for this server."""
        from mcp import Client  # noqa: PLC0415  # an optional extra

        options: dict[str, Any] = {"elicitation_callback": callback(store=self.store), **callbacks}
        return Client(
            self._target(), mode=self._mode, read_timeout_seconds=self._timeout, **options
        )

    def _target(self) -> Any:
        from mcp import StdioServerParameters  # noqa: PLC0415

        server = self.server
        if isinstance(server, str):
            if server.startswith(("http://", "https://")):
                return server
            server = shlex.split(server)
        if isinstance(server, list | tuple):
            words = [str(word) for word in cast("Sequence[Any]", server)]
            return StdioServerParameters(command=words[0], args=words[1:], env=self._env)
        return server

    def take(self, listed: Sequence[Any]) -> None:
        """The server's tools as it lists them now."""
        missing = self.configs.keys() - {t.name for t in listed}
        if missing and not self.entries:
            raise AgentDefinitionError(
                f"configs names {', '.join(sorted(map(repr, missing)))}, which {self.server!r} "
                f"does not have; it has {', '.join(t.name for t in listed)}."
            )
        found: dict[str, Entry] = {}
        for tool in listed:
            made = self._tool(tool)
            if made.id in found:
                raise AgentDefinitionError(
                    f"{self.server!r} lists two tools called {tool.name!r}: which one a call "
                    "would run can not be told."
                )
            policy = self.configs.get(tool.name, self.policy)
            found[made.id] = replace(entry_of(made, policy), later=True)
        self.entries = found

    def _shape(self, tool: Any) -> Shape:
        try:
            return shape_of(tool.input_schema)
        except ToolDefinitionError as e:
            raise AgentDefinitionError(
                f"{self.server!r} has a tool {tool.name!r} whose schema can not be used: {e}"
            ) from e

    def _tool(self, tool: Any) -> Tool:
        async def call(**given: Any) -> Any:
            context = given.pop(CONTEXT)
            return await self.call(tool.name, given, context)

        return Tool(
            id=f"{self.prefix}{tool.name}",
            description=tool.description or tool.title or tool.name,
            function=call,
            shape=self._shape(tool),
            context_parameters=(CONTEXT,),
            effect=effect_of(tool.annotations),
        )


def merge(
    entries: dict[str, Entry], own: Mapping[str, Entry], servers: Sequence[MCPToolset]
) -> None:
    """Bring an agent's tools up to what its servers have now, in place: running frames see it.

    Raises
    ------
    AgentDefinitionError
        Two tools of one name.
    """
    now = dict(own)
    for server in servers:
        for name, entry in server.entries.items():
            if name in now:
                raise AgentDefinitionError(
                    f"Two tools are called {name!r}, one of them by {server.server!r}: give "
                    "MCPToolset(prefix=…)."
                )
            now[name] = entry
    for name in entries.keys() - now.keys():
        del entries[name]
    entries.update(now)


def with_later(policy: Policy, entries: Mapping[str, Entry]) -> Policy:
    """A run's frozen policy, with ask for what a server added since the run began."""
    later = {
        name: replace(entry.rule, toolset="always_ask")
        for name, entry in entries.items()
        if entry.later and name not in policy.tools
    }
    return replace(policy, tools={**later, **policy.tools}) if later else policy


def effect_of(annotations: Any) -> Effect:
    """What a tool's annotations say that it does. Absent hints say nothing: ``unknown``."""
    if annotations is None:
        return "unknown"
    if annotations.destructive_hint is True and annotations.read_only_hint is not True:
        return "destructive"
    if annotations.read_only_hint is True and annotations.destructive_hint is not True:
        return "read"
    if annotations.read_only_hint is True:
        return "destructive"  # it contradicts itself: the worse one counts
    return "write" if annotations.destructive_hint is False else "unknown"


def _check_policies(policy: Config, configs: Mapping[str, Config]) -> None:
    for name, given in (("policy", policy), *configs.items()):
        known = given in ("always_allow", "always_ask") or isinstance(given, Auto)
        if not known and not (given is disabled and name != "policy"):
            raise AgentDefinitionError(
                f"MCPToolset: {name}={given!r} is none of 'always_allow', 'always_ask', "
                "hitl.auto(…)" + ("." if name == "policy" else ", hitl.disabled.")
            )
