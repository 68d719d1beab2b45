"""Identity of exactly what the human saw.

Canonical form: RFC 8785 (JSON Canonicalization Scheme) of ``{"tool": name, "args": arguments}``,
SHA-256, written ``hf1:`` + lower-case base32. What JCS cannot take is tagged first: integers
beyond 2**53-1 in size as ``{"$int": "…"}``, non-finite numbers as ``{"$float": "nan"}``, text with
lone surrogates as ``{"$utf16": "<hex>"}``; an argument that looks like a tag is wrapped in
``{"$literal": …}``, so that no two different calls share a form. A secret becomes
``{"$secret": HMAC-SHA-256(store key, pointer + value)}``: it takes part unseen.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import rfc8785

from .errors import NotDescribable
from .request import MASK

PREFIX = "hf1:"
_TAGS = frozenset({"$int", "$float", "$utf16", "$secret", "$literal", "$pairs"})
_EXACT = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A call's identity.

    Attributes
    ----------
    text
        ``hf1:`` and 52 characters.
    digests
        JSON Pointer of every leaf of the arguments → 16 hex digits; secrets keyed.
    """

    text: str
    digests: dict[str, str]


def fingerprint(
    tool: str,
    args: Mapping[str, Any],
    *,
    secrets: Sequence[str] = (),
    key: bytes | None = None,
    bound: Mapping[str, Any] | None = None,
) -> Fingerprint:
    """Fingerprint a call.

    Parameters
    ----------
    tool, args
        The tool's name and its validated arguments in JSON mode.
    secrets
        JSON Pointers into `args` whose values are secret; ``*`` matches any one step.
    key
        The store's key for secrets; needed where `secrets` match something.
    bound
        More that takes part: ordinal, payload and schema digests of an ``input``, a preview's
        digest, digests of named variables.

    Raises
    ------
    NotDescribable
        Something in `args` has no exact JSON form.
    """
    digests: dict[str, str] = {}
    try:
        hidden = _replace(dict(args), secrets, lambda p, v: _keyed(p, v, key))
        form: dict[str, Any] = {"tool": tool, "args": _tag(hidden, "", digests)}
        if bound:
            form["bound"] = _tag(dict(bound), "", None)
    except RecursionError as e:
        raise _undescribable(e) from e
    return Fingerprint(PREFIX + _b32(hashlib.sha256(_jcs(form)).digest()), digests)


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical form of any JSON value: schemas, policies, payloads."""
    try:
        form = _tag(value, "", None)
    except RecursionError as e:
        raise _undescribable(e) from e
    return hashlib.sha256(_jcs(form)).hexdigest()


def diff(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, list[str]]:
    """Compare two calls by their digests alone.

    Returns
    -------
    dict
        ``{"added": [...], "removed": [...], "changed": [...]}``: JSON Pointers, in order.
    """
    return {
        "added": [p for p in new if p not in old],
        "removed": [p for p in old if p not in new],
        "changed": [p for p in new if p in old and new[p] != old[p]],
    }


def mask(args: Any, secrets: Sequence[str]) -> Any:
    """A copy of `args` with ``••••`` in place of every secret."""
    return _replace(args, secrets, lambda _pointer, _value: MASK)


def unmask(edited: Any, original: Any, secrets: Sequence[str]) -> Any:
    """A copy of `edited` where a secret left as ``••••`` has the value it had in `original`."""

    def old(pointer: str, value: Any) -> Any:
        return lookup(original, pointer) if value == MASK else value

    return _replace(edited, secrets, old)


def values_at(args: Any, secrets: Sequence[str]) -> list[Any]:
    """The values that `mask` would hide."""
    found: list[Any] = []
    _replace(args, secrets, lambda _pointer, value: found.append(value))
    return found


def lookup(value: Any, pointer: str) -> Any:
    """The part of a JSON value at a JSON Pointer; None where there is none."""
    for step in steps(pointer):
        if isinstance(value, Mapping):
            value = cast("Mapping[str, Any]", value).get(step)
        elif isinstance(value, list) and step.isdigit() and int(step) < len(cast("Any", value)):
            value = cast("list[Any]", value)[int(step)]
        else:
            return None
    return value


def steps(pointer: str) -> list[str]:
    """The unescaped steps of a JSON Pointer (RFC 6901)."""
    return [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")[1:]]


def _escape(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


def _b32(raw: bytes) -> str:
    return base64.b32encode(raw).decode().rstrip("=").lower()


def _jcs(form: Any) -> bytes:
    try:
        return rfc8785.dumps(form)
    except (rfc8785.CanonicalizationError, RecursionError) as e:
        raise _undescribable(e) from e


def _undescribable(error: Exception) -> NotDescribable:
    return NotDescribable(
        f"These arguments have no canonical JSON form ({error or type(error).__name__}): pass "
        "plain JSON values, nested less than a few hundred levels."
    )


def _keyed(pointer: str, value: Any, key: bytes | None) -> Any:
    if key is None:
        raise NotDescribable(
            f"The argument at {pointer} is secret, and a secret can only be fingerprinted with a "
            "store's key: open the call through a store."
        )
    text = pointer.encode("utf-8", "surrogatepass") + b"\0" + _jcs(_tag(value, "", None))
    return _Secret(hmac.new(key, text, hashlib.sha256).hexdigest())


class _Secret:
    """A secret on its way through `_tag`."""

    def __init__(self, mac: str) -> None:
        self.mac = mac


def _replace(value: Any, patterns: Sequence[str], make: Callable[[str, Any], Any]) -> Any:
    """Copy `value`, replacing what `patterns` match by ``make(pointer, old)``."""
    if not patterns:
        return value
    return _walk(value, "", [steps(p) for p in patterns], make)


def _walk(
    value: Any, pointer: str, patterns: list[list[str]], make: Callable[[str, Any], Any]
) -> Any:
    if any(not p for p in patterns):
        return make(pointer, value)
    if not patterns:
        return value
    if isinstance(value, Mapping):
        return {
            k: _walk(v, f"{pointer}/{_escape(k)}", _under(patterns, k), make)
            for k, v in cast("Mapping[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [
            _walk(v, f"{pointer}/{i}", _under(patterns, str(i)), make)
            for i, v in enumerate(cast("list[Any]", value))
        ]
    return value


def _under(patterns: list[list[str]], step: str) -> list[list[str]]:
    return [p[1:] for p in patterns if p[0] in (step, "*")]


def _tag(value: Any, pointer: str, digests: dict[str, str] | None) -> Any:
    """The tagged form of a JSON value; leaf digests are collected on the way."""
    if isinstance(value, Mapping) and value:
        return _tag_object(cast("Mapping[str, Any]", value), pointer, digests)
    if isinstance(value, list | tuple) and value:
        items = cast("Sequence[Any]", value)
        return [_tag(v, f"{pointer}/{i}", digests) for i, v in enumerate(items)]
    form = _leaf(value, pointer)
    if digests is not None:
        digests[pointer] = hashlib.sha256(_jcs(form)).hexdigest()[:16]
    return form


def _tag_object(value: Mapping[str, Any], pointer: str, digests: dict[str, str] | None) -> Any:
    for k in value:
        if not isinstance(k, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NotDescribable(
                f"The object at {pointer or '(root)'} has the key {k!r}, and JSON keys are text: "
                "turn it into a string."
            )
    out = {k: _tag(v, f"{pointer}/{_escape(k)}", digests) for k, v in value.items()}
    if any(_lone(k) for k in out):
        return {"$pairs": sorted([_utf16(k), v] for k, v in out.items())}
    return {"$literal": out} if len(out) == 1 and next(iter(out)) in _TAGS else out


def _leaf(value: Any, pointer: str) -> Any:  # noqa: PLR0911  # one return per kind
    match value:
        case _Secret():
            return {"$secret": value.mac}
        case bool() | None:
            return value
        case int():
            return value if -_EXACT <= value <= _EXACT else {"$int": str(value)}
        case float():
            return value if math.isfinite(value) else {"$float": str(value)}
        case str():
            return {"$utf16": _utf16(value)} if _lone(value) else value
        case list() | tuple():
            return []
        case dict():
            return {}
        case _:
            raise NotDescribable(
                f"The value at {pointer or '(root)'} is a {type(value).__name__}, which has no "
                "exact JSON form: pass plain JSON values, or give the parameter a type that "
                "pydantic can dump as JSON."
            )


def _lone(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _utf16(text: str) -> str:
    return text.encode("utf-16-be", "surrogatepass").hex()
