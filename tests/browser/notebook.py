"""Drive one notebook in JupyterLab through the page: run, read outputs, save, end its kernel."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import nbformat
from playwright.sync_api import expect

from .lab import kernel_name

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from .lab import LabServer

# Milliseconds. A first kernel takes about 2 s on a quiet machine; CI is not quiet.
KERNEL_LIMIT = 60_000

# Run in the page before its own scripts. Running commands are counted, never awaited by a test:
# they settle when the cells end, which may be after the click that the test is about to make.
PAGE_HELPERS = """
window.harness = {
  running: {},
  panel(path) {
    for (const widget of window.jupyterapp.shell.widgets("main"))
      if (widget.context?.path === path) return widget;
    throw new Error(`no open notebook ${path}`);
  },
  kernel(path) { return this.panel(path).sessionContext.session?.kernel; },
  idle(path) {
    const kernel = this.kernel(path);
    return kernel?.status === "idle" && kernel.connectionStatus === "connected";
  },
  // ipywidgets asks a new kernel for a subshell at once. If that answer comes before the
  // kernel_info_reply (one time in ten after a kernel died, seldom for a first one), JupyterLab 4.6
  // handles no further message: the kernel works but stays "unknown". The person's way out, and
  // this one's, is to restart it.
  async revive(path, patience) {
    const limit = Date.now() + patience;
    while (!this.idle(path)) {
      if (Date.now() > limit) return this.panel(path).sessionContext.restartKernel();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  },
  // Commands act on the current widget, which follows the focus a moment after the activation.
  activate(panel) {
    const shell = window.jupyterapp.shell;
    return new Promise((resolve) => {
      const check = () => {
        if (shell.currentWidget !== panel) return;
        shell.currentChanged.disconnect(check);
        resolve();
      };
      shell.currentChanged.connect(check);
      shell.activateById(panel.id);
      check();
    });
  },
  async start(path, command, index) {
    const panel = this.panel(path);
    await this.activate(panel);
    if (index !== undefined) {
      panel.content.deselectAll();
      panel.content.activeCellIndex = index;
    }
    this.running[path] = (this.running[path] ?? 0) + 1;
    window.jupyterapp.commands.execute(command).finally(() => { this.running[path] -= 1; });
  },
  async version(path) {
    const future = this.kernel(path).requestExecute({
      code: "", silent: true, user_expressions: { version: "__import__('ipykernel').__version__" },
    });
    const reply = (await future.done).content;
    return reply.user_expressions.version.data["text/plain"].replaceAll("'", "");
  },
};
"""


def write_notebook(path: Path, cells: list[str], kernel: str) -> None:
    """Write a notebook of code `cells` for the ipykernel version `kernel`."""
    spec = {"name": kernel_name(kernel), "display_name": kernel_name(kernel), "language": "python"}
    content = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells],
        metadata={"kernelspec": spec},
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(content, path)


@dataclass(frozen=True)
class Notebook:
    """One open notebook; `path` is its file, `name` how JupyterLab calls it."""

    page: Page
    server: LabServer
    path: Path

    @property
    def name(self) -> str:
        """The path below the server's root, with forward slashes."""
        return self.path.relative_to(self.server.root).as_posix()

    @property
    def store(self) -> Path:
        """The request store of this notebook's kernels."""
        return self.path.parent / "requests.db"

    def open(self) -> None:
        """Open the file and wait until its kernel is idle and connected."""
        self.page.evaluate(
            "async path => { await jupyterapp.commands.execute('docmanager:open', { path }) }",
            self.name,
        )
        self._evaluate("async path => { await harness.revive(path, 20000) }")
        self.wait_idle()

    def close(self) -> None:
        """Shut the kernel down and close the tab without saving."""
        self._evaluate(
            """async path => {
              const panel = harness.panel(path);
              await panel.sessionContext.shutdown();
              panel.context.model.dirty = false;
              panel.dispose();
              delete harness.running[path];
            }"""
        )

    # Running ------------------------------------------------------------------------------------

    def run_all(self) -> None:
        """Start Run All and return at once; :meth:`wait_done` waits for its end."""
        self._evaluate("async path => { await harness.start(path, 'notebook:run-all-cells') }")

    def run(self, index: int) -> None:
        """Start the cell `index` (from 0) and return at once."""
        self._evaluate(
            "async (path, index) => { await harness.start(path, 'notebook:run-cell', index) }",
            index,
        )

    def add(self, source: str) -> int:
        """Append a code cell, not run yet; return its index."""
        return int(
            self._evaluate(
                """(path, source) => {
                  const model = harness.panel(path).content.model.sharedModel;
                  model.insertCell(model.cells.length, { cell_type: "code", source });
                  return model.cells.length - 1;
                }""",
                source,
            )
        )

    def wait_done(self) -> None:
        """Wait until everything that was started here has ended."""
        self._wait("path => !harness.running[path]")

    def wait_idle(self) -> None:
        """Wait until the kernel says that it is idle and the page is connected to it."""
        self._wait("path => harness.idle(path)")

    def wait_busy(self) -> None:
        """Wait until the kernel says that it is busy: a cell is running or waiting."""
        self._wait("path => harness.kernel(path)?.status === 'busy'")

    # Reading ------------------------------------------------------------------------------------

    def output(self, index: int) -> Locator:
        """Return the output area of the cell `index`, to look for roles and names in."""
        cell = f'.jp-NotebookPanel:not(.lm-mod-hidden) [data-windowed-list-index="{index}"]'
        return self.page.locator(f"{cell} .jp-Cell-outputArea")

    def outputs(self, index: int) -> list[dict[str, Any]]:
        """Return the outputs of the cell `index` in nbformat's form, as the page holds them."""
        script = "(path, i) => harness.panel(path).content.widgets[i].model.outputs.toJSON()"
        return list(self._evaluate(script, index))

    def text(self, index: int) -> str:
        """Return what the cell `index` shows as text: streams, ``text/plain`` and errors."""
        parts: list[str] = []
        for output in self.outputs(index):
            if output["output_type"] == "stream":
                parts.append(_joined(output["text"]))
            elif output["output_type"] == "error":
                parts.append(f"{output['ename']}: {output['evalue']}")
            else:
                parts.append(_joined(output["data"].get("text/plain", "")))
        return "".join(parts)

    def save(self) -> nbformat.NotebookNode:
        """Save the notebook and return what is in the file."""
        self._evaluate("async path => { await harness.panel(path).context.save() }")
        return nbformat.read(self.path, as_version=4)

    # Kernel -------------------------------------------------------------------------------------

    @property
    def kernel_id(self) -> str:
        """The server's name for the kernel; the same after a restart."""
        return str(self._evaluate("path => harness.kernel(path).id"))

    @property
    def kernel_pid(self) -> int:
        """The process id of the kernel that runs now."""
        return int(self.server.pid_file(self.kernel_id).read_text(encoding="ascii"))

    def ipykernel_version(self) -> str:
        """Ask the kernel for its ipykernel's version."""
        return str(self._evaluate("path => harness.version(path)"))

    def interrupt(self) -> None:
        """Press Interrupt."""
        self._evaluate("async path => { await harness.kernel(path).interrupt() }")

    def restart(self) -> None:
        """Restart the kernel in an orderly way, as the Kernel menu does, and wait for it."""
        self._evaluate("async path => { await harness.panel(path).sessionContext.restartKernel() }")
        self.wait_idle()

    def kill_kernel(self) -> None:
        """Kill the kernel with SIGKILL, dismiss JupyterLab's notice, wait for the new kernel."""
        before = self.kernel_pid
        os.kill(before, signal.SIGKILL)
        notice = self.page.get_by_role("dialog").filter(has_text="Kernel Restarting")
        notice.get_by_role("button", name="Ok").click(timeout=KERNEL_LIMIT)
        expect(notice).to_have_count(0)
        self._evaluate("async path => { await harness.revive(path, 2000) }")
        self.wait_idle()
        if self.kernel_pid == before:
            raise AssertionError(f"kernel process {before} was killed but not replaced")

    # Inside -------------------------------------------------------------------------------------

    def _evaluate(self, script: str, *arguments: object) -> Any:
        return self.page.evaluate(f"given => ({script})(...given)", [self.name, *arguments])

    def _wait(self, condition: str) -> None:
        self.page.wait_for_function(condition, arg=self.name, timeout=KERNEL_LIMIT)


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)
