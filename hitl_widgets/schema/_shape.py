"""What an answer or a call's arguments look like: validate them, dump them, find their secrets."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any, cast

from pydantic import BaseModel, PydanticUserError, RootModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation
from pydantic_core import PydanticSerializationError, SchemaError, to_jsonable_python

from hitl_widgets.errors import InvalidAnswer, ToolDefinitionError
from hitl_widgets.schema import _faults, _secrets
from hitl_widgets.schema._consent import asks_for_consent
from hitl_widgets.schema._dialect import validator_of
from hitl_widgets.schema._document import Document
from hitl_widgets.schema._json import canonical, is_json, is_list, is_object
from hitl_widgets.schema._pydantic import FormJsonSchema, declared_aliases


class Shape(ABC):
    """The form of a value: made by `shape_of`, never directly."""

    @property
    @abstractmethod
    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema that input has to satisfy. Do not change it."""

    @abstractmethod
    def validate(self, data: Any) -> Any:
        """Turn a JSON value into the typed value.

        Text is read where the type asks for it: ``"2026-01-31"`` for a date, ``"19.90"`` for a
        Decimal, a list for a tuple or set. For a JSON Schema the value itself is returned.

        Raises
        ------
        InvalidAnswer
            With one ``{"path", "message", "type"}`` per fault. Paths lead into `data`; the
            messages quote no value of a secret field.
        """

    @abstractmethod
    def dump(self, value: Any) -> Any:
        """Turn a validated value into JSON, under the names of the input schema.

        Secrets stand in it in clear: `hide` it before it is shown. Defaults are filled in, and
        ``validate(dump(value))`` gives the value again.

        Raises
        ------
        InvalidAnswer
            The value has no JSON form.
        """

    @property
    def title(self) -> str | None:
        """The schema's title."""
        title = self._document.plain(self.json_schema).get("title")
        return title if isinstance(title, str) else None

    @property
    def description(self) -> str | None:
        """The schema's description."""
        text = self._document.plain(self.json_schema).get("description")
        return text if isinstance(text, str) else None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the schema in canonical JSON, in hex: it changes when the schema does."""
        return hashlib.sha256(canonical(self.json_schema).encode()).hexdigest()

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """JSON Pointers of secret fields; ``*`` is any list item or mapping value.

        A recursive schema is followed once around; `secrets_in` follows the data.
        """
        return _secrets.patterns(self._document)

    def secrets_in(self, data: Any, declared: Iterable[str] = ()) -> tuple[str, ...]:
        """List the JSON Pointers of the secrets that a JSON value holds.

        Parameters
        ----------
        data
            A JSON value, valid or not.
        declared
            Further pointers, ``*`` allowed, as in ``hitl.tool(secret=…)``.
        """
        paths = _secrets.paths_in(self._document, data, declared)
        return tuple(_secrets.pointer(p) for p in paths)

    def hide(self, data: Any, declared: Iterable[str] = ()) -> Any:
        """Return a copy of a JSON value with ``••••`` for each secret."""
        return _secrets.hide(data, _secrets.paths_in(self._document, data, declared))

    def without_secrets(self, data: Any) -> Any:
        """Return a copy of a JSON value that lacks its secrets: they have to be typed again."""
        return _secrets.leave_out(data, _secrets.paths_in(self._document, data))

    @cached_property
    def is_consent(self) -> bool:
        """Whether an answer is consent, which only a human gives (R7)."""
        return asks_for_consent(self._document)

    @cached_property
    def _document(self) -> Document:
        return Document(self.json_schema)

    def _refuse(self, faults: Sequence[dict[str, Any]], data: Any) -> InvalidAnswer:
        """Make the error, without any secret in its words."""
        hidden = [_at(data, path) for path in _secrets.paths_in(self._document, data)]
        texts = [str(v) for v in hidden if v not in (None, "", True, False)]
        for item in faults:
            if any(text in item["message"] for text in texts):
                item["message"] = "This value is not valid"
        return InvalidAnswer(faults)


class TypeShape(Shape):
    """The shape of a pydantic model or any other Python type."""

    def __init__(
        self,
        kind: Any,
        *,
        adapter: TypeAdapter[Any] | None = None,
        generator: type[FormJsonSchema] = FormJsonSchema,
    ) -> None:
        self.type = kind
        self._adapter: TypeAdapter[Any] = adapter or _adapter_of(kind)
        self._json_schema = _schema_of(self._adapter, kind, generator)
        self._document  # noqa: B018 - a broken reference is the author's error: say it now

    @property
    def json_schema(self) -> dict[str, Any]:
        return self._json_schema

    def validate(self, data: Any) -> Any:
        try:
            text = json.dumps(data, allow_nan=True)
        except (TypeError, ValueError, RecursionError):
            return self._validate_python(data)
        if not is_json(data):
            return self._validate_python(data)
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            raise self._explained(error, data) from None

    def _validate_python(self, data: Any) -> Any:
        try:
            return self._adapter.validate_python(data)
        except ValidationError as error:
            raise self._explained(error, data) from None

    def _explained(self, error: ValidationError, data: Any) -> InvalidAnswer:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        return self._refuse(_faults.from_pydantic(self._document, found, data), data)

    def dump(self, value: Any) -> Any:
        try:
            plain = self._adapter.dump_python(
                value, mode="json", by_alias=True, round_trip=True, warnings=False
            )
        except (PydanticSerializationError, ValueError) as error:
            raise InvalidAnswer([], f"The value has no JSON form: {error}") from error
        return _as_input(plain, value)


class JsonShape(Shape):
    """The shape that a JSON Schema describes; its values are plain JSON.

    Parameters
    ----------
    judged
        The schema was found valid before. What judges it is slow to import, and is left until
        there is something to validate.
    """

    def __init__(self, schema: Mapping[str, Any], *, judged: bool = False) -> None:
        self._json_schema: dict[str, Any] = _copied(dict(schema))
        if not judged:  # the author's errors, broken references too, are said now
            self._validator  # noqa: B018
            self._document  # noqa: B018

    @cached_property
    def _validator(self) -> Any:
        return validator_of(self._json_schema)

    @property
    def json_schema(self) -> dict[str, Any]:
        return self._json_schema

    def validate(self, data: Any) -> Any:
        if not is_json(data):
            raise InvalidAnswer([_faults.fault([], "Should be a JSON value", "json")])
        try:
            errors = list(self._validator.iter_errors(data))
        except RecursionError:
            raise InvalidAnswer([_faults.fault([], "Nested too deeply", "depth")]) from None
        except re.error as error:
            message = f"The schema has a pattern that cannot be checked here: {error}"
            raise InvalidAnswer([_faults.fault([], message, "pattern")]) from error
        if errors:
            raise self._refuse(_faults.from_jsonschema(self._document, errors, data), data)
        return data

    def dump(self, value: Any) -> Any:
        return _copied(value)


def shape_of(source: Any) -> Shape:
    """Make a `Shape` of a pydantic model, any other type, or a JSON Schema.

    Parameters
    ----------
    source
        A pydantic model class, any annotation (``int``, ``list[str]``, ``Literal``, unions,
        ``Annotated``, a TypedDict, a dataclass, …), a `TypeAdapter`, a JSON Schema as a dict (or
        True, False) of draft 2020-12 or the one its ``$schema`` names, or a Shape.

    Raises
    ------
    ToolDefinitionError
        The type has no JSON form, or the schema is not valid or refers out of itself.
    """
    if isinstance(source, Shape):
        return source
    if isinstance(source, bool):
        return JsonShape({} if source else {"not": {}})
    if isinstance(source, Mapping):
        return JsonShape(cast("Mapping[str, Any]", source))
    if isinstance(source, TypeAdapter):
        return TypeShape(Any, adapter=cast("TypeAdapter[Any]", source))
    if isinstance(source, str) or inspect.isroutine(source):
        raise ToolDefinitionError(
            f"{source!r} is neither a type nor a JSON Schema. Give a pydantic model, a type "
            "such as int or list[str], or a JSON Schema as a dict."
        )
    return TypeShape(source)


def stored_shape(schema: Mapping[str, Any] | None) -> Shape:
    """The shape of a schema that a request keeps: it was judged when it was asked.

    None, as where there is no resume schema, takes any JSON.
    """
    return JsonShape(schema or {}, judged=True)


# -- pydantic -------------------------------------------------------------------------------------


def _adapter_of(kind: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(kind)
    except PydanticUndefinedAnnotation as error:
        raise ToolDefinitionError(
            f"{_name(kind)} refers to {error.name!r}, which is not defined yet: define it before "
            "it is used here, outside TYPE_CHECKING."
        ) from error
    except (PydanticUserError, SchemaError, TypeError, NameError) as error:
        raise ToolDefinitionError(_no_form(kind, error)) from error


def _schema_of(
    adapter: TypeAdapter[Any], kind: Any, generator: type[FormJsonSchema]
) -> dict[str, Any]:
    try:
        return adapter.json_schema(schema_generator=generator)
    except (PydanticUserError, TypeError, ValueError) as error:
        raise ToolDefinitionError(_no_form(kind, error)) from error


def _no_form(kind: Any, error: Exception) -> str:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return (
        f"{_name(kind)} has no JSON form, so no form can be made for it ({first}). Use a pydantic "
        "model, a dataclass, a TypedDict, or types such as str, int, list[str], Literal, date."
    )


def _name(kind: Any) -> str:
    return kind.__qualname__ if isinstance(kind, type) else repr(kind)


def _as_input(plain: Any, value: Any) -> Any:
    """Correct pydantic's dump: input names, secrets in clear, excluded fields back in."""
    if hasattr(value, "get_secret_value"):
        return _revealed(value.get_secret_value())
    if isinstance(value, RootModel):
        return _as_input(plain, value.__dict__.get("root"))
    if is_object(plain):
        return _object_as_input(plain, value)
    if is_list(plain) and isinstance(value, Collection):
        held = list(cast("Collection[Any]", value))
        if len(held) == len(plain):
            items = [_as_input(p, v) for p, v in zip(plain, held, strict=True)]
            # Text hashes differ from process to process, and with them the order of a set.
            return sorted(items, key=canonical) if isinstance(value, AbstractSet) else items
    return plain


def _object_as_input(plain: dict[str, Any], value: Any) -> dict[str, Any]:
    if isinstance(value, BaseModel):
        return _model_as_input(plain, value)
    if is_dataclass(value) and not isinstance(value, type):
        names = {f.name: getattr(value, f.name, None) for f in fields(value)}
        return {k: _as_input(v, names.get(k)) for k, v in plain.items()}
    if isinstance(value, Mapping):
        held = list(cast("Mapping[Any, Any]", value).values())
        if len(held) == len(plain):
            pairs = zip(plain.items(), held, strict=True)
            return {k: _as_input(p, v) for (k, p), v in pairs}
    return plain


def _model_as_input(plain: dict[str, Any], value: BaseModel) -> dict[str, Any]:
    held = value.__dict__  # not getattr: deprecated fields warn
    out: dict[str, Any] = {}
    rest = dict(plain)
    for name, field in type(value).model_fields.items():
        written, read = declared_aliases(name, field)
        inner = held.get(name)
        if written in rest:
            out[read] = _as_input(rest.pop(written), inner)
        elif field.exclude:  # left out of dumps, but it takes part in the call all the same
            out[read] = _as_input(to_jsonable_python(inner, round_trip=True), inner)
    return {**out, **rest}


def _revealed(secret: Any) -> Any:
    if isinstance(secret, bytes):
        return secret.decode()
    return to_jsonable_python(secret)


# -- JSON Schema ----------------------------------------------------------------------------------


def _copied(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolDefinitionError(f"Not plain JSON: {error}") from error


def _at(data: Any, path: Iterable[str | int]) -> Any:
    for key in path:
        data = data[key]
    return data
