"""Previews in a real JupyterLab: what would happen, on the card, before the buttons."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

from .test_approval import card, press

if TYPE_CHECKING:
    from .conftest import OpenNotebook
    from .session import LabSession

DEFINE = """
import pandas as pd
import hitl_widgets as hitl

orders = pd.DataFrame({
    "order": range(101, 221),
    "customer": ["Ada", "Bob", "Ada", "Cy"] * 30,
    "total": [19.9, 5.0, 7.25, 100.0] * 30,
})
ran = []

@hitl.tool(
    effect="destructive",
    reads=("orders",),
    preview=lambda customer: orders[orders["customer"] == customer],
)
async def delete_orders(customer: str) -> int:
    "Delete all orders of a customer."
    ran.append(customer)
    return int((orders["customer"] == customer).sum())

agent = hitl.Agent(
    "orders",
    model=hitl.ScriptedModel([
        [hitl.call("delete_orders", customer="Ada")],
        lambda m: f"Told: {m[-1].parts[-1].content}",
    ]),
    tools=[delete_orders],
)
"""
RUN = 'result = await agent.run("Delete what Ada ordered")\nprint(result.text)'


def test_the_rows_that_would_be_deleted_stand_above_the_buttons(
    open_notebook: OpenNotebook, lab: LabSession
) -> None:
    """An accessible table with its shape, what was cut, and the variable that the call reads."""
    notebook = open_notebook(DEFINE, RUN, "print(ran)")
    notebook.run_all()
    shown = card(notebook.output(1), "delete_orders")
    preview = shown.get_by_role("group", name="Preview")
    table = preview.get_by_role("table", name=re.compile("60 rows × 3 columns"))
    expect(table).to_be_visible()
    expect(table.get_by_role("columnheader", name="customer")).to_be_visible()
    expect(table.get_by_role("rowheader").first).to_have_text("0")
    expect(table.get_by_role("row")).to_have_count(51)
    expect(preview).to_contain_text("showing 50 of 60 rows")
    expect(shown).to_contain_text("Reads orders: pandas.DataFrame, 120 rows × 3 columns")
    expect(shown.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    preview.get_by_role("region", name="Preview").evaluate("e => e.scrollTo(0, e.scrollHeight)")
    lab.screenshot("preview-table")
    press(shown.get_by_role("button", name="Approve", exact=True))
    expect(notebook.output(1)).to_contain_text("Told: 60")
    expect(notebook.output(2)).to_contain_text("['Ada']")
