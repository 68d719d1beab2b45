"""Where are we: `detect` in real kernels, in scripts, under nbclient."""

from __future__ import annotations

import ast
import asyncio
import getpass
import io
import os
import platform
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from hitl_widgets.notebook.frontend import detect
from tests.kernel.notebook import ROOT, Notebook

pytestmark = pytest.mark.asyncio(loop_scope="session")

DETECT = (
    "import dataclasses\n"
    "from hitl_widgets.notebook.frontend import detect\n"
    "print(dataclasses.asdict(detect()))"
)


async def described(notebook: Notebook, code: str = DETECT, **content: Any) -> dict[str, Any]:
    return ast.literal_eval(await notebook.run(code, **content))


async def run_by(*arguments: str) -> dict[str, Any]:
    """What a Python process without a terminal finds."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    printed, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return ast.literal_eval(printed.decode())


class TestInAKernel:
    async def test_a_person_can_be_asked_while_a_cell_waits(self, notebook: Notebook) -> None:
        found = await described(notebook)
        connection_file = Path(notebook.manager.connection_file)
        assert found == {
            "kind": "jupyter",
            "can_show_cards": True,
            "can_await_cards": True,
            "allow_stdin": True,
            "headless": False,
            "ipykernel": notebook.version,
            "pump": f"ipykernel{notebook.version[0]}",
            "notebook": None,
            "kernel": connection_file.stem.removeprefix("kernel-"),
            "host": platform.node(),
            "user": getpass.getuser(),
            "identity_source": "os",
        }

    async def test_a_front_end_that_refuses_stdin_has_nobody_in_front(
        self, notebook: Notebook
    ) -> None:
        """R5: nbclient and papermill say so with every cell."""
        found = await described(notebook, allow_stdin=False)
        assert found["headless"]
        assert not found["allow_stdin"]
        assert not found["can_show_cards"]
        assert not found["can_await_cards"]

    async def test_the_last_cell_counts_in_a_callback(self, notebook: Notebook) -> None:
        """A widget's message does not say whether stdin is allowed."""
        cell = notebook.execute(
            "from hitl_widgets.notebook.frontend import detect\n"
            "heard = []\n"
            "card = Card('callback'); display(card)\n"
            "card.observe(lambda _: heard.append(detect().headless), 'value')"
        )
        comm = await cell.card("callback")
        await cell.ok()
        await notebook.handled(notebook.set_trait(comm, 1))
        assert await notebook.run("print(heard)") == "[False]\n"

    async def test_an_unknown_ipykernel_can_show_but_not_await(self, notebook: Notebook) -> None:
        found = await described(
            notebook,
            "from hitl_widgets.notebook import kernel\n"
            "known, kernel.pump_of = kernel.pump_of, lambda kernel: None\n"
            f"try:\n  {DETECT.replace(chr(10), chr(10) + '  ')}\n"
            "finally: kernel.pump_of = known",
        )
        assert found["pump"] == "unsupported"
        assert found["can_show_cards"]
        assert not found["can_await_cards"]

    async def test_the_notebook_is_believed_from_the_server_that_started_the_kernel(
        self, notebook: Notebook
    ) -> None:
        named = (
            "import os\n"
            "os.environ['JPY_SESSION_NAME'] = 'work/analysis.ipynb'\n"
            f"try:\n  {DETECT.replace(chr(10), chr(10) + '  ')}\n"
            "finally: del os.environ['JPY_SESSION_NAME']"
        )
        assert (await described(notebook, named))["notebook"] == "work/analysis.ipynb"
        assert (await described(notebook, named, allow_stdin=False))["notebook"] is None
        inherited = named.replace(
            "import os\n", "import os\nstarted_by = os.environ.pop('JPY_PARENT_PID')\n"
        ).replace("finally: ", "finally: os.environ['JPY_PARENT_PID'] = started_by; ")
        assert (await described(notebook, inherited))["notebook"] is None

    async def test_vscode_names_its_notebook(self, notebook: Notebook) -> None:
        found = await described(
            notebook, f"__vsc_ipynb_file__ = '/home/ada/a.ipynb'\n{DETECT}\ndel __vsc_ipynb_file__"
        )
        assert (found["kind"], found["notebook"]) == ("vscode", "/home/ada/a.ipynb")
        assert found["can_await_cards"]

    async def test_the_running_cell_is_known_by_its_id(self, notebook: Notebook) -> None:
        code = "from hitl_widgets.notebook.kernel import cell_id\nprint(cell_id())"
        assert await notebook.run(code, metadata={"cellId": "abc"}) == "abc\n"
        assert await notebook.run(code) == "None\n"

    async def test_jupyterhub_names_its_user(self, notebook: Notebook) -> None:
        found = await described(
            notebook,
            "import os\nos.environ['JUPYTERHUB_USER'] = 'ada'\n"
            f"{DETECT}\ndel os.environ['JUPYTERHUB_USER']",
        )
        assert (found["user"], found["identity_source"]) == ("ada", "jupyterhub")


class TestWithoutAPerson:
    async def test_nbclient_is_seen_at_once(self) -> None:
        """Item 7: an unattended notebook must not wait for a click that never comes."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(DETECT)])
        client = NotebookClient(notebook, timeout=60, kernel_name="python3")
        await client.async_execute(cwd=str(ROOT))
        found = ast.literal_eval(notebook.cells[0].outputs[0].text)
        assert (found["kind"], found["headless"]) == ("jupyter", True)
        assert not found["can_await_cards"]


class TestOutsideNotebooks:
    async def test_a_script_has_no_cards_and_imports_nothing_of_ipython(self) -> None:
        imported = "import sys\nassert 'IPython' not in sys.modules, 'IPython imported'"
        found = await run_by("-c", f"{DETECT}\n{imported}")
        assert (found["kind"], found["pump"]) == ("script", "none")
        assert not found["can_show_cards"]
        assert found["headless"]

    async def test_a_terminal_can_be_asked_but_not_with_cards(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here, there = os.openpty()
        with os.fdopen(there) as terminal:
            monkeypatch.setattr(sys, "stdin", terminal)
            found = detect()
        os.close(here)
        assert found.allow_stdin
        assert not found.headless
        assert not found.can_show_cards

    @pytest.mark.parametrize("closed", [True, False])
    async def test_no_stdin_at_all_is_headless(
        self, monkeypatch: pytest.MonkeyPatch, *, closed: bool
    ) -> None:
        gone = io.StringIO()
        gone.close()
        monkeypatch.setattr(sys, "stdin", gone if closed else None)
        assert detect().headless

    async def test_the_ipython_terminal_is_told_apart(self) -> None:
        found = await run_by("-m", "IPython", "--no-banner", "-c", DETECT)
        assert (found["kind"], found["headless"]) == ("ipython", True)

    async def test_a_request_says_where_it_came_from(self) -> None:
        """R18."""
        origin = detect().origin()
        assert origin == {
            "notebook": None,
            "kernel": None,
            "host": platform.node(),
            "user": getpass.getuser(),
        }
