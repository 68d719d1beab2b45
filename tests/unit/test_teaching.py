"""Quizzes: students decide on cards that do nothing; a file for the teacher; a class table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest

import hitl_widgets as hitl
from hitl_widgets.testing import scripted

teaching = hitl.teaching

QUESTIONS = [
    teaching.question("read_table", task="Show the orders", effect="read", name="orders"),
    teaching.question("delete_table", task="Clean up logs", effect="destructive", name="orders"),
    teaching.question("send_mail", task="Invite the team", to="all@example.com", urgent=True),
]
KEY = [
    teaching.expect("approve", otherwise="Nobody sees the orders."),
    teaching.expect("decline", otherwise="The orders are gone for ever."),
    teaching.expect("edit", "decline", otherwise="Ten thousand people are invited."),
]
EDITED = hitl.Approve(args={"to": "team@example.com", "urgent": True})


async def take(folder: Path, *decisions: Any, **options: Any) -> Any:
    with hitl.reviewer(scripted(*decisions)):
        return await teaching.quiz(QUESTIONS, KEY, folder=folder, **options)


async def test_all_right_is_a_full_score(tmp_path: Path) -> None:
    result = await take(tmp_path, hitl.Approve(), hitl.Decline("Wrong table."), EDITED)
    assert [a.given for a in result.answers] == ["approve", "decline", "edit"]
    assert result.score == 3
    assert "3 of 3 right" in str(result)
    assert "gone for ever" not in str(result)


async def test_a_wrong_decision_says_what_it_would_have_done(tmp_path: Path) -> None:
    result = await take(tmp_path, hitl.Decline(), hitl.Approve(), hitl.Approve())
    assert result.score == 0
    assert [a.consequence for a in result.answers] == [
        "Nobody sees the orders.",
        "The orders are gone for ever.",
        "Ten thousand people are invited.",
    ]
    shown = result._repr_html_()
    assert "The orders are gone for ever." in shown
    assert "0 of 3 right" in shown


async def test_the_task_is_what_the_student_is_told(tmp_path: Path) -> None:
    seen = scripted(hitl.Approve(), hitl.Decline(), EDITED)
    with hitl.reviewer(seen):
        await teaching.quiz(QUESTIONS, KEY, folder=tmp_path)
    assert [r.origin["prompt"] for r in map(_run_of, seen.seen)] == [
        "Show the orders",
        "Clean up logs",
        "Invite the team",
    ]
    assert [r.effect for r in seen.seen] == ["read", "destructive", "unknown"]


def _run_of(request: hitl.Request) -> Any:
    return request.store.run(request.run_id)


async def test_the_result_is_one_plain_file_beside_the_notebook(tmp_path: Path) -> None:
    result = await take(
        tmp_path, hitl.Approve(), hitl.Decline("No."), EDITED, name="week 3", student="ada"
    )
    assert [p.name for p in tmp_path.iterdir() if "quiz" in p.name] == ["week 3.quiz.json"]
    assert result.path == tmp_path / "week 3.quiz.json"
    content = json.loads(result.path.read_text("utf-8"))
    assert (content["student"], content["score"], content["of"]) == ("ada", 3, 3)
    assert content["answers"][1]["reason"] == "No."
    assert content["answers"][1]["fingerprint"].startswith("hf1:")


@pytest.mark.parametrize(
    ("around", "student"),
    [({"NB_USER": "ada"}, "ada"), ({"NB_USER": "jovyan", "JUPYTERHUB_USER": "bob"}, "bob")],
)
async def test_the_student_is_whom_the_server_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, around: dict[str, str], student: str
) -> None:
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    for name, value in around.items():
        monkeypatch.setenv(name, value)
    result = await take(tmp_path, hitl.Approve(), hitl.Decline(), EDITED)
    assert result.student == student


async def test_the_seconds_of_a_decision_are_in_the_file_and_in_the_table(tmp_path: Path) -> None:
    with hitl.reviewer(scripted(hitl.Approve(), delay=0.2)):
        result = await teaching.quiz(QUESTIONS[:1], KEY[:1], folder=tmp_path)
    assert result.answers[0].seconds >= 0.2
    assert json.loads(result.path.read_text("utf-8"))["answers"][0]["seconds"] >= 0.2
    assert teaching.class_table(tmp_path)[0]["seconds"] >= 0.2


async def test_a_stop_ends_that_question_alone(tmp_path: Path) -> None:
    result = await take(tmp_path, hitl.Approve(), hitl.Decline("Stop.", stop=True), EDITED)
    assert [a.given for a in result.answers] == ["approve", "decline", "edit"]


async def test_a_real_request_can_be_a_question_and_stays_as_it_is(tmp_path: Path) -> None:
    @hitl.tool(require_approval=True, effect="write")
    async def rename(old: str, new: Literal["b", "c"]) -> str:
        "Rename."
        raise AssertionError("a quiz runs nothing")

    agent = hitl.Agent(
        "real", tools=[rename], model=hitl.ScriptedModel([[hitl.call("rename", old="a", new="b")]])
    )
    run = await agent.generate("go")
    with hitl.reviewer(scripted(hitl.Approve(args={"old": "a", "new": "c"}))):
        result = await teaching.quiz(
            run.requests, [teaching.expect("edit", otherwise="No.")], folder=tmp_path
        )
    assert result.score == 1
    assert result.answers[0].fingerprint == run.requests[0].fingerprint
    impossible = scripted(hitl.Approve(args={"old": "a", "new": "z"}))
    with hitl.reviewer(impossible), pytest.raises(hitl.InvalidAnswer):
        await teaching.quiz(
            run.requests, [teaching.expect("edit", otherwise="No.")], folder=tmp_path
        )
    assert [r.state for r in await hitl.pending(agent_id="real")] == ["pending"]


async def test_with_nobody_there_no_file_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    with pytest.raises(hitl.RunSuspended):
        await teaching.quiz(QUESTIONS, KEY, folder=folder)
    assert list(folder.iterdir()) == []


async def test_a_key_that_does_not_fit_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="3 requests and 2"):
        await teaching.quiz(QUESTIONS, KEY[:2], folder=tmp_path)
    with pytest.raises(ValueError, match="without folders"):
        await teaching.quiz(QUESTIONS, KEY, name="../x", folder=tmp_path)
    with pytest.raises(ValueError, match="'yes'"):
        teaching.expect("yes", otherwise="")  # pyright: ignore[reportArgumentType]
    assert hitl.history() == []


class TestTheClass:
    async def test_the_files_of_all_students_are_one_table(self, tmp_path: Path) -> None:
        """Where nbgrader collects: submitted/<student>/<assignment>/."""
        for student, first in (("bob", hitl.Decline()), ("ada", hitl.Approve())):
            folder = tmp_path / "submitted" / student / "week3"
            folder.mkdir(parents=True)
            await take(folder, first, hitl.Decline(), EDITED, student=student)
        table = teaching.class_table(tmp_path / "submitted")
        assert [(r["student"], r["score"], r["wrong"]) for r in table] == [
            ("ada", 3, []),
            ("bob", 2, ["read_table"]),
        ]
        assert "bob" in table._repr_html_()
        frame = teaching.class_table(tmp_path, as_frame=True)
        assert frame["score"].sum() == 5

    async def test_a_score_that_was_written_in_is_not_believed(self, tmp_path: Path) -> None:
        result = await take(tmp_path, hitl.Decline(), hitl.Approve(), hitl.Approve())
        content = json.loads(result.path.read_text("utf-8"))
        content["score"] = 3
        result.path.write_text(json.dumps(content), "utf-8")
        assert teaching.class_table(tmp_path)[0]["score"] == 0

    def test_a_file_that_is_no_result_is_named_and_stops_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "broken.quiz.json").write_text("{", "utf-8")
        (tmp_path / "list.quiz.json").write_text("[]", "utf-8")
        (tmp_path / "other.quiz.json").write_text('{"format": "x"}', "utf-8")
        table = teaching.class_table(tmp_path)
        assert list(table) == []
        assert len(table.refused) == 3
        assert "not 'hitl-quiz/1'" in table._repr_html_().replace("&#x27;", "'")

    def test_a_folder_that_is_not_there_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(hitl.HitlError, match="nowhere"):
            teaching.class_table(tmp_path / "nowhere")
