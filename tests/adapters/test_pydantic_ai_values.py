"""pydantic-ai: hostile arguments, results and prompts; nested edits."""

from __future__ import annotations

import asyncio
import contextlib
import math
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    BinaryContent,
)

import hitl_widgets as hitl

from .desk import calls, nested, nobody_decides
from .pyd import BOTH, delete_agent, one_tool, returned

HOSTILE = {
    "not a number": math.nan,
    "infinity": math.inf,
    "huge": 10**400,
    "deep": nested(100),
    "no text": "",
    "direction marks": "\u202egnp.exe",
    "null byte": "a\x00b",
}


class TestHostileArguments:
    @BOTH
    @pytest.mark.parametrize("value", HOSTILE.values(), ids=HOSTILE)
    async def test_they_are_asked_about_and_run_as_they_are(
        self, key: str | None, value: Any
    ) -> None:
        got: list[Any] = []

        def take(value: Any) -> str:
            got.append(value)
            return "taken"

        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(one_tool(take, {"value": value}), "go", key=key)
        assert repr(got) == repr([value])
        assert returned(result) == ["taken"]
        assert calls() == [("take", "done", "taken")]


class Row(BaseModel):
    name: str
    ids: list[int]


class Silent:
    def __repr__(self) -> str:
        raise ValueError("no words")


def ring() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


RESULTS = {
    "bytes": b"\xff\xfe",
    "an image": BinaryContent(data=b"\x89PNG\xff", media_type="image/png"),
    "lone surrogate": "\ud800",
    "not a number": math.nan,
    "deep": nested(300),
    "odd keys": {(1, 2): 3},
}


class TestHostileResults:
    @BOTH
    @pytest.mark.parametrize("value", RESULTS.values(), ids=RESULTS)
    async def test_what_a_tool_did_is_kept_whatever_it_returns(
        self, key: str | None, value: Any
    ) -> None:
        """R13: its effect has happened."""
        ran: list[str] = []

        def act() -> Any:
            ran.append("act")
            return value

        may = contextlib.suppress(ValueError, TypeError)  # the framework may not take it
        with hitl.reviewer(lambda _: hitl.Approve()), may:
            await hitl.run(one_tool(act, {}), "go", key=key)
        assert ran == ["act"]
        ((_, state, _),) = calls()
        assert state == "done"

    @pytest.mark.parametrize("value", [ring(), Silent()], ids=["a ring", "no repr"])
    async def test_even_what_has_no_form(self, value: Any) -> None:
        ran: list[str] = []

        def act() -> Any:
            ran.append("act")
            return value

        may = contextlib.suppress(ValueError)  # the framework cannot take it
        with hitl.reviewer(lambda _: hitl.Approve()), may:
            await hitl.run(one_tool(act, {}), "go")
        assert ran == ["act"]
        ((_, state, _),) = calls()
        assert state == "done"


class TestPrompts:
    @BOTH
    async def test_a_prompt_with_an_image(self, key: str | None) -> None:
        ran: list[str] = []
        image = BinaryContent(data=b"\x89PNG\xff\x00", media_type="image/png")
        with hitl.reviewer(lambda _: hitl.Approve()):
            result = await hitl.run(delete_agent(ran, "a.csv"), ["What is it?", image], key=key)
        assert result.output == "finished"
        assert "a.csv" in ran

    @BOTH
    async def test_a_prompt_with_a_lone_surrogate(self, key: str | None) -> None:
        ran: list[str] = []
        with hitl.reviewer(lambda _: hitl.Approve()):
            await hitl.run(delete_agent(ran, "a.csv"), "a \ud800", key=key)
        assert "a.csv" in ran


class TestEdits:
    @BOTH
    async def test_nested_arguments_are_judged_by_the_tools_own_model(
        self, key: str | None
    ) -> None:
        """R4: each fault by its path; what passes runs as edited."""
        got: list[Any] = []

        def take(rows: list[Row]) -> str:
            got.append(rows)
            return "taken"

        agent = one_tool(take, {"rows": [{"name": "a", "ids": [1]}]})
        seen: asyncio.Queue[hitl.Request] = asyncio.Queue()
        with nobody_decides(seen):
            running = asyncio.ensure_future(hitl.run(agent, "go", key=key))
            request = await seen.get()
            with pytest.raises(hitl.InvalidAnswer) as refused:
                await hitl.decide(
                    request, hitl.Approve(args={"rows": [{"name": "b", "ids": [2, "x"]}]})
                )
            assert refused.value.errors[0]["path"] == ["rows", 0, "ids", 1]
            await hitl.decide(request, hitl.Approve(args={"rows": [{"name": "b", "ids": [2, 3]}]}))
            await running
        assert got == [[Row(name="b", ids=[2, 3])]]
