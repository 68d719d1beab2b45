"""What every message between kernel and page is made of."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Doc(BaseModel):
    """Strict: ``"yes"`` or ``1`` is not true (R4), and an unknown key is a fault."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        json_schema_serialization_defaults_required=True,
    )
