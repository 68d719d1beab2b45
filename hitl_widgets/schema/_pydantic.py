"""The JSON Schema that pydantic writes, where a form needs it otherwise."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import is_dataclass
from typing import Any, Final, cast

from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import PydanticSerializationError, core_schema

from hitl_widgets.schema._json import is_object

DECIMAL: Final = "decimal"
NO_ZONE: Final = "a time zone is optional"


class FormJsonSchema(GenerateJsonSchema):
    """Marks Decimals, which pydantic writes exactly as ``float | str``, and keeps secrets out."""

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Say nothing: a default that has no JSON form is simply not shown."""

    def decimal_schema(self, schema: core_schema.DecimalSchema) -> dict[str, Any]:
        return {**super().decimal_schema(schema), "format": DECIMAL}

    def datetime_schema(self, schema: core_schema.DatetimeSchema) -> dict[str, Any]:
        return _zone_noted(super().datetime_schema(schema), schema)

    def time_schema(self, schema: core_schema.TimeSchema) -> dict[str, Any]:
        return _zone_noted(super().time_schema(schema), schema)

    def encode_default(self, dft: Any) -> Any:
        if self.holds_secret(dft):  # it would be written as "**********", and sent back as that
            raise PydanticSerializationError("A secret is not written into a schema")
        return super().encode_default(dft)

    @staticmethod
    def holds_secret(value: Any) -> bool:
        """Tell whether a secret stands anywhere in a value."""
        return _holds_secret(value)


def _zone_noted(node: dict[str, Any], schema: Any) -> dict[str, Any]:
    return node if schema.get("tz_constraint") else {**node, "$comment": NO_ZONE}


def _holds_secret(value: Any, depth: int = 0) -> bool:
    if hasattr(value, "get_secret_value"):
        return True
    if depth > 20:  # noqa: PLR2004 - a default that deep is not worth a recursion error
        return False
    if is_object(value):
        return any(_holds_secret(v, depth + 1) for v in value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return any(_holds_secret(v, depth + 1) for v in cast("Collection[Any]", value))
    inside = getattr(value, "__dict__", None)
    is_record = hasattr(value, "__pydantic_fields__") or is_dataclass(value)
    return is_record and inside is not None and _holds_secret(inside, depth + 1)


def declared_aliases(name: str, field: FieldInfo) -> tuple[str, str]:
    """Return a field's names: the one that dumps write, the one that the input schema has."""
    written = field.serialization_alias or field.alias or name
    read = field.validation_alias or field.alias or name
    if isinstance(read, AliasChoices):
        read = next((c for c in read.choices if isinstance(c, str)), name)
    return written, read if isinstance(read, str) else name
