"""jsonschema's validator for a schema: its dialect, formats checked, nothing fetched."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, cast

from hitl_widgets.errors import ToolDefinitionError
from hitl_widgets.schema._json import is_list, is_object
from hitl_widgets.schema._pydantic import NO_ZONE


def validator_of(schema: dict[str, Any]) -> Any:
    """Make the validator.

    Without ``$schema`` it is draft 2020-12, or draft-07 where only that fits: many servers send
    it without saying so.

    Raises
    ------
    ToolDefinitionError
        The schema is not valid itself.
    """
    # Loaded on first use: the verbs work without a JSON Schema, and this is slow to import.
    with _grammar_later():
        from jsonschema import Draft7Validator, Draft202012Validator  # noqa: PLC0415
    from jsonschema.exceptions import SchemaError  # noqa: PLC0415
    from jsonschema.validators import validator_for  # noqa: PLC0415
    from referencing import Registry  # noqa: PLC0415 - what jsonschema takes as `registry`

    kind: Any = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        older: Any = Draft7Validator(Draft7Validator.META_SCHEMA)
        if "$schema" in schema or not older.is_valid(schema):
            place = "/".join(str(p) for p in error.absolute_path) or "the top"
            raise ToolDefinitionError(
                f"Not a valid JSON Schema, at {place}: {error.message}. Without $schema it is "
                "read as draft 2020-12."
            ) from error
        kind = Draft7Validator
    # An empty registry loads nothing: no reference reaches the network.
    registry = cast("Any", Registry)()  # its stubs leave its parts unknown
    return _careful(kind)(_placed(schema), registry=registry, format_checker=kind.FORMAT_CHECKER)


class _Later(ModuleType):
    """A module that is imported when one of its functions is called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*args: Any) -> Any:
            return getattr(importlib.import_module(self.__name__), name)(*args)

        return call


@contextmanager
def _grammar_later(name: str = "rfc3987_syntax") -> Generator[None]:
    """Import jsonschema without the grammar of IRIs: two seconds, and few schemas have one.

    Its check of the formats ``iri`` and ``iri-reference`` loads the grammar when first used.
    """
    if name in sys.modules or "jsonschema" in sys.modules:
        yield
        return
    sys.modules[name] = _Later(name)
    try:
        yield
    finally:
        del sys.modules[name]


def _placed(value: Any) -> Any:
    """Write ``false`` as ``{"not": {}}``: jsonschema does not say where a false property stands."""
    if is_list(value):
        return [_placed(v) for v in value]
    if not is_object(value):
        return value
    out = {k: _placed(v) for k, v in value.items()}
    for word in ("properties", "patternProperties"):
        if is_object(out.get(word)):
            out[word] = {k: {"not": {}} if v is False else v for k, v in out[word].items()}
    return out


@cache
def _careful(kind: Any) -> Any:
    from jsonschema import validators  # noqa: PLC0415

    return cast("Any", validators).extend(kind, {"format": _format, "pattern": _pattern})


def _format(validator: Any, name: str, instance: Any, schema: dict[str, Any]) -> Iterator[Any]:
    from jsonschema.exceptions import FormatError, ValidationError  # noqa: PLC0415

    # RFC 3339 wants a time zone; the Python type behind such a node does not.
    zoneless = schema.get("$comment") == NO_ZONE and isinstance(instance, str)
    checker = validator.format_checker
    if zoneless and checker.conforms(f"{instance}Z", name):
        return
    try:
        checker.check(instance, name)
    except FormatError as error:
        yield ValidationError(error.message, cause=error.cause)


def _pattern(_validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    if not isinstance(instance, str):
        return
    try:
        fits = re.search(pattern, instance) is not None
    except re.error:
        # pydantic's patterns are of Rust's dialect. What cannot be checked is not let through.
        fits = False
    if not fits:
        yield ValidationError(f"does not match {pattern!r}")
