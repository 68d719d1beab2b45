"""A type, a pydantic model or a JSON Schema: validate, dump, find secrets, make forms.

Everything that asks a human for data, or shows a call's arguments, goes through a `Shape`.
"""

from __future__ import annotations

from hitl_widgets.schema._form import Form, Unshown
from hitl_widgets.schema._json import is_json
from hitl_widgets.schema._parameters import ParametersShape, shape_of_parameters
from hitl_widgets.schema._prepare import prepare
from hitl_widgets.schema._secrets import HIDDEN
from hitl_widgets.schema._shape import Shape, shape_of, stored_shape

__all__ = [
    "HIDDEN",
    "Form",
    "ParametersShape",
    "Shape",
    "Unshown",
    "is_json",
    "prepare",
    "shape_of",
    "shape_of_parameters",
    "stored_shape",
]
