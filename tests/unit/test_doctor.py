"""What `hitl.doctor` says of kernel, front end, widgets in both environments, store and policy."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import hitl_widgets as hitl
from hitl_widgets import diagnose
from hitl_widgets.notebook import served, subshell
from hitl_widgets.notebook.frontend import Frontend, detect
from hitl_widgets.notebook.served import Served
from hitl_widgets.screen import hub
from hitl_widgets.store.sqlite import SqliteStore
from tests.store.making import waiting

NOTEBOOK: Frontend = replace(
    detect(),
    kind="jupyter",
    can_show_cards=True,
    can_await_cards=True,
    allow_stdin=True,
    headless=False,
    ipykernel="7.4.0",
    pump="ipykernel7",
)
THERE = {"anywidget": version("anywidget"), "ipywidgets": "5.0.9"}


@pytest.fixture(autouse=True)
def quiet_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_pages", {})
    monkeypatch.setattr(hub, "_hub", None)
    monkeypatch.setattr(subshell, "can_unblock", lambda: True)
    monkeypatch.setattr(served, "from_the_server", lambda: None)


def said(monkeypatch: pytest.MonkeyPatch, here: Frontend = NOTEBOOK) -> dict[str, diagnose.Finding]:
    monkeypatch.setattr(diagnose, "detect", lambda: here)
    return {finding.what: finding for finding in hitl.doctor().findings}


def server(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]) -> None:
    found = Served(Path("/opt/lab"), Path("/opt/lab/bin/python"), versions)
    monkeypatch.setattr(served, "from_the_server", lambda: found)


class TestWhatWorks:
    def test_a_notebook_names_every_way_of_asking(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = said(monkeypatch)
        ways = ("await in a cell", "background", "blocking", "input box")
        assert {found[way].verdict for way in ways} == {"ok"}

    def test_the_version_is_named_first_for_who_reports_a_fault(self) -> None:
        python, ours = hitl.doctor().findings[:2]
        assert (python.what, ours.what, ours.found) == ("Python", "hitl-widgets", hitl.__version__)

    def test_no_clicks_while_a_cell_waits_is_a_problem_with_a_way_out(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(subshell, "can_unblock", lambda: False)
        here = replace(NOTEBOOK, can_await_cards=False, ipykernel="6.31.0")
        found = said(monkeypatch, here)
        waits, blocks = found["await in a cell"], found["blocking"]
        assert waits.verdict == "problem"
        assert "agent.start" in waits.do
        assert "ipykernel>=7.4" in waits.do
        assert "beside the card" in waits.found
        assert (blocks.verdict, "input box" in blocks.found) == ("note", True)

    def test_without_an_input_box_blocking_code_is_told_another_way(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(subshell, "can_unblock", lambda: False)
        found = said(monkeypatch, replace(NOTEBOOK, allow_stdin=False, ipykernel=None))
        assert "agent.start" in found["blocking"].do
        assert found["input box"].verdict == "note"

    def test_a_job_is_told_how_its_requests_are_decided(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here = replace(NOTEBOOK, can_show_cards=False, allow_stdin=False, headless=True)
        found = said(monkeypatch, here)
        assert "hitl-widgets inbox" in found["cards"].do
        assert "page" not in found

    def test_a_terminal_asks_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        here = replace(NOTEBOOK, kind="script", can_show_cards=False)
        assert said(monkeypatch, here)["prompt"].verdict == "ok"


class TestTheWidgetsOfThePage:
    def test_the_same_minor_version_is_well(self, monkeypatch: pytest.MonkeyPatch) -> None:
        server(monkeypatch, THERE)
        found = said(monkeypatch)["anywidget there"]
        assert (found.verdict, "/opt/lab" in found.found) == ("ok", True)

    @pytest.mark.parametrize(
        ("versions", "words"),
        [
            ({}, "anywidget and ipywidgets not in /opt/lab"),
            ({"anywidget": THERE["anywidget"]}, "ipywidgets not in /opt/lab"),
            (THERE | {"anywidget": "0.9.1"}, "which it cannot draw"),
        ],
    )
    def test_what_is_missing_or_old_there_is_named_with_its_command(
        self, monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], words: str
    ) -> None:
        server(monkeypatch, versions)
        found = said(monkeypatch)["anywidget there"]
        assert found.verdict == "problem"
        assert words in found.found
        assert found.do.startswith("/opt/lab/bin/python -m pip install")

    def test_where_it_cannot_be_told_it_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert said(monkeypatch)["anywidget there"].verdict == "note"

    def test_vs_code_looks_in_the_kernels_environment(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        here = replace(NOTEBOOK, kind="vscode")
        assert said(monkeypatch, here)["anywidget there"].verdict == "ok"
        monkeypatch.setattr(served, "from_here", lambda: False)
        missing = said(monkeypatch, here)["anywidget there"]
        assert (missing.verdict, missing.do.startswith(sys.executable)) == ("problem", True)

    def test_a_page_that_said_hello_needs_no_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hub, "_pages", {"p": object()})
        found = said(monkeypatch)
        assert found["page"].verdict == "ok"
        assert "anywidget there" not in found

    def test_the_server_is_the_process_that_started_the_kernel(self) -> None:
        """This process is the server here; its own environment has both extensions."""
        code = (
            "import json; from hitl_widgets.notebook import served; s = served.from_the_server()\n"
            "print(json.dumps(s and [str(s.prefix), sorted(s.versions)]))"
        )

        def told(parent: int) -> object:
            done = subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "JPY_PARENT_PID": str(parent)},
                capture_output=True,
                check=True,
            )
            return json.loads(done.stdout)

        prefix = str(Path(sys.executable).parent.parent)
        assert told(os.getpid()) == [prefix, ["anywidget", "ipywidgets"]]
        assert told(1) is None


class TestThePackages:
    @pytest.mark.parametrize("name", ["anywidget", "ipywidgets"])
    def test_without_its_widgets_nothing_can_be_shown(
        self, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        monkeypatch.setitem(sys.modules, name, None)
        found = said(monkeypatch)[name]
        assert (found.verdict, found.do) == ("problem", f"pip install {name}")

    def test_without_pydantic_ai_only_agents_are_off(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def none_of_it(name: str) -> str:
            if name == "pydantic-ai-slim":
                raise PackageNotFoundError(name)
            return version(name)

        monkeypatch.setattr(diagnose, "version", none_of_it)
        found = said(monkeypatch)["pydantic-ai-slim"]
        assert (found.verdict, "verbs and cards work" in found.found) == ("note", True)
        assert "pip install" in found.do


class TestTheStore:
    def test_its_file_is_named_and_what_chose_it(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("HITL_STORE", str(tmp_path / "mine.db"))
        found = said(monkeypatch)
        for what in ("store", "HITL_STORE"):
            assert (found[what].verdict, found[what].found) == ("ok", str(tmp_path / "mine.db"))

    def test_one_that_cannot_be_opened_is_a_problem(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("no store" * 1000, "utf-8")
        report = hitl.doctor(store=tmp_path / "notes.txt")
        assert not report.ok
        (found,) = (f for f in report.findings if f.what == "store")
        assert found.verdict == "problem"
        assert "notes.txt" in found.found
        assert "HITL_STORE" in found.do

    def test_what_cannot_be_read_in_it_is_a_problem(self, tmp_path: Path) -> None:
        waiting(SqliteStore(tmp_path / "hitl.db"))
        with contextlib.closing(sqlite3.connect(tmp_path / "hitl.db")) as db, db:
            db.execute("UPDATE requests SET doc = '{}'")
        report = hitl.doctor(store=tmp_path / "hitl.db")
        (found,) = (f for f in report.findings if f.what == "store")
        assert found.verdict == "problem"
        assert "req_1" in found.found


class TestThePolicyFile:
    def test_what_it_tightens_is_named(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        path = tmp_path / "policy.json"
        path.write_text(json.dumps({"forbid": ["rm"], "grants": False}), "utf-8")
        monkeypatch.setenv("HITL_POLICY", str(path))
        found = said(monkeypatch)["policy file"]
        assert found == diagnose.Finding("ok", "policy file", f"{path}: forbid, grants tightened")

    def test_one_that_cannot_be_read_is_a_problem(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        path = tmp_path / "policy.json"
        path.write_text("{", "utf-8")
        monkeypatch.setenv("HITL_POLICY", str(path))
        found = said(monkeypatch)["policy file"]
        assert (found.verdict, str(path) in found.found) == ("problem", True)

    def test_where_there_is_none_it_says_where_it_would_be(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert "policy.json" in said(monkeypatch)["policy file"].found


class TestTheReport:
    def test_problems_come_first_and_what_is_well_is_folded(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(diagnose, "detect", lambda: replace(NOTEBOOK, can_await_cards=False))
        report = hitl.doctor()
        first, folded = report._repr_html_().split("<details>")
        assert "await in a cell" in first
        assert "Python" in folded
        assert not report.ok
        assert "✗ await in a cell" in str(report)

    def test_what_was_found_is_text_and_no_html(self) -> None:
        report = diagnose.Report((diagnose.Finding("problem", "<b>", "<i>", "<u>"),))
        assert "<b>" not in report._repr_html_().replace("<br>", "")
        assert "&lt;i&gt;" in report._repr_html_()
