"""The shape of a function's arguments, from its signature and docstring."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, create_model
from pydantic_core import PydanticSerializationError, PydanticUndefined

from hitl_widgets.errors import ToolDefinitionError
from hitl_widgets.schema._docstring import read_docstring
from hitl_widgets.schema._pydantic import FormJsonSchema
from hitl_widgets.schema._shape import TypeShape, shape_of

_REFUSED: Final = {
    inspect.Parameter.VAR_POSITIONAL: "*{0} has no names to show: take a list instead, "
    "as in {0}: list[str]",
    inspect.Parameter.VAR_KEYWORD: "**{0} has no fixed names: take a dict instead, "
    "as in {0}: dict[str, str]",
    inspect.Parameter.POSITIONAL_ONLY: "{0} is positional-only, and arguments are given by name: "
    "remove the '/' after it",
}


class ParametersShape(TypeShape):
    """The arguments of a function: values are dicts of keyword arguments, defaults filled in.

    Attributes
    ----------
    function_description
        The docstring without its list of parameters, or None.
    skipped
        Names of the parameters that `skip` took out.
    """

    def __init__(
        self,
        model: type[BaseModel],
        *,
        names: Mapping[str, str],
        description: str | None,
        skipped: tuple[str, ...],
    ) -> None:
        super().__init__(model, generator=_ArgumentsJsonSchema)
        self._names = dict(names)  # parameter → field
        self.function_description = description
        self.skipped = skipped

    def validate(self, data: Any) -> dict[str, Any]:
        """Turn a JSON object of arguments into typed keyword arguments."""
        held = super().validate(data).__dict__
        return {name: held[field] for name, field in self._names.items()}

    def dump(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Turn keyword arguments into a JSON object."""
        held = {field: value[name] for name, field in self._names.items() if name in value}
        return super().dump(self.type.model_construct(set(held), **held))


class _ArgumentsJsonSchema(FormJsonSchema):
    """Refuses a default without a JSON form: it is part of the call that a human approves."""

    def encode_default(self, dft: Any) -> Any:
        try:
            return super().encode_default(dft)
        except PydanticSerializationError as error:
            if self.holds_secret(dft):
                raise
            raise ToolDefinitionError(
                f"The default {dft!r} has no JSON form. Use None, and set the real one inside."
            ) from error


@dataclass(frozen=True)
class _Parameter:
    name: str
    annotation: Any
    default: Any
    description: str | None


def shape_of_parameters(
    func: Callable[..., Any],
    *,
    skip: Callable[[Any], bool] = lambda _: False,
    omit: tuple[str, ...] = (),
) -> ParametersShape:
    """Make the `Shape` of a function's arguments.

    Descriptions come from the docstring (numpy, Google or Sphinx style, found by itself); unknown
    arguments are refused; ``x: int = None`` reads as ``int | None``.

    Parameters
    ----------
    func
        The function, as the tool decorator gets it.
    skip
        Told a parameter's annotation; True leaves the parameter out, as for ``ctx: ToolContext``.
    omit
        Names of parameters that are left out too, as ``("self",)``.

    Raises
    ------
    ToolDefinitionError
        A parameter cannot be shown and filled in: no annotation, one that is not defined or has
        no JSON form, ``*args``, ``**kwargs``, or positional-only.
    """
    where = f"{getattr(func, '__qualname__', repr(func))}()"
    description, told = read_docstring(func)
    kept: list[_Parameter] = []
    skipped: list[str] = []
    for parameter in _signature(func).parameters.values():
        if parameter.name in omit:
            continue
        annotation = _annotation(func, where, parameter)
        if annotation is not parameter.empty and skip(annotation):
            skipped.append(parameter.name)
            continue
        _check(where, parameter, annotation)
        if parameter.default is None and not _admits_none(annotation):
            annotation = typing.Optional[annotation]  # noqa: UP045 - of a value, not in an annotation
        text = told.get(parameter.name)
        kept.append(_Parameter(parameter.name, annotation, parameter.default, text))
    names = {p.name: f"argument_{i}" for i, p in enumerate(kept)}
    try:
        return ParametersShape(
            _model(func, kept, names), names=names, description=description, skipped=tuple(skipped)
        )
    except (ToolDefinitionError, PydanticUserError, TypeError, NameError, ValueError) as error:
        raise _blamed(where, kept, error) from error


def _model(
    func: Callable[..., Any], kept: list[_Parameter], names: Mapping[str, str]
) -> type[BaseModel]:
    # Fields have names of our own: a parameter may be called "json", "_x" or "model_config".
    fields: dict[str, Any] = {names[p.name]: _field(p) for p in kept}
    title = getattr(func, "__name__", "arguments")
    return create_model(title, __config__=ConfigDict(extra="forbid"), **fields)


def _field(parameter: _Parameter) -> Any:
    annotation = parameter.annotation
    if parameter.description and not _described(annotation):
        annotation = Annotated[annotation, Field(description=parameter.description)]
    empty = parameter.default is inspect.Parameter.empty
    default: Any = PydanticUndefined if empty else parameter.default
    return annotation, Field(default, alias=parameter.name)


def _described(annotation: Any) -> bool:
    notes = getattr(annotation, "__metadata__", ())
    return any(getattr(note, "description", None) for note in notes)


def _check(where: str, parameter: inspect.Parameter, annotation: Any) -> None:
    if parameter.kind in _REFUSED:
        reason = _REFUSED[parameter.kind].format(parameter.name)
        raise ToolDefinitionError(f"{where} cannot be a tool: {reason}.")
    if annotation is parameter.empty:
        raise ToolDefinitionError(
            f"{where} cannot be a tool: parameter {parameter.name!r} has no annotation, so its "
            f"form is not known. Write its type, as in {parameter.name}: str."
        )


def _blamed(where: str, kept: list[_Parameter], error: Exception) -> ToolDefinitionError:
    """Name the parameter that is at fault."""
    for parameter in kept:
        try:
            shape_of(parameter.annotation)
        except ToolDefinitionError as found:
            return ToolDefinitionError(
                f"{where} cannot be a tool, because of its parameter {parameter.name!r}: {found}"
            )
    return ToolDefinitionError(f"{where} cannot be a tool: {error}")


# -- annotations ----------------------------------------------------------------------------------


def _signature(func: Callable[..., Any]) -> inspect.Signature:
    if sys.version_info >= (3, 14):
        import annotationlib  # noqa: PLC0415 - new in 3.14

        return inspect.signature(func, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(func)


def _annotation(func: Callable[..., Any], where: str, parameter: inspect.Parameter) -> Any:
    """Evaluate one annotation: in the function's module, its closure, and where it was defined."""
    if parameter.annotation is parameter.empty:
        return parameter.empty
    holder = types.SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
    plain = _innermost(func)
    known = getattr(plain, "__globals__", {})
    try:
        return _evaluated(holder, known, _closure(plain))[parameter.name]
    except NameError:
        pass  # a class of the enclosing function that the body does not use is in no closure
    try:
        return _evaluated(holder, known, _enclosing(known))[parameter.name]
    except NameError as error:
        raise ToolDefinitionError(
            f"{where} cannot be a tool: the annotation of {parameter.name!r} names "
            f"{error.name or parameter.annotation!r}, which is not defined here. Import or define "
            "it before the function, outside TYPE_CHECKING."
        ) from error


def _evaluated(holder: Any, known: dict[str, Any], local: dict[str, Any]) -> dict[str, Any]:
    return typing.get_type_hints(holder, known, local, include_extras=True)


def _innermost(func: Any) -> Any:
    while isinstance(func, functools.partial):
        func = func.func
    func = inspect.unwrap(func)
    if not inspect.isroutine(func) and callable(func):
        func = type(func).__call__
    return getattr(func, "__func__", func)


def _closure(func: Any) -> dict[str, Any]:
    code, cells = getattr(func, "__code__", None), getattr(func, "__closure__", None) or ()
    found: dict[str, Any] = {}
    for name, cell in zip(getattr(code, "co_freevars", ()), cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found


def _enclosing(known: dict[str, Any]) -> dict[str, Any]:
    """Return the local names of the calls under way in the function's module, nearest first."""
    found: dict[str, Any] = {}
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals is known and frame.f_locals is not known:
            found = {**frame.f_locals, **found}
        frame = frame.f_back
    return found


def _admits_none(annotation: Any) -> bool:
    if annotation in (None, type(None), Any, object):
        return True
    origin = typing.get_origin(annotation)
    if origin is Annotated:
        return _admits_none(typing.get_args(annotation)[0])
    if origin in (typing.Union, types.UnionType):
        return any(_admits_none(a) for a in typing.get_args(annotation))
    return origin is typing.Literal and None in typing.get_args(annotation)
