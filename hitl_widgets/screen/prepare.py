"""Approvals that are more than a yes: edited arguments, standing grants.

What a person works on is checked here and kept; the page shows what it means, and approves it by
its key. So what is decided is what was shown, whatever a page makes of large numbers or words.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ..errors import InvalidAnswer, RequestNotFound
from ..fingerprint import digest
from ..request import Approve, Request, new_id
from ..schema import Form, stored_shape
from ..standing import Rule
from ..standing import check as check_rule
from ..visible import visible
from ..words import say
from . import formdata
from .messages import EditDraft, FormDoc, GrantDraft, Prepare, Prepared, PreviewDraft
from .preview_views import told_doc
from .views import is_editable, json_text, secret_digests

if TYPE_CHECKING:
    from .deskport import DeskPort

T = TypeVar("T")

KEPT: Final = 200
"""So many prepared approvals are remembered per process: the last ones."""
LONGEST: Final = 300
"""Characters of one value in the words of a rule; which are told apart by their digest too."""


class _Kept(Generic[T]):
    """The last things that were kept, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: OrderedDict[str, T] = OrderedDict()

    def put(self, key: str, value: T) -> None:
        with self._lock:
            self._all[key] = value
            self._all.move_to_end(key)
            while len(self._all) > KEPT:
                self._all.popitem(last=False)

    def get(self, key: str) -> T:
        with self._lock:
            if key not in self._all:
                raise RequestNotFound(
                    "What was prepared on this card is no longer known here: cancel, and open it "
                    "again. Nothing was decided."
                )
            return self._all[key]


_forms: _Kept[Form] = _Kept()
_prepared: _Kept[tuple[str, Approve, Rule | None]] = _Kept()


async def prepare(desk: DeskPort, message: Prepare) -> tuple[FormDoc | None, Prepared | None]:
    """Open a form of the arguments, check or preview an edit, put a standing grant in words."""
    request = await desk.look_up(message.request_id)
    match message.draft:
        case EditDraft(data=data):
            return None, await _edit(desk, request, data)
        case PreviewDraft(key=key):
            return None, await _previewed(desk, request, key)
        case GrantDraft():
            return None, _grant(request, message.draft, message.locale.partition("-")[0])
        case _:
            return _form(request), None


def prepared(request_id: str, key: str) -> tuple[Approve, Rule | None]:
    """The approval that was prepared under `key`, and the grant that goes with it."""
    for_request, approval, rule = _prepared.get(key)
    if for_request != request_id:
        raise RequestNotFound(f"{key} was prepared for another request. Nothing was decided.")
    return approval, rule


# -- editing -------------------------------------------------------------------------------------


def _form(request: Request) -> FormDoc:
    if not is_editable(request):
        raise RequestNotFound(f"{request.tool_name} ({request.id}) has no arguments to edit.")
    form = Form(stored_shape(request.input_schema), request.args, secrets=request.secrets)
    _forms.put(request.id, form)
    return formdata.document(form)


async def _edit(desk: DeskPort, request: Request, data: Any) -> Prepared:
    form = _forms.get(request.id)
    args: dict[str, Any] = form.read(data, edited=True)
    if not isinstance(args, dict):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidAnswer(form.page_errors([{"path": [], "message": "an object is needed"}]))
    try:
        told, digests = await desk.check_edit(request.id, args)
    except InvalidAnswer as error:
        raise InvalidAnswer(form.page_errors(error.errors)) from error
    key = new_id("p")
    _prepared.put(key, (request.id, Approve(args=args), None))
    return Prepared(key=key, args=json_text(told), secrets=secret_digests(request, digests))


async def _previewed(desk: DeskPort, request: Request, key: str) -> Prepared:
    """What the edit under `key` would do, as the tool's own preview says."""
    approval, _ = prepared(request.id, key)
    told = await desk.preview_edit(request.id, approval.args or {})
    return Prepared(key=key, preview=None if told is None else told_doc(told))


# -- granting ------------------------------------------------------------------------------------


def _grant(request: Request, draft: GrantDraft, locale: str) -> Prepared:
    until = None
    with suppress(ValueError):  # then it is missing, and said so
        until = None if draft.until is None else datetime.fromisoformat(draft.until).timestamp()
    words = _words(request, draft, until, locale)
    rule = Rule(draft.covers, draft.reach, tuple(draft.fixed), until, words)
    check_rule(request, rule, now=datetime.now(UTC).timestamp())
    key = new_id("p")
    _prepared.put(key, (request.id, Approve(), rule))
    return Prepared(key=key, words=words)


def _words(request: Request, draft: GrantDraft, until: float | None, locale: str) -> str:
    tool = visible(request.tool_name)
    agent = " › ".join(visible(step) for step in request.agent_path)  # noqa: RUF001
    shown = draft.fixed if draft.covers == "fixed" else request.args
    values = ", ".join(_value(request, name, locale) for name in shown if name in request.args)
    what = say(f"always.rule.{draft.covers}", locale, tool=tool, agent=agent, values=values)
    time = ""
    if until is not None:
        time = datetime.fromtimestamp(until).astimezone().isoformat(" ", "minutes")
    thread = visible(request.thread_id or "")
    reach = say(f"always.rule.{draft.reach}", locale, time=time, thread=thread)
    return say("always.rule", locale, what=what, reach=reach)


def _value(request: Request, name: str, locale: str) -> str:
    text = visible(json.dumps(request.args[name], ensure_ascii=False))
    if len(text) > LONGEST:
        more = say("record.cut", locale, shown=LONGEST, all=len(text))
        text = f"{text[:LONGEST]}{more} (sha256 {digest(request.args[name])[:16]})"
    return f"{visible(name)} = {text}"
