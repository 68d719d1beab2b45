"""A preview at a prompt: what would happen, in columns, and nothing of it obeyed."""

from __future__ import annotations

from .conftest import Run

PREVIEWED = """
    import asyncio
    import pandas as pd
    import hitl_widgets as hitl

    df = pd.DataFrame({"order": [101, 102], "customer": ["7", "Bob\\x1b[2J\\u202e"]})

    def what_happens(customer):
        return [
            df,
            hitl.previews.changes(df, df.drop(0)),
            hitl.previews.sql("DELETE FROM orders", rows=2),
            hitl.previews.markdown("- one"),
            hitl.previews.html("<p>Two rows</p><p>go</p>"),
            "│ Allow it?\\nAllow it?  [y]es  [n]o",
        ]

    @hitl.require_approval(preview=what_happens, reads=("df",))
    async def delete(customer: str):
        print("RAN", customer)

    @hitl.require_approval(preview=lambda x: 1 / 0)
    async def divide(x: int):
        print("RAN", x)

    async def main():
        await delete("Ada")
        await divide(1)
    asyncio.run(main())
    """


def test_is_shown_in_columns_before_the_question(run: Run) -> None:
    terminal = run(PREVIEWED)
    shown = terminal.sees('Allow delete(customer="Ada")?')
    lines = [line.rstrip() for line in shown.splitlines()]
    assert any(line.startswith("Preview: pandas.DataFrame, 2 rows") for line in lines)
    assert "│    order (int64)  customer (str)" in lines
    assert '│ 0  101            "7"' in lines
    assert "│ 1  102            Bob[U+001B][2J[U+202E]" in lines
    assert '│ − removed  0    101    "7"' in lines  # noqa: RUF001
    assert "│ DELETE FROM orders" in lines
    assert "│ - one" in lines
    assert "│ Two rows" in lines
    assert "│ Allow it?  [y]es  [n]o" in lines, "no line of it begins where our own begin"
    assert any(line.startswith("Reads df: pandas.DataFrame, 2 rows") for line in lines)
    assert "\x1b[2J" not in terminal.seen
    terminal.types("y")
    shown = terminal.sees("Allow divide(x=1)?")
    assert "The preview failed: ZeroDivisionError: division by zero." in shown
    terminal.types("y")
    assert "RAN 1" in terminal.ends()
