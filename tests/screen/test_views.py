"""What a card is given to show."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from hitl_widgets.fingerprint import fingerprint
from hitl_widgets.request import Evaluation
from hitl_widgets.screen.rows import row_view
from hitl_widgets.screen.views import STRIP_CELLS, json_text, request_view, strip
from hitl_widgets.visible import visible
from scripts.message_examples import DELETE, HOSTILE, decided, request

KEY = b"k" * 32


class TestArguments:
    @pytest.mark.parametrize(
        "value",
        [2**53 + 1, 10**400, 1.0, 0.1, -0.0, 1e-7, "\ud800", "\u202e", {"10": 1, "2": 2}, None],
        ids=repr,
    )
    def test_travel_as_text_that_loses_nothing(self, value: Any) -> None:
        """F19: a page's own JSON would round, reorder or refuse."""
        text = json_text({"v": value})
        assert text.isascii()
        assert repr(json.loads(text)) == repr({"v": value})

    def test_secrets_are_never_in_a_view(self) -> None:
        """R17."""
        view = request_view(DELETE)
        assert "s3cret" not in json.dumps(view)
        assert list(view["secrets"]) == ["/token"]

    def test_secrets_named_by_a_pattern_are_found_at_each_place(self) -> None:
        asked = request("t", {"u": [{"p": "a"}, {"p": "b"}]}, secrets=("/u/*/p",))
        assert list(request_view(asked)["secrets"]) == ["/u/0/p", "/u/1/p"]

    def test_a_view_can_be_sent_whatever_the_model_wrote(self) -> None:
        asked = replace(HOSTILE, message="lone \ud800")
        json.dumps(request_view(asked), ensure_ascii=False).encode()


class TestTheEffect:
    def test_of_a_call_that_declares_none_is_unknown(self) -> None:
        gated = replace(DELETE, effect="unknown", message="Delete it?", scope={"how": "verb"})
        assert request_view(gated)["effect"] == "unknown"
        assert row_view(gated).effect == "unknown"

    @pytest.mark.parametrize(
        ("agent_id", "scope"), [("confirm", {"how": "verb"}), ("my-agent", {"how": "confirm"})]
    )
    def test_of_a_plain_question_is_none_to_tell(self, agent_id: str, scope: Any) -> None:
        asked = request("confirm", {}, message="Train?", agent_id=agent_id, scope=scope)
        asked = replace(asked, effect="unknown")
        assert request_view(asked)["effect"] is None
        assert row_view(asked).effect is None
        assert request_view(replace(asked, effect="costly"))["effect"] == "costly"


class TestTheStrip:
    def cells(self, args: dict[str, Any]) -> list[str]:
        return [cell.digest for cell in strip(fingerprint("t", args).digests)]

    def test_equal_calls_look_equal(self) -> None:
        assert self.cells({"a": 1, "b": [2, 3]}) == self.cells({"a": 1, "b": [2, 3]})

    def test_one_changed_character_shows_in_its_cell_alone(self) -> None:
        before, after = self.cells({"a": "abc", "b": 1}), self.cells({"a": "abd", "b": 1})
        assert [x == y for x, y in zip(before, after, strict=True)] == [False, True]

    def test_a_change_shows_where_many_arguments_share_a_cell(self) -> None:
        many = {f"k{i}": i for i in range(10_000)}
        before, after = self.cells(many), self.cells({**many, "k7777": -1})
        assert len(before) <= STRIP_CELLS
        assert sum(x != y for x, y in zip(before, after, strict=True)) == 1

    def test_a_secret_has_a_cell_too(self) -> None:
        one = request("t", {"p": "a"}, secrets=("/p",))
        two = request("t", {"p": "b"}, secrets=("/p",))
        assert one.args == two.args
        assert request_view(one)["strip"] != request_view(two)["strip"]


class TestWhoWhatWhen:
    def test_a_pending_request_has_no_verdict(self) -> None:
        assert request_view(DELETE)["decided"] is None

    def test_whether_a_note_can_be_delivered_is_told(self) -> None:
        assert request_view(DELETE)["notes"] is True
        deaf = replace(DELETE, scope={**DELETE.scope, "notes": False})
        assert request_view(deaf)["notes"] is False

    def test_a_decision_is_told_with_its_seconds(self) -> None:
        told = request_view(decided(DELETE, "done", "approve", note="once"))["decided"]
        assert (told["verdict"], told["reviewer"], told["via"]) == ("approve", "user-17", "card")
        assert (told["seconds"], told["note"], told["edited"]) == (8.2, "once", None)

    def test_edited_arguments_are_told(self) -> None:
        told = request_view(decided(DELETE, "done", "approve", args={"id": "x"}))["decided"]
        assert json.loads(told["edited"]) == {"id": "x"}

    def test_a_cause_that_this_version_does_not_know_is_passed_on(self) -> None:
        asked = request("t", {}, evaluation=Evaluation(type="new_kind"))
        assert request_view(asked)["why"] == {
            "type": "new_kind",
            "checked": None,
            "reason_code": None,
        }


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\u202eb", "a[U+202E]b"),
        ("a\x00b", "a[U+0000]b"),
        ("a\ud800b", "a[U+D800]b"),
        ("a\u200bb", "a[U+200B]b"),
        ("a\U000e0101b", "a[U+E0101]b"),
        ("a\ufe0fb", "a[U+FE0F]b"),
        ("a\u034fb", "a[U+034F]b"),
        ("a\u2003b", "a[U+2003]b"),
        ("Zürich 東京\u3000\n\t👩 ⚠️", "Zürich 東京\u3000\n\t👩 ⚠️"),
    ],
)
def test_what_does_not_show_is_spelt_out(text: str, seen: str) -> None:
    assert visible(text) == seen
