"""Nobody is there: nbclient, papermill, scripts and pytest (R5, F25)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import papermill
import pytest

import hitl_widgets as hitl

ROOT = Path(__file__).resolve().parents[2]

DEFINE = """
import hitl_widgets as hitl
ran = []

@hitl.tool(require_approval=True)
async def delete_record(id: str) -> dict:
    "Delete a record by ID."
    ran.append(id)
    return {"deleted": id}

def make(reviewer=None):
    return hitl.Agent("headless", tools=[delete_record], model=hitl.ScriptedModel(
        [[hitl.call("delete_record", id="abc-123")], "It is gone."]))
"""
RUN = 'agent = make()\nresult = await agent.run("Delete abc-123")'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "requests.db"
    monkeypatch.setenv("HITL_STORE", str(path))
    return path


def cli(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hitl_widgets", *arguments, "--store", str(store)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_nbclient_fails_visibly_and_names_the_command_that_decides(store: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, (DEFINE, RUN))))
    with pytest.raises(nbclient.exceptions.CellExecutionError) as failed:
        nbclient.NotebookClient(notebook, timeout=60).execute()
    text = str(failed.value)
    assert "RunSuspended" in text
    assert "hitl-widgets inbox approve r_" in text
    assert str(store) in text


def test_papermill_fails_visibly_and_the_request_waits_to_be_decided(
    store: Path, tmp_path: Path
) -> None:
    source = tmp_path / "in.ipynb"
    kernel = {"kernelspec": {"name": "python3", "display_name": "3", "language": "python"}}
    cells = list(map(nbformat.v4.new_code_cell, (DEFINE, RUN)))
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), source)
    with pytest.raises(papermill.PapermillExecutionError, match="RunSuspended"):
        papermill.execute_notebook(source, tmp_path / "out.ipynb", progress_bar=False)
    listed = cli(store, "inbox", "list", "--json")
    assert listed.returncode == 0, listed.stderr
    (waiting,) = json.loads(listed.stdout)
    assert waiting["tool_name"] == "delete_record"
    assert waiting["args"] == {"id": "abc-123"}


SCRIPT = (
    DEFINE
    + """
import asyncio
async def main():
    agent = make()
    result = await agent.run("Delete abc-123")
    print(result.text, ran)
asyncio.run(main())
"""
)


def script(code: str, store: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
        env={**os.environ, "HITL_STORE": str(store), **env},
    )


def test_a_script_suspends_is_decided_from_a_shell_and_resumes_elsewhere(store: Path) -> None:
    first = script(SCRIPT, store)
    assert first.returncode != 0
    assert "RunSuspended" in first.stderr
    (waiting,) = json.loads(cli(store, "inbox", "list", "--json").stdout)
    approved = cli(store, "inbox", "approve", waiting["id"])
    assert approved.returncode == 0, approved.stderr
    again = cli(store, "inbox", "decline", waiting["id"], "--reason", "too late")
    assert again.returncode == 1
    assert "already approved" in again.stderr
    resume = (
        DEFINE
        + f"""
import asyncio
async def main():
    result = await make().attach({waiting["run_id"]!r})
    print(result.text, ran)
asyncio.run(main())
"""
    )
    second = script(resume, store)
    assert second.stdout == "It is gone. ['abc-123']\n", second.stderr


def test_a_store_that_is_not_there_is_not_made_by_looking(store: Path) -> None:
    listed = cli(store, "inbox")
    assert listed.returncode == 1
    assert f"There is no store at {store}" in listed.stderr
    assert not store.exists()


def test_an_empty_inbox_has_its_own_exit_code(store: Path) -> None:
    hitl.history(store)
    listed = cli(store, "inbox")
    assert (listed.returncode, listed.stdout) == (3, "Nothing is pending.\n")


def test_a_reviewer_named_in_the_environment_answers(store: Path, tmp_path: Path) -> None:
    (tmp_path / "my_reviews.py").write_text(
        "import hitl_widgets as hitl\ndef yes(request): return hitl.Approve()\n"
    )
    done = script(SCRIPT, store, HITL_REVIEWER="my_reviews:yes", PYTHONPATH=f"{tmp_path}:{ROOT}")
    assert done.stdout == "It is gone. ['abc-123']\n", done.stderr
    (row,) = hitl.history(store)
    assert (row["via"], row["reviewer"]) == ("rule", "rule:yes"), "never shown as a click (R18)"


def test_a_reviewer_that_cannot_be_loaded_is_named(store: Path) -> None:
    failed = script(SCRIPT, store, HITL_REVIEWER="no_such_module:yes")
    assert failed.returncode != 0
    assert "HITL_REVIEWER='no_such_module:yes' cannot be loaded" in failed.stderr


@pytest.mark.parametrize(
    ("setting", "ends"), [("decline", "Nobody could be asked"), ("error", "NoReviewer")]
)
def test_the_declared_headless_behaviour_applies_and_never_runs_it(
    store: Path, setting: str, ends: str
) -> None:
    code = SCRIPT.replace("ran = []", f"ran = []\nhitl.configure(headless={setting!r})").replace(
        '"It is gone."', "lambda m: str(m[-1].parts[-1].content)"
    )
    done = script(code, store)
    assert ends in done.stdout + done.stderr
    assert "abc-123'] " not in done.stdout
    assert hitl.history(store)[0]["state"] in ("declined", "withdrawn")


def test_under_pytest_a_fixture_gives_the_answers(hitl_reviewer: object, tmp_path: Path) -> None:
    seen = hitl_reviewer(("confirm", hitl.Approve()))  # type: ignore[operator]
    with hitl.reviewer(seen):
        assert hitl.confirm_sync("Go on?", store=tmp_path / "x.db") is True
    assert [r.message for r in seen.seen] == ["Go on?"]
