"""What a caller gave: the same option is judged in the same way, and words, wherever it is taken.

Python does not look at annotations: what does not fit would be used as it is, and fail late, or ask
wrongly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast, get_args

from .request import HEADLESS, RECORD, Effect, OnExpire

Error = Callable[[str], Exception]
"""Makes an error of its words."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What an option may be, and how to say so."""

    fits: Callable[[Any], bool]
    words: str

    def or_none(self) -> Kind:
        """The same, or None."""
        return Kind(lambda value: value is None or self.fits(value), f"{self.words}, or None")


def _number(value: Any) -> bool:
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and math.isfinite(value)


def _list_of(value: Any, fits: Callable[[str], Any]) -> bool:
    if isinstance(value, str) or not isinstance(value, Collection):
        return False
    return all(isinstance(each, str) and fits(each) for each in cast("Collection[Any]", value))


def _one_of(*values: Any) -> Kind:
    named = ", ".join(repr(value) for value in values)
    return Kind(lambda value: isinstance(value, str) and value in values, f"one of {named}")


def _pointer(text: str) -> bool:
    # RFC 6901: a "~" is written "~0", a "/" within a key "~1".
    return re.fullmatch(r"(/([^~/]|~[01])*)+", text) is not None


FLAG = Kind(lambda value: isinstance(value, bool), "True or False")
TEXT = Kind(lambda value: isinstance(value, str), "text")
NAME = Kind(lambda value: isinstance(value, str) and value != "", "text, not empty")
COUNT = Kind(lambda v: isinstance(v, int) and not isinstance(v, bool) and v >= 1, "1 or more")
SECONDS = Kind(lambda value: _number(value) and value > 0, "seconds, more than 0")
AMOUNT = Kind(lambda value: _number(value) and value >= 0, "0 or more")
RULE = Kind(lambda value: isinstance(value, bool) or callable(value), "True, False or a function")

KINDS: dict[str, Kind] = {
    "args": Kind(lambda value: isinstance(value, Mapping), "the whole arguments").or_none(),
    "auto_resume_suspended_tools": FLAG,
    "bind_preview": FLAG,
    "consent": FLAG,
    "description": TEXT.or_none(),
    "effect": _one_of(*(e for e in get_args(Effect) if e != "unknown")).or_none(),
    "enabled": FLAG,
    "expires": SECONDS.or_none(),
    "headless": _one_of(*HEADLESS),
    "idempotent": FLAG,
    "instructions": TEXT.or_none(),
    "key": NAME.or_none(),
    "locale": _one_of("en", "ja").or_none(),
    "max_declines": COUNT,
    "max_steps": COUNT.or_none(),
    "message": TEXT.or_none(),
    "name": NAME.or_none(),
    "note": TEXT.or_none(),
    "on_expire": _one_of(*get_args(OnExpire)),
    "pending": _one_of("error", "decline"),
    "preview_timeout": SECONDS,
    "quorum": COUNT,
    "reason": TEXT.or_none(),
    "record": _one_of(*RECORD),
    "require_approval": RULE.or_none(),
    "require_tool_approval": RULE,
    "resource_id": NAME.or_none(),
    "reviewer": Kind(callable, "a function of a Request").or_none(),
    "reviewers": Kind(lambda v: _list_of(v, len) and len(v) > 0, "a list of names").or_none(),
    "secret": Kind(
        lambda value: _list_of(value, _pointer), 'JSON Pointers, as in secret=("/password",)'
    ),
    "stop": FLAG,
    "thread_id": NAME.or_none(),
    "timeout": SECONDS.or_none(),
    **dict.fromkeys(("max_tool_calls", "max_tokens", "max_cost", "max_seconds"), AMOUNT.or_none()),
}
"""The kind of every option that is named the same wherever it is taken."""


def check(error: Error, where: str, /, **given: Any) -> None:
    """Refuse what cannot be meant; options without a kind here pass.

    Parameters
    ----------
    error
        Makes what is raised of its words.
    where
        What is being made: ``"tool delete"``.
    """
    for name, value in given.items():
        if name in KINDS:
            check_one(error, where, name, value, KINDS[name])


def check_one(error: Error, where: str, name: str, value: Any, kind: Kind) -> None:
    """Refuse a value that is not of its kind."""
    if not kind.fits(value):
        raise error(f"{where}: {name}={value!r}; give {kind.words}.")


def check_quorum(error: Error, where: str, *, quorum: int, reviewers: Iterable[str] | None) -> None:
    """Refuse a quorum that the named reviewers cannot make."""
    names = None if reviewers is None else set(reviewers)
    if names is not None and quorum > len(names):
        raise error(
            f"{where}: quorum={quorum}, but reviewers names {len(names)}: nobody could decide."
        )


def check_secrets(
    error: Error, where: str, secrets: Iterable[str], names: Collection[str] | None
) -> None:
    """Refuse a secret that names no argument: it would hide nothing, a slip of the pen would show.

    Parameters
    ----------
    names
        The arguments; None: any name may come.
    """
    for pointer in secrets:
        first = pointer[1:].partition("/")[0].replace("~1", "/").replace("~0", "~")
        if names is not None and first != "*" and first not in names:
            raise error(
                f"{where}: secret={pointer!r} names no argument; "
                f"there is {', '.join(names) or 'none'}."
            )
