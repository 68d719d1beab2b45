"""All words in one table per language."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from hitl_widgets import words as words_of
from hitl_widgets.request import ARROWS, TERMINAL
from hitl_widgets.words import LOCALES, known, say, table

PLACE = re.compile(r"\{(\w+)(?::([^{}]*))?\}")
COUNT = re.compile(r"\{(?:n|all|rows|columns|bytes|others|groups)\} [a-z]+s\b")

CATEGORIES = {"zero", "one", "two", "few", "many", "other"}


def places(words: str) -> set[str]:
    return {place[1] for place in PLACE.finditer(words)}


def page_says() -> str:
    """The page's source, without what is written by `scripts/messages.py`."""
    source = Path(__file__).parents[2] / "js" / "src"
    files = [f for f in source.rglob("*.ts*") if "generated" not in f.parts]
    return "\n".join(file.read_text("utf-8") for file in files)


@pytest.mark.parametrize("locale", LOCALES)
class TestALanguage:
    def test_has_every_key(self, locale: str) -> None:
        assert set(table(locale)) == set(table("en"))

    def test_fills_the_same_places(self, locale: str) -> None:
        for key, words in table("en").items():
            assert places(table(locale)[key]) == places(words), key

    def test_has_a_form_for_any_number(self, locale: str) -> None:
        for key, words in table(locale).items():
            for place in PLACE.finditer(words):
                forms = [form.partition("=") for form in (place[2] or "other=").split("|")]
                assert forms[-1][0] == "other", key
                assert {name for name, _, _ in forms} <= CATEGORIES, key

    def test_leaves_no_text_in_english(self, locale: str) -> None:
        same = {
            k
            for k, v in table(locale).items()
            if v == table("en")[k] and re.search("[a-z]{4}", PLACE.sub("", v))
        }
        assert locale == "en" or not {k for k in same if not k.startswith("type.")}


def test_no_word_depends_on_a_number_that_does_not_choose_it() -> None:
    assert [key for key, words in table("en").items() if COUNT.search(words)] == []


@pytest.mark.parametrize(
    ("locale", "rows", "words"),
    [
        ("en", 0, "T, 0 rows × 3 columns"),  # noqa: RUF001
        ("en", 1, "T, 1 row × 3 columns"),  # noqa: RUF001
        ("en", 1234, "T, 1,234 rows × 3 columns"),  # noqa: RUF001
        ("ja", 1, "T、1 行 × 3 列"),  # noqa: RUF001
        ("xx", 1, "T, 1 row × 3 columns"),  # noqa: RUF001
    ],
)
def test_a_number_chooses_its_words(locale: str, rows: int, words: str) -> None:
    assert say("described.table", locale, type="T", rows=rows, columns=3) == words


@pytest.mark.parametrize("n", [1, 2, "one"])
def test_a_form_that_is_not_named_is_the_other_one(monkeypatch: pytest.MonkeyPatch, n: Any) -> None:
    monkeypatch.setattr(words_of, "table", lambda _: {"key": "{n:other=# of them}"})
    assert say("key", n=n) == f"{n} of them"


def test_the_bundle_holds_no_words_that_the_page_never_says() -> None:
    source = page_says()
    made = [re.escape(text) for text in re.findall(r"`([a-zA-Z.]+\.\$\{[^`]*)`", source)]
    made = [re.sub(r"\\\$\\\{.*?\\\}", r"[\\w.-]+", text) for text in made]
    bundled = json.loads(resources.files(words_of).joinpath("en.json").read_text("utf-8"))
    unsaid = [k for k in bundled if f'"{k}"' not in source]
    assert [k for k in unsaid if not any(re.fullmatch(text, k) for text in made)] == []


def test_every_state_has_words() -> None:
    states = {"pending", *TERMINAL} | {t for arrow in ARROWS for t in arrow.targets}
    assert all(known(f"state.{state}") for state in states)


def test_a_language_without_a_table_is_english() -> None:
    assert say("button.approve", "xx") == "Approve"
