"""The extension's side of VS Code: runs cells in a real kernel, hands its messages to a webview.

A light stand-in for VS Code with its Jupyter extension: the page is built from what VS Code itself
loads (see ``webview/``). Everything here runs on one event loop, in the thread of `vscode`.
"""

from __future__ import annotations

import asyncio
import json
import queue
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import tornado.httpserver
import tornado.netutil
import tornado.web
import tornado.websocket
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

HERE = Path(__file__).parent
BUNDLE = HERE.parents[1] / ".cache" / "vscode-page"
THEMES = HERE / "webview" / "themes"
NBEXTENSIONS = Path(sys.prefix) / "share" / "jupyter" / "nbextensions"
KERNEL_LIMIT = 60.0  # seconds
LOOK_AGAIN = 1.0  # seconds

# Of VS Code 1.139's notebook webview, when `notebook.experimental.enableCsp` is on. The stand-in's
# own address takes the place of VS Code's resource host; its websocket is allowed.
POLICY = (
    "default-src 'none'; script-src {here} 'unsafe-inline' 'unsafe-eval'; "
    "style-src {here} 'unsafe-inline'; img-src {here} https: http: data:; "
    "font-src {here} https:; connect-src https: {socket}; child-src https: data:;"
)
PAGE = """<!DOCTYPE html><html lang="en" style="{variables}"><head><meta charset="UTF-8">{policy}
<title>notebook</title><script src="/bundle/require.js"></script><style>
body {{ margin: 0; overflow: auto; background: var(--vscode-editor-background);
  color: var(--vscode-foreground); font-family: var(--vscode-font-family);
  font-size: var(--vscode-font-size); }}
.output {{ padding: 8px 8px 8px 58px; }}
.cell-output-ipywidget-background {{ background: white !important; }}
</style></head><body class="vscode-{theme}" data-vscode-theme-kind="vscode-{theme}">
<main id="container" class="widgetarea"></main>
<script type="module" src="/bundle/webview.js"></script></body></html>"""

# The files' names, and what VS Code calls the theme's kind.
KINDS = {
    "dark": "dark",
    "light": "light",
    "hcdark": "high-contrast",
    "hclight": "high-contrast-light",
}


class Host:
    """One notebook: its kernel, its cells' outputs, the page that shows them.

    Attributes
    ----------
    theme, policy
        Which theme the page is served with, and whether with VS Code's content policy.
    outputs
        Per cell, in nbformat's form.
    log
        What the page had to say: widget code that did not load, what its policy refused.
    """

    def __init__(self, notebook: Path, kernelspecs: Path, kernel: str) -> None:
        self.notebook = notebook
        self.theme = "dark"
        self.policy = False
        self.outputs: dict[int, list[dict[str, Any]]] = {}
        self.log: list[str] = []
        self._manager = AsyncKernelManager(
            kernel_name=kernel,
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(kernelspecs)]),
        )
        self._page: tornado.websocket.WebSocketHandler | None = None
        self._connected = False
        self._line: asyncio.Future[str] | None = None
        self._queue: asyncio.Queue[tuple[int, str]] = asyncio.Queue()
        self._waiting = 0
        self.started = 0
        self._ending: dict[str, _Ending] = {}
        self._cell_of: dict[str, int] = {}
        self._tasks: list[asyncio.Task[None]] = []

    # -- life ------------------------------------------------------------------------------------

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Run kernel and server; gives the page's address."""
        await self._manager.start_kernel(cwd=str(self.notebook.parent))
        sockets = tornado.netutil.bind_sockets(0, "127.0.0.1")
        port = sockets[0].getsockname()[1]
        server = tornado.httpserver.HTTPServer(self._application(port))
        server.add_sockets(sockets)
        try:
            await self._meet_kernel()
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.stop()
            await self._leave_kernel()
            await self._manager.shutdown_kernel(now=True)

    def _application(self, port: int) -> tornado.web.Application:
        static = tornado.web.StaticFileHandler
        return tornado.web.Application(
            [
                (r"/", _Page, {"host": self, "port": port}),
                (r"/host", _Socket, {"host": self}),
                (r"/bundle/(.*)", static, {"path": str(BUNDLE)}),
                (r"/nbextensions/(.*)", static, {"path": str(NBEXTENSIONS)}),
            ],
            websocket_max_message_size=64 * 2**20,
        )

    async def _meet_kernel(self) -> None:
        self._client = self._manager.client()
        self._client.start_channels()
        await self._client.wait_for_ready(timeout=KERNEL_LIMIT)
        channels = ("iopub", "shell", "stdin", "control")
        self._tasks = [asyncio.create_task(self._listen(name)) for name in channels]
        self._tasks.append(asyncio.create_task(self._run_cells()))
        # As VS Code's extension does, so that code can know the notebook's path.
        self._client.execute(f"__vsc_ipynb_file__ = {str(self.notebook)!r}", silent=True)

    async def _leave_kernel(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._client.stop_channels()

    async def restart(self) -> None:
        """Kill the kernel and start another in its place; queued cells are forgotten."""
        await self._leave_kernel()
        self._queue = asyncio.Queue()
        self._ending.clear()
        await self._manager.restart_kernel(now=True)
        self._tell({"type": "restarted"})
        self._count(-self._waiting)
        await self._meet_kernel()

    # -- cells -----------------------------------------------------------------------------------

    async def run(self, cell: int, source: str) -> None:
        """Queue a cell."""
        for task in self._tasks:
            if task.done():  # a listener that failed: say why now, not by a limit of time later
                task.result()
        self.started += 1
        self._count(+1)
        self._queue.put_nowait((cell, source))

    async def _run_cells(self) -> None:
        while True:
            cell, source = await self._queue.get()
            good = await self._execute(cell, source)
            self._count(-1)
            while not good and not self._queue.empty():
                self._queue.get_nowait()
                self._count(-1)

    async def _execute(self, cell: int, source: str) -> bool:
        self.outputs[cell] = []
        self._tell({"type": "clear", "cell": cell})
        content = {
            "code": source,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": True,
            "stop_on_error": True,
        }
        message = self._client.session.msg("execute_request", content)
        id_ = message["header"]["msg_id"]
        self._cell_of[id_] = cell
        ending = self._ending[id_] = _Ending()
        mirrored = {**_jsonable(message), "channel": "shell", "buffers": []}
        self._tell({"type": "executing", "message": mirrored})
        self._client.shell_channel.send(message)
        await ending.idle.wait()
        return await ending.status == "ok"

    def _count(self, change: int) -> None:
        self._waiting += change
        self._tell({"type": "running", "count": self._waiting, "started": self.started})

    # -- kernel → page ---------------------------------------------------------------------------

    async def _listen(self, name: str) -> None:
        channel = getattr(self._client, f"{name}_channel")
        while True:
            # On a busy machine a poll without an end sometimes misses that messages have come.
            try:
                message = await channel.get_msg(timeout=LOOK_AGAIN)
            except queue.Empty:
                continue
            if message["buffers"]:
                raise NotImplementedError("this stand-in passes no binary buffers")
            if self._connected:
                self._tell({"type": "message", "message": {**_jsonable(message), "channel": name}})
            self._note(name, message)

    def _note(self, channel: str, message: dict[str, Any]) -> None:
        kind, content = message["header"]["msg_type"], message["content"]
        parent = message["parent_header"].get("msg_id", "")
        ending = self._ending.get(parent)
        match channel, kind:
            case "stdin", "input_request":
                self._tasks.append(asyncio.create_task(self._ask_for_line(content)))
            case "shell", "execute_reply" if ending is not None and not ending.status.done():
                ending.status.set_result(content["status"])
            case "iopub", "status" if ending is not None and content["execution_state"] == "idle":
                ending.idle.set()
            case "iopub", "stream" | "display_data" | "execute_result" | "error":
                if parent in self._cell_of:
                    self._add(self._cell_of[parent], {"output_type": kind, **content})
            case "iopub", "update_display_data":
                self._update(content)
            case _:
                pass

    def _add(self, cell: int, output: dict[str, Any]) -> None:
        outputs = self.outputs[cell]
        last = outputs[-1] if outputs else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            outputs.append(output)
        self._show(cell, len(outputs) - 1)

    def _update(self, content: dict[str, Any]) -> None:
        id_ = content["transient"]["display_id"]
        for cell, outputs in self.outputs.items():
            for index, output in enumerate(outputs):
                if output.get("transient", {}).get("display_id") == id_:
                    output["data"] = content["data"]
                    self._show(cell, index)

    def _show(self, cell: int, index: int) -> None:
        output = self.outputs[cell][index]
        self._tell({"type": "output", "cell": cell, "index": index, "output": output})

    async def _ask_for_line(self, content: dict[str, Any]) -> None:
        self._line = asyncio.get_running_loop().create_future()
        self._tell({"type": "ask", "prompt": content["prompt"], "password": content["password"]})
        self._client.input(await self._line)

    def _tell(self, message: dict[str, Any]) -> None:
        if self._page is not None:
            self._page.write_message(json.dumps(message))

    # -- page → kernel ---------------------------------------------------------------------------

    def page_opened(self, page: tornado.websocket.WebSocketHandler) -> None:
        """A page has opened its socket; it takes the place of an earlier one."""
        self._page = page
        self._connected = False

    def page_closed(self, page: tornado.websocket.WebSocketHandler) -> None:
        """Nothing reaches this page any more."""
        if self._page is page:
            self._page = None
            self._connected = False

    def page_said(self, message: dict[str, Any]) -> None:
        """Do what the page says."""
        match message["type"]:
            case "ready":
                client = self._client.session.session
                name = self._manager.kernel_name
                self._tell({"type": "kernel", "kernel": name, "clientId": client})
            case "connected":
                self._connected = True
            case "message":
                self._pass_on(json.loads(message["data"]))
            case "line":
                if self._line is not None and not self._line.done():
                    self._line.set_result(message["value"])
            case _:
                self.log.append(message["text"])

    def _pass_on(self, message: dict[str, Any]) -> None:
        channel = "control" if message.get("channel") == "control" else "shell"
        header = message["header"]
        socket = getattr(self._client, f"{channel}_channel").socket
        given = {"msg_id": header["msg_id"], "msg_type": header["msg_type"], **message}
        self._client.session.send(socket, given)


class _Ending:
    """A cell has ended when its reply and its idle have both come."""

    def __init__(self) -> None:
        self.idle = asyncio.Event()
        self.status: asyncio.Future[str] = asyncio.get_running_loop().create_future()


class _Page(tornado.web.RequestHandler):
    def initialize(self, host: Host, port: int) -> None:
        self._host, self._port = host, port

    def get(self) -> None:
        here = f"127.0.0.1:{self._port}"
        policy = POLICY.format(here=f"http://{here}", socket=f"ws://{here}")
        tag = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        theme = self._host.theme
        values = json.loads((THEMES / f"{theme}.json").read_text(encoding="utf-8"))
        variables = "".join(f"{name}:{value};" for name, value in values.items())
        self.write(
            PAGE.format(
                policy=tag if self._host.policy else "",
                variables=variables.replace('"', "&quot;"),
                theme=KINDS[theme],
            )
        )


class _Socket(tornado.websocket.WebSocketHandler):
    def initialize(self, host: Host) -> None:
        self._host = host

    def open(self, *_args: str, **_kwargs: str) -> None:
        self._host.page_opened(self)

    def on_close(self) -> None:
        self._host.page_closed(self)

    def on_message(self, message: str | bytes) -> None:
        self._host.page_said(json.loads(message))


def _jsonable(message: dict[str, Any]) -> dict[str, Any]:
    parts = ("header", "parent_header", "metadata", "content")
    return json.loads(json.dumps({part: message[part] for part in parts}, default=_date))


def _date(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
