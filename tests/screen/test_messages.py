"""One vocabulary between kernel and page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hitl_widgets.request import Answer, Approve, Decline, Respond
from hitl_widgets.screen import deskport, messages
from hitl_widgets.screen.messages import RequestView, kernel_message, page_message
from scripts.message_examples import FIXTURES
from scripts.messages import TYPES, types

FOLDER = Path(__file__).parents[2] / "js" / "tests" / "fixtures"


def fixture(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


class TestOneVocabulary:
    @pytest.mark.parametrize("name", sorted(FIXTURES))
    def test_the_files_that_the_page_is_tested_with_are_what_python_makes(self, name: str) -> None:
        assert fixture(name) == json.loads(json.dumps(FIXTURES[name]))

    def test_the_generated_types_are_what_the_models_say(self) -> None:
        assert TYPES.read_text("utf-8") == types()

    @pytest.mark.parametrize("message", fixture("page-messages"), ids=lambda m: m["id"])
    def test_python_understands_what_the_page_sends(self, message: dict[str, Any]) -> None:
        assert page_message.validate_python(message).id == message["id"]

    def test_the_page_is_tested_with_what_python_answers(self) -> None:
        for message in fixture("kernel-messages"):
            assert kernel_message.validate_python(message).id == "m3"

    @pytest.mark.parametrize("name", [n for n in FIXTURES if not n.endswith("-messages")])
    def test_every_view_is_whole(self, name: str) -> None:
        assert RequestView.model_validate(fixture(name)).id.startswith("req_")


def decide(decision: object) -> dict[str, Any]:
    return {
        "type": "decide",
        "id": "m1",
        "request_id": "req_x",
        "fingerprint": "hf1:x",
        "decision": decision,
        "visible_ms": 1,
    }


class TestADecisionIsAnObjectOfTheFourKinds:
    @pytest.mark.parametrize(
        ("decision", "meant"),
        [
            ({"verdict": "approve"}, Approve()),
            ({"verdict": "approve", "note": "once"}, Approve(note="once")),
            ({"verdict": "decline", "reason": "no"}, Decline(reason="no")),
            ({"verdict": "decline", "stop": True}, Decline(stop=True)),
            ({"verdict": "respond", "text": "[]"}, Respond([])),
            ({"verdict": "respond", "text": "9007199254740993"}, Respond(2**53 + 1)),
            ({"verdict": "respond", "text": "it's 42"}, Respond("it's 42")),
            *[({"verdict": "answer", "data": d}, Answer(d)) for d in (False, 0, "", [], {}, None)],
        ],
        ids=str,
    )
    def test_each_becomes_the_desks_own(self, decision: object, meant: object) -> None:
        message = page_message.validate_python(decide(decision))
        assert isinstance(message, messages.Decide)
        assert deskport.decision_of(message.decision) == meant

    @pytest.mark.parametrize(
        "decision",
        [
            None,
            True,
            "approve",
            1,
            {},
            {"verdict": "yes"},
            {"verdict": "approve", "args": {"a": 0}},
            {"verdict": "approve", "prepared": True},
            {"verdict": "approve", "yes": True},
            {"verdict": "decline", "stop": 1},
            {"verdict": "decline", "stop": "true"},
            {"verdict": "answer"},
            {"verdict": "respond"},
        ],
        ids=str,
    )
    def test_nothing_else_is_ever_a_yes(self, decision: object) -> None:
        """R4, F7, F8."""
        with pytest.raises(ValidationError):
            page_message.validate_python(decide(decision))
