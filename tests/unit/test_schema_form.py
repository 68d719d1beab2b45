"""Forms: what the page gets, and what its data means when it comes back."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from hitl_widgets.errors import InvalidAnswer
from hitl_widgets.schema import Form, prepare, shape_of
from hitl_widgets.schema._json import same
from hitl_widgets.schema._prepare import CHOOSE, NONE
from tests.conformance.forms import models, own
from tests.conformance.forms.page import untouched


class Person(BaseModel):
    name: str
    nick: str = "none"
    age: int | None = None
    big: int = 0
    tags: list[str] = []


class Server(BaseModel):
    host: str
    token: SecretStr


class Servers(BaseModel):
    servers: list[Server]
    note: str | None = None


def field(schema: dict[str, Any], *path: str) -> dict[str, Any]:
    for key in path:
        schema = schema["properties"][key]
    return schema


class TestPrepared:
    """facts: each of the thirteen points."""

    def test_an_optional_scalar_is_drawn_as_the_scalar(self) -> None:
        assert field(prepare(shape_of(Person).json_schema), "age")["type"] == "integer"

    def test_unions_have_nothing_chosen(self) -> None:
        first = field(prepare(shape_of(models.Discriminated).json_schema), "pet")["anyOf"][0]
        assert first == {"type": "null", "title": CHOOSE}
        first = field(prepare(shape_of(models.OptionalNested).json_schema), "address")["anyOf"][0]
        assert first == {"type": "null", "title": NONE}

    def test_unions_inside_unions_are_one_picker(self) -> None:
        """Two pickers on one path would share one element id."""
        pet = field(prepare(shape_of(own.Zoo).json_schema), "pet")
        assert [b["title"] for b in pet["anyOf"]] == ["None", "Black", "White", "Dog"]
        assert "discriminator" not in pet  # "kind" is "cat" twice: it would pick the wrong one

    def test_consent_to_one_possible_answer_is_not_given_in_advance(self) -> None:
        """R7: `Literal[True]` has to be chosen, though nothing else is possible."""
        form = Form(shape_of(Literal[True]))
        with pytest.raises(InvalidAnswer):
            form.read(untouched(form.schema))

    def test_a_titled_null_is_an_option_that_has_to_be_chosen(self) -> None:
        options = [{"const": 1, "title": "One"}, {"const": None, "title": "None of them"}]
        schema = {"properties": {"pick": {"oneOf": options}}, "required": ["pick"]}
        form = Form(shape_of(schema))
        assert field(form.schema, "pick")["enum"] == [1, None]
        assert form.read(untouched(form.schema)) == {}
        assert form.read({"pick": None}) == {"pick": None}

    def test_a_root_that_is_no_object_is_wrapped(self) -> None:
        form = Form(shape_of(int), 5)
        assert form.schema["x-ui"] == {"root": "value"}
        assert form.data == {"value": 5}
        assert form.read({"value": 6}) == 6
        errors = form.page_errors([{"path": [], "message": "no", "type": "x"}])
        assert errors[0]["path"] == ["value"]

    def test_numbers_that_the_page_would_round_travel_as_text(self) -> None:
        form = Form(shape_of({"enum": [2**53 + 1, 2]}), 2**53 + 1)
        assert form.data == {"value": "9007199254740993"}
        assert form.read(form.data) == 2**53 + 1
        assert Form(shape_of(int)).read({"value": "9007199254740993"}) == 2**53 + 1
        default = {"properties": {"n": {"type": "number", "default": float("inf")}}}
        assert "Infinity" not in json.dumps(prepare(default)).replace('"Infinity"', "")

    def test_names_of_definitions_are_plain(self) -> None:
        """The page's library reads references by itself, escapes not among them."""
        node = {"properties": {"x": {"type": "array", "items": {"$ref": "#/$defs/a~1b c"}}}}
        form = prepare({"$ref": "#/$defs/a~1b c", "$defs": {"a/b c": node}})
        assert all(re.fullmatch(r"[\w-]+", name) for name in form["$defs"])
        assert form["properties"]["value"]["$ref"] == f"#/$defs/{next(iter(form['$defs']))}"

    def test_two_definitions_of_one_last_name_stay_apart(self) -> None:
        one = {"properties": {"next": {"$ref": "#/$defs/a/$defs/n"}}}
        two = {"properties": {"next": {"$ref": "#/$defs/n"}, "b": {}}}
        root = {"a": {"$ref": "#/$defs/a/$defs/n"}, "b": {"$ref": "#/$defs/n"}}
        form = prepare({"properties": root, "$defs": {"a": {"$defs": {"n": one}}, "n": two}})
        assert len(form["$defs"]) == 2

    def test_no_secret_default_is_in_it(self) -> None:
        schema = {"properties": {"k": {"type": "string", "writeOnly": True, "default": "s3cret"}}}
        assert "s3cret" not in json.dumps(prepare(schema))


class TestRead:
    def test_a_required_text_that_was_cleared_or_never_given_is_missing(self) -> None:
        """R4; whatever the page sends for an empty box."""
        form = Form(shape_of(Person))
        assert "name" not in form.read({"name": "", "nick": "x"})
        assert "name" not in form.read({"nick": "x"})

    def test_an_empty_text_that_was_given_stays(self) -> None:
        """R4: a given "" is an answer."""
        form = Form(shape_of(Person), {"name": "", "nick": ""})
        assert form.read(untouched(form.schema, form.data)) == {"name": "", "nick": ""}

    def test_a_default_text_that_was_cleared_is_empty(self) -> None:
        assert Form(shape_of(Person)).read({"name": "a", "nick": ""})["nick"] == ""

    def test_an_emptied_nullable_with_a_default_is_null(self) -> None:
        schema = {"properties": {"n": {"type": ["integer", "null"], "default": 5}}}
        assert Form(shape_of(schema)).read({}) == {"n": None}

    def test_json_text_is_read_as_json_and_other_text_as_text(self) -> None:
        form = Form(shape_of(models.AnyJson))
        answer = form.read({"anything": "[9007199254740993]", "obj": '{"a": 1}', "raw": "1"})
        assert answer == {"anything": [2**53 + 1], "obj": {"a": 1}, "raw": "1"}
        assert form.read({"anything": "not json"}) == {"anything": "not json"}

    def test_an_optional_section_that_nobody_touched_is_not_answered(self) -> None:
        part = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
        form = Form(shape_of({"properties": {"part": part, "list": {"type": "array"}}}))
        assert form.read({"part": {}, "list": []}) == {}
        assert form.read({"part": {"a": "x"}}) == {"part": {"a": "x"}}

    def test_a_list_that_was_opened_and_left_empty_is_an_answer(self) -> None:
        """R4: [] is an answer like any other when given."""
        form = Form(shape_of(models.ScalarLists))
        assert form.read({"tags": [], "ports": [1], "maybe": []})["maybe"] == []

    def test_nothing_at_all_is_an_error_at_the_control(self) -> None:
        form = Form(shape_of(own.Decision))
        with pytest.raises(InvalidAnswer) as caught:
            form.read({"value": None})
        assert caught.value.errors[0]["path"] == ["value"]


BAD = {"name": 5, "nick": None, "age": "old", "big": 2**60 + 1, "tags": "x", "more": [1]}


class TestInitial:
    """api.md: each part stays exactly as given until a person edits that field."""

    def test_parts_that_no_control_shows_are_named(self) -> None:
        named = {part.path: part.text for part in Form(shape_of(Person), BAD).unshown}
        assert named == {("tags",): '"x"', ("more",): "[1]"}

    def test_an_edit_changes_its_field_alone(self) -> None:
        form = Form(shape_of(Person), BAD)
        came = untouched(form.schema, form.data)
        answer = form.read({**came, "age": 41})
        assert answer == {**BAD, "age": 41}

    def test_without_an_edit_what_is_missing_stays_missing(self) -> None:
        form = Form(shape_of(models.OptionalScalars), {"note": "n"})
        came = untouched(form.schema, form.data)
        assert form.read(came) == {"note": "n"}
        assert form.read(came, edited=True) == {"note": "n", "owner": None}

    def test_after_an_edit_defaults_that_are_shown_are_answers(self) -> None:
        schema = {
            "properties": {"size": {"enum": ["S", "M"], "default": "M"}},
            "required": ["size"],
        }
        form = Form(shape_of(schema), {})
        came = untouched(form.schema, form.data)
        assert form.read(came) == {}
        assert form.read(came, edited=True) == {"size": "M"}

    def test_a_removed_row_takes_what_it_hid_along(self) -> None:
        rows = [{"sku": "a", "qty": 1, "hidden": 1}, {"sku": "b", "qty": 2, "hidden": 2}]
        form = Form(shape_of(models.ModelList), {"order": "o", "items": rows})
        items = form.data["items"]
        assert form.read({**form.data, "items": items[1:]})["items"] == rows[1:]
        assert form.read({**form.data, "items": items[::-1]})["items"] == rows[::-1]

    def test_an_edited_row_keeps_what_it_hid(self) -> None:
        rows = [{"sku": "a", "qty": 1, "hidden": 1}, {"sku": "b", "qty": 2, "hidden": 2}]
        form = Form(shape_of(models.ModelList), {"order": "o", "items": rows})
        edited = [form.data["items"][0], {**form.data["items"][1], "qty": 9}]
        answer = form.read({**form.data, "items": edited})
        assert answer["items"] == [rows[0], {**rows[1], "qty": 9}]

    def test_an_instance_of_the_type_is_shown_like_its_json(self) -> None:
        assert Form(shape_of(Person), Person(name="a")).data["name"] == "a"

    @pytest.mark.parametrize("initial", [object(), {1: {2}}, float("nan"), "\ud800", b"\xff"])
    def test_it_never_raises(self, initial: Any) -> None:
        for shape in (shape_of(Person), shape_of(str), shape_of({}), shape_of(own.Decision)):
            Form(shape, initial)


class TestSecrets:
    """R17: an edit form keeps the old value unless it is retyped."""

    def form(self) -> Form:
        servers = [{"host": "a", "token": "s3cret-a"}, {"host": "b", "token": "s3cret-b"}]
        return Form(shape_of(Servers), {"servers": servers})

    def test_the_page_gets_no_secret(self) -> None:
        form = self.form()
        assert "s3cret" not in json.dumps([form.data, form.schema, str(form.unshown)])

    def test_secrets_follow_their_rows(self) -> None:
        form = self.form()
        rows = form.data["servers"]
        answer = form.read({"servers": [{**rows[1], "host": "edited"}]})
        assert answer["servers"] == [{"host": "edited", "token": "s3cret-b"}]

    def test_a_retyped_secret_replaces_the_old_one(self) -> None:
        form = self.form()
        rows = form.data["servers"]
        answer = form.read({"servers": [{**rows[0], "token": "new"}, rows[1]]})
        assert [s["token"] for s in answer["servers"]] == ["new", "s3cret-b"]

    def test_a_secret_typed_into_the_old_one_is_an_error_at_its_field(self) -> None:
        form = self.form()
        rows = form.data["servers"]
        with pytest.raises(InvalidAnswer) as caught:
            form.read({"servers": [{**rows[0], "token": rows[0]["token"] + "x"}, rows[1]]})
        assert caught.value.errors[0]["path"] == ["servers", 0, "token"]

    def test_the_mark_of_a_secret_opens_nothing_in_another_field(self) -> None:
        form = self.form()
        mark = form.data["servers"][0]["token"]
        assert form.read({**form.data, "note": mark})["note"] == mark

    def test_declared_secrets_are_secret_too(self) -> None:
        shape = shape_of({"properties": {"a": {"properties": {"k": {"type": "string"}}}}})
        form = Form(shape, {"a": {"k": "s3cret"}}, secrets=["/a/k"])
        assert "s3cret" not in json.dumps(form.data)
        assert form.read(form.data) == {"a": {"k": "s3cret"}}

    def test_a_part_that_is_not_shown_is_named_without_its_secrets(self) -> None:
        [part] = Form(shape_of(Servers), {"servers": {"0": {"token": 1}}}).unshown
        assert part.path == ("servers",)
        wrong = {"servers": [{"host": "a", "token": {"deep": "s3cret"}}]}
        assert "s3cret" not in str(Form(shape_of(Servers), wrong).unshown)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
KEYS = st.sampled_from(["name", "nick", "age", "big", "tags", "pet", "more", "x"])
SHAPES = [
    shape_of(s)
    for s in (
        Person,
        own.Zoo,
        own.Folder,
        own.Json,
        models.Sets,
        models.Tuples,
        models.AnyJson,
        dict,
    )
]


@settings(max_examples=150, deadline=None)
@given(value=JSON | st.dictionaries(KEYS, JSON, max_size=5), which=st.integers(0, len(SHAPES) - 1))
def test_any_json_survives_a_form_that_nobody_touched(value: Any, which: int) -> None:
    if value is None:
        return
    form = Form(SHAPES[which], value)
    came = untouched(form.schema, json.loads(json.dumps(form.data)))
    assert same(form.read(came), value)


class TestEntriesOfADictionary:
    @pytest.mark.parametrize("initial", [None, {"a": 1}])
    def test_a_named_entry_without_a_value_is_an_error_and_never_dropped(
        self, initial: Any
    ) -> None:
        form = Form(shape_of(dict[str, int]), initial)
        data = form.read({"a": None, "b": 2}, edited=True)
        assert data == {"a": None, "b": 2}
        with pytest.raises(InvalidAnswer) as refused:
            shape_of(dict[str, int]).validate(data)
        assert refused.value.errors[0]["path"] == ["a"]

    def test_a_removed_entry_is_removed(self) -> None:
        assert Form(shape_of(dict[str, int]), {"a": 1}).read({}, edited=True) == {}
