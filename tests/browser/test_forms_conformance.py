"""The conformance set in a real browser, without Jupyter between: see `forms_page`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hitl_widgets.errors import InvalidAnswer
from hitl_widgets.schema import Form as Prepared
from hitl_widgets.schema import Shape
from hitl_widgets.schema._json import same
from tests.conformance.forms.cases import Case, from_files
from tests.conformance.forms.own import CASES as OWN
from tests.conformance.forms.page import untouched

from .forms_driver import Driver, LineBreaks
from .forms_page import FormsPage, pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

EVERY = [*from_files(), *OWN]
every = pytest.mark.parametrize("case", EVERY, ids=lambda case: case.id)


@pytest.fixture(scope="module")
def forms(chromium: Browser) -> Iterator[FormsPage]:
    page = chromium.new_page(viewport={"width": 760, "height": 2400})
    page.set_default_timeout(8000)
    yield FormsPage(page)
    page.context.close()


@pytest.fixture(autouse=True)
def _nothing_fails_in_the_page(forms: FormsPage) -> Iterator[None]:
    yield
    assert forms.problems == []


@every
def test_a_prefilled_form_shows_its_value_and_gives_it_back(forms: FormsPage, case: Case) -> None:
    """What the controls show, the branches of unions too, means the initial value."""
    form = forms.show(case.shape(), case.valid)
    if form.data is not None:
        Driver(form, typing=False).run(form.data)
    form.touch()
    form.submit()
    assert form.errors() == []
    assert same(unordered(forms.data), unordered(case.valid))


TYPED = [c for c in EVERY if c.valid is not None and not c.shape().secrets]


@pytest.mark.parametrize("case", TYPED, ids=lambda case: case.id)
def test_the_value_can_be_typed_into_a_blank_form(forms: FormsPage, case: Case) -> None:
    shape = case.shape()
    target = Prepared(shape, case.valid).data
    form = forms.show(shape)
    try:
        Driver(form, typing=True).run(target)
    except LineBreaks:
        assert "text" in case.id
        return
    form.submit()
    assert form.errors() == []
    meant = shape.dump(shape.validate(case.valid))
    assert unordered(bare(forms.value)) == unordered(bare(meant))


@every
def test_an_error_from_python_stands_at_its_field(forms: FormsPage, case: Case) -> None:
    """R4, F3: at the field, tied to its control; the request stays open and the value stays."""
    shape = case.shape()
    for value, _ in case.invalid:
        form = forms.show(shape, value)
        sent = form.submit()
        prepared = Prepared(shape, value)
        with pytest.raises(InvalidAnswer) as refused:
            shape.validate(prepared.read(sent["data"]))
        expected = prepared.page_errors(refused.value.errors)
        shown = form.errors()
        assert shown
        for error in expected:
            at = pointer(tuple(error["path"]))
            assert any(
                at.startswith(where) and error["message"] in words for where, words in shown
            ), (error, shown)
        assert_tied(form)


def assert_tied(form: Any) -> None:
    """Each error is the description of a control or a group.

    Unless it is about the whole form, or about a value that is always null: those have no control.
    """
    loose = form.role.locator(".error").evaluate_all(
        """all => all.filter(e => e.closest('[data-path]').dataset.path !== ''
             && !e.closest('[data-path]').querySelector('.nothing')
             && !document.querySelector(`[aria-describedby~="${CSS.escape(e.id)}"]`))
             .map(e => e.outerHTML)"""
    )
    assert loose == []


@every
def test_an_untouched_form_invents_nothing(forms: FormsPage, case: Case) -> None:
    """screen.md: nothing is preselected that the schema does not give."""
    shape = case.shape()
    form = forms.show(shape)
    sent = form.submit()
    assert sent["edited"] is False
    prepared = Prepared(shape)
    said = accepted(shape, prepared, sent["data"])
    assert bare(said) == bare(accepted(shape, prepared, untouched(form.layout)))


def accepted(shape: Shape, form: Prepared, data: Any) -> Any:
    """What the data answers; None if it answers nothing, or nothing valid."""
    try:
        answer = form.read(data)
        shape.validate(answer)
    except InvalidAnswer:
        return None
    return answer


def bare(value: Any) -> Any:
    """Without what says nothing: null, and what holds only that. False, 0 and "" say something."""
    if isinstance(value, dict):
        parts = {k: bare(v) for k, v in value.items()}
        return {k: v for k, v in parts.items() if v is not None} or None
    if isinstance(value, list):
        items = [bare(v) for v in value]
        return items if any(v is not None for v in items) else None
    return value


def unordered(value: Any) -> Any:
    """Lists of scalars as sorted lists: a set has no order."""
    if isinstance(value, dict):
        return {k: unordered(v) for k, v in value.items()}
    if isinstance(value, list) and all(isinstance(v, (str, int)) for v in value):
        return sorted(value, key=repr)
    return [unordered(v) for v in value] if isinstance(value, list) else value
