"""The cases as objects, from the files and from `own`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hitl_widgets.schema import Shape, shape_of
from tests.conformance.forms import models

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """One schema with a valid and some invalid instances.

    `invalid` holds pairs of a value and the paths at which pydantic or jsonschema complain; paths
    of pydantic may hold names of union branches, those of jsonschema end above a missing field.
    """

    id: str
    source: Any
    valid: Any
    invalid: tuple[tuple[Any, tuple[tuple[str | int, ...], ...]], ...]

    def shape(self) -> Shape:
        return shape_of(self.source)


@cache
def from_files() -> list[Case]:
    return [_read(json.loads(path.read_text("utf-8"))) for path in sorted(HERE.glob("*.json"))]


def _read(case: dict[str, Any]) -> Case:
    source = case["schema"]
    if case["oracle"]["kind"] == "pydantic":
        source = getattr(models, case["oracle"]["model"].partition(":")[2])
    invalid = tuple(
        (bad["value"], tuple(tuple(e["loc"]) for e in bad["errors"])) for bad in case["invalid"]
    )
    return Case(case["id"], source, case["valid"], invalid)
