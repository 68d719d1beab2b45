"""All words that people read, one table per language.

The page's bundle holds ``en.json`` and ``ja.json``. What it never says stands beside them: what
only a terminal says in ``terminal.en.json``, what only the kernel says (records, history, messages
to elsewhere, rules of grants) in ``kernel.en.json``, and so in every language.

A place is ``{name}``; a number in it is written with its thousands apart. A place whose words
depend on the number names a form for each plural category of the language (CLDR), with ``#`` for
the number: ``{n:one=# row|other=# rows}``.
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

FILES = ("{}.json", "kernel.{}.json", "terminal.{}.json")

Say = Callable[..., str]
"""`say` in one language."""

_PLACE = re.compile(r"\{(\w+)(?::([^{}]*))?\}")

# Plural categories of a cardinal whole number: https://cldr.unicode.org/index/cldr-spec/plural-rules
_CATEGORY: dict[str, Callable[[int], str]] = {
    "en": lambda n: "one" if n == 1 else "other",
    "ja": lambda _: "other",
}


@cache
def table(locale: str) -> dict[str, str]:
    """The words of a language; English for one that has no table."""
    name = locale if locale in LOCALES else "en"
    files = [resources.files(__name__).joinpath(file.format(name)) for file in FILES]
    return {k: v for file in files for k, v in json.loads(file.read_text("utf-8")).items()}


def say(key: str, locale: str = "en", /, **values: object) -> str:
    """One text with its ``{places}`` filled, each once: a value is never read for places."""
    language = locale if locale in LOCALES else "en"

    def filled(place: re.Match[str]) -> str:
        name, forms = place[1], place[2]
        if name not in values:
            return place[0]
        match values[name]:
            case int() as number if not isinstance(number, bool):
                text, category = f"{number:,}", _CATEGORY[language](number)
            case value:
                text, category = str(value), "other"
        if forms is None:
            return text
        by_category = dict(form.split("=", 1) for form in forms.split("|"))
        return by_category.get(category, by_category["other"]).replace("#", text)

    return _PLACE.sub(filled, table(language)[key])


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
