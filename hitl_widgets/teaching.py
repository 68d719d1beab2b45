"""Teaching: let students decide on cards, and see what each wrong decision would have done.

A teacher writes requests with a key; a student runs ``await hitl.teaching.quiz(requests, key)``
and decides. The result is a plain JSON file beside the notebook, which any exchange of files
(nbgrader's too) collects; `class_table` reads a folder of them.

The key stands in the student's notebook or in a module beside it: a quiz teaches, it does not
examine. What a student's kernel writes, a student can write.
"""

from __future__ import annotations

import getpass
import html
import importlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

from .agent.agent import Agent
from .agent.models import ScriptedModel, call
from .agent.tools import Tool
from .errors import HitlError
from .request import Effect, Request, State
from .schema import shape_of
from .trail import table

__all__ = ["Question", "Result", "class_table", "expect", "question", "quiz"]

FORMAT = "hitl-quiz/1"
Right = Literal["approve", "decline", "edit", "respond"]
_DECIDED: tuple[State, ...] = ("done", "failed", "declined", "responded")
_RIGHT = ("approve", "decline", "edit", "respond")
_WORDS = {
    "approve": "approved",
    "decline": "declined",
    "edit": "approved with changes",
    "respond": "answered in its place",
}


@dataclass(frozen=True, slots=True)
class Question:
    """A call that a student decides. Nothing runs, whatever is decided.

    Attributes
    ----------
    tool_name, args
        As a model would propose it; the arguments are JSON.
    effect
        ``"read"``, ``"write"``, ``"costly"``, ``"destructive"`` or ``"unknown"``.
    task
        What the user had asked for: without it nobody can tell right from wrong.
    """

    tool_name: str
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    effect: Effect = "unknown"
    task: str = ""


@dataclass(frozen=True, slots=True)
class Expected:
    """The right decision on a question; made by `expect`."""

    right: tuple[Right, ...]
    otherwise: str


def question(
    tool_name: str, *, task: str = "", effect: Effect = "unknown", **args: Any
) -> Question:
    """A call to decide: ``question("delete_rows", task="Clean up", table="orders")``.

    See `Question` for arguments whose names are taken here.
    """
    return Question(tool_name, args, effect, task)


def expect(*right: Right, otherwise: str) -> Expected:
    """An entry of a key.

    Parameters
    ----------
    right
        ``"approve"``, ``"decline"``, ``"edit"`` (approve with other arguments) or ``"respond"``;
        several where several are right.
    otherwise
        What a wrong decision would have done, in words for the student.

    Raises
    ------
    ValueError
        A decision that does not exist, or none.
    """
    unknown = [r for r in right if r not in _RIGHT]
    if unknown or not right:
        raise ValueError(
            f"expect({', '.join(map(repr, right))}): say what is right, any of {', '.join(_RIGHT)}."
        )
    return Expected(right, otherwise)


@dataclass(frozen=True, slots=True)
class Answered:
    """One question, decided.

    Attributes
    ----------
    given
        ``approve``, ``decline``, ``edit`` or ``respond``.
    consequence
        What the decision would have done when it was wrong, else "".
    seconds
        From the card to the decision.
    """

    tool_name: str
    args: dict[str, Any]
    given: str
    right: tuple[str, ...]
    consequence: str
    reason: str | None
    seconds: float
    fingerprint: str

    @property
    def ok(self) -> bool:
        """Whether it was right."""
        return self.given in self.right


@dataclass(frozen=True, slots=True)
class Result:
    """How a quiz went; shows itself in a cell.

    Attributes
    ----------
    path
        The file that a teacher collects.
    """

    name: str
    student: str
    answers: tuple[Answered, ...]
    path: Path | None = None

    @property
    def score(self) -> int:
        """How many decisions were right."""
        return sum(a.ok for a in self.answers)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.score} of {len(self.answers)} right"]
        for number, a in enumerate(self.answers, 1):
            lines.append(f"  {'✓' if a.ok else '✗'} {number}. {a.tool_name}: you {_said(a)}")
            if not a.ok:
                lines.append(f"      {a.consequence}")
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = (
            ("✓ right" if a.ok else "✗ wrong", a.tool_name, _said(a), a.consequence)
            for a in self.answers
        )
        heads = ("", "Call", "You", "What it would have done")
        return table(heads, rows, caption=f"{self.name}: {self.score} of {len(self.answers)} right")

    def to_json(self) -> dict[str, Any]:
        """What the file holds."""
        return {
            "format": FORMAT,
            "quiz": self.name,
            "student": self.student,
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "score": self.score,
            "of": len(self.answers),
            "answers": [
                {
                    "tool": a.tool_name,
                    "args": a.args,
                    "given": a.given,
                    "right": list(a.right),
                    "ok": a.ok,
                    "reason": a.reason,
                    "seconds": a.seconds,
                    "fingerprint": a.fingerprint,
                }
                for a in self.answers
            ],
        }


def _said(answered: Answered) -> str:
    return _WORDS.get(answered.given, answered.given)


async def quiz(
    requests: Sequence[Question | Request],
    key: Sequence[Expected],
    *,
    name: str = "quiz",
    student: str | None = None,
    folder: str | os.PathLike[str] = ".",
    store: Any = None,
) -> Result:
    """Let a student decide on cards, one after the other; nothing that they decide runs.

    Parameters
    ----------
    requests
        `Question` objects, or real `hitl.Request` objects (from ``hitl.pending()``, say): their
        tool, arguments and effect are asked about, the requests themselves stay as they are.
    key
        For each request what is right: `expect`.
    name
        Names the quiz and its file.
    student
        Who decides; ``JUPYTERHUB_USER``, ``NB_USER`` or the account's name unless given.
    folder
        Where the file ``<name>.quiz.json`` is written: beside the notebook unless given.
    store
        Path or store object; None is the configured default.

    Returns
    -------
    Result
        Make it a cell's last expression: the score, and what each wrong decision would have done.

    Raises
    ------
    ValueError
        The key does not fit the requests, or `name` is no file name.
    RunSuspended
        Nobody can be asked here; no file is written.
    """
    if len(requests) != len(key):
        raise ValueError(
            f"{len(requests)} requests and {len(key)} entries in the key: give one for each."
        )
    if not name or Path(name).name != name:
        raise ValueError(f"quiz(name={name!r}): give a name without folders.")
    answers = [await _ask(r, e, store) for r, e in zip(requests, key, strict=True)]
    path = Path(folder) / f"{name}.quiz.json"
    result = Result(name, student or _who(), tuple(answers), path)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(result.to_json(), indent=1) + "\n", "utf-8")
    partial.replace(path)
    return result


async def _ask(given: Question | Request, expected: Expected, store: Any) -> Answered:
    """One card, by an agent that has nothing but this one call to propose."""
    args = json.loads(json.dumps(dict(given.args)))
    task = given.task if isinstance(given, Question) else given.message
    agent = Agent(
        "quiz",
        name=task or "Quiz",
        model=ScriptedModel([[call(given.tool_name, **args)], "Noted."]),
        tools=[_harmless(given, args)],
        store=store,
    )
    ended = await agent.run(task or "Quiz")
    decided = agent.store.requests(run_id=ended.run_id, states=_DECIDED)[-1]
    decision: dict[str, Any] = decided.decision or {}
    verdict = str(decision.get("verdict"))
    if verdict == "approve" and decision.get("args") is not None:
        verdict = "edit"
    waited = (decided.decided_at or decided.created_at) - decided.created_at
    return Answered(
        tool_name=given.tool_name,
        args=args,
        given=verdict,
        right=expected.right,
        consequence="" if verdict in expected.right else expected.otherwise,
        reason=decision.get("reason"),
        seconds=round(waited.total_seconds(), 1),
        fingerprint=decided.fingerprint,
    )


def _harmless(given: Question | Request, args: Mapping[str, Any]) -> Tool:
    """The tool of a question: it asks like the real one, and does nothing."""

    async def nothing(**_: Any) -> None: ...

    schema = given.input_schema if isinstance(given, Request) else None
    return Tool(
        id=given.tool_name,
        description="A quiz's tool.",
        function=nothing,
        shape=shape_of(schema or _schema_of(args)),
        require_approval=True,
        effect=given.effect,
    )


def _schema_of(args: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON Schema that these arguments fit, so that a form can edit them."""
    return {
        "type": "object",
        "properties": {name: _type_of(value) for name, value in args.items()},
        "required": list(args),
        "additionalProperties": False,
    }


def _type_of(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case _:
            return {}


def _who() -> str:
    named = os.environ.get("JUPYTERHUB_USER") or os.environ.get("NB_USER")
    return named or getpass.getuser()


# -- the class -------------------------------------------------------------------------------------


class ClassTable(list[dict[str, Any]]):
    """Results of a class as a list of dicts that shows itself as a table in a cell.

    Attributes
    ----------
    refused
        Path → why that file is no result.
    """

    def __init__(self, rows: Sequence[dict[str, Any]], refused: Mapping[str, str]) -> None:
        super().__init__(rows)
        self.refused = dict(refused)

    def _repr_html_(self) -> str:
        names = ("student", "quiz", "score", "of", "wrong", "seconds", "finished_at")
        shown = table(names, ([_cell(row[name]) for name in names] for row in self))
        bad = "".join(
            f"<li><code>{html.escape(p)}</code>: {html.escape(why)}</li>"
            for p, why in self.refused.items()
        )
        more = f"<p>Not read:</p><ul>{bad}</ul>" if bad else ""
        return shown + more


def _cell(value: Any) -> str:
    return ", ".join(cast("list[str]", value)) if isinstance(value, list) else str(value)


def class_table(folder: str | os.PathLike[str], *, as_frame: bool = False) -> Any:
    """Every quiz result below a folder, such as nbgrader's ``submitted/``.

    Parameters
    ----------
    folder
        Searched with its subfolders for ``*.quiz.json``.
    as_frame
        A `pandas.DataFrame` instead (extra ``pandas``).

    Returns
    -------
    ClassTable
        Dicts with `student`, `quiz`, `score`, `of`, `wrong` (tools that were decided wrongly),
        `seconds` (for all decisions), `finished_at` and `path`; by quiz, then student. Files that
        are no results are in its `refused`.

    Raises
    ------
    HitlError
        There is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise HitlError(f"There is no folder {root}: name the one that holds the students' files.")
    rows: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for path in sorted(root.rglob("*.quiz.json")):
        try:
            rows.append(_row(json.loads(path.read_text("utf-8")), path))
        except (OSError, ValueError, KeyError, TypeError) as e:
            refused[str(path)] = f"{type(e).__name__}: {e}"
    rows.sort(key=lambda row: (row["quiz"], row["student"]))
    if not as_frame:
        return ClassTable(rows, refused)
    try:
        pd: Any = importlib.import_module("pandas")
    except ImportError as e:
        raise ImportError(
            "class_table(as_frame=True) needs pandas: pip install 'hitl-widgets[pandas]'."
        ) from e
    return pd.DataFrame(rows)


def _row(content: Any, path: Path) -> dict[str, Any]:
    if content["format"] != FORMAT:
        raise ValueError(f"the format is {content['format']!r}, not {FORMAT!r}")
    answers: list[dict[str, Any]] = content["answers"]
    return {
        "student": str(content["student"]),
        "quiz": str(content["quiz"]),
        "score": sum(a["given"] in a["right"] for a in answers),
        "of": len(answers),
        "wrong": [str(a["tool"]) for a in answers if a["given"] not in a["right"]],
        "seconds": round(sum(float(a["seconds"]) for a in answers), 1),
        "finished_at": str(content["finished_at"]),
        "path": str(path),
    }
