"""A table as a cell shows it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "", numbers: int = 99
) -> str:
    """An HTML table of plain texts.

    Parameters
    ----------
    numbers
        Columns from this one on hold numbers.
    """

    def tag(column: int) -> str:
        return ' class="hitl-number"' if column >= numbers else ""

    head = "".join(f'<th scope="col"{tag(n)}>{html.escape(h)}</th>' for n, h in enumerate(heads))
    body = "".join(
        "<tr>"
        + "".join(f"<td{tag(n)}>{html.escape(cell)}</td>" for n, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
