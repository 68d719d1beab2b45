"""Every lesson runs from top to bottom with a scripted reviewer, and is what its text says."""

from __future__ import annotations

import re
from pathlib import Path

import nbclient
import nbclient.exceptions
import nbformat
import pytest

from scripts import notebooks

ROOT = Path(__file__).resolve().parents[2]
LESSONS = sorted(notebooks.LESSONS.glob("*.py"))


_executed: dict[tuple[Path, bool], nbformat.NotebookNode] = {}


def committed(lesson: Path, *, solved: bool = False) -> nbformat.NotebookNode:
    """A lesson's notebook as it stands in the repository."""
    folder = notebooks.SOLUTIONS if solved else notebooks.NOTEBOOKS
    return nbformat.read(folder / f"{lesson.stem}.ipynb", as_version=4)


def run(
    lesson: Path, monkeypatch: pytest.MonkeyPatch, *, solved: bool = False
) -> nbformat.NotebookNode:
    """Execute a committed lesson in a real kernel: once, for all tests that read what it says."""
    done = _executed.get((lesson, solved))
    if done is not None:
        return done
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    name = f"{'solution' if solved else 'lesson'}_{lesson.stem[:2]}"
    monkeypatch.setenv("HITL_REVIEWER", f"tests.notebooks.reviewers:{name}")
    notebook = committed(lesson, solved=solved)
    nbclient.NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(ROOT)}}
    ).execute()
    _executed[lesson, solved] = notebook
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


def said_by(number: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """What the lesson of this number says when it is run."""
    (lesson,) = (path for path in LESSONS if path.stem.startswith(number))
    return text(run(lesson, monkeypatch))


def has_exercises(lesson: Path) -> bool:
    return notebooks.SOLUTION in lesson.read_text("utf-8")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda p: p.stem)
def test_a_lesson_ends_with_two_exercises_a_check_and_a_solution(lesson: Path) -> None:
    source, number = lesson.read_text("utf-8"), int(lesson.stem[:2])
    _, heading, exercises = source.partition("# ## Exercises")
    assert heading
    for which in "ab":
        assert exercises.count(f"**{number}{which}.**") == 1
    assert exercises.count(f'check_exercise(\n    "{number}"') == 1
    assert has_exercises(lesson)
    assert (notebooks.SOLUTIONS / f"{lesson.stem}.ipynb").is_file()


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
def test_committed_outputs_are_those_of_a_run_and_name_no_machine(lesson: Path) -> None:
    for solved in (False, True) if has_exercises(lesson) else (False,):
        written = committed(lesson, solved=solved)
        code = [c for c in written.cells if c.cell_type == "code"]
        assert [c.execution_count for c in code] == [*range(1, len(code) + 1)], (
            "run: python scripts/notebooks.py"
        )
        said = nbformat.writes(written)
        assert "/tmp/" not in said  # noqa: S108  # the folder it was run in
        assert str(ROOT) not in said
        assert not has_exercises(lesson) or ("solved ✓" in said) is solved


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


def test_in_a_page_the_first_lesson_starts_its_runs() -> None:
    """There no click reaches Python while a cell runs: one that waits would wait for ever."""
    source = (notebooks.LESSONS / "01_first_approval.py").read_text("utf-8")
    here, page = (
        [c.source for c in notebooks.notebook(source, where=where).cells if c.cell_type == "code"]
        for where in ("kernel", "page")
    )
    runs = [cell for cell in page if cell not in here]
    assert [cell.partition("(")[0] for cell in runs if ".start(" in cell] == [
        "first = agent.start",
        "second = careful.start",
    ]
    assert not any(".run(" in cell for cell in page)
    assert [cell for cell in here if cell not in page] == [
        'result = await agent.run("Delete the old order")\nresult.text',
        'result = await careful.run("Delete the customer")\nresult.text',
    ]


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


def test_archiving_without_an_approval_is_no_solution_of_the_first_exercise() -> None:
    """A wrong try can be mended by running the cell again."""
    first, *_, solution, check = code_of("01", solved=True)
    ungated = solution.replace("@hitl.tool(require_approval=True)", "@hitl.tool")
    assert ungated != solution
    said = text(_execute([first, decided_by("hitl.Approve()"), ungated, check, solution, check]))
    assert "not yet\n  ○ archive_record is a tool" in said
    assert "✓ the customer was archived\n  ○ you approved it, and it ran" in said
    assert "solved ✓" in said


def test_the_third_exercise_can_be_answered_again() -> None:
    first, *_, solution, check = code_of("03", solved=True)
    script = decided_by("hitl.Approve()", 'hitl.Respond("zero")', "hitl.Respond([0])")
    again = "answered = await double([1, 2, 3])"
    assert again in solution
    said = text(_execute([first, script, solution, check, again, check]))
    assert "○ you answered in its place" in said
    assert "solved ✓" in said


_WRONG: dict[str, list[tuple[str, str, str]]] = {
    "02": [
        ("Field(ge=0, le=150)", "Field(le=150)", "and no other"),
        ("await hitl.ask(Person, ", 'Person(name="A", age=1) or (', "person was asked for"),
        ("await hitl.ask(list[int], ", "[] or [] and (", "favourites too, as a list of int"),
    ],
    "04": [
        (
            'not call.args["to"].endswith("@example.com")',
            '"@example.com" not in call.args["to"]',
            "so is one whose address only looks like it",
        )
    ],
    "10": [
        ('r.args["risk"] == "low"', 'r.args["risk"] == "high"', "a yes to Music"),
        ("await hitl.decide_all(", "await one_by_one(", "two decisions in one call"),
    ],
    "11": [("<= 100", "< 100", "100 would be, 101 would not")],
    "12": [
        (
            '(v == "decline").mean()',
            '(v == "decline").sum() / (audit["verdict"] == "decline").sum()',
            "Bob too",
        )
    ],
    "13": [
        ("{last_user_words(messages).split()[-1]}", "Ada", "and whoever else comes"),
    ],
    "14": [
        (
            'await tidy.run("Tidy up")',
            "tidy = Agent(TestModel()); await empty_trash()",
            "tidy has your function as a tool",
        )
    ],
}
"""Lesson → what a wrong solution has in place of what, and the check that is not to hold then."""

_BEFORE = {
    "10": "async def one_by_one(all):\n    return [await hitl.decide(*one) for one in all]",
    "12": """
import pandas as pd
audit = pd.DataFrame({
    "tool": ["delete_table", "train", "train", "train"],
    "seconds": [3.0, 1.0, 1.0, 1.0],
    "reviewer": ["ada", "ada", "bob", "chris"],
    "verdict": ["decline", "approve", "decline", "approve"],
})
""",
    "14": "from pydantic_ai import Agent\ndeleted = []",
}
"""Lesson → a cell in place of what its exercises need of the lesson."""

_NEEDED = {
    "02": ["from pydantic"],
    "04": ["import hitl_widgets", "async def delete_file"],
    "10": ["def editor"],
    "11": ["import hitl_widgets"],
    "13": ["removed = []", "def last_user_words"],
}
"""Lesson → words in the cells that its exercises need."""


@pytest.mark.parametrize("number", _WRONG)
def test_a_wrong_solution_is_not_taken_for_a_right_one(number: str) -> None:
    *lesson, solution, check = code_of(number, solved=True)
    needed = [cell for cell in lesson if any(words in cell for words in _NEEDED.get(number, ()))]
    for right, wrong, _ in _WRONG[number]:
        assert solution.count(right) == 1
        solution = solution.replace(right, wrong)
    begin = f"import hitl_widgets as hitl\n{decided_by('hitl.Decline()')}"
    cells = [begin, *needed, _BEFORE.get(number, ""), solution, check]
    said = text(_execute(cells))
    for _, _, words in _WRONG[number]:
        assert f"○ {words}" in said, said


def code_of(number: str, *, solved: bool = False) -> list[str]:
    (lesson,) = (path for path in LESSONS if path.stem.startswith(number))
    return [c.source for c in committed(lesson, solved=solved).cells if c.cell_type == "code"]


def decided_by(*decisions: str) -> str:
    """A cell after which these decisions are made for whoever sits there."""
    script = f"scripted({', '.join(decisions)})"
    return f"from hitl_widgets.testing import scripted\nhitl.configure(reviewer={script})"


def test_the_managed_agents_lesson_runs_only_what_was_approved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lesson = notebooks.LESSONS / "15_managed_agents.py"
    said = text(run(lesson, monkeypatch))
    assert "'end_turn'" in said
    assert "['rm -r build']" in said
    assert "('bash', 'approve', 'rule:only_listing')" in said
    assert "('bash', 'decline', 'rule:only_listing')" in said


def test_the_fourth_lesson_asks_only_about_what_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by("04", monkeypatch)
    assert "paid: [('Ada', 20)]" in said
    assert "pay: ask, because a policy function judged it." in said, "a broken rule asks"
    assert "format_disk  deny" in said


def test_the_fifth_lesson_catches_a_tampered_call(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by("05", monkeypatch)
    assert "Not run. What differs: {'added': [], 'removed': [], 'changed': ['/to', '/amount']}" in (
        said
    )
    assert "[('Ada', 'approve', 'stale'), ('Mallory', 'decline', 'declined')]" in said
    assert "sent: []" in said
    honest, again, lookalike = re.findall(r"^hf1:\w{12}", said, re.MULTILINE)[:3]
    assert honest == again != lookalike


def test_the_sixth_lesson_tells_the_model_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by("06", monkeypatch)
    assert "'human_changed_arguments': {'from': {'to': 'all@example.com'" in said
    assert "Their reason: Wait until Friday." in said
    assert "sent by hand - mails sent by the tool: 0" in said


def test_the_seventh_lesson_survives_two_deaths(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by("07", monkeypatch)
    assert "suspended\n -9" in said
    assert "[('publish', {'report': 'Q3'}, 'pending')]" in said
    assert "'I was told: published Q3'" in said
    assert "send_mail {'to': 'ada@example.com'} outcome_unknown" in said


def test_the_seventh_lesson_kills_its_kernel_only_when_told_to() -> None:
    (lesson,) = (path for path in LESSONS if path.stem.startswith("07"))
    kills = [c.source for c in committed(lesson).cells if "os._exit(1)" in c.source]
    assert any("\n# import os; os._exit(1)" in source for source in kills)
    assert not any(source.startswith("import os; os._exit") for source in kills)


def test_the_seventh_lesson_s_kernel_can_be_killed_as_it_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the kill, in a new kernel: the first two code cells, and the one below the kill."""
    (lesson,) = (path for path in LESSONS if path.stem.startswith("07"))
    code = [c.source for c in committed(lesson).cells if c.cell_type == "code"]
    kill = next(i for i, source in enumerate(code) if "# import os; os._exit(1)" in source)
    deadly = code[kill].replace("# import os; os._exit(1)", "import os; os._exit(1)")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with pytest.raises(nbclient.exceptions.DeadKernelError):
        _execute([*code[:2], deadly])
    said = text(_execute([*code[:2], *code[kill : kill + 2]]))
    assert "1 run waits for: publish" in said


def _execute(sources: list[str]) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    made = nbformat.v4.new_notebook(cells=cells, metadata=notebooks.KERNEL)
    nbclient.NotebookClient(made, timeout=120).execute()
    return made


def test_the_eighth_lesson_brings_a_deep_question_to_the_top(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = said_by("08", monkeypatch)
    assert "suspended delete_table ('director', 'operations', 'database')" in said
    assert "I was told: I was told: I was told: deleted logs_2019" in said
    assert "Their reason: Archive it first." in said


def test_the_ninth_lesson_fills_in_data_and_never_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by("09", monkeypatch)
    assert "[('XL', 3)]" in said
    assert "To go on I still need an answer: Which size, and how many?" in said
    assert "still waiting: ['pending']" in said


def test_the_tenth_lesson_lets_one_of_two_people_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by("10", monkeypatch)
    assert "['Recipes', 'Sports', 'Weather']" in said
    assert "Too late: declined by grace" in said


def test_the_eleventh_lesson_runs_nothing_that_nobody_approved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said = said_by("11", monkeypatch)
    assert "hitl-widgets inbox approve r_" in said
    assert said.count("told: trained prices") == 2, "after a decision, and from the record"
    assert "is not in decisions.json, and nobody can be asked here" in said


def test_the_twelfth_lesson_shows_the_history_and_finds_the_forgery(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (lesson,) = (path for path in LESSONS if path.stem.startswith("12"))
    made = run(lesson, monkeypatch)
    outputs = [o for c in made.cells if c.cell_type == "code" for o in c.outputs]
    shown = "".join(o.get("data", {}).get("text/html", "") for o in outputs)
    assert shown.count('role="img"') == 2
    assert "approvals took less than a second" in shown
    assert "send_mail: exactly the same call was approved" in shown
    assert sum("image/png" in o.get("data", {}) for o in outputs) == 1
    assert "Refused: the audit trail is append-only" in text(made)
    assert "was changed after it was written" in text(made)


def test_the_thirteenth_lesson_takes_no_model_s_word(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by("13", monkeypatch)
    assert "It says: removed umbrellas" in said
    assert "[('remove', {'item': 'a'}, 'pending')]" in said, "pydantic-ai's TestModel"
    assert "suspended ['pending'] ['umbrellas']" in said


def test_the_fourteenth_lesson_gates_two_other_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    said = said_by("14", monkeypatch)
    assert "AgentRunResult - deleted a.csv | A human declined this call" in said
    assert "It says: dropped tmp" in said
    assert "{'city': 'Turin'}" in said
