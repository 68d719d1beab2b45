"""Variables by name: what they are, and what changed in them since somebody looked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from ..describe import KIND, describe_arguments
from ..errors import NotDescribable
from ..fingerprint import digest
from ..variables import MISSING

LONGEST = 200
"""Characters of a plain value that are kept to be shown; others have a digest alone."""


def summary(name: str, value: Any) -> dict[str, Any]:
    """What a variable is, without its content.

    Returns
    -------
    dict
        ``type``, ``sha256`` of the content, and as far as it has them ``shape`` and ``columns``
        (name → dtype), or ``value`` as JSON text when it is short. ``missing`` if there is none.

    Raises
    ------
    NotDescribable
        It has no exact form, or holds a secret.
    """
    if value is MISSING:
        return {"type": "", "missing": True, "sha256": digest("missing")}
    told = describe_arguments({name: value}, where="reads")
    if told.secrets:
        raise NotDescribable(
            f"reads: {name} holds a secret, and what a call reads is told by an open digest. Pass "
            "the secret as an argument: secret=(…)."
        )
    content = told.args[name]
    kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
    if isinstance(content, dict) and KIND in content and "sha256" in content:
        described = cast("dict[str, Any]", content)
        kept = {k: described[k] for k in ("shape", "columns", "sha256") if k in described}
        return {"type": described.get("type", kind), **kept}
    text = json.dumps(content, ensure_ascii=False)
    shown = {"value": text} if len(text) <= LONGEST else {}
    return {"type": kind, **shown, "sha256": digest(content)}


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Name → what changed in it between two looks, for those that did.

    Returns
    -------
    dict
        Each: ``was`` (the earlier `summary`), and for tables ``added``, ``removed``, ``retyped``
        (names of columns).
    """
    found: dict[str, Any] = {}
    for name, now in after.items():
        was = before.get(name)
        if was is None or was["sha256"] == now["sha256"]:
            continue
        found[name] = {"was": was, **_columns(was.get("columns"), now.get("columns"))}
    return found


def _columns(was: Any, now: Any) -> dict[str, list[str]]:
    if was is None or now is None:
        return {}
    return {
        "added": [c for c in now if c not in was],
        "removed": [c for c in was if c not in now],
        "retyped": [c for c in now if c in was and was[c] != now[c]],
    }
