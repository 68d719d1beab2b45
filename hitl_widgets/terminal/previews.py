"""What a preview shows, at a prompt: tables in columns, everything marked as not ours."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from ..previews.plain import Plain, Teller
from ..request import Request
from .shown import block, one_line

ROWS = 20
LONGEST = 4000
WIDEST = 40
"""Columns of the terminal that one cell may take; a longer one is cut with an ellipsis."""


def lines(request: Request, locale: str = "en") -> Iterator[tuple[str, str]]:
    """What there is to say, in order, each with its style."""
    teller = Teller(locale, rows=ROWS, longest=LONGEST)
    for changed in teller.changed(request):
        yield f"! {one_line(changed)}", "yellow"
    for part in teller.preview(request):
        yield one_line(part.title), "dim"
        if part.head:
            yield block(_table(part)), ""
        elif part.text:
            yield block(part.text), ""
    for read in teller.reads(request):
        yield one_line(read), "dim"


def _table(part: Plain) -> str:
    rows = [part.head, *part.rows]
    cells = [[_short(cell) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    return "\n".join(_line(row, widths) for row in cells)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (c + " " * (w - _width(c)) for c, w in zip(row, widths, strict=True))
    return "  ".join(padded).rstrip()


def _short(cell: str) -> str:
    return cell if _width(cell) <= WIDEST else f"{cell[: WIDEST // 2]}… ({len(cell):,})"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
