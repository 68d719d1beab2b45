"""Every case: what is valid validates and comes back, what is not gets its error at the field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hitl_widgets.errors import InvalidAnswer
from hitl_widgets.schema import Form, shape_of
from hitl_widgets.schema._json import same
from hitl_widgets.schema._secrets import paths_in
from tests.conformance.forms.cases import Case, from_files
from tests.conformance.forms.own import CASES as OWN
from tests.conformance.forms.page import untouched

EVERY = [*from_files(), *OWN]


def every(cases: list[Case]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=lambda c: c.id)


def errors_of(shape: Any, value: Any) -> list[dict[str, Any]]:
    with pytest.raises(InvalidAnswer) as caught:
        shape.validate(value)
    return caught.value.errors


def test_the_set_is_whole() -> None:
    assert len(from_files()) == 56
    assert len(OWN) >= 20
    assert len({c.id for c in EVERY}) == len(EVERY)


@every(EVERY)
class TestValid:
    def test_is_accepted_and_dumps_to_itself(self, case: Case) -> None:
        """R4: what a form sends is typed, kept as JSON, and typed again to the same."""
        shape = case.shape()
        dumped = shape.dump(shape.validate(case.valid))
        again = shape.dump(shape.validate(dumped))
        assert dumped == again
        assert unordered(dumped) == unordered(case.valid)

    def test_is_accepted_by_the_stored_json_schema(self, case: Case) -> None:
        """R4: a process that knows no model judges by the stored schema."""
        shape = case.shape()
        stored = json.loads(json.dumps(shape.json_schema))
        dumped = shape.dump(shape.validate(case.valid))
        assert shape_of(stored).validate(dumped) == dumped
        assert shape_of(stored).digest == shape.digest

    def test_comes_back_from_an_untouched_form(self, case: Case) -> None:
        form = Form(case.shape(), case.valid)
        assert form.unshown == []
        came = untouched(form.schema, form.data)
        assert same(form.read(came), case.valid)


TYPED = [c for c in EVERY if c.valid is not None and not c.shape().secrets]


@every(TYPED)
def test_what_the_controls_show_means_the_value(case: Case) -> None:
    """The same data typed into a form without an initial value means the same."""
    shape = case.shape()
    typed = json.loads(json.dumps(Form(shape, case.valid).data))
    assert same(Form(shape).read(typed), case.valid)


@every(EVERY)
class TestInvalid:
    def test_has_its_error_at_the_field(self, case: Case) -> None:
        shape = case.shape()
        for value, places in case.invalid:
            for error in errors_of(shape, value):
                assert error["message"]
                assert error["type"]
                assert any(is_at(error["path"], place) for place in places), error

    def test_has_its_error_at_the_field_by_the_stored_schema(self, case: Case) -> None:
        stored = shape_of(json.loads(json.dumps(case.shape().json_schema)))
        for value, places in case.invalid:
            try:
                stored.validate(value)
            except InvalidAnswer as refused:
                paths = [e["path"] for e in refused.errors]
            else:  # validators written in Python are not in a schema; the model judges later
                continue
            assert any(is_at(path, place) for path in paths for place in places), paths

    def test_stays_exactly_as_it_is_until_it_is_edited(self, case: Case) -> None:
        """api.md: Submit without an edit judges exactly the initial value."""
        shape = case.shape()
        for value, _ in case.invalid:
            if value is None:  # no initial value
                continue
            form = Form(shape, value)
            came = untouched(form.schema, form.data)
            assert same(form.read(came), value)

    def test_what_no_control_shows_is_named(self, case: Case) -> None:
        for value, _ in case.invalid:
            if value is None:
                continue
            form = Form(case.shape(), value)
            shown = json.dumps(form.data)
            for part in form.unshown:
                assert json.dumps(at(value, part.path)).startswith(part.text.rstrip("…"))
            lost = [text for text in texts_of(value) if json.dumps(text)[1:-1] not in shown]
            named = "".join(part.text for part in form.unshown)
            secrets = [at(value, path) for path in form_secrets(form, value)]
            assert all(text in named or text in secrets for text in lost)


@every(EVERY)
def test_an_untouched_form_answers_only_what_the_schema_gives(case: Case) -> None:
    """screen.md: nothing is preselected that the schema does not give."""
    shape = case.shape()
    form = Form(shape)
    try:
        answer = form.read(untouched(form.schema))
        shape.validate(answer)
    except InvalidAnswer:
        return
    assert invented(shape.json_schema, answer) == []


def invented(schema: dict[str, Any], answer: Any) -> list[Any]:
    """Return the scalars of an answer that stand nowhere in the schema as a default or constant."""
    given = json.dumps(given_by(schema))
    return [v for v in scalars_of(answer) if v is not None and json.dumps(v) not in given]


def given_by(node: Any) -> list[Any]:
    if isinstance(node, list):
        return [x for part in node for x in given_by(part)]
    if not isinstance(node, dict):
        return []
    here = [node[k] for k in ("default", "const") if k in node]
    return here + [x for k, v in node.items() if k != "default" for x in given_by(v)]


def scalars_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [s for v in value.values() for s in scalars_of(v)]
    if isinstance(value, list):
        return [s for v in value for s in scalars_of(v)]
    return [value]


def texts_of(value: Any) -> list[str]:
    return [s for s in scalars_of(value) if isinstance(s, str)]


def form_secrets(form: Form, value: Any) -> list[tuple[str | int, ...]]:
    return paths_in(form._doc, value)


def at(value: Any, path: Any) -> Any:
    for key in path:
        value = value[key]
    return value


def is_at(path: list[str | int], place: tuple[str | int, ...]) -> bool:
    """Tell whether a path is a place, names of branches left out, or leads further inside it."""
    rest = iter(place)
    inside = tuple(path[: len(place)]) == place
    return inside or all(step in rest for step in path)


def unordered(value: Any) -> Any:
    """Return a value whose lists compare in any order: sets have none."""
    if isinstance(value, dict):
        return {k: unordered(v) for k, v in value.items()}
    if isinstance(value, list):
        return sorted((unordered(v) for v in value), key=repr)
    return value.replace(" ", "") if isinstance(value, str) else value
