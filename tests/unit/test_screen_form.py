"""Forms between page and desk: what a page gets, and what it sends back means."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from ipywidgets import Widget
from pydantic import BaseModel, SecretStr

from hitl_widgets.errors import InvalidAnswer
from hitl_widgets.request import Request
from hitl_widgets.schema import shape_of
from hitl_widgets.screen import formdata, hub
from hitl_widgets.screen.form import RequestForm
from hitl_widgets.screen.views import request_view
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import waiting


class Account(BaseModel):
    name: str
    token: SecretStr
    size: int = 0


class Yes(BaseModel):
    approved: bool


def asked(kind: Any, initial: Any = None, **more: Any) -> Request:
    values: dict[str, Any] = {
        "id": f"r_{datetime.now(UTC).timestamp()}",
        "run_id": "run_x",
        "tool_call_id": "c_x",
        "ordinal": 0,
        "kind": "input",
        "tool_name": "ask",
        "args": {},
        "fingerprint": "hf1:x",
        "state": "pending",
        "agent_id": "ask",
        "agent_path": (),
        "created_at": datetime.now(UTC),
        "allowed": ("answer", "decline"),
        "resume_schema": None if kind is None else shape_of(kind).json_schema,
        "scope": {} if initial is None else {"initial": initial},
        **more,
    }
    return Request(**values)


INITIAL = {"name": "Ada", "token": "hunter2", "size": 2**53 + 1, "old": True}


class TestWhatThePageGets:
    def test_is_the_prepared_schema_and_what_stands_in_the_controls_as_text(self) -> None:
        form = formdata.form_doc(asked(Account, INITIAL))
        assert form is not None
        assert list(json.loads(form.layout)["properties"]) == ["name", "token", "size"]
        assert form.data is not None
        assert json.loads(form.data)["size"] == str(2**53 + 1)

    def test_holds_no_secret_anywhere(self) -> None:
        """R17."""
        assert "hunter2" not in json.dumps(request_view(asked(Account, INITIAL)))

    def test_names_what_no_control_shows(self) -> None:
        form = formdata.form_doc(asked(Account, INITIAL))
        assert form is not None
        assert [(part.path, part.text) for part in form.unshown] == [(["old"], "true")]

    @pytest.mark.parametrize(
        ("kind", "consent"), [(bool, True), (Yes, True), (Account, False), (None, False)]
    )
    def test_says_whether_the_answer_is_consent(self, kind: Any, consent: bool) -> None:
        """R7: then a press must be meant."""
        form = formdata.form_doc(asked(kind))
        assert form is not None
        assert form.consent is consent

    @pytest.mark.parametrize("more", [{"kind": "approval"}, {"state": "answered"}])
    def test_is_nothing_for_what_asks_for_no_data(self, more: dict[str, Any]) -> None:
        assert formdata.form_doc(replace(asked(Account), **more)) is None

    def test_is_a_field_for_json_when_no_schema_is_known(self) -> None:
        form = formdata.form_doc(asked(None))
        assert form is not None
        assert json.loads(form.layout)["properties"]["value"]["x-ui"] == {"field": "json"}


class TestWhatComesBack:
    def test_means_exactly_the_initial_value_when_nobody_touched_it(self) -> None:
        request = asked(Account, INITIAL)
        form = formdata.form_doc(request)
        assert form is not None
        assert form.data is not None
        data = json.loads(form.data)
        assert formdata.answer(request.id, data, edited=False).data == INITIAL

    def test_old_secrets_are_put_back_and_new_ones_taken(self) -> None:
        request = asked(Account, INITIAL)
        formdata.form_doc(request)
        sent = {"name": "Bob", "token": "••••1", "size": 1}
        kept = formdata.answer(request.id, sent, edited=True).data
        assert (kept["name"], kept["token"]) == ("Bob", "hunter2")
        sent["token"] = "new"
        assert formdata.answer(request.id, sent, edited=True).data["token"] == "new"

    def test_dots_typed_into_are_refused_at_their_field(self) -> None:
        request = asked(Account, INITIAL)
        formdata.form_doc(request)
        with pytest.raises(InvalidAnswer) as refused:
            formdata.answer(request.id, {"name": "Ada", "token": "••••1x"}, edited=True)
        assert [e["path"] for e in refused.value.errors] == [["token"]]

    def test_errors_of_a_wrapped_value_lead_into_the_wrapping(self) -> None:
        request = asked(list[int])
        formdata.form_doc(request)
        error = {"path": [1], "message": "no", "type": "x"}
        with pytest.raises(InvalidAnswer) as led, formdata.errors_in_page(request.id):
            raise InvalidAnswer([error])
        assert [e["path"] for e in led.value.errors] == [["value", 1]]

    def test_of_a_form_that_was_never_drawn_is_refused(self) -> None:
        """Fail closed: without its form nobody knows what the data means."""
        with pytest.raises(InvalidAnswer, match="no longer known"):
            formdata.answer("r_unknown", {}, edited=True)

    def test_only_the_last_forms_are_remembered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(formdata, "KEPT", 2)
        first, second, third = (asked(Account, id=f"r_kept_{i}") for i in range(3))
        for request in (first, second, third):
            formdata.form_doc(request)
        with pytest.raises(InvalidAnswer, match="no longer known"):
            formdata.answer(first.id, {}, edited=True)
        assert formdata.answer(third.id, {"name": "x"}, edited=True).data["name"] == "x"


class _Comm(BaseComm):
    def publish_msg(self, msg_type: str, data: Any = None, **_more: Any) -> None:
        self.__dict__.setdefault("sent", []).append((msg_type, data))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteStore]:
    monkeypatch.setattr(comm, "create_comm", _Comm)
    monkeypatch.setattr(hub, "_hub", None)
    made = SqliteStore(tmp_path / "hitl.db")
    yield made
    Widget.close_all()
    made.close()


class TestRequestForm:
    def test_an_answer_reaches_the_store_and_an_error_its_field(self, store: SqliteStore) -> None:
        """R4, F3: refused, the request stays pending; corrected, it is answered."""
        schema = shape_of(Yes).json_schema
        pending = waiting(store, kind="input", allowed=("answer", "decline"), resume_schema=schema)
        form = RequestForm(pending)
        refused = said(form, {"approved": "maybe"})
        assert refused["code"] == "InvalidAnswer"
        assert [e["path"] for e in refused["errors"]] == [["approved"]]
        assert store.request(pending.id).state == "pending"
        assert said(form, {"approved": False})["type"] == "ack"
        assert form.state == "answered"
        assert (store.request(pending.id).decision or {})["data"] == {"approved": False}

    def test_takes_no_request_for_approval(self, store: SqliteStore) -> None:
        with pytest.raises(ValueError, match="ApprovalCard"):
            RequestForm(waiting(store))


def said(form: RequestForm, data: Any) -> dict[str, Any]:
    """Let the page submit, and return what the kernel answered."""
    message = {
        "type": "decide",
        "id": "m1",
        "request_id": form.request.id,
        "fingerprint": form.request.fingerprint,
        "decision": {"verdict": "answer", "data": data, "edited": True},
        "visible_ms": 900,
    }
    sent = {"method": "custom", "content": message}
    cast_form: Any = form
    cast_form._handle_msg({"content": {"data": sent}, "buffers": []})
    answers = [
        d["content"] for k, d in form.comm.__dict__["sent"] if k == "comm_msg" and "content" in d
    ]
    return answers[-1]
