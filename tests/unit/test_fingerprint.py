"""Fingerprints: RFC 8785, tagged values, keyed secrets, comparing without values."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl_widgets.errors import NotDescribable
from hitl_widgets.fingerprint import diff, digest, fingerprint, lookup, mask, unmask

KEY = b"k" * 32
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def of(args: Any, **more: Any) -> str:
    return fingerprint("tool", args, **more).text


def test_the_canonical_form_is_the_documented_one() -> None:
    """`hf1:` and lower-case base32 of the SHA-256 of RFC 8785 JSON."""
    form = json.dumps({"args": {"a": 1, "b": "é"}, "tool": "tool"}, ensure_ascii=False)
    plain = hashlib.sha256(form.replace(" ", "").encode()).digest()
    expected = "hf1:" + base64.b32encode(plain).decode().rstrip("=").lower()
    assert of({"b": "é", "a": 1}) == expected
    assert len(expected) == 4 + 52


def test_the_order_of_keys_is_no_difference_and_the_tool_is() -> None:
    assert of({"a": 1, "b": 2}) == of({"b": 2, "a": 1})
    assert fingerprint("one", {}).text != fingerprint("two", {}).text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"),
        (True, 1),
        (None, "null"),
        (2**53, 2**53 + 1),
        (2**60, str(2**60)),
        (float("nan"), "nan"),
        (math.inf, -math.inf),
        ([], {}),
        ([1, [2]], [[1], 2]),
        ("e\u0301", "\u00e9"),
        ("a\ud800", "a\ufffd"),
        ({"$int": "9007199254740993"}, 2**53 + 1),
        ({"$float": "nan"}, math.nan),
        ({"$literal": {"$int": "1"}}, {"$int": "1"}),
        ({"$secret": "x"}, {"$secret": "y"}),
        ({"a": None}, {}),
    ],
    ids=lambda v: repr(v)[:30].encode("ascii", "backslashreplace").decode(),
)
def test_different_values_have_different_fingerprints(one: Any, other: Any) -> None:
    """F19: nothing is flattened, and no argument can pose as a tag."""
    assert of({"x": one}) != of({"x": other})


@given(json_values, json_values)
def test_equal_forms_only_for_equal_json(one: Any, other: Any) -> None:
    def text(value: Any) -> str:
        return json.dumps(value, sort_keys=True)

    if digest(one) == digest(other):
        assert text(one) == text(other) or _numerically(one) == _numerically(other)


def _numerically(value: Any) -> Any:
    """RFC 8785 writes 1.0 and 1 alike, -0.0 and 0 too."""
    if isinstance(value, bool) or not isinstance(value, int | float | list | dict):
        return repr(value)
    if isinstance(value, list):
        return [_numerically(v) for v in value]
    if isinstance(value, dict):
        return sorted((k, repr(_numerically(v))) for k, v in value.items())
    return (
        repr(float(value)) if abs(value) < 2**53 and value != 0 else repr(value) if value else "0"
    )


def test_a_secret_takes_part_unseen_and_bound_to_its_store_and_place() -> None:
    """R17: keyed, so a saved fingerprint can not be searched for a short secret."""
    args = {"user": "ada", "pin": "1234", "old": "1234"}
    secret = {"secrets": ("/pin", "/old"), "key": KEY}
    one = fingerprint("tool", args, **secret)
    assert one.text != of({**args, "pin": "1235"}, **secret)
    assert one.text != of(args, secrets=("/pin", "/old"), key=b"x" * 32)
    assert one.text != of(args)
    assert one.digests["/pin"] != one.digests["/old"], "the same secret elsewhere looks different"
    plain = fingerprint("tool", args)
    assert one.digests["/user"] == plain.digests["/user"]
    with pytest.raises(NotDescribable, match="/pin"):
        of(args, secrets=("/pin",))


def test_two_calls_are_compared_by_their_digests_alone() -> None:
    old = fingerprint(
        "t", {"a": 1, "b": [1, 2], "c/d": {"~": 0}, "s": "x"}, secrets=("/s",), key=KEY
    )
    new = fingerprint(
        "t", {"a": 1, "b": [1, 3, 4], "c/d": {"~": 1}, "s": "y"}, secrets=("/s",), key=KEY
    )
    assert diff(old.digests, new.digests) == {
        "added": ["/b/2"],
        "removed": [],
        "changed": ["/b/1", "/c~1d/~0", "/s"],
    }


def test_masking_and_back() -> None:
    args = {"user": "ada", "keys": [{"k": "one"}, {"k": "two"}], "n": 1}
    hidden = mask(args, ("/keys/*/k",))
    assert hidden == {"user": "ada", "keys": [{"k": "••••"}, {"k": "••••"}], "n": 1}
    edited = {**hidden, "user": "bob", "keys": [{"k": "••••"}, {"k": "new"}]}
    back = unmask(edited, args, ("/keys/*/k",))
    assert back == {"user": "bob", "keys": [{"k": "one"}, {"k": "new"}], "n": 1}
    assert args["keys"] == [{"k": "one"}, {"k": "two"}]
    assert lookup(args, "/keys/1/k") == "two"
    assert lookup(args, "/keys/9/k") is None


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, b"x", {1, 2}], ids=["object", "key", "bytes", "set"]
)
def test_what_has_no_exact_form_is_refused(value: Any) -> None:
    with pytest.raises(NotDescribable):
        of({"x": value})


def test_nesting_without_end_is_refused() -> None:
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotDescribable):
        of({"x": deep})
