"""One form: what the page gets, what stands in its controls, and what its data means."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from pydantic_core import to_jsonable_python

from hitl_widgets.errors import HitlError, InvalidAnswer
from hitl_widgets.live import filled
from hitl_widgets.schema._document import Document, Node
from hitl_widgets.schema._faults import fault
from hitl_widgets.schema._fields import Field, field_of, value_schema
from hitl_widgets.schema._finish import (
    best_branch,
    finish,
    is_blank,
    is_cleared,
    is_untouched,
    item_of,
    property_of,
)
from hitl_widgets.schema._json import (
    ABSENT,
    MAX_DEPTH,
    is_json,
    is_list,
    is_object,
    is_text,
    page_safe,
    same,
)
from hitl_widgets.schema._prepare import ROOT, Preparer
from hitl_widgets.schema._secrets import HIDDEN, hide, mark_secrets, paths_in
from hitl_widgets.schema._shape import Shape

Path = tuple[str | int, ...]

MAX_SHOWN: Final = 200


@dataclass(frozen=True)
class Unshown:
    """A part of an initial value that no control can show.

    Attributes
    ----------
    path
        Where it stands.
    text
        The part as JSON, cut after 200 characters; ``••••`` for a secret.
    """

    path: Path
    text: str


class Form:
    """A `Shape` as a form in a page.

    Parameters
    ----------
    shape
        What the answer has to be.
    initial
        A JSON value, valid or not, or an instance of the type. Every part stays exactly as it is
        until a person edits it. None is no initial value.
    secrets
        JSON Pointers of fields that are secret beside those that the shape names.

    Attributes
    ----------
    schema
        For the page, see `_prepare`.
    data
        For the page: what stands in the controls, or None. Holds no secret: in its place stands
        ``••••1``, ``••••2``, …, which means the old value when it comes back.
    unshown
        What of `initial` no control can show. It is part of the answer all the same.
    """

    def __init__(self, shape: Shape, initial: Any = None, *, secrets: Iterable[str] = ()) -> None:
        self._doc = Document(mark_secrets(Document(filled(shape.json_schema)), secrets))
        self.schema: Node = Preparer(self._doc).form()
        self._wrapped = self.schema.get("x-ui", {}).get("root") == ROOT
        self._kept: dict[str, Any] = {}
        self.unshown: list[Unshown] = []
        self._initial: Any = ABSENT
        self._sent: Any = ABSENT
        if initial is not None:
            self._initial = _as_json(shape, initial)
            self._hidden = hide(self._initial, paths_in(self._doc, self._initial))
            self._sent = self._show(self._doc.root, self._initial, ())
        shown = self._sent is not ABSENT
        self.data: Any = ({ROOT: self._sent} if self._wrapped else self._sent) if shown else None

    # -- the way there ---------------------------------------------------------------------------

    def _show(self, node: Any, value: Any, path: Path) -> Any:
        """Return what stands in a node's control; `ABSENT`, and a note, where it shows nothing."""
        if len(path) > MAX_DEPTH // 4:
            return self._not_shown(value, path)
        field = field_of(self._doc, node)
        if value is None and field.kind not in ("object", "list", "tuple", "choices", "json"):
            return None if field.nullable or field.kind != "union" else ABSENT
        if field.secret:
            return self._keep(value)
        if field.kind == "union":
            branch = best_branch(self._doc, field, value)
            if branch is not None:
                return self._show(branch, value, path)
        shown = self._show_kind(field, value, path)
        return self._not_shown(value, path) if shown is ABSENT else shown

    def _show_kind(self, field: Field, value: Any, path: Path) -> Any:  # noqa: PLR0911 - by kind
        match field.kind:
            case "json":
                return _json_text(value)
            case "choice" | "constant":
                known = any(same(o, value) for o, _ in field.options)
                return page_safe(value) if known else ABSENT
            case "number":
                return _number(value)
            case "text":
                return _text(field, value)
            case "object":
                return self._show_object(field, value, path)
            case "choices" | "list" | "tuple":
                return self._show_list(field, value, path)
            case "union" | "nothing":
                return ABSENT

    def _show_object(self, field: Field, value: Any, path: Path) -> Any:
        if not is_object(value):
            return ABSENT
        known = self._control_names(field)
        open_ended = is_object(value_schema(field.plain))
        out: dict[str, Any] = {}
        for key, part in value.items():
            if not is_text(key) or (key not in known and not open_ended):
                self._not_shown(part, (*path, key))
                continue
            shown = self._show(property_of(self._doc, field, key), part, (*path, key))
            if shown is not ABSENT:
                out[key] = shown
        return out

    def _control_names(self, field: Field) -> set[str]:
        plain = field.plain
        names = set(plain.get("properties", {}))
        parts = [plain, *(p for p in plain.get("allOf", ()) if is_object(p))]
        extra = [p[w] for p in parts for w in ("then", "else") if is_object(p.get(w))]
        for part in [*extra, *plain.get("dependentSchemas", {}).values()]:
            names |= set(self._doc.plain(part).get("properties", {}))
        return names

    def _show_list(self, field: Field, value: Any, path: Path) -> Any:
        if not is_list(value):
            return ABSENT
        if field.kind == "choices":
            fits = [any(same(v, o) for o, _ in field.options) for v in value]
            for place, fit in enumerate(fits):
                if not fit:
                    self._not_shown(value[place], (*path, place))
            return [page_safe(v) for v, fit in zip(value, fits, strict=True) if fit]
        out: list[Any] = []
        for place, part in enumerate(value):
            if field.kind == "tuple" and self._doc.child(field.plain, place) in (None, False):
                self._not_shown(part, (*path, place))
                continue
            shown = self._show(item_of(self._doc, field, place), part, (*path, place))
            out.append(None if shown is ABSENT else shown)
        return out

    def _not_shown(self, value: Any, path: Path) -> Any:
        hidden = self._hidden
        for key in path:
            hidden = hidden if hidden == HIDDEN else hidden[key]
        text = json.dumps(hidden, ensure_ascii=not is_text(value))
        cut = text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
        self.unshown.append(Unshown(path, cut))
        return ABSENT

    def _keep(self, value: Any) -> str:
        marker = f"{HIDDEN}{len(self._kept) + 1}"
        self._kept[marker] = value
        return marker

    # -- the way back ----------------------------------------------------------------------------

    def read(self, data: Any, *, edited: bool = False) -> Any:
        """Turn what the page sends into the JSON value that it means; it is not validated here.

        Parameters
        ----------
        data
            The page's data, as it was laid out by `schema`.
        edited
            A person changed something, even if it was changed back. Without an edit the answer
            is exactly the initial value; after one, what the controls show counts.

        Raises
        ------
        InvalidAnswer
            Nothing was answered at all, or an old secret was typed into. Paths are the page's.
        """
        value = data
        if self._wrapped:
            value = data.get(ROOT, ABSENT) if is_object(data) else ABSENT
        value = self._revealed(ABSENT if value is None and not self._wrapped else value)
        root = self._doc.root
        if self._initial is ABSENT:
            answer = finish(self._doc, root, value)
        else:
            sent = self._revealed(self._sent)
            answer = _Merge(self._doc, filling=False).part(root, value, sent, self._initial)
            if edited or answer is ABSENT or not same(answer, self._initial):
                answer = _Merge(self._doc, filling=True).part(root, value, sent, self._initial)
        if answer is ABSENT and field_of(self._doc, root).nullable:
            return None
        if answer is ABSENT:
            raise InvalidAnswer(self.page_errors([_MISSING]))
        return answer

    def page_errors(self, errors: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Lead `InvalidAnswer.errors` to the page's paths."""
        lead = [ROOT] if self._wrapped else []
        return [{**e, "path": [*lead, *e["path"]]} for e in errors]

    def _revealed(self, value: Any) -> Any:
        """Put the old secrets where the page sent their markers back."""
        if not self._kept or value is ABSENT:
            return value
        return self._put(value, (), set(paths_in(self._doc, value)))

    def _put(self, value: Any, path: Path, secret: set[Path]) -> Any:
        if path in secret and isinstance(value, str):
            if value in self._kept:
                return self._kept[value]
            if HIDDEN in value:
                message = "Type the whole secret: the dots stand for the old one"
                raise InvalidAnswer(self.page_errors([fault(path, message, "secret")]))
            return value
        if is_object(value):
            return {k: self._put(v, (*path, k), secret) for k, v in value.items()}
        if is_list(value):
            return [self._put(v, (*path, i), secret) for i, v in enumerate(value)]
        return value


_MISSING: Final = fault((), "Field required", "missing")


class _Merge:
    """Joins what the page sent with the initial value: only what was edited is taken.

    For each part there are three values: what came, what was sent to the page for it, and the
    initial one. What came as it was sent is the initial one still.
    """

    def __init__(self, doc: Document, *, filling: bool) -> None:
        self._doc = doc
        self._filling = filling  # parts that the initial value lacks are what the controls show

    def part(self, node: Any, came: Any, sent: Any, initial: Any) -> Any:  # noqa: PLR0911 - a table
        """Join one part; `ABSENT` among the three is a value like any other."""
        if initial is ABSENT:
            blank = not self._filling and is_blank(self._doc, node, came)
            return ABSENT if blank else finish(self._doc, node, came)
        if sent is ABSENT:  # it was not shown; what came is new, or what an empty control gives
            return initial if is_blank(self._doc, node, came) else finish(self._doc, node, came)
        kept = sent is None if came is ABSENT else same(came, sent)
        if kept and not (self._filling and is_object(came)):
            return initial
        if came is ABSENT:
            return ABSENT
        field = field_of(self._doc, node)
        if field.kind == "union":
            branch = best_branch(self._doc, field, came)
            if branch is not None and branch is best_branch(self._doc, field, initial):
                return self.part(branch, came, sent, initial)
        elif is_object(came) and is_object(sent) and is_object(initial):
            return self._object(field, came, sent, initial)
        elif field.kind != "choices" and is_list(came) and is_list(sent) and is_list(initial):
            return self._list(field, came, sent, initial)
        return finish(self._doc, node, came)

    def _object(self, field: Field, came: Node, sent: Node, initial: Node) -> Node:
        out: dict[str, Any] = {}
        for key in [*initial, *(k for k in came if k not in initial)]:
            values = [v.get(key, ABSENT) for v in (came, sent, initial)]
            done = self.part(property_of(self._doc, field, key), *values)
            new = key not in initial and is_untouched(self._doc, field, key, values[0])
            if done is not ABSENT and not new:
                out[key] = done
            elif key in sent and is_cleared(self._doc, field, key):
                out[key] = None
            elif key in came and key not in field.plain.get("properties", {}):
                out[key] = None  # a named entry is never dropped: without a value it errs
        for key in field.plain.get("properties", {}):
            unknown = key not in out and key not in initial and came.get(key, "") == ""
            if self._filling and unknown and is_cleared(self._doc, field, key):
                out[key] = None
        return out

    def _list(
        self, field: Field, came: list[Any], sent: list[Any], initial: list[Any]
    ) -> list[Any]:
        """Find each item again, wherever it was moved to."""
        left = dict(enumerate(sent))
        out: dict[int, Any] = {}
        for place, item in enumerate(came):
            if place in left and same(left[place], item):
                out[place] = initial[place]
                del left[place]
        for place, item in enumerate(came):
            found = next((i for i, s in left.items() if same(s, item)), None)
            if place not in out and found is not None:
                out[place] = initial[found]
                del left[found]
        for place, item in enumerate(came):
            if place not in out:
                old = len(came) == len(sent) and place in left
                before = (left[place], initial[place]) if old else (ABSENT, ABSENT)
                done = self.part(item_of(self._doc, field, place), item, *before)
                out[place] = None if done is ABSENT else done
        unshown = initial[len(sent) :]  # what stands behind the end of a tuple
        return [*(out[i] for i in range(len(came))), *unshown]


def _as_json(shape: Shape, initial: Any) -> Any:
    """Read an initial value that is no JSON as well as it can be read."""
    if is_json(initial):
        return initial
    try:
        return shape.dump(initial)
    except (HitlError, TypeError, AttributeError):
        pass
    try:
        return to_jsonable_python(initial, fallback=str, bytes_mode="base64")
    except (ValueError, RecursionError):  # part of a cycle, or too deep
        return repr(initial)


def _json_text(value: Any) -> Any:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text if is_text(text) else json.dumps(value, indent=2)


def _number(value: Any) -> Any:
    if isinstance(value, bool) or not (isinstance(value, (int, float)) or is_text(value)):
        return ABSENT
    return page_safe(value)


def _text(field: Field, value: Any) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = str(page_safe(value))
    if not is_text(value):
        return ABSENT
    if field.plain.get("format") == "date":  # a date control shows nothing else
        try:
            date.fromisoformat(value)
        except ValueError:
            return ABSENT
    return value
