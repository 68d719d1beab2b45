"""A click on any widget of ours leaves the cell that waits alone, whoever made the widget."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.kernel.hitl import Hitl
from tests.kernel.notebook import Notebook

pytestmark = pytest.mark.asyncio(loop_scope="session")

# A test's witness: matplotlib's inline backend closes every open figure on post_execute.
ASKED = textwrap.dedent("""
    @hitl.tool(require_approval=True)
    async def wipe() -> None:
        "Wipe."

    agent = hitl.Agent("a", tools=[wipe], model=hitl.ScriptedModel([[hitl.call("wipe")], "."]))
    waiting_run = await agent.generate("go")
    """)
WAIT = textwrap.dedent("""
    fired = []
    count = lambda *_: fired.append(1)
    mine = hitl.ApprovalCard((await hitl.pending())[0])
    inbox = hitl.inbox()
    for widget in (mine, inbox):
        display(widget)
    get_ipython().events.register("post_execute", count)
    print("comms", mine.comm.comm_id, inbox.comm.comm_id, hub_module.hub().comm.comm_id, "end")
    try: await ask("events")
    finally: get_ipython().events.unregister("post_execute", count)
    print("fired", len(fired))
    """)


async def test_a_card_of_one_s_own_the_inbox_and_the_hub_fire_no_post_execute(
    notebook: Notebook, tmp_path: Path
) -> None:
    await Hitl(notebook).begin(tmp_path / "requests.db")
    await notebook.run(ASKED)
    cell = notebook.execute(WAIT)
    witness = await cell.card("events")
    await cell.printed(" end")
    comms = cell.text.partition("comms ")[2].split()[:3]
    assert len(set(comms)) == 3
    for comm in comms:
        data = {"method": "custom", "content": {"type": "ping", "id": f"p-{comm}"}}
        await notebook.handled(notebook.send("comm_msg", {"comm_id": comm, "data": data}))
    notebook.click(witness, "done")
    assert "fired 0\n" in await cell.ok()
