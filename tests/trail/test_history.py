"""``hitl.history()``: rows, exports, what stands out, and what a cell shows."""

from __future__ import annotations

import csv
import io
import json
import re
import stat
import xml.etree.ElementTree as ET
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hitl_widgets as hitl
from hitl_widgets.trail import Blind, History, Repeated
from hitl_widgets.trail.history import COLUMNS
from tests.trail.deciding import BEGAN, a_day, decided

SECRET = "hunter2-correct-horse"


def repeated(rows: History) -> Repeated:
    (found,) = [p for p in rows.patterns if isinstance(p, Repeated)]
    return found


class TestExports:
    def test_csv_holds_every_column_and_reads_back(self, tmp_path: Path) -> None:
        text = History(a_day()).to_csv(tmp_path / "h.csv")
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == 64
        assert tuple(rows[0]) == COLUMNS
        assert json.loads(rows[0]["args"]) == {"to": "team@example.com"}
        assert datetime.fromisoformat(rows[0]["asked_at"]) == BEGAN
        assert (tmp_path / "h.csv").read_text("utf-8") == text
        assert stat.S_IMODE((tmp_path / "h.csv").stat().st_mode) == 0o600

    @pytest.mark.parametrize(
        "name",
        ["=cmd()", "+1", "-1", "@sum", "\tx", "\n=x", "\uff1dx", "\uff0b1", "\uff0d1", "\uff20x"],
    )
    def test_a_spreadsheet_takes_no_name_for_a_formula(self, name: str) -> None:
        text = History([decided(0, tool=name, reviewer=name)]).to_csv()
        (row,) = csv.DictReader(io.StringIO(text))
        assert row["tool"] == row["reviewer"] == f"'{name}"

    def test_json_keeps_what_is_nested(self, tmp_path: Path) -> None:
        text = History([decided(0, args={"to": ["a", {"b": 1}], "word": "決"})]).to_json(
            tmp_path / "h.json"
        )
        (row,) = json.loads(text)
        assert row["args"] == {"to": ["a", {"b": 1}], "word": "決"}
        assert row["asked_at"] == "2026-12-01T09:00:00+00:00"
        assert (tmp_path / "h.json").read_text("utf-8") == text

    def test_a_frame_has_times_and_numbers(self) -> None:
        frame = History(a_day()).to_frame()
        assert list(frame.columns) == list(COLUMNS)
        assert pd.api.types.is_datetime64_any_dtype(frame["asked_at"])
        assert frame["seconds"].max() == 2440
        assert list(History().to_frame().columns) == list(COLUMNS)


class TestWhatStandsOut:
    def test_approvals_in_under_a_second_with_names(self) -> None:
        (found,) = [p for p in History(a_day()).patterns if isinstance(p, Blind)]
        assert (len(found.requests), found.of) == (12, 52)
        assert found.reviewers == [("chris", 12)]
        assert found.tools == [("send_mail", 12)]

    @pytest.mark.parametrize(
        "given",
        [
            {"seconds": 1.0},
            {"seconds": 0.2, "verdict": "decline"},
            {"seconds": 0.2, "via": "replay"},
            {"seconds": 0.2, "via": "rule", "identity_source": "rule"},
            {"seconds": 0.2, "via": "test"},
        ],
    )
    def test_a_careful_yes_a_no_and_a_machine_are_not_blind(self, given: dict[str, Any]) -> None:
        assert History([decided(0, **given)]).patterns == []

    def test_the_same_call_approved_often_and_what_a_grant_would_have_done(self) -> None:
        found = repeated(History(a_day()))
        assert found.approvals == 16
        assert [r.id for r in found.would_allow] == [f"r_{n}" for n in range(4, 64, 4)]
        assert found.others == 16
        assert found.reach == "until"
        assert found.declined == ()

    def test_twice_is_not_often(self) -> None:
        same = {"to": "x"}
        assert History([decided(n, args=same) for n in range(2)]).patterns == []

    @pytest.mark.parametrize(
        "other",
        [
            {"args": {"to": "y"}},
            {"agent_path": ("office", "helper")},
            {"scope": {"how": "gate", "schema_digest": "d2"}},
            {"effect": "destructive"},
        ],
    )
    def test_only_what_an_exact_grant_would_cover_counts(self, other: dict[str, Any]) -> None:
        same = {"to": "x"}
        rows = [decided(n, args=same) for n in range(3)]
        rows += [decided(n, **{"args": same, **other}) for n in range(3, 5)]
        assert len(repeated(History(rows)).would_allow) == 2

    def test_it_says_what_somebody_declined_in_between(self) -> None:
        same = {"to": "x"}
        rows = History(
            decided(n, args=same, verdict="decline" if n == 2 else "approve") for n in range(5)
        )
        assert [r.id for r in repeated(rows).declined] == ["r_2"]
        assert "Careful: 1 of them was declined." in rows._repr_html_()

    def test_it_says_what_nobody_decided(self) -> None:
        """What expired did not run: a grant would have let it."""
        same = {"to": "x"}
        over = {"verdict": None, "seconds": None, "state": "expired", "via": None}
        rows = History(decided(n, args=same, **(over if n in (0, 2) else {})) for n in range(5))
        found = repeated(rows)
        assert [r.id for r in found.would_allow] == ["r_2", "r_3", "r_4"]
        assert [r.id for r in found.undecided] == ["r_2"]
        assert "Careful: 1 of them ended without anybody" in rows._repr_html_()

    def test_what_already_waited_was_asked_whatever_was_granted(self) -> None:
        """A grant answers no card that is there already."""
        same = {"to": "x"}
        rows = [decided(n, args=same, seconds=150) for n in range(5)]
        assert [r.id for r in repeated(History(rows)).would_allow] == ["r_3", "r_4"]

    @pytest.mark.parametrize(
        ("given", "reach"),
        [
            ({"run_id": "u"}, "run"),
            ({"thread_id": "t"}, "thread"),
            ({}, "until"),
            ({"evaluation": {"type": "run"}}, None),
            ({"quorum": 2}, None),
        ],
    )
    def test_the_narrowest_reach_is_offered(self, given: Any, reach: str | None) -> None:
        rows = History(decided(n, args={"to": "x"}, **given) for n in range(3))
        assert repeated(rows).reach == reach

    def test_none_is_offered_where_the_administrator_allows_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "policy.json").write_text('{"grants": false}')
        monkeypatch.setenv("HITL_POLICY", str(tmp_path / "policy.json"))
        rows = History(decided(n, args={"to": "x"}) for n in range(3))
        assert repeated(rows).reach is None
        assert "Always allow" not in rows._repr_html_()

    def test_questions_without_a_policy_are_not_offered_one(self) -> None:
        same = {"args": {}, "scope": {"how": "confirm"}}
        assert History(decided(n, **same) for n in range(5)).patterns == []


class TestDisplay:
    def test_it_names_what_stands_out_and_draws_two_plots(self) -> None:
        shown = History(a_day())._repr_html_()
        assert "12 of 52 approvals took less than a second." in shown
        assert "exactly the same call was approved 16 times" in shown
        assert "to = &quot;team@example.com&quot;, until a day that you choose" in shown
        assert "it would have let 15 of these through without asking, and none of the 16" in shown
        assert shown.count('role="img"') == 2
        assert 'aria-label="Time to decide, by people. under 1 s: 12; ' in shown
        assert 'aria-label="Decisions per tool. send_mail: 32; ' in shown

    def test_every_plot_is_well_formed_and_adds_up(self) -> None:
        shown = History(a_day())._repr_html_()
        plots = [ET.fromstring(f"<svg{part}") for part in svgs(shown)]  # noqa: S314  # our own
        titles = [t.text or "" for t in plots[-1].iter("title")]
        assert titles == [
            "28 approved",
            "4 answered or ended",
            "16 approved",
            "8 approved",
            "8 declined",
        ]
        assert sum(int(t.split()[0]) for t in titles) == 64

    def test_where_a_sanitizer_leaves_only_text_the_plots_are_sentences(self) -> None:
        words = Words()
        words.feed(History(a_day())._repr_html_())
        left = "".join(words.said)
        assert "under 1 s 12: 12 approved. " in left
        assert "delete_table 16: 8 approved, 8 declined. " in left
        assert "over a day: 0. " in left

    def test_where_only_rules_decided_no_plot_of_how_long_people_took(self) -> None:
        shown = History([decided(0, via="test", identity_source="rule")])._repr_html_()
        assert shown.count('role="img"') == 1
        assert "Decisions per tool" in shown
        assert "Time to decide" not in shown
        for used in re.findall(r"url\(#([^)]+)\)", shown):
            assert shown.count(f'<pattern id="{used}"') == 1

    def test_hostile_names_are_text(self) -> None:
        bad = '<img src=x onerror="alert(1)">\u202e'
        row = decided(0, tool=bad, reviewer=bad, args={bad: bad}, seconds=0.1)
        rows = History([row, *(decided(n, tool=bad, args={}) for n in range(1, 5))])
        shown = rows._repr_html_()
        tags = Tags()
        tags.feed(shown)
        assert "img" not in tags.seen
        assert "\u202e" not in shown

    def test_secrets_are_masked_and_arguments_follow_the_record_level(self) -> None:
        rows = History(a_day())
        assert "team@example.com" in rows._repr_html_()
        for level in ("short", "none"):
            hitl.configure(record=level)
            try:
                assert "example.com" not in rows._repr_html_()
            finally:
                hitl.configure(record="full")

    def test_ten_thousand_are_a_page_of_the_newest_not_a_notebook_of_all(self) -> None:
        rows = History(decided(n) for n in range(10_000))
        shown = rows._repr_html_()
        assert "The last 200 of 10,000, newest first" in shown
        assert "9999@example.com" in shown
        assert len(shown) < 100_000
        assert repr(rows) == "<History of 10000: 10000 approved>"

    def test_in_japanese(self) -> None:
        hitl.configure(locale="ja")
        try:
            assert "1 秒未満" in History(a_day())._repr_html_()
        finally:
            hitl.configure(locale=None)

    def test_nothing_yet(self) -> None:
        assert "No decisions yet." in History()._repr_html_()

    async def test_of_a_real_store_secrets_never_show(self, tmp_path: Path) -> None:
        @hitl.tool(require_approval=True, secret=("/password",))
        async def log_in(name: str, password: str) -> str:
            """Log in."""
            return "in"

        call = hitl.call("log_in", name="ada", password=SECRET)
        agent = hitl.Agent(
            "office",
            model=hitl.ScriptedModel([[call], [call], [call], "Done."]),
            tools=[log_in],
            store=tmp_path / "s.db",
        )
        run = await agent.generate("Go")
        for _ in range(3):
            (request,) = run.requests
            run = await agent.approve_tool_call_generate(
                run_id=run.run_id, fingerprint=request.fingerprint
            )
        rows = hitl.history(tmp_path / "s.db")
        assert repeated(rows).reach == "run"
        for told in (rows._repr_html_(), rows.to_csv(), rows.to_json(), str(rows.to_frame())):
            assert SECRET not in told
        assert "••••" in rows.to_csv()


class Tags(HTMLParser):
    """Which elements a browser would make."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:  # noqa: ARG002
        self.seen.add(tag)


class Words(HTMLParser):
    """What is left of a page without its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def svgs(shown: str) -> list[str]:
    parts = shown.split("<svg")[1:]
    return [part.partition("</svg>")[0] + "</svg>" for part in parts]
