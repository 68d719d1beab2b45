"""What stays of a preview in a saved notebook, and how large one can be."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

import hitl_widgets as hitl
from hitl_widgets.previews.look import BYTES, Plan, look
from hitl_widgets.screen.record import record
from hitl_widgets.screen.views import request_view
from scripts.message_examples import DELETE, decided
from scripts.preview_examples import previewed

ASKED = previewed(DELETE)
HOSTILE = sorted((Path(__file__).parents[1] / "conformance" / "hostile-html").glob("*.html"))
KEPT = frozenset("div p strong ul li table tr th td pre code".split())  # noqa: SIM905


class TestARecord:
    @pytest.mark.parametrize("form", ["text/plain", "text/html"])
    def test_keeps_a_short_form_of_each_part(self, form: str) -> None:
        text = record([decided(ASKED, "done", "approve")])[form]
        for words in (
            "Preview: pandas.DataFrame, 4,210 rows",
            "showing 3 of 4,210 rows",
            "Ada[U+202E]",
            "Rows removed: 1, added: 1, changed: 1",
            "Rows it would touch: 4,210",
            "Lines added: 1, removed: 1",
            "Cost 12",
            "Totals by month (image/png, 70 B)",
            "orders changed since this was asked",
            "Reads orders: pandas.DataFrame, 10,000 rows",
        ):
            assert words in text

    def test_says_that_a_preview_failed(self) -> None:
        failed = previewed(DELETE, [], failed="KeyError: 'x'")
        assert "The preview failed: KeyError: 'x'." in record([failed])["text/plain"]

    @pytest.mark.parametrize("level", ["short", "none"])
    def test_leaves_it_out_where_less_is_kept(self, level: str) -> None:
        text = "".join(record([decided(ASKED, "done", "approve")], level=level).values())  # type: ignore[arg-type]
        assert "Ada" not in text
        assert "Preview" not in text
        assert "Reads" not in text

    def test_speaks_japanese(self) -> None:
        assert "プレビュー: pandas.DataFrame" in record([ASKED], locale="ja")["text/plain"]

    @pytest.mark.parametrize("file", HOSTILE, ids=lambda file: file.stem)
    def test_is_made_of_known_tags_whatever_a_preview_held(self, file: Path) -> None:
        raw = file.read_text("utf-8")
        parts = [hitl.previews.html(raw), hitl.previews.markdown(raw), hitl.previews.text(raw)]
        seen: set[str] = set()

        class Tags(HTMLParser):
            def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
                seen.add(tag)
                assert not attrs

        Tags().feed(record([previewed(DELETE, [p.part for p in parts])])["text/html"])
        assert seen <= KEPT


class TestItsSize:
    async def test_is_bounded_and_says_what_was_left_out(self) -> None:
        picture = hitl.previews.image(b"\x89PNG\r\n\x1a\n" + b"\0" * 150_000, "noise")
        big = pd.DataFrame({f"column {i}": ["x" * 5_000] * 60 for i in range(100)})
        plan = Plan(preview=lambda: [big, picture, picture, big])
        preview = (await look(plan, {})).preview
        assert preview is not None
        assert preview["parts"][-1]["text"] == "Parts that are too large to be shown: 2."
        size = len(json.dumps(preview))
        assert size < 1.5 * BYTES
        shown = previewed(DELETE, preview["parts"])
        assert len(json.dumps(request_view(shown))) < 1.6 * BYTES
        assert base64.b64decode(preview["parts"][1]["data"]).endswith(b"\0")

    async def test_of_an_ordinary_table_is_small(self) -> None:
        frame = pd.DataFrame({"order": range(10_000), "customer": ["Ada"] * 10_000})
        preview = (await look(Plan(preview=lambda: frame), {})).preview
        assert len(json.dumps(preview)) < 3_000
