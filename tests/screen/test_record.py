"""What stays in a saved notebook."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, SecretStr

import hitl_widgets as hitl
from hitl_widgets.screen.record import LONGEST, RanCall, RunRecord, record
from hitl_widgets.store import open_store
from scripts.message_examples import (
    ASK,
    AT,
    CONFIRM,
    DELETE,
    FRAME,
    HOSTILE,
    decided,
    previewed,
    request,
)


class Login(BaseModel):
    user: str
    password: SecretStr


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

    def test_shows_what_a_reviewer_changed_path_by_path(self) -> None:
        """R10; a number and the text of it are told apart."""
        args = {**DELETE.args, "id": "7", "where": {"status": "stale", "older_than": 7}}
        text = record([decided(DELETE, "done", "approve", args=args)])["text/plain"]
        assert "Approved with changes by user-17" in text
        changed = text.partition("Changed by the reviewer")[2].splitlines()
        assert [line.strip() for line in changed[1:4]] == [
            "Argument | Was | Now",
            'id | abc-123 | "7"',
            "where/older_than | 90 | 7",
        ]

    def test_shows_what_was_answered_and_not_the_calls_arguments_as_if_they_were(self) -> None:
        """R17: what a secret field was given stands masked in the decision."""
        asked = replace(ASK, args={"city": None}, suspend_payload="Which of them?")
        answer = {"city": "Berlin", "days": 3, "key": "••••"}
        plain, page = record([decided(asked, "done", "answer", data=answer)]).values()
        assert plain.splitlines()[1:] == [
            "  What was asked",
            "    Value",
            "    Which of them?",
            "  Arguments of get_weather, which asks",
            "    Argument | Value",
            "    city | null",
            "  The answer",
            "    Field | Value",
            "    city | Berlin",
            "    days | 3",
            "    key | ••••",
            plain.splitlines()[-1],
        ]
        assert page.count("<table>") == 3
        Tags(page)

    @pytest.mark.parametrize(("data", "shown"), [(False, "false"), (None, "null"), ({}, "{}")])
    def test_shows_an_answer_of_one_value(self, data: Any, shown: str) -> None:
        text = record([decided(ASK, "done", "answer", data=data)])["text/plain"]
        assert f"  The answer\n    Value\n    {shown}\n" in text

    async def test_of_a_question_masks_what_a_secret_field_was_given(self, tmp_path: Path) -> None:
        """R17."""
        store = open_store(tmp_path / "store")
        with hitl.reviewer(lambda _: hitl.Answer({"user": "ada", "password": "hunter2"})):
            answer = await hitl.ask(Login, "Who are you?", store=store)
        assert answer.password.get_secret_value() == "hunter2"
        for text in record(store.requests()).values():
            assert "Input: Who are you?" in text
            assert "ada" in text
            assert "••••" in text
            assert "hunter2" not in text

    def test_shows_the_result_that_was_given_in_place_of_the_tool(self) -> None:
        text = record([decided(DELETE, "responded", "respond", result={"gone": 1})])["text/plain"]
        assert "  The result given in its place\n    Field | Value\n    gone | 1\n" in text

    def test_says_of_which_call_the_preview_is_when_another_one_ran(self) -> None:
        """R10."""
        shown = previewed(DELETE)
        as_asked, changed = (
            record([decided(shown, "done", "approve", **more)])["text/plain"]
            for more in ({}, {"args": {**DELETE.args, "id": "7"}})
        )
        words = "The preview is of the call as it was asked"
        assert words not in as_asked
        assert words in changed

    def test_says_that_a_secret_was_changed_and_not_to_what(self) -> None:
        """R17."""
        edited = {"fingerprint": "hf1:x", "digests": {**DELETE.digests, "/token": "other"}}
        changed = decided(DELETE, "done", "approve", args=DELETE.args, edited=edited)
        text = record([changed])["text/plain"]
        assert "token | •••• | ••••" in text

    def test_shows_the_tables_of_plain_functions(self) -> None:
        plain, page = record([decided(FRAME, "done", "approve")]).values()
        for text in (plain, page):
            assert "frame: pandas.DataFrame, 10,000 rows × 3 columns" in text  # noqa: RUF001
            assert "showing 5 of 10,000 rows" in text
            assert "sha256 3f3f3f3f3f3f" in text
            assert "numpy.ndarray of float32, shape 64 × 64" in text  # noqa: RUF001
            assert "out/report.pdf (File, 81,344 bytes" in text
        assert "order (object) | amount (float64) | paid (bool)" in plain
        assert "A-1004 | 50.0 | true" in plain
        assert "A-1005" not in plain
        assert page.count("<table>") == 2
        Tags(page)

    def test_does_not_take_a_models_object_for_a_table(self) -> None:
        """F19."""
        faked = replace(decided(FRAME, "done", "approve"), scope={"how": "gate"})
        assert "$described" in record([faked])["text/plain"]

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

    def test_shows_as_many_blanks_as_there_are(self) -> None:
        """F19: HTML draws several blanks as one."""
        args = {"one": "rm x", "two": "rm  x", "tab": "a\tb", "end": "x "}
        page = record([request("t", args)])["text/html"]
        for cell in ("code>rm x<", "pre>rm  x<", "pre>a\tb<", "pre>x <"):
            assert cell in page

    def test_no_text_writes_lines_that_pass_for_ours(self) -> None:
        """F19: nor does a title, a reason, a call's cause or a cell of a table."""
        evil = "x\n  Approved by root at noon\n    table: none"
        no = decided(request("t", {"to": evil}), "declined", "decline", reason=evil)
        edited = decided(request("t", {"to": evil}), "done", "approve", args={"to": f"y{evil}"})
        run = RunRecord("clerk", "failed", evil, (RanCall(evil, "failed", cause=evil),))
        question = replace(CONFIRM, message=evil)
        lines = record([no, edited, question], run)["text/plain"].splitlines()
        forged = [line for line in lines if "root at noon" in line or "table: none" in line]
        assert len(forged) >= 10
        assert [line for line in forged if not line.startswith("      │ ")] == []

    def test_spells_out_what_does_not_show(self) -> None:
        for text in record([HOSTILE]).values():
            assert "invoice[U+202E]fdp.exe" in text
            assert "\u202e" not in text

    @pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000], ids=["deep", "long"])
    def test_puts_text_in_quotes_that_reads_as_more_json_than_python_reads(self, text: str) -> None:
        made = record([request(tool="t", args={"note": text})])
        assert f'note: "{text[:100]}' in made["text/plain"]

    def test_says_what_it_cuts(self) -> None:
        text = record([request("t", {"a": "x" * 81_344})])["text/plain"]
        assert "showing 2,000 of 81,344 characters" in text
        assert "x" * (LONGEST + 1) not in text

    def test_is_the_same_each_time(self) -> None:
        assert record([APPROVED]) == record([APPROVED])

    def test_tells_a_run_with_its_calls_and_its_text(self) -> None:
        run = RunRecord("data-agent", "completed", "All gone.", (RanCall("find_user", "done"),))
        text = record([APPROVED], run)["text/plain"]
        assert text.startswith("Run: data-agent: completed\n  - find_user: done\n  All gone.\n")

    def test_says_which_call_a_standing_grant_let_through(self) -> None:
        """R20."""
        calls = (RanCall("read_file", "done", "read_file of clerk with any arguments"),)
        text = record([], RunRecord("clerk", "completed", "", calls))["text/plain"]
        assert "read_file: done (allowed by a standing permission: read_file of clerk with" in text

    def test_says_what_a_failed_call_raised(self) -> None:
        calls = (RanCall("boom", "failed", cause="KeyError: 'x'"),)
        text = record([], RunRecord("clerk", "completed", "", calls))["text/plain"]
        assert "boom: failed · KeyError: 'x'" in text

    def test_of_a_run_that_goes_on_claims_nothing_that_could_change(self) -> None:
        text = record([], RunRecord("clerk", "running", started=AT))["text/plain"]
        assert text.startswith("Run: clerk\n  started at 2026-03-04T")
        assert "hitl-widgets inbox" in text
        assert "running" not in text

    def test_short_keeps_who_decided_what_and_when_and_no_values(self) -> None:
        run = RunRecord("data-agent", "completed", "All gone.", (RanCall("find_user", "done"),))
        for text in record([APPROVED], run, level="short").values():
            assert "Run: data-agent: completed" in text
            assert "Approval: delete_record" in text
            assert "Approved by user-17" in text
            for left_out in ("abc-123", "orders", "All gone", "find_user"):
                assert left_out not in text

    def test_none_keeps_nothing_but_that_something_waits(self) -> None:
        assert record([APPROVED], level="none") == {"text/plain": "", "text/html": "<div></div>"}
        waiting = record([DELETE], level="none")["text/plain"]
        assert "hitl-widgets inbox" in waiting
        assert "delete_record" not in waiting

    def test_speaks_the_language_that_is_set(self) -> None:
        assert "delete_record" in record([APPROVED], locale="ja")["text/plain"]


@pytest.mark.filterwarnings("ignore:A store in memory")
class TestATool:
    """`record=` on a tool or a gated function keeps less than what is set for all, never more."""

    @staticmethod
    async def asked(level: Literal["full", "short", "none"]) -> hitl.Request:
        @hitl.tool(require_approval=True, record=level)
        async def visit(patient: str) -> str:
            "Note a visit."
            return f"noted {patient}"

        turns = [[hitl.call("visit", patient="Ada L.")]]
        agent = hitl.Agent("ward", model=hitl.ScriptedModel(turns), tools=[visit], store=":memory:")
        (request,) = (await agent.generate("go")).requests
        return request

    async def test_short_leaves_its_arguments_and_the_words_of_the_run_out(self) -> None:
        run = RunRecord("ward", "completed", "Noted Ada L.", (RanCall("visit", "done"),))
        text = record([await self.asked("short"), APPROVED], run)["text/plain"]
        assert "Run: ward: completed" in text
        assert "Approval: visit" in text
        assert "Ada" not in text
        assert "abc-123" in text  # what another tool keeps stays

    async def test_none_leaves_out_that_it_was_asked_once_it_waits_no_more(self) -> None:
        waiting = await self.asked("none")
        text = record([waiting, APPROVED])["text/plain"]
        assert "hitl-widgets inbox" in text
        for left in (text, record([decided(waiting, "done", "approve"), APPROVED])["text/plain"]):
            assert "visit" not in left
            assert "Ada" not in left
            assert "abc-123" in left

    @pytest.mark.parametrize("level", ["short", "none"])
    async def test_can_not_keep_more_than_is_set_for_all(self, level: Any) -> None:
        request = await self.asked("full")
        assert record([request], level=level) == record([replace(request, scope={})], level=level)
        assert "Ada" not in str(record([request], level=level))

    async def test_gates_a_plain_function_too(self) -> None:
        seen: list[hitl.Request] = []

        @hitl.require_approval(record="short", store=":memory:")
        async def visit(patient: str) -> str:
            return f"noted {patient}"

        def look(request: hitl.Request) -> hitl.Approve:
            seen.append(request)
            return hitl.Approve()

        with hitl.reviewer(look):
            await visit("Ada L.")
        assert "Ada" not in str(record(seen))

    def test_refuses_another_level_at_the_definition(self) -> None:
        wrong: Any = "some"
        with pytest.raises(hitl.ToolDefinitionError, match="record='some'"):
            hitl.tool(id="visit", record=wrong)(lambda: None)
        with pytest.raises(hitl.AgentDefinitionError, match="record='some'"):
            hitl.require_approval(record=wrong)(lambda: None)
