"""A lesson that needs more than the package brings says at its top what to install."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from scripts import notebooks

BROUGHT = {*sys.stdlib_module_names, "hitl_widgets", "pydantic", "pydantic_ai"}
"""What is there after `pip install hitl-widgets`."""

TOLD = {
    "anthropic": "hitl-widgets[managed-agents]",
    "langchain": "hitl-widgets[langchain]",
    "langchain_core": "hitl-widgets[langchain]",
    "langgraph": "hitl-widgets[langchain]",
    "matplotlib": "matplotlib",
    "pandas": "hitl-widgets[pandas]",
}
"""What a lesson imports beside that, and what its first cell has to name."""


def imported(cells: list[str]) -> set[str]:
    """The packages that some cells import, at their top or inside a function."""
    nodes = [node for cell in cells for node in ast.walk(ast.parse(cell))]
    names = [alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names]
    froms = [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module]
    return {name.split(".")[0] for name in [*names, *froms]}


@pytest.mark.parametrize("lesson", sorted(notebooks.LESSONS.glob("*.py")), ids=lambda p: p.stem)
def test_what_it_needs_stands_in_its_first_cell(lesson: Path) -> None:
    made = notebooks.notebook(lesson.read_text("utf-8"), solved=True)
    code = [cell.source for cell in made.cells if cell.cell_type == "code"]
    lines = made.cells[0].source.splitlines()
    install = " ".join(line for line in lines if line.startswith("    pip install "))
    missing = imported(code) - BROUGHT
    assert {name for name in missing if TOLD[name] not in install} == set()
