"""Write the lessons in notebooks/ from the texts in scripts/lessons/, with their real outputs.

A lesson is a Python file in the "percent" format that Jupytext and VS Code read: ``# %%`` begins
a code cell, ``# %% [markdown]`` a text cell. In a cell of an exercise a line ``# solution:`` parts
what the student gets from what stands in notebooks/solutions/. ``only="page"`` behind either is for
JupyterLite, where Python runs in the page, ``only="kernel"`` for everywhere else. Run it after an
edit; a test compares::

    python scripts/notebooks.py              # every lesson
    python scripts/notebooks.py 04 07        # these
    python scripts/notebooks.py --plain 04   # without executing: no outputs

The outputs come from a real kernel in which a scripted reviewer decides; run again they differ in
ids and times alone.
"""

from __future__ import annotations

import argparse
import getpass
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).resolve().parent.parent
LESSONS = ROOT / "scripts" / "lessons"
NOTEBOOKS = ROOT / "notebooks"
SOLUTIONS = NOTEBOOKS / "solutions"
SOLUTION = "# solution:"
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TIMEOUT = 300


def notebook(source: str, *, solved: bool = False, where: str = "kernel") -> nbformat.NotebookNode:
    """The notebook of a lesson, with its exercises open or solved.

    Parameters
    ----------
    where
        Where its Python runs: in a ``"kernel"``, or in the ``"page"``.
    """
    cells: list[nbformat.NotebookNode] = []
    for block in source.split("# %%")[1:]:
        head, _, body = block.partition("\n")
        if "only=" in head and f'only="{where}"' not in head:
            continue
        text = body.strip("\n")
        if "[markdown]" in head:
            lines = [line.removeprefix("#").removeprefix(" ") for line in text.splitlines()]
            cell = nbformat.v4.new_markdown_cell("\n".join(lines))
        else:
            cell = nbformat.v4.new_code_cell(_part(text, solved=solved))
        cell["id"] = f"cell-{len(cells)}"  # stable: a random one would change the file at each run
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells, metadata=KERNEL)


def _part(text: str, *, solved: bool) -> str:
    task, mark, solution = text.partition(SOLUTION)
    return (solution if solved and mark else task).strip("\n")


# -- outputs ---------------------------------------------------------------------------------------


def execute(made: nbformat.NotebookNode, reviewer: str) -> nbformat.NotebookNode:
    """Run a notebook in a folder and with a store of its own.

    Parameters
    ----------
    reviewer
        ``module:name`` of who decides.

    Returns
    -------
    NotebookNode
        The same, with its outputs; nothing in them tells of this machine.
    """
    with tempfile.TemporaryDirectory(prefix="lesson-") as folder:
        around = {
            "HITL_STORE": str(Path(folder) / "requests.db"),
            "HITL_REVIEWER": reviewer,
            "PYTHONPATH": str(ROOT),
        }
        with _environment(around):
            client = nbclient.NotebookClient(
                made,
                timeout=TIMEOUT,
                store_widget_state=False,
                resources={"metadata": {"path": folder}},
            )
            client.execute()
        words = {folder: ".", str(ROOT): ".", platform.node(): "a-computer"}
        user = getpass.getuser()
        words |= {f"'user': '{user}'": "'user': 'student'", f"user: {user}": "user: student"}
        for cell in made.cells:
            cell.metadata.pop("execution", None)  # times, twice per cell
            if cell.cell_type == "code":
                cell["outputs"] = [_neutral(output, words) for output in cell.outputs]
    made.metadata = nbformat.from_dict(KERNEL)  # the kernel adds its exact version
    return made


def _neutral(value: Any, words: Mapping[str, str]) -> Any:
    """A copy of an output without names of this machine."""
    if isinstance(value, str):
        for word, neutral in words.items():
            value = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", neutral, value)
        return value
    if isinstance(value, list):
        return [_neutral(v, words) for v in value]
    if isinstance(value, dict):
        return nbformat.from_dict(
            {k: v if k.startswith("image/") else _neutral(v, words) for k, v in value.items()}
        )
    return value


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def main(argv: list[str] | None = None) -> int:
    """Write the lessons, and their solutions where they have exercises."""
    parser = argparse.ArgumentParser(description="Write notebooks/ from scripts/lessons/.")
    parser.add_argument("--plain", action="store_true", help="do not execute: no outputs")
    parser.add_argument("numbers", nargs="*", help="such as 04 07; every lesson unless given")
    given = parser.parse_args(argv)
    SOLUTIONS.mkdir(parents=True, exist_ok=True)
    for lesson in sorted(LESSONS.glob("*.py")):
        number = lesson.stem[:2]
        if given.numbers and number not in given.numbers:
            continue
        source = lesson.read_text("utf-8")
        made = {NOTEBOOKS / f"{lesson.stem}.ipynb": (notebook(source), "lesson")}
        if SOLUTION in source:
            solved = notebook(source, solved=True)
            made[SOLUTIONS / f"{lesson.stem}.ipynb"] = (solved, "solution")
        for path, (content, kind) in made.items():
            if not given.plain:
                execute(content, f"tests.notebooks.reviewers:{kind}_{number}")
            path.write_text(nbformat.writes(content) + "\n", "utf-8")
            print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
