"""The hostile corpus of previews, before the page: nothing that runs, loads, leads away."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from hitl_widgets import previews
from hitl_widgets.previews.clean import words_of

HOSTILE = Path(__file__).parents[1] / "conformance" / "hostile-html"
FILES = sorted(HOSTILE.glob("*.html"))

FORBIDDEN = frozenset(
    {
        *("script", "iframe", "object", "embed", "link", "meta", "base", "form", "input", "button"),
        *("select", "textarea", "svg", "math", "img", "video", "audio", "source", "frame"),
        *("frameset", "applet", "a", "area", "map", "dialog", "details", "portal"),
    }
)


class Seen(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
class TestHostileHtml:
    def test_as_html_keeps_nothing_that_runs_loads_or_can_be_pressed(self, file: Path) -> None:
        seen = Seen(previews.html(file.read_text("utf-8")).part["text"])
        assert not seen.tags & FORBIDDEN
        assert seen.attributes <= {"style", "class", "id", "colspan", "rowspan", "scope"}

    def test_as_markdown_is_text(self, file: Path) -> None:
        seen = Seen(previews.markdown(file.read_text("utf-8")).part["html"])
        assert not seen.tags & (FORBIDDEN | {"style"})
        assert not seen.attributes


def test_the_corpus_holds_what_it_is_meant_to() -> None:
    assert len(FILES) >= 10


@pytest.mark.parametrize(
    "text",
    [
        "[Approve](javascript:alert(1))",
        "![x](http://127.0.0.1:9/hurt.png)",
        "<http://127.0.0.1:9/hurt>",
        "[x]: http://127.0.0.1:9/hurt\n\n[x]",
        "<button>Approve</button>",
    ],
)
def test_markdown_has_no_links_no_pictures_and_no_controls(text: str) -> None:
    seen = Seen(previews.markdown(text).part["html"])
    assert not seen.tags & FORBIDDEN
    assert not seen.attributes


def test_markdown_s_own_html_is_shown_as_it_was_written() -> None:
    """Not dropped: a person sees all that there is."""
    assert "&lt;b&gt;x&lt;/b&gt;" in previews.markdown("<b>x</b>").part["html"]


def test_markdown_keeps_its_structure() -> None:
    html = previews.markdown("# T\n\n- a\n\n| x | y |\n|--|--|\n| 1 | 2 |\n").part["html"]
    assert Seen(html).tags >= {"h1", "ul", "li", "table", "td"}


def test_html_is_words_where_none_is_drawn() -> None:
    told = words_of("<style>p{}</style><h1>Two rows</h1><table><tr><td>1</td><td>&lt;b</td></tr>")
    assert told == "Two rows\n1 <b"
