"""Values of plain functions as JSON: equal ones look equal, and nothing that differs does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pydantic import BaseModel, SecretBytes, SecretStr

from hitl_widgets.describe import ROWS, describe_arguments
from hitl_widgets.errors import NotDescribable
from hitl_widgets.fingerprint import fingerprint, mask


class Login(BaseModel):
    user: str
    password: SecretStr


LAST = 2 * ROWS  # not among the rows that are kept to be looked at


def told(value: Any) -> Any:
    return describe_arguments({"x": value}, where="f").args["x"]


def identity(value: Any) -> str:
    return fingerprint("f", {"x": told(value)}, key=b"key").text


def numbers(last: float = LAST) -> list[float]:
    return [*map(float, range(LAST)), float(last)]


@pytest.mark.parametrize(
    ("make", "one", "other"),
    [
        (lambda n: pd.DataFrame({"a": numbers(n)}), 1, 2),
        (lambda n: pd.Series(numbers(n)), 1, 2),
        (lambda n: pd.DataFrame({"a": [1.0, 2.0]}, index=[0, n]), 1, 2),
        (lambda n: pd.DataFrame({"a": [[1], [2]] * LAST + [[n]]}), 1, 2),
        (lambda n: pd.DataFrame({n: [1]}), "a", "b"),
        (lambda n: pd.DataFrame({"a": [1]}).astype(n), "int64", "int32"),
        (lambda n: pl.DataFrame({"a": numbers(n)}), 1, 2),
        (lambda n: pl.LazyFrame({"a": numbers(n)}), 1, 2),
        (lambda n: pl.Series("a", numbers(n)), 1, 2),
        (lambda n: np.array(numbers(n)), 1, 2),
        (lambda n: np.array([*numbers(), n], dtype=object), "1", "2"),
        (lambda n: np.zeros(4, dtype=n), "int64", "uint64"),
        (np.zeros, (2, 3), (3, 2)),
        (lambda n: {"b", "a", n}, "c", "d"),
    ],
    ids=[
        "rows",
        "series",
        "index",
        "lists in cells",
        "columns",
        "types",
        "polars",
        "lazy",
        "polars series",
        "array",
        "objects",
        "dtype",
        "shape",
        "set",
    ],
)
def test_what_differs_anywhere_is_another_call(
    make: Callable[[Any], Any], one: Any, other: Any
) -> None:
    """R3, F19: also where nobody is shown all of it."""
    assert identity(make(one)) == identity(make(one))
    assert identity(make(one)) != identity(make(other))


def test_of_a_long_table_only_the_first_rows_are_kept() -> None:
    for frame in (pd.DataFrame({"a": numbers()}), pl.DataFrame({"a": numbers()})):
        described = told(frame)
        assert described["shape"] == [LAST + 1, 1]
        assert described["rows"] == [[float(n)] for n in range(ROWS)]


def test_the_order_of_a_set_is_no_difference() -> None:
    names = [f"n{i:02}" for i in range(30)]
    assert told(set(names))["value"] == names


def test_secrets_are_found_wherever_they_stand() -> None:
    """R17."""
    login = Login(user="ada", password=SecretStr("hunter2"))
    values = {"a": SecretBytes(b"\xff"), "b": [login], "c": {"d/e": SecretStr("x")}}
    found = describe_arguments(values, where="f")
    assert found.secrets == ["/a", "/b/0/password", "/c/d~1e"]
    assert found.args["a"] == "ff"


def test_a_secret_of_a_dataclass_is_unseen_and_tells_it_from_others() -> None:
    """R17."""

    @dataclass
    class Account:
        owner: str
        token: SecretStr

    one, same, other = (
        describe_arguments({"x": Account("ada", SecretStr(token))}, where="f")
        for token in ("hunter2", "hunter2", "hunter3")
    )
    assert one.secrets == ["/x/value/token"]
    assert mask(one.args, one.secrets)["x"]["value"] == {"owner": "ada", "token": "••••"}
    assert one.args == same.args != other.args


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(NotDescribable, match="key 1"):
        told({1: "a"})
