"""Shapes: what they accept, what they say when they do not, and what they hide."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
import threading
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, RootModel, SecretBytes, SecretStr, computed_field

from hitl_widgets.errors import InvalidAnswer, ToolDefinitionError
from hitl_widgets.schema import HIDDEN, Shape, shape_of
from tests.conformance.forms import own


def errors_of(shape: Shape, value: Any) -> list[dict[str, Any]]:
    with pytest.raises(InvalidAnswer) as caught:
        shape.validate(value)
    return caught.value.errors


class Login(BaseModel):
    user: str
    password: SecretStr
    key: SecretBytes = SecretBytes(b"default-key")


class Confirm(BaseModel):
    approved: bool


class Mixed(BaseModel):
    approved: bool
    reason: str


class TestValues:
    def test_a_json_schema_gives_the_value_itself(self) -> None:
        value = {"city": "Bern"}
        assert shape_of({"type": "object"}).validate(value) is value

    def test_a_value_of_the_type_is_accepted_as_it_is(self) -> None:
        """`Answer(City(...))` from code is an answer like one from a form."""
        assert shape_of(Confirm).validate(Confirm(approved=False)) == Confirm(approved=False)
        assert shape_of(dt.date).validate(dt.date(2026, 1, 31)) == dt.date(2026, 1, 31)

    @pytest.mark.parametrize("value", [False, 0, "", [], {}])
    def test_falsy_values_are_answers_like_any_other(self, value: Any) -> None:
        """R4, F4."""
        assert shape_of(type(value)).validate(value) == value
        assert shape_of({}).validate(value) == value

    @pytest.mark.parametrize("value", [{1: "a"}, {"a": {1, 2}}, object(), (1, 2)])
    def test_what_is_no_json_is_refused_by_a_json_schema(self, value: Any) -> None:
        assert errors_of(shape_of({}), value)[0]["type"] == "json"

    def test_text_with_half_a_surrogate_pair_is_refused_without_a_crash(self) -> None:
        assert errors_of(shape_of(str), "\ud800")

    def test_an_integer_of_five_thousand_digits_is_refused_without_a_crash(self) -> None:
        shape_of(str).validate("1")
        errors_of(shape_of(list[str]), [10**5000])

    def test_deep_nesting_is_refused_without_a_crash(self) -> None:
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        errors_of(shape_of({}), deep)


class TestDump:
    def test_decimals_keep_their_scale(self) -> None:
        assert shape_of(Decimal).dump(Decimal("19.90")) == "19.90"

    def test_it_fills_in_defaults_and_leaves_computed_fields_out(self) -> None:
        """Fingerprint: defaults filled in, under the input schema's names."""

        class Order(BaseModel):
            qty: int = Field(default=2, alias="Qty")

            @computed_field
            def double(self) -> int:
                return self.qty * 2

        shape = shape_of(Order)
        assert shape.dump(shape.validate({})) == {"Qty": 2}

    def test_fields_excluded_from_dumps_take_part_all_the_same(self) -> None:
        class Call(BaseModel):
            a: int
            b: str = Field(exclude=True)

        shape = shape_of(Call)
        assert shape.dump(shape.validate({"a": 1, "b": "x"})) == {"a": 1, "b": "x"}

    def test_secrets_stand_in_it_in_clear_because_the_call_needs_them(self) -> None:
        """R17: the stored call holds the value; what is shown is hidden."""
        shape = shape_of(Login)
        dumped = shape.dump(shape.validate({"user": "ann", "password": "s3cret"}))
        assert dumped == {"user": "ann", "password": "s3cret", "key": "default-key"}
        assert shape.hide(dumped) == {"user": "ann", "password": HIDDEN, "key": HIDDEN}

    def test_sets_dump_in_one_order_in_every_process(self) -> None:
        """Fingerprint: text hashes differ from process to process."""
        code = (
            "from hitl_widgets.schema import shape_of;"
            "print(shape_of(set[str]).dump({'a','b','c','d','e','f'}))"
        )
        seen = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("1", "2", "3")
        }
        assert seen == {"['a', 'b', 'c', 'd', 'e', 'f']\n"}


class TestDigest:
    def test_it_changes_with_the_schema_and_only_with_it(self) -> None:
        one = shape_of({"type": "object", "title": "A"})
        two = shape_of({"title": "A", "type": "object"})
        assert one.digest == two.digest
        assert one.digest != shape_of({"type": "object", "title": "B"}).digest
        assert len(one.digest) == 64

    def test_the_default_of_a_secret_is_not_in_the_schema(self) -> None:
        text = str(shape_of(Login).json_schema)
        assert "default-key" not in text
        assert "****" not in text


class TestErrors:
    def test_names_of_union_branches_are_left_out_even_where_keys_have_the_same_name(self) -> None:
        class A(BaseModel):
            kind: Literal["a"]
            a: dict[str, Inner]

        class B(BaseModel):
            kind: Literal["b"]

        shape = shape_of(dict[str, Annotated[A | B, Field(discriminator="kind")]])
        value = {"a": {"kind": "a", "a": {"a": {"a": "x"}}}}
        assert [e["path"] for e in errors_of(shape, value)] == [["a", "a", "a", "a"]]

    def test_only_the_branch_that_was_meant_complains(self) -> None:
        shape = shape_of(own.Black | own.Dog | int)
        errors = errors_of(shape, {"kind": "dog"})
        assert [(e["path"], e["type"]) for e in errors] == [(["breed"], "missing")]

    def test_branches_that_fit_equally_badly_are_joined_in_one_line(self) -> None:
        [error] = errors_of(shape_of(int | str), [])
        assert error["path"] == []
        assert ", or: " in error["message"]

    def test_a_validator_of_the_model_complains_without_pydantics_prefix(self) -> None:
        class Even(RootModel[int]):
            def model_post_init(self, _: Any) -> None:
                if self.root % 2:
                    raise ValueError("must be even")

        [error] = errors_of(shape_of(Even), 3)
        assert error["message"] == "must be even"

    @pytest.mark.parametrize("stored", [False, True])
    def test_no_message_holds_a_secret(self, *, stored: bool) -> None:
        """R17: a validator that quotes its input does not give it away."""
        shape: Shape = shape_of(Quoting)
        if stored:
            shape = shape_of({**shape.json_schema, "additionalProperties": {"const": 1}})
        value = {"password": "s3cret-value", "other": 5}
        with pytest.raises(InvalidAnswer) as caught:
            shape.validate(value if stored else {"password": "s3cret-value"})
        assert "s3cret-value" not in str(caught.value)
        assert "s3cret-value" not in str(caught.value.errors)


class Inner(BaseModel):
    a: int


class Quoting(BaseModel):
    password: SecretStr

    def model_post_init(self, _: Any) -> None:
        raise ValueError(f"{self.password.get_secret_value()} is too weak")


class TestJsonSchemas:
    def test_a_remote_reference_is_refused_and_never_fetched(self) -> None:
        hits: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hits.append(self.path)
                self.send_error(404)

        server = HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            remote = f"http://127.0.0.1:{server.server_port}/schema.json"
            with pytest.raises(ToolDefinitionError, match="refers to"):
                shape_of({"properties": {"a": {"$ref": remote}}}).validate({"a": 1})
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
        assert hits == []

    def test_a_reference_that_leads_nowhere_is_the_authors_error(self) -> None:
        with pytest.raises(ToolDefinitionError, match="missing"):
            shape_of({"$ref": "#/$defs/missing"})

    @pytest.mark.parametrize("schema", [{"type": "nonsense"}, {"properties": 5}, {"required": "a"}])
    def test_an_invalid_schema_is_the_authors_error(self, schema: dict[str, Any]) -> None:
        with pytest.raises(ToolDefinitionError, match="Not a valid JSON Schema"):
            shape_of(schema)

    def test_the_schema_is_kept_as_it_was(self) -> None:
        schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
        shape = shape_of(schema)
        schema["properties"].clear()
        assert shape.json_schema["properties"] == {"a": {"type": "string"}}

    def test_a_pattern_that_python_cannot_read_lets_nothing_through(self) -> None:
        """R5: what cannot be checked is refused, and the request stays pending."""
        assert errors_of(shape_of({"type": "string", "pattern": r"^\p{L}+$"}), "abc")

    def test_a_stored_schema_of_a_datetime_takes_what_the_type_takes(self) -> None:
        stored = shape_of(shape_of(dt.datetime).json_schema)
        assert stored.validate("2026-01-31T13:45:00") == "2026-01-31T13:45:00"
        errors_of(shape_of({"type": "string", "format": "date-time"}), "2026-01-31T13:45:00")


@pytest.mark.parametrize(
    "kind", [threading.Lock, lambda: 1, print, 5, list[threading.Thread], "City"]
)
def test_a_type_without_json_form_is_an_error_that_says_what_to_use(kind: Any) -> None:
    with pytest.raises(ToolDefinitionError):
        shape_of(kind)


class TestSecrets:
    def test_they_are_found_in_lists_mappings_unions_and_around_recursion(self) -> None:
        shape = shape_of(own.Vault)
        assert "/accounts/*/login" in shape.secrets
        assert "/parent/accounts/*/keys/*" in shape.secrets
        assert shape_of(dict[str, Login | int]).secrets == ("/*/password", "/*/key")

    def test_they_are_found_in_data_at_any_depth_of_recursion(self) -> None:
        account = {"user": "u", "login": "x"}
        value: dict[str, Any] = {"accounts": [account], "parent": None}
        for _ in range(5):
            value = {"accounts": [account], "parent": value}
        hidden = shape_of(own.Vault).hide(value)
        assert '"x"' not in str(hidden).replace("'", '"')
        assert len(shape_of(own.Vault).secrets_in(value)) == 6

    def test_pointers_are_escaped(self) -> None:
        schema = {"properties": {"a/b~c": {"writeOnly": True}, "d": {"format": "password"}}}
        assert shape_of(schema).secrets == ("/a~1b~0c", "/d")

    def test_a_field_is_secret_if_any_branch_says_so(self) -> None:
        schema = {"anyOf": [{"properties": {"k": {"writeOnly": True}}}, {"properties": {"k": {}}}]}
        assert shape_of(schema).secrets_in({"k": 1}) == ("/k",)

    def test_further_pointers_may_be_declared(self) -> None:
        value = {"a": [{"b": 1}, {"b": 2}], "c": 3}
        assert shape_of({}).hide(value, ["/a/*/b"]) == {"a": [{"b": HIDDEN}] * 2, "c": 3}

    def test_a_pointer_without_slash_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="starts with '/'"):
            shape_of({}).hide({}, ["password"])


OBJ: dict[str, Any] = {"type": "object"}
BOOL = {"type": "boolean"}
TEXT = {"type": "string"}


class TestConsent:
    """R7: whose answer is a boolean, or whose required fields are all boolean."""

    @pytest.mark.parametrize(
        "source",
        [
            bool,
            bool | None,
            Literal[True],
            RootModel[bool],
            Confirm,
            Confirm | None,
            {"enum": [True, False]},
            {"type": ["boolean", "null"]},
            {**OBJ, "properties": {"a": BOOL, "note": TEXT}, "required": ["a"]},
            {**OBJ, "properties": {"a": BOOL, "b": {"anyOf": [BOOL, {"type": "null"}]}}},
            {"$ref": "#/$defs/c", "$defs": {"c": {**OBJ, "properties": {"a": BOOL}}}},
            {"allOf": [{**OBJ, "properties": {"a": BOOL}}, {"required": ["a"]}]},
        ],
    )
    def test_is_consent(self, source: Any) -> None:
        assert shape_of(source).is_consent

    @pytest.mark.parametrize(
        "source",
        [
            str,
            Any,
            Mixed,
            {**OBJ, "properties": {}},
            {**OBJ, "properties": {"a": BOOL, "note": TEXT}},
            {**OBJ, "properties": {"a": BOOL, "note": TEXT}, "required": ["note"]},
            dict[str, bool],
            list[bool],
        ],
    )
    def test_is_data(self, source: Any) -> None:
        assert not shape_of(source).is_consent


def test_a_stored_schema_is_drawn_without_loading_what_judges_it() -> None:
    """It is slow to import, and a card is drawn on the event loop."""
    code = (
        "import sys\n"
        "from hitl_widgets.schema import Form, stored_shape\n"
        "from hitl_widgets.errors import InvalidAnswer\n"
        "shape = stored_shape({'type': 'integer', 'minimum': 1})\n"
        "Form(shape, 3)\n"
        "print('jsonschema' in sys.modules)\n"
        "try: shape.validate(0)\n"
        "except InvalidAnswer: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\nrefused\n"


def test_the_grammar_of_iris_is_loaded_by_the_first_one_that_is_judged() -> None:
    """Building it takes two seconds; jsonschema does so whenever it is imported."""
    code = (
        "import sys\n"
        "from hitl_widgets.schema import stored_shape\n"
        "from hitl_widgets.errors import InvalidAnswer\n"
        "stored_shape({'type': 'string', 'format': 'uri'}).validate('https://example.org')\n"
        "print('rfc3987_syntax' in sys.modules, 'lark' in sys.modules)\n"
        "for kind, text in ('iri', 'no iri'), ('iri-reference', '<>'):\n"
        "    try: stored_shape({'type': 'string', 'format': kind}).validate(text)\n"
        "    except InvalidAnswer: print('refused')\n"
        "print(stored_shape({'type': 'string', 'format': 'iri'}).validate('https://exämple.org'))\n"
        "print(sys.modules['rfc3987_syntax'].__file__ is not None)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\nrefused\nrefused\nhttps://exämple.org\nTrue\n"
