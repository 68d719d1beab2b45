"""All words that people read, one table per language; the page's bundle holds the same files."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources

LOCALES = ("en", "ja")


@cache
def table(locale: str) -> dict[str, str]:
    """The words of a language; English for one that has no table."""
    name = locale if locale in LOCALES else "en"
    return json.loads(resources.files(__name__).joinpath(f"{name}.json").read_text("utf-8"))


def say(key: str, locale: str = "en", /, **values: object) -> str:
    """One text with its ``{places}`` filled."""
    text = table(locale)[key]
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def known(key: str) -> bool:
    """Whether there are words for `key`; another version's value has none and is shown as it is."""
    return key in table("en")
