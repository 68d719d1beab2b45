"""The hostile corpus on its way to the page and into records: whole, and as text."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hitl_widgets.errors import ToolDefinitionError
from hitl_widgets.fingerprint import digest
from hitl_widgets.schema import Form, shape_of
from hitl_widgets.screen.record import record
from hitl_widgets.screen.views import request_view
from hitl_widgets.visible import is_hidden
from scripts.message_examples import decided, request

FOLDER = Path(__file__).parents[1] / "conformance" / "hostile"
CASES = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))}
CALLS = [name for name, case in CASES.items() if "args" in case]


class Tags(HTMLParser):
    """Every tag and attribute of a record."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[Any] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs


@pytest.mark.parametrize("name", CALLS)
def test_the_page_gets_the_very_arguments(name: str) -> None:
    """F19: nothing is rounded, dropped or put in another order on the way."""
    case = CASES[name]
    view = request_view(request(case["tool"], case["args"]))
    wire = json.loads(json.dumps(view).encode().decode())
    got = json.loads(wire["args"])
    assert digest(got) == digest(case["args"])
    assert list(got) == list(case["args"])
    assert len(view["strip"]) <= 48


@pytest.mark.parametrize("name", CALLS)
def test_a_record_is_plain_text_in_known_tags(name: str) -> None:
    case = CASES[name]
    kept = record([decided(request(case["tool"], case["args"]), "done", "approve")])
    parsed = Tags(kept["text/html"])
    assert parsed.tags <= {*("div", "p", "strong", "table", "tr", "th", "td", "pre", "code")}
    assert parsed.attributes == []
    for text in kept.values():
        assert not any(is_hidden(char) for char in text)
        text.encode()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "refused" in case])
def test_a_schema_that_points_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ToolDefinitionError, match=CASES[name]["shows"][0]):
        Form(shape_of(CASES[name]["refused"]))
