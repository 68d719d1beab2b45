"""nbgrader's own exchange carries a quiz's result from the student to the teacher's table."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import nbformat
import pytest

import hitl_widgets as hitl
from hitl_widgets.teaching import class_table, expect, question, quiz
from hitl_widgets.testing import AutoApprove

VERSION = "0.9.6"
CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "hitl"
c.Exchange.root = {exchange!r}
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """nbgrader's programs, installed from the network into an environment of its own."""
    environment = tmp_path / "nbgrader"
    venv.create(environment, with_pip=True)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, f"nbgrader=={VERSION}"], check=True)
    return programs


@pytest.mark.extended
async def test_a_result_is_submitted_and_collected(tmp_path: Path, programs: Path) -> None:
    teacher, student, exchange = (tmp_path / name for name in ("teacher", "student", "exchange"))
    for folder in (teacher, student, exchange):
        folder.mkdir()
        (folder / "nbgrader_config.py").write_text(CONFIG.format(exchange=str(exchange)), "utf-8")
    exchange.chmod(0o777)
    notebook = teacher / "source" / "week3" / "quiz.ipynb"
    notebook.parent.mkdir(parents=True)
    cell = nbformat.v4.new_code_cell("result = await hitl.teaching.quiz(…)")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)

    def nbgrader(command: str, where: Path) -> None:
        run = [str(programs / "nbgrader"), command, "week3"]
        path = f"{programs}{os.pathsep}{os.environ['PATH']}"
        home = {"HOME": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path), "PATH": path}
        done = subprocess.run(
            run, cwd=where, env={**os.environ, **home}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    nbgrader("generate_assignment", teacher)
    nbgrader("release_assignment", teacher)
    nbgrader("fetch_assignment", student)
    with hitl.reviewer(AutoApprove()):
        await quiz(
            [question("read_table", name="orders"), question("delete_table", name="orders")],
            [
                expect("approve", otherwise="Nobody looked."),
                expect("decline", otherwise="They are gone."),
            ],
            name="week3",
            student="ada",
            folder=student / "week3",
        )
    nbgrader("submit", student)
    nbgrader("collect", teacher)
    (row,) = class_table(teacher / "submitted")
    assert (row["student"], row["score"], row["of"]) == ("ada", 1, 2)
    assert row["wrong"] == ["delete_table"]
