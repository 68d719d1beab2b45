"""Choices that are known only when a form is drawn: columns of a live table, a function's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pandas as pd
import polars as pl
import pytest

import hitl_widgets as hitl
from hitl_widgets.live import MARK, MOST, filled
from hitl_widgets.schema import Form, shape_of
from tests.rules.making import agent_on, store_at, tell_back

df: Any = None


@pytest.fixture(autouse=True)
def _table() -> Iterator[None]:
    global df  # noqa: PLW0603  # a notebook's variable
    df = pd.DataFrame({"age": [1], "name": ["x"], 3: [0]})
    yield
    df = None


def options(kind: Any, initial: Any = None) -> Any:
    """The choices that a form of `kind` lists."""
    schema = Form(shape_of(kind), initial).schema["properties"]["value"]
    return schema.get("items", schema).get("enum")


class TestColumns:
    def test_are_those_of_the_table_when_the_form_is_drawn(self) -> None:
        global df  # noqa: PLW0603  # a notebook's variable
        column = shape_of(hitl.columns("df"))
        assert options(column) == ["age", "name"]
        df = pl.DataFrame({"x": [1], "y": [2]})
        assert options(column) == ["x", "y"]

    def test_are_checked_when_a_value_is(self) -> None:
        global df  # noqa: PLW0603  # a notebook's variable
        column = shape_of(hitl.columns("df"))
        assert column.validate("age") == "age"
        with pytest.raises(hitl.InvalidAnswer, match="Should be one of age, name"):
            column.validate("salary")
        df = None
        with pytest.raises(hitl.InvalidAnswer, match=r"columns of df in .* not known"):
            column.validate("age")

    def test_several_are_boxes_and_optional_ones_may_be_left(self) -> None:
        many = shape_of(list[hitl.columns("df")])  # type: ignore[misc]
        assert options(many) == ["age", "name"]
        assert many.validate(["age"]) == ["age"]
        maybe = shape_of(Annotated[str | None, hitl.columns("df")])
        assert maybe.validate(None) is None
        assert maybe.validate("name") == "name"

    def test_stand_in_no_stored_schema_so_that_a_new_column_changes_no_approval(self) -> None:
        """R3: the tool's schema digest is not the table's."""
        global df  # noqa: PLW0603  # a notebook's variable
        before = shape_of(hitl.columns("df"))
        df = df.assign(more=1)
        assert shape_of(hitl.columns("df")).digest == before.digest
        assert "age" not in str(before.json_schema)

    def test_are_looked_up_in_the_notebook_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        main = ModuleType("__main__")
        main.frame = pd.DataFrame({"of_the_notebook": [1]})  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "__main__", main)
        assert options(hitl.columns("frame")) == ["of_the_notebook"]

    def test_too_many_are_typed_and_checked(self) -> None:
        global df  # noqa: PLW0603  # a notebook's variable
        df = pd.DataFrame({f"c{i}": [0] for i in range(MOST + 1)})
        column = shape_of(hitl.columns("df"))
        assert options(column) is None
        assert column.validate("c500") == "c500"
        with pytest.raises(hitl.InvalidAnswer, match="and 481 more"):
            column.validate("d")

    def test_a_table_in_place_of_its_name_is_an_error(self) -> None:
        with pytest.raises(hitl.ToolDefinitionError, match="name of the variable"):
            hitl.columns(df)


class TestChoices:
    def test_are_what_the_function_says_now(self) -> None:
        now = ["draft"]

        def states() -> list[str]:
            return now

        kind = shape_of(hitl.choices(states))
        assert options(kind) == ["draft"]
        now.append("done")
        assert options(kind) == ["draft", "done"]
        assert kind.validate("done") == "done"

    def test_have_the_annotated_type(self) -> None:
        def sizes() -> range:
            return range(1, 4)

        kind = shape_of(Annotated[int, hitl.choices(sizes)])
        assert options(kind) == [1, 2, 3]
        with pytest.raises(hitl.InvalidAnswer, match="one of 1, 2, 3"):
            kind.validate(4)

    def test_of_a_function_that_fails_are_refused_and_the_form_still_stands(self) -> None:
        def broken() -> list[str]:
            raise OSError("no network")

        kind = shape_of(hitl.choices(broken))
        assert options(kind) is None
        with pytest.raises(hitl.InvalidAnswer, match="not known here now"):
            kind.validate("x")

    def test_a_lambda_needs_a_name(self) -> None:
        with pytest.raises(hitl.ToolDefinitionError, match="give name="):
            hitl.choices(lambda: ["a"])
        assert options(hitl.choices(lambda: ["a"], name="letters")) == ["a"]


class TestASchemaFromElsewhere:
    def test_lists_nothing_that_this_code_has_not_named(self) -> None:
        """Another program's schema must not have a variable's columns told."""
        stranger = {"type": "string", MARK: "the columns of other in tests.unit.test_live"}
        assert filled(stranger) == {"type": "string"}

    def test_keeps_its_values(self) -> None:
        odd = {"const": {MARK: "x"}, "properties": {MARK: {"type": "string"}}}
        assert filled(odd) == odd


class TestATool:
    async def test_gives_the_model_the_columns_and_refuses_others(self, tmp_path: Path) -> None:
        ran: list[str] = []

        @hitl.tool(require_approval=True)
        async def plot(column: Annotated[str, hitl.columns("df")]) -> str:
            "Plot a column."
            ran.append(column)
            return "plotted"

        turns = [[hitl.call("plot", column="salary")], [hitl.call("plot", column="age")], tell_back]
        agent = agent_on(store_at(tmp_path), turns, [plot])
        run = await agent.generate("go")
        (request,) = run.requests
        assert request.args == {"column": "age"}
        with pytest.raises(hitl.InvalidAnswer, match="Should be one of age, name"):
            await agent.approve_tool_call(run_id=run.run_id, args={"column": "salary"})
        await agent.approve_tool_call_generate(run_id=run.run_id, args={"column": "name"})
        assert ran == ["name"]
        assert filled(plot.shape.json_schema)["properties"]["column"]["enum"] == ["age", "name"]
