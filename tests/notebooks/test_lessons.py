"""Every lesson runs from top to bottom with a scripted reviewer, and is what its text says."""

from __future__ import annotations

import re
from pathlib import Path

import nbclient
import nbformat
import pytest

from scripts import notebooks

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted(notebooks.LESSONS.glob("*.py"))


def committed(lesson: Path, *, solved: bool = False) -> nbformat.NotebookNode:
    """A lesson's notebook as it stands in the repository."""
    folder = notebooks.SOLUTIONS if solved else notebooks.NOTEBOOKS
    return nbformat.read(folder / f"{lesson.stem}.ipynb", as_version=4)


def run(
    lesson: Path, monkeypatch: pytest.MonkeyPatch, *, solved: bool = False
) -> nbformat.NotebookNode:
    """Execute a committed lesson in a real kernel."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    name = f"{'solution' if solved else 'lesson'}_{lesson.stem[:2]}"
    monkeypatch.setenv("HITL_REVIEWER", f"tests.notebooks.reviewers:{name}")
    notebook = committed(lesson, solved=solved)
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(ROOT)}}
    ).execute()
    return notebook


def text(notebook: nbformat.NotebookNode) -> str:
    """Everything that the cells printed or gave."""
    parts = [
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    ]
    return "\n".join(parts)


def has_exercises(lesson: Path) -> bool:
    return notebooks.SOLUTION in lesson.read_text("utf-8")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda p: p.stem)
def test_the_committed_notebooks_are_the_lesson(lesson: Path) -> None:
    source = lesson.read_text("utf-8")
    for solved in (False, True) if has_exercises(lesson) else (False,):
        written = committed(lesson, solved=solved)
        made = notebooks.notebook(source, solved=solved)
        assert [(c.cell_type, c.source) for c in written.cells] == [
            (c.cell_type, c.source) for c in made.cells
        ], "run: python scripts/notebooks.py"
        assert "widgets" not in written.metadata


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda p: p.stem)
def test_a_lesson_runs_from_top_to_bottom(lesson: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = text(run(lesson, monkeypatch))
    assert not re.search(r"Traceback|Error", said), said
    assert not has_exercises(lesson) or "not yet" in said, "an open exercise is not solved"


@pytest.mark.parametrize("lesson", [*filter(has_exercises, LESSONS)], ids=lambda p: p.stem)
def test_its_solution_solves_its_exercises(lesson: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = text(run(lesson, monkeypatch, solved=True))
    assert "solved ✓" in said
    assert "not yet" not in said


def test_the_first_lesson_shows_both_outcomes(monkeypatch: pytest.MonkeyPatch) -> None:
    said = text(run(LESSONS[0], monkeypatch))
    assert "I was told: {'deleted': 'an old order'}" in said
    assert "Keep the customer." in said
    assert "{'xyz-789': 'a customer'}" in said


def test_the_second_lesson_asks_in_three_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    said = text(run(LESSONS[1], monkeypatch))
    assert "Trip(city='Oslo', days=2, travel_by='train')" in said
    assert "The tool says: It is sunny in Turin." in said
    assert "The tool says: You picked red." in said
    assert "suspended - {'message': 'Which colour?', 'options': ['red', 'blue']}" in said
    assert "The tool says: You picked blue." in said


def test_the_third_lesson_deletes_only_what_was_approved(monkeypatch: pytest.MonkeyPatch) -> None:
    said = text(run(LESSONS[2], monkeypatch))
    assert "Declined: Keep them." in said
    assert "sk-not-for-your-eyes" not in said


def test_the_managed_agents_lesson_runs_only_what_was_approved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lesson = notebooks.LESSONS / "15_managed_agents.py"
    said = text(run(lesson, monkeypatch))
    assert "'end_turn'" in said
    assert "['rm -r build']" in said
    assert "('bash', 'approve', 'rule:only_listing')" in said
    assert "('bash', 'decline', 'rule:only_listing')" in said
