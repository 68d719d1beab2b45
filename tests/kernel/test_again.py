"""A cell that is run again: its new inbox takes the place of the old one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernel.hitl import Hitl
from tests.kernel.notebook import Notebook

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOW = "inboxes = globals().get('inboxes', []) + [hitl.inbox()]; display(inboxes[-1])"
ALIVE = "print([one.comm is not None for one in inboxes])"


async def test_the_inbox_of_a_cell_that_is_run_again_listens_no_longer(
    notebook: Notebook, tmp_path: Path
) -> None:
    await Hitl(notebook).begin(tmp_path / "requests.db")
    await notebook.run("inboxes = []")
    for cell in ("one", "two", "one"):
        await notebook.run(SHOW, metadata={"cellId": cell})
    assert await notebook.run(ALIVE) == "[False, True, True]\n"
    await notebook.run("display(inboxes[-1])", metadata={"cellId": "one"})
    await notebook.run("display(inboxes[-1])", metadata={"cellId": "three"})
    await notebook.run("display(inboxes[1])", metadata={"cellId": "one"})
    assert await notebook.run(ALIVE) == "[False, True, True]\n", "they are shown in another cell"
    await notebook.run(f"{SHOW}; {SHOW}", metadata={"cellId": "two"})
    assert await notebook.run(ALIVE) == "[False, True, True, True, True]\n"


async def test_a_front_end_that_names_no_cells_keeps_all(
    notebook: Notebook, tmp_path: Path
) -> None:
    await Hitl(notebook).begin(tmp_path / "requests.db")
    await notebook.run("inboxes = []")
    for _ in range(2):
        await notebook.run(SHOW)
    assert await notebook.run(ALIVE) == "[True, True]\n"
