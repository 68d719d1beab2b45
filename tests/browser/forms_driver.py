"""Fill a form in as a person does, and read what it shows: by the layout and the value meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from jsonschema import Draft7Validator
from playwright.sync_api import Locator, expect

if TYPE_CHECKING:
    from .forms_page import Form

Path = tuple[str | int, ...]
Node = dict[str, Any]
ABSENT = object()


class Driver:
    """Types a value into a blank form, or compares what a form shows with a value.

    Parameters
    ----------
    form
        The form on the page.
    typing
        Whether to type; else only to look.
    """

    def __init__(self, form: Form, *, typing: bool) -> None:
        self._form = form
        self._typing = typing
        self._defs: Node = form.layout.get("$defs", {})

    def run(self, value: Any) -> None:
        self._part(self._form.layout, value, ())

    def _part(self, node: Node, value: Any, path: Path) -> None:
        node = self._resolved(node)
        ui: Node = node.get("x-ui", {})
        if ui.get("widget") == "hidden" or value is ABSENT:
            return
        if "anyOf" in node:
            self._union(node, value, path)
        elif ui.get("field") == "json" or node.get("type") not in ("object", "array", "null"):
            self._scalar(node, ui, value, path)
        elif ui.get("widget") == "checkboxes":
            self._checkboxes(node, value or [], path)
        elif node.get("type") == "object":
            self._object(node, value or {}, path)
        elif node.get("type") == "array":
            self._list(node, value or [], path)

    def _resolved(self, node: Node) -> Node:
        while "$ref" in node:
            rest = {k: v for k, v in node.items() if k != "$ref"}
            node = {**self._defs[node["$ref"].rpartition("/")[2]], **rest}
        return node

    # -- controls --------------------------------------------------------------------------------

    def _scalar(self, node: Node, ui: Node, value: Any, path: Path) -> None:
        field = self._form.field(path)
        if ui.get("readonly"):
            return
        widget = ui.get("widget")
        if widget in ("radio", "select"):
            self._choose(node, ui, value, field)
        elif node.get("type") == "boolean":
            self._check(field.get_by_role("checkbox"), on=value is True)
        else:
            self._text(field, "" if value is None else _shown(value))

    def _text(self, field: Locator, text: str) -> None:
        box = field.locator("input:not(.key), textarea").first
        if not self._typing:
            expect(box).to_have_value(text)
        elif text and len(text) < 12 and "\n" not in text and box.get_attribute("type") == "text":
            box.fill("")
            box.press_sequentially(text)  # key by key: some controls change what was typed
        else:
            if "\n" in text and box.evaluate("box => box.tagName") == "INPUT":
                raise LineBreaks
            box.fill(text)

    def _choose(self, node: Node, ui: Node, value: Any, field: Locator) -> None:
        values = node.get("enum", [True, False])
        at = next((i for i, v in enumerate(values) if v == value and type(v) is type(value)), None)
        if ui["widget"] == "radio":
            radio = field.get_by_role("radio")
            if at is None:
                expect(radio.locator(":scope:checked")).to_have_count(0)
            else:
                self._check(radio.nth(at), on=True)
            return
        select = field.locator("select").last
        if self._typing:
            blank = select.locator("option[value='']")
            if at is None and blank.count() == 0:
                return
            # By its place: Playwright takes a value for a label too.
            option = select.locator(f"option[value='{'' if at is None else at}']")
            select.select_option(index=option.evaluate("option => option.index"))
        else:
            expect(select).to_have_value("" if at is None else str(at))

    def _check(self, box: Locator, *, on: bool) -> None:
        if self._typing:
            box.set_checked(on)
        else:
            expect(box).to_be_checked(checked=on)

    def _checkboxes(self, node: Node, value: list[Any], path: Path) -> None:
        boxes = self._form.field(path).get_by_role("checkbox")
        for i, option in enumerate(node["items"]["enum"]):
            self._check(boxes.nth(i), on=option in value)

    # -- containers ------------------------------------------------------------------------------

    def _union(self, node: Node, value: Any, path: Path) -> None:
        branches = [self._resolved(b) for b in node["anyOf"]]
        at = self._branch(branches, value)
        label = branches[at]["title"]
        holder = self._form.role.locator(f'[data-path="{_at(path)}"].union').last
        picker = holder.locator(":scope > select")
        if self._typing:
            picker.select_option(label=label)
        else:
            expect(picker.locator("option:checked")).to_have_text(label)
        if branches[at].get("type") != "null":
            self._part(branches[at], value, path)

    def _branch(self, branches: list[Node], value: Any) -> int:
        fits = [i for i, b in enumerate(branches) if self._valid(b, value)]
        if not fits:
            raise AssertionError(f"no branch for {value!r} among {[b['title'] for b in branches]}")
        return max(fits, key=lambda i: ("enum" in branches[i], _common(branches[i], value)))

    def _valid(self, branch: Node, value: Any) -> bool:
        return Draft7Validator({**branch, "$defs": self._defs}).is_valid(value)

    def _object(self, node: Node, value: Node, path: Path) -> None:
        known = self._parts(node)
        for key, part in known.items():
            self._part(part, value.get(key, ABSENT), (*path, key))
        for key in [k for k in value if k not in known]:
            extra = node.get("additionalProperties")
            assert isinstance(extra, dict), f"no control for {key!r}"
            if self._typing:
                self._add_entry(path, key)
            self._part(extra, value[key], (*path, key))

    def _parts(self, node: Node) -> Node:
        parts: Node = dict(node.get("properties", {}))
        rules = [node, *node.get("allOf", [])]
        more = [rule[w] for rule in rules for w in ("then", "else") if w in rule]
        more += [d for d in node.get("dependencies", {}).values() if isinstance(d, dict)]
        for part in more:
            parts |= {k: v for k, v in part.get("properties", {}).items() if k not in parts}
        return parts

    def _add_entry(self, path: Path, key: str) -> None:
        field = self._form.field(path)
        if self._form.role.locator(f'[data-path="{_at((*path, key))}"]').count():
            return
        field.locator(":scope > fieldset > .button, :scope > div > .button").last.click()
        box = field.locator(":scope > * > .parts > .entry > input.key").last
        expect(box).to_be_focused()
        box.fill(key)
        box.press("Tab")
        expect(self._form.role.locator(f'[data-path="{_at((*path, key))}"]').last).to_be_attached()

    def _list(self, node: Node, value: list[Any], path: Path) -> None:
        items = node.get("items", {})
        field = self._form.field(path)
        rows = field.locator(":scope > fieldset > .listed > .item")
        fixed: list[Node] = cast("list[Node]", items) if isinstance(items, list) else []
        if self._typing:
            while rows.count() > max(len(value), len(fixed)):
                rows.last.get_by_role("button", name="Remove").last.click()
        for i, part in enumerate(value):
            if self._typing and rows.count() <= i:
                field.locator(":scope > fieldset > .button").last.click()
                expect(rows).to_have_count(i + 1)
            rest = node.get("additionalItems", {}) if fixed else items
            self._part(fixed[i] if i < len(fixed) else rest, part, (*path, i))


class LineBreaks(Exception):
    """The value holds line breaks where a person can type none."""


def _common(branch: Node, value: Any) -> int:
    """How much of an object a branch knows: the closest one is meant."""
    props = branch.get("properties", {})
    return sum(key in props for key in value) if isinstance(value, dict) else 0


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    # JavaScript writes 1e-7 where Python writes 1e-07.
    return re.sub(r"e([-+])0", r"e\1", str(value)) if isinstance(value, float) else str(value)


def _at(path: Path) -> str:
    from .forms_page import css_text, pointer

    return css_text(pointer(path))
