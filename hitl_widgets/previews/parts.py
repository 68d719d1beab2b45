"""From whatever a preview function returned to parts that can be kept and shown."""

from __future__ import annotations

import importlib
import io
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

from pydantic_core import to_jsonable_python

from . import kinds, tables

DPI = (100, 60, 40)
"""Dots per inch of a figure: fewer when it would be too large to be shown."""
MOST = 12
"""Parts of one preview; with more it says how many."""


def parts_of(value: Any) -> list[dict[str, Any]]:
    """The parts of a preview.

    Raises
    ------
    TypeError
        Something has no form that could be shown: says what to return.
    """
    if value is None:
        return []
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        shown = [part for item in items[:MOST] for part in parts_of(item)]
        if len(items) > MOST:
            shown += [kinds.text(f"Parts that are not shown: {len(items) - MOST}.").part]
        return shown
    return [_part(value).part]


def _part(value: Any) -> kinds.Shown:
    match value:
        case kinds.Shown():
            return value
        case str():
            return kinds.diff_text(value) if _is_diff(value) else kinds.text(value)
        case bytes():
            return kinds.image(value)
        case _:
            library = type(value).__module__.partition(".")[0]
            return _BY_LIBRARY.get(library, _as_json)(value)


def _table(value: Any) -> kinds.Shown:
    match type(value).__name__:
        case "DataFrame" | "Series" | "LazyFrame":
            return kinds.Shown(tables.table(value))
        case "Styler":
            return kinds.html(value.to_html())
        case _:
            return _as_json(value)


def _display(value: Any) -> kinds.Shown:
    """What `IPython.display` makes."""
    match type(value).__name__:
        case "Markdown":
            return kinds.markdown(value.data)
        case "HTML":
            return kinds.html(value.data)
        case "Image":
            return kinds.image(value.data, value.alt or "")
        case _:
            return _as_json(value)


def _is_diff(text: str) -> bool:
    return text.startswith("--- ") and "\n+++ " in text and "\n@@" in text


def _picture(value: Any) -> kinds.Shown:
    """A picture of Pillow's."""
    held = io.BytesIO()
    value.save(held, format="PNG")
    return kinds.image(held.getvalue())


def _figure(value: Any) -> kinds.Shown:
    """A matplotlib figure, or what belongs to one. It is closed: no cell shows it again."""
    figure = value if hasattr(value, "savefig") else getattr(value, "figure", None)
    if figure is None:
        return _as_json(value)
    drawn = b""
    for dpi in DPI:
        held = io.BytesIO()
        figure.savefig(held, format="png", dpi=dpi, bbox_inches="tight")
        drawn = held.getvalue()
        if len(drawn) <= kinds.IMAGE_BYTES:
            break
    title = figure.get_suptitle() or next((a.get_title() for a in figure.axes), "")
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        cast("Any", pyplot).close(figure)
    return kinds.image(drawn, title)


def _chart(value: Any) -> kinds.Shown:
    """An altair chart, drawn here: a page would need scripts for it."""
    try:
        convert: Any = importlib.import_module("vl_convert")
    except ImportError as e:
        raise TypeError(
            "an altair chart is drawn by vl-convert-python: pip install vl-convert-python"
        ) from e
    spec = value.to_dict()
    # No base URLs: a chart whose data is an address draws nothing instead of loading it.
    drawn = convert.vegalite_to_png(spec, allowed_base_urls=[])
    title = spec.get("title")
    return kinds.image(drawn, title if isinstance(title, str) else "")


def _as_json(value: Any) -> kinds.Shown:
    try:
        plain = to_jsonable_python(value)
    except Exception as e:
        raise TypeError(
            f"a preview returned a {type(value).__module__}.{type(value).__name__}, which can not "
            "be shown: return a DataFrame, text, a figure, or what hitl.previews makes"
        ) from e
    return kinds.text(json.dumps(plain, ensure_ascii=False, indent=2))


_BY_LIBRARY: dict[str, Callable[[Any], kinds.Shown]] = {
    "pandas": _table,
    "polars": _table,
    "IPython": _display,
    "PIL": _picture,
    "matplotlib": _figure,
    "altair": _chart,
}
