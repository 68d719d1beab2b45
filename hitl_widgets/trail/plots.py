"""Two plots as SVG: no library to install, light and dark by the colour of the text around them.

A verdict has a colour and a pattern; every bar has its numbers in a title and in a table beside it.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..visible import visible

VERDICTS = ("approved", "declined", "other")
WIDTH, LABEL, NUMBER = 440, 140, 34
ROW, BAR = 22, 14
LONGEST = 20
"""Characters of a label; the table beside the plot has it whole."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of a plot: its label, and how many of each verdict."""

    label: str
    counts: Mapping[str, int]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())


def bars(rows: Sequence[Bar], *, title: str, said: str, names: Mapping[str, str], key: str) -> str:
    """Stacked horizontal bars.

    Parameters
    ----------
    title, said
        The caption, and the sentence that says what the plot shows.
    names
        Verdict → its word.
    key
        Another one for every plot of a page: patterns are found by it.
    """
    most = max((row.total for row in rows), default=0) or 1
    height = ROW * len(rows) + 4
    drawn = "".join(_row(row, n, most, names, key) for n, row in enumerate(rows))
    return (
        f'<figure class="hitl-plot"><figcaption><strong>{html.escape(title)}</strong></figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{html.escape(f"{title}. {said}")}">{_patterns(key)}'
        f'<line x1="{LABEL}" y1="0" x2="{LABEL}" y2="{height}" class="hitl-axis"/>{drawn}</svg>'
        "</figure>"
    )


def _row(row: Bar, number: int, most: int, names: Mapping[str, str], key: str) -> str:
    """One bar; where only its text is left: ``label 3: 3 approved. `` or ``label: 0. ``."""
    top = number * ROW + 2
    middle = top + BAR / 2 + 4
    scale = (WIDTH - LABEL - NUMBER) / most
    parts: list[str] = []
    x = float(LABEL)
    for verdict in VERDICTS:
        count = row.counts.get(verdict, 0)
        if count:
            width = count * scale
            told = html.escape(f"{count} {names[verdict]}")
            parts.append(
                f'<rect x="{x:.1f}" y="{top}" width="{max(width - 1, 1):.1f}" height="{BAR}" '
                f'fill="url(#{key}-{verdict})" class="hitl-{verdict}"><title>{told}</title></rect>'
            )
            x += width
    label = visible(row.label)
    short = label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
    total = f' <text x="{x + 5:.1f}" y="{middle}">{row.total}</text>' if parts else ""
    return (
        f'<text x="{LABEL - 8}" y="{middle}" text-anchor="end">{html.escape(short)}</text>{total}'
        f": {', '.join(parts) or 0}. "
    )


def _patterns(key: str) -> str:
    """Solid, hatched and dotted: told apart without colours too."""
    box = 'width="6" height="6" patternUnits="userSpaceOnUse"'
    return (
        f'<defs><pattern id="{key}-approved" {box}><rect width="6" height="6" '
        f'class="hitl-approved"/></pattern><pattern id="{key}-declined" {box}>'
        '<rect width="6" height="6" class="hitl-declined" fill-opacity=".35"/>'
        '<path d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5" class="hitl-declined-line"/></pattern>'
        f'<pattern id="{key}-other" {box}><rect width="6" height="6" class="hitl-other" '
        'fill-opacity=".3"/><circle cx="3" cy="3" r="1.2" class="hitl-other"/></pattern></defs>'
    )


def legend(names: Mapping[str, str], key: str) -> str:
    """Which pattern stands for which verdict."""
    items = (
        f'<span><svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" '
        f'fill="url(#{key}-{verdict})" class="hitl-{verdict}"/></svg> '
        f"{html.escape(names[verdict])}</span> "
        for verdict in VERDICTS
    )
    return f'<p class="hitl-legend">{"".join(items)}</p>'
