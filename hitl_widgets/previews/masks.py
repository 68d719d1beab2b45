"""What nobody may read is masked where a preview or an error says it, before it is cut (R17)."""

from __future__ import annotations

import contextlib
import html
import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, cast

from ..fingerprint import values_at
from ..request import MASK

LINE = 6
"""So many characters of one line of a secret are a secret, too: a diff takes a text apart."""

_hidden: ContextVar[tuple[str, ...]] = ContextVar("hitl_preview_hidden", default=())
"""What may not be shown by what is made now, the longest first."""

_OURS = frozenset({"data", "how", "kind", "mime", "sha256", "shape", "shape_before", "shape_after"})
"""What of a part is no text of the preview's."""


@contextlib.contextmanager
def hiding(secrets: Iterable[str]) -> Generator[None]:
    """Mask these in all that is made inside."""
    forms = {form for secret in secrets for form in _forms(secret) if form}
    token = _hidden.set(tuple(sorted(forms, key=len, reverse=True)))
    try:
        yield
    finally:
        _hidden.reset(token)


def secret_texts(args: Mapping[str, Any], secrets: Sequence[str]) -> list[str]:
    """The values at these JSON Pointers into `args`, as text would hold them."""
    return ["" if value is None else str(value) for value in values_at(args, secrets)]


def _forms(secret: str) -> Iterable[str]:
    """A secret as it may be written: itself, its lines, and both in JSON, HTML and errors."""
    lines = [line.strip() for line in secret.splitlines()]
    for text in (secret, *(line for line in lines if len(line) >= LINE)):
        yield text
        yield html.escape(text)
        yield html.escape(text, quote=False)
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield repr(text)[1:-1]


def hides() -> bool:
    """Whether anything is hidden now."""
    return bool(_hidden.get())


def masked(text: str) -> str:
    """`text` without any of what is hidden now."""
    for secret in _hidden.get():
        text = text.replace(secret, MASK)
    return text


def masked_parts(value: Any) -> Any:
    """A copy of parts, or of anything in them, without it: numbers that are one, too."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list):
        items = cast("list[Any]", value)
        hidden = _hidden.get()
        return [MASK if str(item) in hidden else masked_parts(item) for item in items]
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {k: v if k in _OURS else masked_parts(v) for k, v in parts.items()}
    return value
