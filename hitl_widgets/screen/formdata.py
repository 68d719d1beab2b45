"""Between the page's forms and the desk: what a form shows, and what its data means.

The page judges nothing. It gets a prepared schema and what stands in the controls, and sends back
what stands there then; `schema.Form` turns that into the answer, and leads errors to its fields.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from ..errors import InvalidAnswer
from ..request import Answer, Request
from ..schema import Form, Shape, stored_shape
from .messages import FormDoc, UnshownDoc

KEPT: Final = 1000
"""So many forms are remembered per process: those that were drawn last."""


# -- what is shown -------------------------------------------------------------------------------


def form_doc(request: Request) -> FormDoc | None:
    """What a page needs to draw the form of an input that waits; None for anything else."""
    if request.kind != "input" or request.state != "pending":
        return None
    form, shape = _forms.of(request)
    return document(form, consent=shape.is_consent or request.scope.get("consent") is True)


def document(form: Form, *, consent: bool = False) -> FormDoc:
    """A form as the page's JSON. It travels as text: no number is rounded, no key is moved."""
    return FormDoc(
        layout=_text(form.schema),
        data=None if form.data is None else _text(form.data),
        unshown=[UnshownDoc(path=[*part.path], text=part.text) for part in form.unshown],
        consent=consent,
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


# -- what comes back -----------------------------------------------------------------------------


def answer(request_id: str, data: Any, *, edited: bool) -> Answer:
    """What the data of a request's form means.

    Raises
    ------
    InvalidAnswer
        Nothing was answered, or an old secret was typed into. Paths are the page's.
    """
    return Answer(_forms.known(request_id).read(data, edited=edited))


@contextmanager
def errors_in_page(request_id: str) -> Generator[None]:
    """Lead an `InvalidAnswer` of the desk to the fields of the request's form."""
    try:
        yield
    except InvalidAnswer as error:
        errors = _forms.known(request_id).page_errors(error.errors)
        raise InvalidAnswer(errors) from error


class _Forms:
    """The forms that were drawn last, by request.

    A form has to be the very one that was drawn: it knows which part of the initial value, and
    which old secret, stands behind what the page sends.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Form, Shape]] = OrderedDict()

    def of(self, request: Request) -> tuple[Form, Shape]:
        with self._lock:
            found = self._kept.get(request.id)
            if found is None:
                shape = stored_shape(request.resume_schema)
                found = (Form(shape, request.scope.get("initial")), shape)
                self._kept[request.id] = found
            self._kept.move_to_end(request.id)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return found

    def known(self, request_id: str) -> Form:
        with self._lock:
            found = self._kept.get(request_id)
        if found is None:
            raise InvalidAnswer(
                [], f"The form of {request_id} is no longer known here. Run hitl.inbox() again"
            )
        return found[0]


_forms = _Forms()
