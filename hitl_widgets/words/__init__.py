"""All words that people read, one table per language.

The page's bundle holds ``en.json`` and ``ja.json``; what only a terminal says stands beside them
in ``terminal.en.json`` and ``terminal.ja.json``.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable
from functools import cache
from importlib import resources

LOCALES = ("en", "ja")

FILES = ("{}.json", "terminal.{}.json")

Say = Callable[..., str]
"""`say` in one language."""

_PLACE = re.compile(r"\{(\w+)\}")


@cache
def table(locale: str) -> dict[str, str]:
    """The words of a language; English for one that has no table."""
    name = locale if locale in LOCALES else "en"
    files = [resources.files(__name__).joinpath(file.format(name)) for file in FILES]
    return {k: v for file in files for k, v in json.loads(file.read_text("utf-8")).items()}


def say(key: str, locale: str = "en", /, **values: object) -> str:
    """One text with its ``{places}`` filled, each once: a value is never read for places."""
    return _PLACE.sub(lambda m: str(values.get(m[1], m[0])), table(locale)[key])


def saying(locale: str) -> Say:
    """`say` in a language."""
    return functools.partial(_say_in, locale)


def _say_in(locale: str, key: str, /, **values: object) -> str:
    return say(key, locale, **values)


def known(key: str) -> bool:
    """Whether there are words for `key`; another version's value has none and is shown as it is."""
    return key in table("en")


def of_environment() -> str:
    """The language that the process's environment asks for, if there are words in it."""
    names = ("LC_ALL", "LC_MESSAGES", "LANG")
    wanted = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return short(wanted.partition("_")[0].partition(".")[0])


def short(locale: str) -> str:
    """The table for a BCP 47 tag; English where there is none."""
    name = locale.lower().partition("-")[0]
    return name if name in LOCALES else "en"
