"""A type, a pydantic model or a JSON Schema: validate, dump, find secrets, make forms.

Everything that asks a human for data, or shows a call's arguments, goes through a `Shape`.
"""

from __future__ import annotations

from hitl_widgets.schema._parameters import ParametersShape, shape_of_parameters
from hitl_widgets.schema._secrets import HIDDEN
from hitl_widgets.schema._shape import Shape, is_json, shape_of

__all__ = ["HIDDEN", "ParametersShape", "Shape", "is_json", "shape_of", "shape_of_parameters"]
