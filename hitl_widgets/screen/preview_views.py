"""From what a request holds of its preview to what a page shows of it: pure functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ..request import Request
from .preview_messages import PreviewDoc, ReadChange, ReadDoc


def preview_doc(request: Request) -> PreviewDoc | None:
    """The preview of a request, or None without one."""
    return None if request.preview is None else told_doc(request.preview)


def told_doc(told: Mapping[str, Any]) -> PreviewDoc:
    """A preview as `previews.look` made it."""
    return PreviewDoc.model_validate(
        {
            "made_at": told["made_at"],
            "bound": told["bound"],
            "failed": None if told.get("failed") is None else _safe(told["failed"]),
            "parts": [_part(part) for part in told["parts"]],
        }
    )


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    told = cast("dict[str, Any]", _safe(part))
    match told["kind"]:
        case "table":
            rows = json.dumps(part["rows"], ensure_ascii=True, separators=(",", ":"))
            index = told["index"]
            labels = None if index is None else [_label(label) for label in index]
            return {**told, "rows": rows, "index": labels}
        case "markdown":
            shown = len(told.pop("text"))
            told.pop("sha256", None)
            return {**told, "shown": shown}
        case "image":
            del told["bytes"]
            return told
        case "changes":
            return told
        case _:
            return {name: value for name, value in told.items() if name != "sha256"}


def _label(label: Any) -> str:
    return label if isinstance(label, str) else json.dumps(label)


def _safe(value: Any) -> Any:
    """Text as a page can receive it: lone surrogates, which no UTF-8 holds, are spelt out."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, list):
        return [_safe(v) for v in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        return {k: _safe(v) for k, v in cast("Mapping[str, Any]", value).items()}
    return value


def read_docs(request: Request) -> list[ReadDoc]:
    """The variables that a request's call reads."""
    return [_read(name, told) for name, told in request.reads.items()]


def _read(name: str, told: Mapping[str, Any]) -> ReadDoc:
    return ReadDoc(
        name=name,
        type=told["type"],
        shape=told.get("shape"),
        value=_safe(told.get("value")),
        digest=told["sha256"],
        missing=bool(told.get("missing")),
    )


def read_changes(request: Request) -> list[ReadChange]:
    """What changed in them since the call was asked before."""
    changed: Mapping[str, Any] = request.scope.get("changed", {}).get("reads", {})
    return [
        ReadChange(
            name=name,
            was=_read(name, told["was"]),
            added=_safe(told.get("added", [])),
            removed=_safe(told.get("removed", [])),
            retyped=_safe(told.get("retyped", [])),
        )
        for name, told in changed.items()
    ]
