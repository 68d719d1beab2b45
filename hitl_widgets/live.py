"""Values to choose from that are known only when a form is drawn: a table's columns, a function's.

The schema that is stored, and that an approval is bound to, names where the choices come from; what
they are is looked up when a form is drawn, when a model is given the tool, and when a value is
checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from .errors import ToolDefinitionError
from .variables import MISSING, look_up, spaces_of

MARK = "x-choices"
"""Keyword of a schema whose choices are looked up; its value says where."""
MOST = 500
"""With more choices the value is typed, and checked all the same."""
NAMED = 20
"""Choices that an error names."""

_VALUES = frozenset({"const", "default", "enum", "examples"})
"""Keywords that hold values, not schemas."""

_sources: dict[str, Callable[[], Iterable[Any] | None]] = {}
"""Where choices come from, by key. Only what this process's own code has named is looked up: a
schema from elsewhere must not have a variable's columns listed."""


class Choices:
    """One of several values, looked up when it is asked for. Made by `columns` and `choices`.

    A type, alone (``x: hitl.columns("df")``) or in ``list[…]``, or a note in ``Annotated[str, …]``.
    """

    def __init__(self, key: str) -> None:
        self.key = key

    def __repr__(self) -> str:
        return f"Choices({self.key!r})"

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choices) and other.key == self.key

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        inner = core_schema.str_schema() if source is self else handler(source)
        return core_schema.no_info_after_validator_function(self._check, inner)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {**handler(schema), MARK: self.key}

    def _check(self, value: Any) -> Any:
        if value is None:  # the annotated type lets it through
            return None
        found = values_of(self.key)
        if found is None:
            raise PydanticCustomError(
                "choices", "It is one of {key}, which are not known here now", {"key": self.key}
            )
        if value not in found:
            named = ", ".join(str(v) for v in found[:NAMED])
            more = f", and {len(found) - NAMED} more" if len(found) > NAMED else ""
            raise PydanticCustomError(
                "choices", "Should be one of {named}", {"named": (named + more) or "nothing"}
            )
        return value


def columns(name: str) -> Choices:
    """Choose a column of a live DataFrame.

    Parameters
    ----------
    name
        The variable that holds it, in this module or in the notebook. It may be defined later; the
        columns are those at the time when a form is drawn, and when the value is checked. Only
        columns with text for a name can be chosen.

    Examples
    --------
    >>> await hitl.ask(hitl.columns("df"), "Which column?")
    >>> async def plot(x: Annotated[str, hitl.columns("df")]) -> str: ...
    """
    if not isinstance(cast("Any", name), str) or not name.isidentifier():
        raise ToolDefinitionError(
            f'columns({name!r}): give the name of the variable that holds the table: columns("df").'
        )
    frame = inspect.currentframe()
    caller = None if frame is None or frame.f_back is None else frame.f_back.f_globals
    module = "__main__" if caller is None else caller.get("__name__", "__main__")

    def names() -> list[str] | None:
        table = look_up(name, spaces_of(module))
        found = None if table is MISSING else getattr(table, "columns", None)
        return None if found is None else [c for c in found if isinstance(c, str)]

    key = f"the columns of {name} in {module}"
    _sources[key] = names
    return Choices(key)


def choices(function: Callable[[], Iterable[Any]], *, name: str | None = None) -> Choices:
    """Choose what a function returns: text, when used alone, else the annotated type.

    Parameters
    ----------
    function
        Without arguments; called when a form is drawn and when the value is checked. It only reads.
    name
        Tells this function from others in its module; a lambda needs one.
    """
    if not callable(cast("Any", function)):
        raise ToolDefinitionError(f"choices({function!r}): give a function without arguments.")
    known = name or getattr(function, "__qualname__", "<lambda>")
    if "<lambda>" in known:
        raise ToolDefinitionError(
            "choices(lambda: …): a lambda has no name to be found by after a restart: give name=…."
        )
    key = f"{known} of {getattr(function, '__module__', '__main__')}"
    _sources[key] = function
    return Choices(key)


def values_of(key: str) -> list[Any] | None:
    """The choices now; None where they cannot be known."""
    source = _sources.get(key)
    if source is None:
        return None
    try:
        found = source()
    except Exception:  # noqa: BLE001  # a form without a list is a form; the check then says why
        return None
    if found is None:
        return None
    return [value for value in found if isinstance(value, str | int | float | bool)]


def filled(schema: Any) -> Any:
    """A copy of a JSON Schema in which choices are listed as far as they are known now."""
    if isinstance(schema, list):
        return [filled(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, Mapping):
        return schema
    items = cast("Mapping[str, Any]", schema).items()
    node = {k: v if k in _VALUES else filled(v) for k, v in items}
    key = node.get(MARK)
    if isinstance(key, str):
        del node[MARK]
        found = values_of(key)
        if found and len(found) <= MOST:
            nullable = {"type": "null"} in node.get("anyOf", [])
            node["enum"] = [*found, None] if nullable else found
    return node
