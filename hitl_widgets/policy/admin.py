"""The administrator's file: what the administrator of a machine lays down for every agent on it."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from ..errors import AgentDefinitionError
from ..request import HEADLESS, RECORD, Evaluation, Headless, Record
from .terms import Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Administrator:
    """What the administrator of this machine lays down; it can only tighten.

    Attributes
    ----------
    always_ask
        Tools whose every call a human decides.
    forbid
        Tools that may not be called at all.
    grants
        False: no standing grants; those that exist let nothing through.
    record, headless
        The least strict level allowed, as in `configure`.
    retention_days
        How long ended runs may be kept.
    notify
        Where messages may go: beginnings of addresses (``python:`` for functions); None: anywhere.
    """

    always_ask: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    grants: bool = True
    record: Record = "full"
    headless: Headless = "prompt"
    retention_days: float | None = None
    notify: tuple[str, ...] | None = None

    def judge(self, name: str, judged: Judgement) -> Judgement:
        """A judgement, tightened."""
        if name in self.forbid:
            return Judgement("deny", None)
        lifted = judged.grant is not None and not self.grants
        if judged.permission == "allow" and (name in self.always_ask or lifted):
            return Judgement("ask", Evaluation(type="always_ask", by="administrator"))
        return judged


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in cast("list[Any]", value))


_SHAPES: dict[str, Callable[[Any], bool]] = {
    "always_ask": _names,
    "forbid": _names,
    "grants": lambda v: v is False,
    "record": lambda v: v in RECORD,
    "headless": lambda v: v in HEADLESS,
    "retention_days": lambda v: isinstance(v, int | float) and not isinstance(v, bool) and v >= 0,
    "notify": _names,
}


def administrator() -> Administrator:
    """What the file in ``HITL_POLICY``, or the one in the system's configuration, lays down.

    Raises
    ------
    AgentDefinitionError
        The file is there and cannot be read or understood: nothing runs then (R5).
    """
    path = policy_file()
    try:
        about = path.stat()
        return _parsed(path, about.st_mtime_ns, about.st_size)
    except OSError as e:
        if isinstance(e, FileNotFoundError) and not os.environ.get("HITL_POLICY"):
            return Administrator()
        raise AgentDefinitionError(
            f"The administrator's policy file {path} cannot be read ({e.strerror}): put it "
            "right, or ask who set HITL_POLICY. Nothing was run."
        ) from e


def policy_file() -> Path:
    """Where the administrator's file is, or would be."""
    named = os.environ.get("HITL_POLICY")
    return Path(named) if named else _system_path()


@functools.cache
def _system_path() -> Path:
    import platformdirs  # noqa: PLC0415  # importing stays light

    return Path(platformdirs.site_config_dir("hitl-widgets", appauthor=False)) / "policy.json"


@functools.lru_cache(maxsize=1)
def _parsed(path: Path, *_written: int) -> Administrator:
    """What a file says; read again when it was written anew."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except ValueError as e:
        raise AgentDefinitionError(
            f"The administrator's policy file {path} is not JSON ({e}). Nothing was run."
        ) from e
    known = {f.name for f in fields(Administrator)}
    given = cast("dict[str, Any]", data) if isinstance(data, dict) else {"(whole file)": data}
    wrong = [n for n, v in given.items() if n not in known or not _SHAPES[n](v)]
    if wrong:
        raise AgentDefinitionError(
            f"The administrator's policy file {path} has {', '.join(wrong)}, which cannot be "
            f"understood: it takes {', '.join(sorted(known))}, and can only tighten. Nothing was "
            "run."
        )
    frozen: dict[str, Any] = {
        n: tuple(cast("list[str]", v)) if isinstance(v, list) else v for n, v in given.items()
    }
    return Administrator(**frozen)
