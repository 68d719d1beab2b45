"""Any argument of a plain function as JSON that can be shown, compared and approved.

JSON values and pydantic models stand as they are. Tables, arrays and files are described by type,
shape and a digest of their content, so that a change between asking and running is seen; such a
call cannot be run again by another process.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path, PurePath
from typing import Any, cast

from pydantic import BaseModel, SecretBytes, SecretStr
from pydantic_core import PydanticSerializationError, to_jsonable_python

from .errors import NotDescribable
from .fingerprint import steps
from .schema import shape_of

ROWS = 20
"""Rows of a table that are kept to be looked at."""
KIND = "$described"
"""Key by which a screen knows a description: ``table``, ``array``, ``file``."""


@dataclass(slots=True)
class Description:
    """Arguments as JSON.

    Attributes
    ----------
    secrets
        JSON Pointers of what nobody may read.
    portable
        Whether another process could run the call from `args` alone.
    """

    args: dict[str, Any] = field(default_factory=dict[str, Any])
    secrets: list[str] = field(default_factory=list[str])
    portable: bool = True


def describe_arguments(
    arguments: Mapping[str, Any],
    *,
    where: str,
    declared: Sequence[str] = (),
    describers: Mapping[str, Callable[[Any], Any]] | None = None,
    owner: str | None = None,
) -> Description:
    """Describe bound arguments by name.

    Parameters
    ----------
    where
        The function's name, for errors.
    declared
        JSON Pointers declared secret.
    describers
        Name → function giving JSON for that argument.
    owner
        The argument that a method belongs to, described by what tells it from others.

    Raises
    ------
    NotDescribable
        An argument has no exact form: says how to give it one.
    """
    told = Description(secrets=list(declared))
    for name, value in arguments.items():
        describer = (describers or {}).get(name)
        try:
            if describer is not None:
                told.args[name] = to_jsonable_python(describer(value))
                told.portable = False
                continue
            pointer = f"/{_escape(name)}"
            if name == owner:
                told.args[name] = _owner(value, pointer, told)
            else:
                told.args[name] = _describe(value, pointer, told, f"{where}({name}=…)")
        except RecursionError as e:
            raise NotDescribable(f"{where}({name}=…) holds itself: it has no exact form.") from e
    # A digest of all of it is searched for what is masked in it: it takes part unseen, too.
    told.secrets += [
        "".join(f"/{_escape(step)}" for step in (*path, "sha256"))
        for path in _digested(told.args)
        if any(_inside(path, steps(secret)) for secret in told.secrets)
    ]
    return told


def _digested(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where tables, arrays and files stand, which are told by a digest of their content."""
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        if KIND in parts and "sha256" in parts:
            yield path
            return
        for name, part in parts.items():
            yield from _digested(part, (*path, name))
    elif isinstance(value, list):
        for i, part in enumerate(cast("list[Any]", value)):
            yield from _digested(part, (*path, str(i)))


def _inside(path: Sequence[str], secret: Sequence[str]) -> bool:
    """Whether a secret's steps lead into what stands at `path`."""
    return len(secret) > len(path) and all(
        s in (p, "*") for p, s in zip(path, secret, strict=False)
    )


def _owner(owner: Any, pointer: str, told: Description) -> dict[str, Any]:
    """What a gated method belongs to: two objects that differ must not look the same.

    A class by its name; an object by its fields, else by a ``repr`` of its own.

    Raises
    ------
    NotDescribable
        It has neither: two of its kind could not be told apart.
    """
    told.portable = False
    if isinstance(owner, type):
        return {KIND: "value", "type": "class", "value": f"{owner.__module__}.{owner.__qualname__}"}
    kind = _kind(owner)
    try:
        parts = dict(cast("dict[str, Any]", vars(owner)))
        inside = describe_arguments(parts, where=type(owner).__name__)
    except (TypeError, NotDescribable) as e:
        if type(owner).__repr__ is object.__repr__:
            raise NotDescribable(
                f"A method of {kind} is gated, and nothing tells one such object from another: "
                'give it a __repr__, or say @hitl.require_approval(describe={"self": function}).'
            ) from e
        return {KIND: "value", "type": kind, "value": repr(owner)}
    told.secrets += [f"{pointer}/value{secret}" for secret in inside.secrets]
    return {KIND: "value", "type": kind, "value": inside.args}


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _describe(  # noqa: PLR0911  # one return per kind of value
    value: Any, pointer: str, told: Description, where: str
) -> Any:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case SecretStr() | SecretBytes():
            told.secrets.append(pointer)
            secret = value.get_secret_value()
            return secret if isinstance(secret, str) else secret.hex()
        case BaseModel():
            shape = shape_of(type(value))
            plain = shape.dump(value)
            told.secrets += [pointer + p for p in shape.secrets_in(plain)]
            return plain
        case PurePath():
            return _file(Path(value), told)
        case dict():
            items = cast("dict[Any, Any]", value)
            return {
                _key(k, where): _describe(v, f"{pointer}/{_escape(str(k))}", told, where)
                for k, v in items.items()
            }
        case list() | tuple():
            items = cast("Sequence[Any]", value)
            return [_describe(v, f"{pointer}/{i}", told, where) for i, v in enumerate(items)]
        case _ if is_dataclass(value) and not isinstance(value, type):
            parts = {f.name: getattr(value, f.name) for f in fields(value)}
            inside = _describe(parts, f"{pointer}/value", told, where)
            return {KIND: "value", "type": _kind(value), "value": inside}
        case _:
            return _object(value, told, where)


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _key(key: Any, where: str) -> str:
    if not isinstance(key, str):
        raise NotDescribable(
            f"{where} holds a dict with the key {key!r}; JSON keys are text. Pass text keys, or "
            "describe={name: function}."
        )
    return key


def _object(value: Any, told: Description, where: str) -> Any:
    library = type(value).__module__.partition(".")[0]
    name = type(value).__name__
    if isinstance(value, Iterator | io.IOBase):
        raise NotDescribable(
            f"{where} is a {name}, which is used up by looking at it. Pass a list, a path, or the "
            "content itself."
        )
    if library in ("pandas", "polars") and name in ("DataFrame", "Series", "LazyFrame"):
        told.portable = False
        return describe_table(value)
    if library == "numpy" and name == "ndarray":
        told.portable = False
        return _array(value)
    if library == "numpy" and hasattr(value, "item"):
        value = value.item()
    try:
        plain: Any = to_jsonable_python(value)
        if issubclass(type(value), set | frozenset):
            plain = sorted(cast("list[Any]", plain), key=_as_text)
        # Named, so that a date and its text, or bytes and theirs, are two different calls.
        return {KIND: "value", "type": f"{type(value).__module__}.{name}", "value": plain}
    except (PydanticSerializationError, RecursionError) as e:
        raise NotDescribable(
            f"{where} is a {type(value).__module__}.{name}, which has no exact form that could "
            "be shown and compared. Pass plain values, or say how to describe it: "
            "@hitl.require_approval(describe={name: function})."
        ) from e


def _as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _file(path: Path, told: Description) -> Any:
    if not path.is_file():
        return str(path)
    told.portable = False
    with path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    return {KIND: "file", "path": str(path), "bytes": path.stat().st_size, "sha256": content}


def describe_table(value: Any) -> dict[str, Any]:
    """A pandas or polars table or series as arguments describe it."""
    return _pandas(value) if type(value).__module__.startswith("pandas") else _polars(value)


def _pandas(value: Any) -> dict[str, Any]:
    pd: Any = importlib.import_module("pandas")  # an extra; the value shows that it is there
    frame = value.to_frame() if type(value).__name__ == "Series" else value
    try:
        rows = pd.util.hash_pandas_object(frame, index=True).to_numpy().tobytes()
    except TypeError:  # unhashable cells, such as lists
        rows = _split_json(frame).encode()
    columns = _apart(zip(frame.columns, frame.dtypes, strict=True))
    head = json.loads(_split_json(frame.head(ROWS)))
    return _table(
        "pandas", value, shape=frame.shape, columns=columns, head=head["data"], content=rows
    )


def _apart(columns: Iterable[tuple[Any, Any]]) -> dict[str, str]:
    """Types by name; of columns of one name the later ones are numbered: all are shown."""
    named: dict[str, str] = {}
    for given, dtype in columns:
        name, number = str(given), 2
        while name in named:
            name, number = f"{given} ({number})", number + 1
        named[name] = str(dtype)
    return named


def _split_json(frame: Any) -> str:
    """Dates in words, and as many digits as pandas can write."""
    text: str = frame.to_json(
        orient="split", default_handler=repr, date_format="iso", double_precision=15
    )
    return text


def _polars(value: Any) -> dict[str, Any]:
    frame = value.collect() if type(value).__name__ == "LazyFrame" else value
    frame = frame.to_frame() if type(frame).__name__ == "Series" else frame
    columns = {c: str(t) for c, t in frame.schema.items()}
    head = [[to_jsonable_python(v, fallback=repr) for v in r] for r in frame.head(ROWS).rows()]
    content = repr(frame.rows()).encode()
    return _table("polars", value, shape=frame.shape, columns=columns, head=head, content=content)


def _table(
    library: str,
    value: Any,
    *,
    shape: Sequence[int],
    columns: Mapping[str, str],
    head: list[Any],
    content: bytes,
) -> dict[str, Any]:
    names = json.dumps([list(columns.items()), list(shape)]).encode()
    return {
        KIND: "table",
        "type": f"{library}.{type(value).__name__}",
        "shape": list(shape),
        "columns": dict(columns),
        "rows": head,
        "sha256": hashlib.sha256(names + content).hexdigest(),
    }


def _array(value: Any) -> dict[str, Any]:
    cells = repr(value.tolist()).encode() if value.dtype.hasobject else value.tobytes(order="C")
    head = value.reshape(-1)[:ROWS].tolist()
    return {
        KIND: "array",
        "type": "numpy.ndarray",
        "dtype": str(value.dtype),
        "shape": list(value.shape),
        "first": to_jsonable_python(head, fallback=repr, inf_nan_mode="strings"),
        "sha256": hashlib.sha256(f"{value.dtype}{value.shape}".encode() + cells).hexdigest(),
    }
