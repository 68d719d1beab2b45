"""What a preview can hold, made by its author: text, diffs, statements, Markdown, HTML, images."""

from __future__ import annotations

import base64
import difflib
import hashlib
import re
from dataclasses import dataclass
from typing import Any

from ..visible import visible
from . import tables
from .clean import clean_html, clean_markdown
from .masks import masked

LONGEST = 20_000
"""Characters of one text that are kept; a preview says how many there were."""
IMAGE_BYTES = 200_000
"""Bytes of an image that are kept; a larger one is named and left out."""

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")

_MAGIC = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One part of a preview, as JSON. Made by the functions of this module."""

    part: dict[str, Any]


def text(content: str) -> Shown:
    """Plain text, shown as it is."""
    return Shown({"kind": "text", **_cut(content)})


def diff(before: str, after: str, path: str = "") -> Shown:
    """Unified diff of a text file.

    Parameters
    ----------
    before, after
        The file's text as it is, and as it would be; empty for one that is not there.
    path
        Its name, for the head.
    """
    ends = {text.endswith("\n") for text in (before, after) if text}
    old, new = (_lines(text, ends_differ=len(ends) > 1) for text in (before, after))
    lines = difflib.unified_diff(old, new, f"before {path}", f"after {path}", lineterm="")
    return diff_text("\n".join(lines))


def _lines(text: str, *, ends_differ: bool) -> list[str]:
    """Lines of a file, split at line feeds alone: any other difference of line ends is one."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    elif ends_differ:
        lines[-1] += "\n\\ No newline at end of file"
    return lines


def diff_text(content: str) -> Shown:
    """A unified diff that exists already."""
    added, removed = _counted(content.split("\n"))
    return Shown({"kind": "diff", "added": added, "removed": removed, **_cut(content)})


def _counted(lines: list[str]) -> tuple[int, int]:
    """Lines added and removed. Names of files stand outside of hunks; in one they are lines."""
    added = removed = old = new = 0  # old, new: lines of this hunk that are still to come
    for line in lines:
        inside = old > 0 or new > 0
        if not inside and (hunk := _HUNK.match(line)):
            old, new = (1 if n is None else int(n) for n in hunk.groups())
        elif not inside and line.startswith(("--- ", "+++ ")):
            continue
        elif line.startswith("+"):
            added, new = added + 1, new - 1
        elif line.startswith("-"):
            removed, old = removed + 1, old - 1
        elif not line.startswith("\\"):
            old, new = old - 1, new - 1
    return added, removed


def sql(statement: str, rows: int | None = None) -> Shown:
    """An SQL statement, and how many rows it would touch.

    Parameters
    ----------
    statement
        Its text; put parameters in words beside it.
    rows
        The count that you asked the database for, with ``SELECT count(*)``; None: not known.
    """
    return Shown({"kind": "sql", "rows": None if rows is None else int(rows), **_cut(statement)})


def markdown(content: str) -> Shown:
    """Markdown, sanitised: no HTML of its own, no images, no links that load."""
    kept = _cut(content)
    return Shown({"kind": "markdown", "html": clean_markdown(kept["text"]), **kept})


def html(content: str) -> Shown:
    """HTML, sanitised, and drawn in a frame of its own that runs nothing and loads nothing."""
    clean = visible(masked(clean_html(masked(content))))
    if len(clean) > LONGEST:  # half of it would be another page
        return text(f"HTML of {len(clean):,} characters: more than the {LONGEST:,} that are shown.")
    return Shown({"kind": "html", **_cut(clean)})


def image(data: bytes, alt: str = "") -> Shown:
    """A PNG, JPEG, GIF or WebP image.

    Parameters
    ----------
    data
        The file's bytes, at most 200,000.
    alt
        What it shows, in words: for those who do not see it, for saved notebooks and terminals.

    Raises
    ------
    ValueError
        It is no such image.
    """
    mime = next((m for magic, m in _MAGIC.items() if data.startswith(magic)), None)
    if mime is None and data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        mime = "image/webp"
    if mime is None:
        raise ValueError("a preview's image is PNG, JPEG, GIF or WebP, and these bytes are none")
    if len(data) > IMAGE_BYTES:
        size = f"{len(data):,} bytes, more than the {IMAGE_BYTES:,} that are shown"
        return text(f"{alt or 'An image'}: {size}.")
    content = base64.b64encode(data).decode()
    return Shown({"kind": "image", "mime": mime, "data": content, "alt": alt, "bytes": len(data)})


def changes(before: Any, after: Any) -> Shown:
    """What would change in a table: rows added, removed, and cells changed.

    Parameters
    ----------
    before, after
        Two pandas DataFrames whose rows are told apart by their index.

    Raises
    ------
    ValueError
        An index names two rows alike, or two columns have one name.
    """
    return Shown(tables.changes(before, after))


def _cut(content: str) -> dict[str, Any]:
    whole = masked(content)  # before it is cut: half of a secret would not be found any more
    kept = {"text": whole[:LONGEST], "length": len(whole)}
    if len(whole) > LONGEST:  # what is bound is all of it
        kept["sha256"] = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    return kept
