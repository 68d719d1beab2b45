"""Write the lessons in notebooks/ from the texts in scripts/lessons/.

A lesson is a Python file in the "percent" format that Jupytext and VS Code read: ``# %%`` begins
a code cell, ``# %% [markdown]`` a text cell. In a cell of an exercise a line ``# solution:`` parts
what the student gets from what stands in notebooks/solutions/. Run it after an edit; a test
compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

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


def notebook(source: str, *, solved: bool = False) -> nbformat.NotebookNode:
    """The notebook of a lesson, with its exercises open or solved."""
    cells: list[nbformat.NotebookNode] = []
    for index, block in enumerate(source.split("# %%")[1:]):
        head, _, body = block.partition("\n")
        text = body.strip("\n")
        if "[markdown]" in head:
            lines = [line.removeprefix("#").removeprefix(" ") for line in text.splitlines()]
            cell = nbformat.v4.new_markdown_cell("\n".join(lines))
        else:
            cell = nbformat.v4.new_code_cell(_part(text, solved=solved))
        cell["id"] = f"cell-{index}"  # stable: a random one would change the file at each run
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells, metadata=KERNEL)


def _part(text: str, *, solved: bool) -> str:
    task, mark, solution = text.partition(SOLUTION)
    return (solution if solved and mark else task).strip("\n")


def main() -> int:
    """Write every lesson, and its solution where it has exercises."""
    SOLUTIONS.mkdir(parents=True, exist_ok=True)
    for lesson in sorted(LESSONS.glob("*.py")):
        source = lesson.read_text("utf-8")
        made = {NOTEBOOKS / f"{lesson.stem}.ipynb": notebook(source)}
        if SOLUTION in source:
            made[SOLUTIONS / f"{lesson.stem}.ipynb"] = notebook(source, solved=True)
        for path, content in made.items():
            path.write_text(nbformat.writes(content) + "\n", "utf-8")
            print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
