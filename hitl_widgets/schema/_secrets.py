"""Where the secrets are: JSON Pointers of ``SecretStr``, ``writeOnly`` and password fields.

A field that any branch of a union calls secret is secret. Pointers may hold ``*`` for every item
of a list or every value of a mapping.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from hitl_widgets.schema._document import Document, alternatives, matches, reference
from hitl_widgets.schema._json import is_list, is_object

HIDDEN: Final = "••••"
ANY: Final = "*"


def pointer(path: Iterable[str | int]) -> str:
    """Write a path as a JSON Pointer (RFC 6901)."""
    return "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in path)


def parse_pointer(text: str) -> list[str]:
    """Read a JSON Pointer."""
    if text and not text.startswith("/"):
        raise ValueError(f"{text!r} is no JSON Pointer: it starts with '/', as in '/password'.")
    return [p.replace("~1", "/").replace("~0", "~") for p in text.split("/")[1:]]


def is_secret(plain: dict[str, Any]) -> bool:
    """Tell whether a node asks for a secret."""
    return plain.get("writeOnly") is True or plain.get("format") == "password"


def patterns(doc: Document) -> tuple[str, ...]:
    """List the secrets that a schema names; recursion is followed once around."""
    found = dict.fromkeys(pointer(p) for p in _patterns(doc, doc.root, (), ()))
    return tuple(found)


def _patterns(
    doc: Document, node: Any, path: tuple[str, ...], seen: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    if not is_object(node):
        return
    ref = reference(node)
    if ref is not None:
        if seen.count(ref) > 1:
            return
        seen = (*seen, ref)
    plain = doc.plain(node)
    if is_secret(plain):
        yield path
        return
    for part in _same_value(plain):
        yield from _patterns(doc, part, path, seen)
    for key, sub in plain.get("properties", {}).items():
        yield from _patterns(doc, sub, (*path, key), seen)
    for sub in plain.get("patternProperties", {}).values():
        yield from _patterns(doc, sub, (*path, ANY), seen)
    yield from _patterns(doc, plain.get("additionalProperties"), (*path, ANY), seen)
    items = plain.get("items")
    fixed = plain.get("prefixItems") or (items if is_list(items) else [])
    for index, sub in enumerate(fixed):
        yield from _patterns(doc, sub, (*path, str(index)), seen)
    rest = plain.get("additionalItems") if is_list(items) else items
    yield from _patterns(doc, rest, (*path, ANY), seen)


def _same_value(plain: dict[str, Any]) -> list[Any]:
    """Return the schemas that speak about the same value as the node itself."""
    return [
        *(plain.get("allOf") or ()),
        *alternatives(plain),
        *(plain[k] for k in ("if", "then", "else") if k in plain),
        *plain.get("dependentSchemas", {}).values(),
    ]


def paths_in(doc: Document, data: Any, declared: Iterable[str] = ()) -> list[tuple[str | int, ...]]:
    """List the secrets that a value holds, through any depth of recursion.

    Parameters
    ----------
    doc
        The value's schema.
    data
        A JSON value.
    declared
        Further pointers or patterns, as in ``hitl.tool(secret=("/password",))``.
    """
    found = dict.fromkeys(_paths(doc, [doc.root], data, ()))
    for text in declared:
        found |= dict.fromkeys(_matching(parse_pointer(text), data, ()))
    return list(found)


def _paths(
    doc: Document, nodes: list[Any], data: Any, path: tuple[str | int, ...]
) -> Iterator[tuple[str | int, ...]]:
    plain = _expanded(doc, nodes)
    if any(map(is_secret, plain)):
        yield path
    elif is_object(data):
        for key, value in data.items():
            yield from _paths(doc, _children(plain, key), value, (*path, key))
    elif is_list(data):
        for index, value in enumerate(data):
            subs = [s for p in plain if (s := doc.child(p, index)) is not None]
            yield from _paths(doc, subs, value, (*path, index))


def _expanded(doc: Document, nodes: list[Any]) -> list[dict[str, Any]]:
    """Return all nodes that speak about one value, whichever branch it takes."""
    out: list[dict[str, Any]] = []
    seen: set[str] = set()
    todo = list(nodes)
    while todo:
        node = todo.pop()
        ref = reference(node)
        if not is_object(node) or (ref is not None and ref in seen):
            continue
        if ref is not None:
            seen.add(ref)
        plain = doc.plain(node)
        out.append(plain)
        todo += _same_value(plain)
    return out


def _children(plain: list[dict[str, Any]], key: str) -> list[Any]:
    subs: list[Any] = []
    for node in plain:
        named = [node["properties"][key]] if key in node.get("properties", {}) else []
        named += [s for p, s in node.get("patternProperties", {}).items() if matches(p, key)]
        extra = node.get("additionalProperties")
        subs += named or ([extra] if is_object(extra) else [])
    return subs


def _matching(
    steps: list[str], data: Any, path: tuple[str | int, ...]
) -> Iterator[tuple[str | int, ...]]:
    if not steps:
        yield path
        return
    step, rest = steps[0], steps[1:]
    if is_object(data):
        for key in data:
            if step in (ANY, key):
                yield from _matching(rest, data[key], (*path, key))
    elif is_list(data):
        for index, value in enumerate(data):
            if step in (ANY, str(index)):
                yield from _matching(rest, value, (*path, index))


def mark_secrets(doc: Document, pointers: Iterable[str]) -> dict[str, Any]:
    """Return a schema that says of further fields that they are secret."""
    root = doc.root
    for text in pointers:
        root = {**root, **_marked(doc, root, parse_pointer(text))}
    return root


def _marked(doc: Document, node: Any, steps: list[str]) -> dict[str, Any]:
    plain = dict(doc.plain(node))
    if not steps:
        return {**plain, "writeOnly": True}
    for word in ("anyOf", "oneOf"):
        if word in plain:
            plain[word] = [_marked(doc, b, steps) for b in plain[word]]
    step, rest = steps[0], steps[1:]
    props = plain.get("properties", {})
    names = list(props) if step == ANY else [step]
    if any(n in props for n in names):
        marked = {n: _marked(doc, props[n], rest) for n in names if n in props}
        plain["properties"] = {**props, **marked}
    for word in ("additionalProperties", "items"):
        if is_object(plain.get(word)) and (step == ANY or word == "additionalProperties"):
            plain[word] = _marked(doc, plain[word], rest)
    if is_list(plain.get("prefixItems")) and step.isdigit():
        plain["prefixItems"] = [
            _marked(doc, n, rest) if str(i) == step else n
            for i, n in enumerate(plain["prefixItems"])
        ]
    return plain


def hide(data: Any, paths: Iterable[tuple[str | int, ...]]) -> Any:
    """Return a copy of a JSON value with ``••••`` where the paths lead; null stays null."""
    todo = set(paths)
    return _hide(data, (), todo) if todo else data


def _hide(data: Any, path: tuple[str | int, ...], todo: set[tuple[str | int, ...]]) -> Any:
    if path in todo:
        return data if data is None else HIDDEN
    if is_object(data):
        return {k: _hide(v, (*path, k), todo) for k, v in data.items()}
    if is_list(data):
        return [_hide(v, (*path, i), todo) for i, v in enumerate(data)]
    return data


def leave_out(data: Any, paths: Iterable[tuple[str | int, ...]]) -> Any:
    """Return a copy of a JSON value without the members that hold a secret; a list goes whole."""
    return _without(data, (), {_member(path) for path in paths})


def _member(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The innermost member of an object on a path; the value itself where there is none."""
    names = [i for i, step in enumerate(path) if isinstance(step, str)]
    return path[: names[-1] + 1] if names else ()


def _without(data: Any, path: tuple[str | int, ...], cut: set[tuple[str | int, ...]]) -> Any:
    if path in cut:
        return None
    if is_object(data):
        return {k: _without(v, (*path, k), cut) for k, v in data.items() if (*path, k) not in cut}
    if is_list(data):
        return [_without(v, (*path, i), cut) for i, v in enumerate(data)]
    return data
