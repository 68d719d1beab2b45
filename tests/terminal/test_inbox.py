"""``hitl-widgets inbox`` and the other commands, from a shell."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets.desk import desk_of
from hitl_widgets.store import open_store
from tests.terminal.conftest import ROOT, Run

CLI = ("-m", "hitl_widgets")


@hitl.tool(require_approval=True)
async def delete_record(id: str) -> dict[str, str]:  # noqa: A002
    """Delete a record by ID."""
    return {"deleted": id}


@hitl.tool(resume_schema=int)
async def how_many(ctx: hitl.ToolContext) -> str:
    """Ask for a number."""
    return await ctx.suspend({"message": "How many?"}) if ctx.resume_data is None else "ok"


def wait(store: Path, *turns: Any) -> list[hitl.Request]:
    """Have an agent's calls wait in a store."""
    agent = hitl.Agent(
        "records",
        tools=[delete_record, how_many],
        model=hitl.ScriptedModel([list(turns), "Done."]),
        store=store,
    )
    out = asyncio.run(agent.generate("Do it"))
    assert out.finish_reason == "suspended"
    return asyncio.run(hitl.pending(store))


def deletes(store: Path, *ids: str) -> list[hitl.Request]:
    return wait(store, *(hitl.call("delete_record", id=i) for i in ids))


def cli(*arguments: str, store: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *CLI, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "HITL_STORE": str(store)},
    )


class TestAtATerminal:
    def test_requests_are_listed_picked_and_decided(self, run: Run, store: Path) -> None:
        deletes(store, "a", "b", "c")
        terminal = run(*CLI, "inbox")
        shown = terminal.sees("A number, Enter for the first, q to quit:")
        assert "3 waiting:" in shown
        assert '2  delete_record(id="b")' in shown
        terminal.types("2")
        terminal.sees('Allow delete_record(id="b")?')
        terminal.sees("[e]dit")
        terminal.types("y")
        shown = terminal.sees("q to quit:")
        assert "2 waiting:" in shown
        assert "await agent.attach('run_" in shown
        terminal.types("")
        terminal.sees('Allow delete_record(id="a")?')
        terminal.sees("[e]dit")
        terminal.types("n")
        terminal.sees("1 waiting:")
        terminal.sees("q to quit:")
        terminal.types("q")
        terminal.ends()
        assert terminal.exit_code == 0
        states = {r["args"]["id"]: (r["state"], r["via"]) for r in hitl.history(store)}
        assert states == {"b": ("approved", "terminal"), "a": ("declined", "terminal")}

    def test_what_is_decided_elsewhere_meanwhile_ends_the_prompt(
        self, run: Run, store: Path
    ) -> None:
        (request,) = deletes(store, "a")
        terminal = run(*CLI, "inbox")
        terminal.sees("q to quit:")
        terminal.types("1")
        terminal.sees("[e]dit")
        asyncio.run(hitl.decide(request, hitl.Decline(), reviewer="alice"))
        assert "was declined by alice" in terminal.ends()

    def test_the_same_store_as_a_running_script(self, run: Run) -> None:
        """The script waits at its own prompt; the answer comes from another terminal."""
        script = run("""
            import hitl_widgets as hitl
            print("GOT", hitl.confirm_sync("Go on?"))
            """)
        script.sees("[d]etails")
        inbox = run(*CLI, "inbox")
        inbox.sees("q to quit:")
        inbox.types("")
        inbox.sees("[d]etails")
        inbox.types("y")
        assert "GOT True" in script.ends()

    def test_a_call_of_unknown_outcome_is_settled(self, run: Run, store: Path) -> None:
        (request,) = deletes(store, "a")
        code = (
            "import asyncio, os, hitl_widgets as hitl\n"
            "@hitl.tool(require_approval=True)\n"
            "async def delete_record(id: str) -> dict:\n"
            "    'Delete a record by ID.'\n"
            "    os._exit(9)\n"
            "async def main():\n"
            "    agent = hitl.Agent('records', tools=[delete_record], model=hitl.ScriptedModel(\n"
            "        [[hitl.call('delete_record', id='a')], 'Done.']))\n"
            f"    await agent.approve_tool_call_generate(run_id={request.run_id!r})\n"
            "asyncio.run(main())\n"
        )
        died = subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT, timeout=60)
        assert died.returncode == 9
        terminal = run(*CLI, "inbox")
        assert "(outcome unknown," in terminal.sees("q to quit:")
        terminal.types("1")
        terminal.sees("It [h]appened  [r]un it again  [g]ive up")
        terminal.types("h")
        terminal.sees("Result, JSON or text:")
        terminal.types('{"deleted": "a"}')
        assert "Settled: it happened." in terminal.ends()
        (call,) = open_store(store).calls(request.run_id)
        assert call.result is not None
        assert call.result["value"] == {"deleted": "a"}


class TestInAScript:
    def test_every_decision_has_its_action(self, store: Path) -> None:
        one, two, three = deletes(store, "a", "b", "c")
        (asked,) = [r for r in wait(store, hitl.call("how_many")) if r.kind == "input"]
        assert cli("inbox", "approve", one.id, "--note", "fine", store=store).returncode == 0
        assert cli("inbox", "decline", two.id, "--reason", "no", store=store).returncode == 0
        done = cli("inbox", "respond", three.id, "--result", '{"x": 1}', store=store)
        assert done.returncode == 0, done.stderr
        done = cli("inbox", "answer", asked.id, "--data", "41", "--json", store=store)
        assert json.loads(done.stdout)["decision"] == {"verdict": "answer", "data": 41}
        decisions = {r["request_id"]: r["decision"] for r in hitl.history(store)}
        assert decisions[one.id] == {"verdict": "approve", "note": "fine"}
        assert decisions[two.id] == {"verdict": "decline", "reason": "no"}
        assert decisions[three.id] == {"verdict": "respond", "result": {"x": 1}}

    def test_what_is_refused_changes_nothing_and_exits_with_1(self, store: Path) -> None:
        (asked,) = wait(store, hitl.call("how_many"))
        for arguments, words in (
            (("answer", asked.id, "--data", '"many"'), "whole number"),
            (("approve", asked.id), "takes answer, decline"),
            (("decline", "r_nothing"), "r_nothing"),
            (("decline", asked.id, "--fingerprint", "hf1:other"), "not the one that waits"),
        ):
            done = cli("inbox", *arguments, store=store)
            assert (done.returncode, done.stdout) == (1, "")
            assert words in done.stderr
        assert [r.state for r in asyncio.run(hitl.pending(store))] == ["pending"]

    def test_a_command_line_that_is_not_understood_exits_with_2(self, store: Path) -> None:
        for data in ("{", "[" * 100_000):
            done = cli("inbox", "answer", "r_1", "--data", data, store=store)
            assert done.returncode == 2
            assert "is not JSON" in done.stderr

    def test_without_a_terminal_inbox_lists(self, store: Path) -> None:
        (request,) = deletes(store, "a\u202e\x1b[31m")
        done = cli("inbox", store=store)
        assert done.returncode == 0
        assert request.id in done.stdout
        assert request.fingerprint in done.stdout
        assert "\x1b" not in done.stdout
        assert "\u202e" not in done.stdout

    def test_options_count_before_and_after_the_action(self, store: Path, tmp_path: Path) -> None:
        deletes(store, "a")
        other = tmp_path / "other.db"
        for arguments in (
            ("inbox", "--store", str(store), "--json", "list"),
            ("inbox", "list", "--json", "--store", str(store)),
        ):
            done = cli(*arguments, store=other)
            (row,) = json.loads(done.stdout)
            assert row["args"] == {"id": "a"}

    def test_the_version_is_said(self, store: Path) -> None:
        done = cli("--version", store=store)
        assert (done.returncode, done.stdout) == (0, f"hitl-widgets {hitl.__version__}\n")

    def test_help_names_the_exit_codes(self, store: Path) -> None:
        for arguments in (("--help",), ("inbox", "--help"), ("inbox", "approve", "--help")):
            assert re.search(r"3 +nothing is pending", cli(*arguments, store=store).stdout)


class TestUpkeep:
    def test_check_and_verify_find_a_changed_audit_trail(self, store: Path) -> None:
        deletes(store, "a")
        assert "no faults" in cli("store", "check", store=store).stdout
        desk_of(open_store(store)).store.close()
        import sqlite3

        with sqlite3.connect(store) as file:
            triggers = file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
            for (name,) in triggers.fetchall():
                file.execute(f"DROP TRIGGER {name}")
            file.execute("UPDATE events SET doc = replace(doc, '\"a\"', '\"b\"')")
        file.close()
        for action in ("check", "verify"):
            done = cli("store", action, "--json", store=store)
            assert done.returncode == 1
            assert json.loads(done.stdout)["faults"]

    def test_prune_forgets_old_ended_runs(self, store: Path) -> None:
        hitl_confirm(store)
        done = cli("store", "prune", "--older-than", "1d", store=store)
        assert "0 runs forgotten" in done.stdout
        done = cli("store", "prune", "--older-than", "0s", "--json", store=store)
        assert json.loads(done.stdout)["runs"] == 1
        assert cli("store", "vacuum", store=store).returncode == 0

    @pytest.mark.parametrize("age", ["30", "soon", "-1d"])
    def test_an_age_needs_its_unit(self, store: Path, age: str) -> None:
        hitl_confirm(store)
        done = cli("store", "prune", f"--older-than={age}", store=store)
        assert done.returncode == 2
        assert "is no age" in done.stderr

    def test_looking_after_a_store_does_not_make_one(self, store: Path) -> None:
        done = cli("store", "check", store=store)
        assert done.returncode == 1
        assert "There is no store at" in done.stderr
        assert not store.exists()


def hitl_confirm(store: Path) -> None:
    with hitl.reviewer(lambda _: hitl.Approve()):
        assert hitl.confirm_sync("Go on?", store=store)


class TestDemo:
    def test_lessons_are_copied_and_never_overwritten(self, store: Path, tmp_path: Path) -> None:
        folder = tmp_path / "lessons"
        done = cli("demo", str(folder), "--no-open", store=store)
        assert done.returncode == 0, done.stderr
        lesson = folder / "01_first_approval.ipynb"
        lesson.write_text("mine")
        done = cli("demo", str(folder), "--no-open", store=store)
        assert "01_first_approval.ipynb" in done.stdout
        assert lesson.read_text() == "mine"
