"""The table of permission by itself, and the administrator's file, which only tightens (R5, R6)."""

from __future__ import annotations

import contextvars
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.policy import (
    ROWS,
    Administrator,
    ApprovalContext,
    Functions,
    Grant,
    Judgement,
    Policy,
    ToolRule,
    admin,
    administrator,
    evaluate,
)
from hitl_widgets.request import Evaluation

CALL = ApprovalContext("send", {"to": "ada"})
GRANT = Grant("g_1", "always send to ada")
STRICTNESS = ("allow", "ask", "deny")


async def judged(
    rule: ToolRule | None, level: Any = False, *grants: Grant, **given: Any
) -> Judgement:
    tools = {} if rule is None else {"send": rule}
    return await evaluate(CALL, Policy(level, tools), Functions(**given), grants)


def verdict(permission: Any) -> Any:
    return lambda _: hitl.Verdict(permission, "why")


class TestTable:
    async def test_the_rows_stand_in_their_order_of_strictness(self) -> None:
        """Deny over ask over allow, by number."""
        assert [row[0] for row in ROWS] == sorted(row[0] for row in ROWS)
        order = [STRICTNESS.index(row[1]) for row in ROWS]
        assert order == sorted(order, reverse=True)

    async def test_a_tool_that_is_not_known_or_disabled_is_denied(self) -> None:
        """Row 1: nothing lifts it, nobody is named."""
        for rule in (None, ToolRule(enabled=False, require_approval=False)):
            assert await judged(rule, False, GRANT) == Judgement("deny", None)

    async def test_strictness_wins_whatever_is_combined(self) -> None:
        """Each setting alone and all together: the strictest of them answers."""
        alone: dict[tuple[str, Any], str] = {}
        settings: dict[str, list[Any]] = {
            "run": [False, True],
            "require_approval": [None, True],
            "effect": ["write", "destructive"],
            "toolset": ["always_allow", "always_ask", "auto"],
            "says": ["allow", "ask", "deny"],
        }

        async def answer(**chosen: Any) -> str:
            chosen = {name: values[0] for name, values in settings.items()} | chosen
            said = verdict(chosen.pop("says"))
            run = chosen.pop("run")
            return (await judged(ToolRule(**chosen), run, evaluator=said)).permission

        for values in itertools.product(*settings.values()):
            chosen = dict(zip(settings, values, strict=True))
            parts = [{n: v} for n, v in chosen.items() if n not in ("toolset", "says")]
            parts.append({"toolset": chosen["toolset"], "says": chosen["says"]})
            for part in parts:
                key = json.dumps(part)
                if key not in alone:
                    alone[key] = await answer(**part)  # type: ignore[index]
            strictest = max((alone[json.dumps(p)] for p in parts), key=STRICTNESS.index)  # type: ignore[index]
            assert await answer(**chosen) == strictest, chosen

    async def test_a_false_tool_keeps_its_own_effect_and_the_runs_function_out(self) -> None:
        asked: list[Any] = []
        rule = ToolRule(require_approval=False, effect="destructive")
        found = await judged(rule, "function", run=lambda c: asked.append(c) or True)
        assert found.permission == "allow"
        assert asked == []

    async def test_the_evaluator_is_asked_once(self) -> None:
        asked: list[Any] = []

        def evaluator(context: ApprovalContext) -> hitl.Verdict:
            asked.append(context)
            return hitl.Verdict("ask", "why")

        found = await judged(ToolRule(toolset="auto"), evaluator=evaluator)
        assert found.evaluation == {
            "type": "auto",
            "evaluated_permission": {"type": "ask", "reason_code": "why"},
        }
        assert asked == [CALL]

    @pytest.mark.parametrize(
        ("rule", "run"),
        [
            (ToolRule(require_approval="function"), False),
            (ToolRule(), "function"),
            (ToolRule(toolset="auto"), False),
        ],
    )
    async def test_a_function_that_is_gone_asks(self, rule: ToolRule, run: Any) -> None:
        """R5: after a restart without it."""
        assert (await judged(rule, run)).permission == "ask"

    async def test_a_plain_function_sees_the_callers_context(self) -> None:
        """It runs on another thread."""
        who: contextvars.ContextVar[str] = contextvars.ContextVar("who", default="nobody")
        who.set("ada")
        rule = ToolRule(require_approval="function")
        found = await judged(rule, tool=lambda _: who.get() != "ada")
        assert found.permission == "allow"


class TestGrants:
    @pytest.mark.parametrize(
        "rule",
        [
            ToolRule(require_approval=True),
            ToolRule(effect="destructive"),
            ToolRule(toolset="always_ask"),
        ],
    )
    async def test_a_grant_lifts_an_ask_of_the_tool(self, rule: ToolRule) -> None:
        """R20, row 9: and says so."""
        found = await judged(rule, False, GRANT)
        said = {"type": "grant", "grant": "g_1", "words": "always send to ada"}
        assert (found.permission, found.evaluation, found.grant) == ("allow", said, GRANT)

    async def test_it_lifts_no_ask_of_the_whole_run_and_no_denial(self) -> None:
        assert (await judged(ToolRule(), True, GRANT)).permission == "ask"
        denied = await judged(ToolRule(toolset="auto"), False, GRANT, evaluator=verdict("deny"))
        assert (denied.permission, denied.grant) == ("deny", None)


class TestFrozen:
    def test_it_comes_back_from_its_json_with_its_version(self) -> None:
        """R6: what resumes is judged under the policy that was frozen into the run."""
        made = Policy(
            "function", {"send": ToolRule(True, "costly", "auto", enabled=False, schema_digest="d")}
        )
        again = Policy.from_json(json.loads(json.dumps(made.to_json())))
        assert again == made
        assert again.version == made.version

    @pytest.mark.parametrize(
        "change",
        [
            {"require_approval": False},
            {"effect": "read"},
            {"toolset": "always_allow"},
            {"enabled": False},
            {"schema_digest": "other"},
        ],
    )
    def test_any_change_is_another_version(self, change: dict[str, Any]) -> None:
        """R3: tampering shows."""
        kept = {"require_approval": True, "effect": "write", "toolset": "auto", "enabled": True}
        before = Policy(False, {"send": ToolRule(**kept)})  # type: ignore[arg-type]
        after = Policy(False, {"send": ToolRule(**{**kept, **change})})
        assert after.version != before.version
        assert Policy(True, before.tools).version != before.version


class TestAdministrator:
    @pytest.fixture
    def write(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        def write(text: str) -> None:
            (tmp_path / "policy.json").write_text(text)
            monkeypatch.setenv("HITL_POLICY", str(tmp_path / "policy.json"))

        return write

    def test_it_never_loosens(self) -> None:
        """Whatever it says, no answer becomes less strict."""
        for permission in STRICTNESS:
            for least in (
                Administrator(),
                Administrator(always_ask=("send",)),
                Administrator(forbid=("send",)),
                Administrator(grants=False),
            ):
                given = Judgement(permission, Evaluation(type="tool"))  # type: ignore[arg-type]
                found = least.judge("send", given).permission
                assert STRICTNESS.index(found) >= STRICTNESS.index(permission)

    def test_without_grants_one_that_exists_lets_nothing_through(self) -> None:
        given = Judgement("allow", Evaluation(type="grant"), GRANT)
        found = Administrator(grants=False).judge("send", given)
        assert (found.permission, found.grant) == ("ask", None)
        assert found.evaluation == {"type": "always_ask", "by": "administrator"}

    def test_the_file_is_read_again_when_it_changes(self, write: Any) -> None:
        write('{"forbid": ["a"], "retention_days": 30}')
        assert (administrator().forbid, administrator().retention_days) == (("a",), 30)
        write('{"forbid": ["a", "b"]}')
        assert (administrator().forbid, administrator().retention_days) == (("a", "b"), None)

    @pytest.mark.parametrize("days", ["-1", "true", '"30"', "NaN", "null", "[]"])
    def test_a_time_to_keep_that_is_none_stops_everything(self, write: Any, days: str) -> None:
        write(f'{{"retention_days": {days}}}')
        with pytest.raises(hitl.AgentDefinitionError, match="retention_days"):
            administrator()

    def test_a_folder_in_its_place_stops_everything(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HITL_POLICY", str(tmp_path))
        with pytest.raises(hitl.AgentDefinitionError, match="cannot be read"):
            administrator()

    def test_bytes_that_are_no_text_stop_everything(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "policy.json").write_bytes(b"\xff\xfe{}")
        monkeypatch.setenv("HITL_POLICY", str(tmp_path / "policy.json"))
        with pytest.raises(hitl.AgentDefinitionError, match="not JSON"):
            administrator()

    def test_where_none_is_named_the_systems_is_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(admin, "_system_path", lambda: tmp_path / "policy.json")
        assert administrator() == Administrator()
        (tmp_path / "policy.json").write_text('{"headless": "error"}')
        assert administrator().headless == "error"
