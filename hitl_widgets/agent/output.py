"""A run's final answer as an object: given by the model through a tool of ours."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import AgentDefinitionError, InvalidAnswer
from ..schema import Shape, shape_of
from . import models

NAME = "final_result"
ACCEPTED = "The final answer was accepted."
NOT_RUN = "Not run: the final answer was given in the same turn."


@dataclass(frozen=True, slots=True)
class Answer:
    """A final answer: as its type, and as JSON."""

    value: Any
    plain: Any


@dataclass(frozen=True)
class Output:
    """What ``output_type=`` asks for."""

    shape: Shape

    @classmethod
    def of(cls, kind: Any) -> Output | None:
        """From a type or a JSON Schema; None for none."""
        return None if kind is None else cls(shape_of(kind))

    @property
    def spec(self) -> models.ToolSpec:
        """The tool that takes the answer."""
        return models.ToolSpec(NAME, "Give the final answer.", self._schema)

    @property
    def _wrapped(self) -> bool:
        return self.shape.json_schema.get("type") != "object"

    @property
    def _schema(self) -> dict[str, Any]:
        schema = dict(self.shape.json_schema)
        if not self._wrapped:
            return schema
        shared = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
        outer = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
        return {**outer, **shared}

    @staticmethod
    def check(tools: Container[str]) -> None:
        """Refuse a tool of the same name: its calls would be taken for the answer, ungated."""
        if NAME in tools:
            raise AgentDefinitionError(
                f"output_type is answered through a tool {NAME!r}, and the agent has one of its "
                "own by that name: give that another id=."
            )

    def accept(self, args: dict[str, Any] | None) -> Answer:
        """The answer in the tool's arguments.

        Raises
        ------
        InvalidAnswer
            They do not fit; the model is told.
        """
        given = (args or {}).get("result") if self._wrapped else args
        value = self.shape.validate(given)
        return Answer(value, self.shape.dump(value))

    def given(self, calls: Sequence[models.ProposedCall]) -> Answer | None:
        """The final answer among a turn's calls; None when there is none, or it does not fit."""
        for call in calls:
            if call.name == NAME:
                try:
                    return self.accept(call.args)
                except InvalidAnswer:
                    continue
        return None

    def returns(self, calls: Sequence[models.ProposedCall]) -> list[tuple[str, str, Any]]:
        """What history says of the calls of the turn that gave the answer."""
        return [(c.name, c.provider_id, ACCEPTED if c.name == NAME else NOT_RUN) for c in calls]

    def in_words(self, text: str) -> Answer | None:
        """The answer, when a text is one by itself: JSON of the type, or just text."""
        for read in (json.loads, str):
            try:
                value = self.shape.validate(read(text))
            except (ValueError, RecursionError, InvalidAnswer):
                continue
            return Answer(value, self.shape.dump(value))
        return None
