"""What stays in a saved notebook."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from hitl_widgets.screen.record import LONGEST, RunRecord, record
from scripts.message_examples import CONFIRM, DELETE, HOSTILE, decided, request

APPROVED = decided(DELETE, "done", "approve")


class Tags(HTMLParser):
    """Collects tags and attributes, and fails on a tag that is never closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


class TestARecord:
    def test_names_tool_arguments_verdict_reviewer_time_and_fingerprint(self) -> None:
        for text in record([APPROVED]).values():
            assert "Approval: delete_record" in text
            assert "abc-123" in text
            assert re.search(r"Approved by user-17 at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]", text)
            assert DELETE.short_fingerprint in text
            assert "s3cret" not in text

    def test_says_while_pending_how_to_decide(self) -> None:
        assert "hitl-widgets inbox" in record([DELETE])["text/plain"]

    def test_says_what_became_of_it(self) -> None:
        lost = decided(DELETE, "outcome_unknown", "approve")
        assert "outcome unknown" in record([lost])["text/plain"]
        gone = replace(DELETE, state="withdrawn")
        assert "withdrawn" in record([gone])["text/plain"]

    def test_shows_what_ran_after_an_edit(self) -> None:
        edited = decided(DELETE, "done", "approve", args={"id": "abc-124"})
        text = record([edited])["text/plain"]
        assert "abc-123" in text
        assert '"abc-124"' in text

    def test_keeps_the_words_of_the_reviewer(self) -> None:
        no = decided(DELETE, "declined", "decline", reason="use <b>staging</b>")
        assert "Reason: use <b>staging</b>" in record([no])["text/plain"]
        assert "use &lt;b&gt;staging&lt;/b&gt;" in record([no])["text/html"]

    def test_survives_sanitizers_whatever_the_model_wrote(self) -> None:
        parsed = Tags(record([HOSTILE, CONFIRM, APPROVED])["text/html"])
        assert parsed.tags <= {"div", "p", "strong", "ul", "li", "table", "tr", "th", "td"} | {
            "pre",
            "code",
        }
        assert parsed.attributes == []

    def test_spells_out_what_does_not_show(self) -> None:
        for text in record([HOSTILE]).values():
            assert "invoice[U+202E]fdp.exe" in text
            assert "\u202e" not in text

    def test_says_what_it_cuts(self) -> None:
        text = record([request("t", {"a": "x" * 81_344})])["text/plain"]
        assert "showing 2,000 of 81,344 characters" in text
        assert "x" * (LONGEST + 1) not in text

    def test_is_the_same_each_time(self) -> None:
        assert record([APPROVED]) == record([APPROVED])

    def test_tells_a_run_with_its_calls_and_its_text(self) -> None:
        run = RunRecord("data-agent", "completed", "All gone.", (("find_user", "done"),))
        text = record([APPROVED], run)["text/plain"]
        assert text.startswith("Run: data-agent: completed\n  - find_user: done\n  All gone.\n")

    def test_speaks_the_language_that_is_set(self) -> None:
        assert "delete_record" in record([APPROVED], locale="ja")["text/plain"]
