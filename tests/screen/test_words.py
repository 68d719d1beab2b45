"""All words in one table per language."""

from __future__ import annotations

import re

import pytest

from hitl_widgets.request import ARROWS, TERMINAL
from hitl_widgets.words import LOCALES, known, say, table

PLACE = re.compile(r"\{(\w+)\}")


@pytest.mark.parametrize("locale", LOCALES)
class TestALanguage:
    def test_has_every_key(self, locale: str) -> None:
        assert set(table(locale)) == set(table("en"))

    def test_fills_the_same_places(self, locale: str) -> None:
        for key, words in table("en").items():
            assert sorted(PLACE.findall(table(locale)[key])) == sorted(PLACE.findall(words)), key

    def test_leaves_no_text_in_english(self, locale: str) -> None:
        same = {
            k
            for k, v in table(locale).items()
            if v == table("en")[k] and re.search("[a-z]{4}", PLACE.sub("", v))
        }
        assert locale == "en" or not {k for k in same if not k.startswith("type.")}


def test_every_state_has_words() -> None:
    states = {"pending", *TERMINAL} | {t for arrow in ARROWS for t in arrow.targets}
    assert all(known(f"state.{state}") for state in states)


def test_a_language_without_a_table_is_english() -> None:
    assert say("button.approve", "xx") == "Approve"
