"""What a preview function may return, and what is kept of it to be shown."""

from __future__ import annotations

import base64
import io
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hitl_widgets import previews
from hitl_widgets.previews.kinds import IMAGE_BYTES, LONGEST
from hitl_widgets.previews.parts import MOST, parts_of
from hitl_widgets.previews.tables import CELL, COLUMNS, ROWS

FRAME = pd.DataFrame(
    {"name": ["Ada", "Bob"], "total": [19.9, math.nan], "at": pd.to_datetime(["2026-01-31"] * 2)},
    index=["a", "b"],
)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def only(value: Any) -> dict[str, Any]:
    (part,) = parts_of(value)
    return part


class TestTables:
    def test_a_frame_shows_shape_columns_labels_and_cells_as_they_are(self) -> None:
        part = only(FRAME)
        assert part["shape"] == [2, 3]
        assert [name for name, _ in part["columns"]] == ["name", "total", "at"]
        assert part["index"] == ["a", "b"]
        assert part["rows"] == [
            ["Ada", 19.9, "2026-01-31 00:00:00"],
            ["Bob", "nan", "2026-01-31 00:00:00"],
        ]

    def test_a_number_is_not_rounded(self) -> None:
        part = only(pd.DataFrame({"x": [0.1234567890123456, 1e-300], "n": [2**62 + 1, 1]}))
        assert part["rows"] == [[0.1234567890123456, 2**62 + 1], [1e-300, 1]]

    def test_a_large_frame_is_cut_and_its_whole_shape_and_digest_are_kept(self) -> None:
        big = pd.DataFrame({f"c{i}": range(1000) for i in range(100)})
        part = only(big)
        assert (len(part["rows"]), len(part["rows"][0])) == (ROWS, COLUMNS)
        assert part["shape"] == [1000, 100]
        last = big.copy()
        last.iloc[-1, -1] = -1
        assert only(last)["sha256"] != part["sha256"]
        assert only(last)["rows"] == part["rows"]

    def test_a_long_cell_says_how_long_it_is(self) -> None:
        cell = only(pd.DataFrame({"x": ["y" * 5000]}))["rows"][0][0]
        assert cell == "y" * CELL + "… (5,000 characters)"

    def test_a_series_and_a_polars_frame_are_tables_too(self) -> None:
        assert only(FRAME["name"])["rows"] == [["Ada"], ["Bob"]]
        part = only(pl.DataFrame({"a": [1, 2], "b": ["x", None]}))
        assert part["type"] == "polars.DataFrame"
        assert part["index"] is None
        assert part["rows"] == [[1, "x"], [2, None]]
        assert only(pl.LazyFrame({"a": [1]}))["rows"] == [[1]]

    def test_two_columns_of_one_name_are_both_shown(self) -> None:
        part = only(pd.DataFrame([[1, 2]], columns=["x", "x"]))
        assert [name for name, _ in part["columns"]] == ["x", "x"]
        assert part["rows"] == [[1, 2]]


class TestChanges:
    def test_names_rows_added_removed_and_each_cell_that_changes(self) -> None:
        after = FRAME.drop("a").assign(total=5.0)
        after.loc["c"] = ["Cy", 1.0, pd.Timestamp("2026-02-01")]
        part = only(previews.changes(FRAME, after))
        assert (part["removed"], part["added"], part["changed"]) == (1, 1, 1)
        by_label = {row["label"]: row for row in part["rows"]}
        assert by_label["a"]["how"] == "removed"
        assert by_label["b"]["was"] == [None, "nan", None]
        assert by_label["b"]["now"][1] == "5.0"
        assert by_label["c"]["how"] == "added"

    def test_an_equal_table_changes_nothing_though_it_holds_nan(self) -> None:
        part = only(previews.changes(FRAME, FRAME.copy()))
        assert (part["removed"], part["added"], part["changed"], part["rows"]) == (0, 0, 0, [])

    @pytest.mark.parametrize(
        ("was", "now", "word"),
        [(1, True, "true"), (1, 1.0, "1.0"), ([1], [True], "[True]"), ({"a": 0}, {"a": False}, "")],
    )
    def test_what_python_alone_takes_for_equal_is_a_change(
        self, was: object, now: object, word: str
    ) -> None:
        before, after = (pd.DataFrame({"x": pd.Series([v], dtype=object)}) for v in (was, now))
        part = only(previews.changes(before, after))
        assert part["changed"] == 1
        assert part["rows"][0]["how"] == "changed"
        assert word in part["rows"][0]["now"][0]
        assert part["rows"][0]["was"][0] is not None

    @pytest.mark.parametrize(
        ("was", "now", "words"),
        [("1", 1, ('"1"', "1")), (True, "true", ("true", '"true"')), (None, "x", ("null", "x"))],
    )
    def test_a_cell_of_another_type_is_not_shown_as_the_same(
        self, was: object, now: object, words: tuple[str, str]
    ) -> None:
        before, after = (pd.DataFrame({"x": pd.Series([v], dtype=object)}) for v in (was, now))
        (row,) = only(previews.changes(before, after))["rows"]
        assert (row["was"][0], row["now"][0]) == words

    def test_the_middle_of_a_long_array_in_a_cell_is_compared_too(self) -> None:
        was, now = (np.zeros(5000), np.zeros(5000))
        now[2500] = 1
        before, after = (pd.DataFrame({"x": pd.Series([v], dtype=object)}) for v in (was, now))
        assert only(previews.changes(before, after))["changed"] == 1
        assert only(previews.changes(before, before.copy()))["changed"] == 0

    def test_counts_all_though_it_shows_some(self) -> None:
        many = pd.DataFrame({"x": range(500)})
        part = only(previews.changes(many, many.iloc[:0]))
        assert part["removed"] == 500
        assert len(part["rows"]) == ROWS

    def test_rows_that_can_not_be_told_apart_are_an_error(self) -> None:
        twice = pd.DataFrame({"x": [1, 2]}, index=[0, 0])
        with pytest.raises(ValueError, match="can not be told apart"):
            previews.changes(twice, twice)


class TestTexts:
    def test_text_is_text_and_a_long_one_says_how_long(self) -> None:
        assert only("<b>x</b>") == {"kind": "text", "text": "<b>x</b>", "length": 8}
        part = only("y" * (LONGEST + 1))
        assert (len(part["text"]), part["length"]) == (LONGEST, LONGEST + 1)

    def test_a_diff_counts_its_lines(self) -> None:
        part = only(previews.diff("a\nb\n", "a\nc\nd\n", "notes.txt"))
        assert (part["kind"], part["added"], part["removed"]) == ("diff", 2, 1)
        assert "notes.txt" in part["text"]
        assert only(part["text"])["kind"] == "diff", "a diff in plain text is known as one"

    def test_a_diff_hides_no_change_of_line_ends(self) -> None:
        """A file that would be another one is never shown as the same."""
        for before, after in [
            ("a\r\nb\r\n", "a\nb\n"),
            ("a\n", "a"),
            ("a", "a\n"),
            ("a\u2028b\n", "a\nb\n"),
            ("x", ""),
        ]:
            part = only(previews.diff(before, after))
            assert part["removed"] > 0, (before, after)
        assert "No newline at end of file" in only(previews.diff("a", "a\n"))["text"]
        assert only(previews.diff("a", "a"))["text"] == ""
        new = only(previews.diff("", "a\nb"))
        assert (new["added"], new["removed"]) == (2, 0)

    def test_a_diff_counts_lines_that_look_like_the_names_of_files(self) -> None:
        """A comment of SQL that goes reads ``--- …`` in a diff."""
        part = only(previews.diff("-- keep\n-- me\nx\n", "++ y\nx\n"))
        assert (part["added"], part["removed"]) == (1, 2)
        loose = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n+more than it says\n--- c\n+++ d\n@@ @@\n-z"
        assert (only(loose)["added"], only(loose)["removed"]) == (2, 2)

    def test_html_shows_hidden_characters_as_their_numbers(self) -> None:
        """F19: a frame turns text around as any page does."""
        part = only(previews.html("<p>pay \u202e001\u202c &#8238;x &lrm;</p>"))
        assert part["text"].count("U+202E") == 2
        assert "\u202e" not in part["text"]
        assert "U+200E" in part["text"]

    def test_sql_says_how_many_rows(self) -> None:
        part = only(previews.sql("DELETE FROM t", rows=7))
        assert (part["kind"], part["rows"]) == ("sql", 7)

    def test_json_is_shown_as_text(self) -> None:
        assert json.loads(only({"rows": 3})["text"]) == {"rows": 3}

    def test_several_things_stand_one_after_the_other(self) -> None:
        assert [p["kind"] for p in parts_of(["x", FRAME, previews.sql("select 1")])] == [
            "text",
            "table",
            "sql",
        ]
        assert parts_of(["x"] * (MOST + 8))[-1]["text"] == "Parts that are not shown: 8."

    def test_nothing_is_nothing_and_an_object_says_what_to_return(self) -> None:
        assert parts_of(None) == []
        with pytest.raises(TypeError, match="return a DataFrame"):
            parts_of(object())


class TestPictures:
    def test_an_image_is_told_by_its_bytes(self) -> None:
        part = only(previews.image(PNG, "a dot"))
        assert (part["mime"], part["alt"]) == ("image/png", "a dot")
        assert base64.b64decode(part["data"]) == PNG
        with pytest.raises(ValueError, match="PNG"):
            previews.image(b"<svg onload=alert(1)>")

    def test_one_that_is_too_large_is_named_and_left_out(self) -> None:
        part = only(previews.image(PNG + b"\0" * IMAGE_BYTES, "a map"))
        assert part["kind"] == "text"
        assert "a map: 200,0" in part["text"]

    def test_pillow(self) -> None:
        from PIL import Image

        assert only(Image.new("RGB", (4, 4)))["mime"] == "image/png"

    def test_a_matplotlib_figure_is_drawn_and_closed(self) -> None:
        """Left open, the notebook would show it a second time under the cell."""
        import matplotlib as mpl

        mpl.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots()
        axes.plot([1, 2])
        axes.set_title("Totals")
        part = only(figure)
        assert (part["mime"], part["alt"]) == ("image/png", "Totals")
        assert not plt.fignum_exists(figure.number)

    def test_a_figure_that_would_be_too_large_is_drawn_smaller(self) -> None:
        import numpy as np
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 6))
        noise = np.random.default_rng(0).random((600, 600))
        figure.subplots().imshow(noise, interpolation="nearest")
        part = only(figure)
        assert part["kind"] == "image"
        assert 0 < part["bytes"] <= IMAGE_BYTES

    def test_an_altair_chart_is_drawn_here_and_loads_nothing(self) -> None:
        import altair as alt

        data = alt.Data(values=[{"a": 1, "b": 2}])
        chart = alt.Chart(data).mark_bar().encode(x="a:Q", y="b:Q").properties(title="Bars")
        part = only(chart)
        assert (part["kind"], part["alt"]) == ("image", "Bars")
        with pytest.raises(ValueError, match="not allowed"):
            parts_of(alt.Chart("http://127.0.0.1:9/x.json").mark_bar().encode(x="a:Q"))

    def test_ipython_s_own_objects(self) -> None:
        from IPython.display import HTML, Image, Markdown

        assert only(Markdown("*x*"))["html"] == "<p><em>x</em></p>\n"
        assert only(HTML("<b>x</b>"))["kind"] == "html"
        assert only(Image(data=PNG, alt="dot"))["alt"] == "dot"
        held = io.BytesIO(PNG)
        assert only(held.getvalue())["kind"] == "image"
