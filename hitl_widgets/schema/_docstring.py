"""A function's docstring: what it does, and what its parameters mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def read_docstring(func: Callable[..., Any]) -> tuple[str | None, dict[str, str]]:
    """Return the text before the sections, and the descriptions of the parameters.

    The style (numpy, Google, Sphinx) is found by itself.
    """
    text = inspect.getdoc(func)
    if not text:
        return None, {}
    if "\n" not in text:  # one line has no sections
        return text, {}
    # Loaded when it is needed: 60 ms.
    import griffe  # noqa: PLC0415

    docstring = griffe.Docstring(text, lineno=1)
    style, _ = griffe.infer_docstring_style(docstring, default="google")
    # Without this, griffe logs whatever it finds unusual in a docstring.
    sections = docstring.parse(style, warnings=False)
    parameters: dict[str, str] = {}
    for section in sections:
        if isinstance(section, griffe.DocstringSectionParameters):
            for item in section.value:
                described = " ".join(item.description.split())
                for name in item.name.split(","):  # numpy: "x, y : int"
                    parameters.setdefault(name.strip().lstrip("*"), described)
    first = next((s for s in sections if isinstance(s, griffe.DocstringSectionText)), None)
    return (first.value.strip() or None) if first else None, parameters
