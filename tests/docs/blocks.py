"""The Python blocks of a page, and how they are run."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BLOCK = re.compile(
    r"^(?:<!--[ ]*(?P<mark>[\w ]+?)[ ]*-->\n)?```python\n(?P<code>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
_SHOWN = re.compile(r"#\s*→\s*(?P<value>.+)$")
MARKS = ("needs a provider", "nobody")
"""A block that is only compiled; a block that runs while no reviewer is in force."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block: where it begins, its text, and the mark above it."""

    line: int
    code: str
    mark: str | None


def blocks(page: Path) -> list[Block]:
    """Every Python block of a page, in order."""
    text = page.read_text("utf-8")
    found = [
        Block(text.count("\n", 0, m.start("code")) + 1, m["code"], m["mark"])
        for m in _BLOCK.finditer(text)
    ]
    unknown = [b.mark for b in found if b.mark is not None and b.mark not in MARKS]
    if unknown or len(found) != text.count("```python"):
        raise ValueError(f"{page}: a mark that is not known ({unknown}), or a block that is not")
    return found


async def run(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    """Run a block; what stands behind ``# →`` must be the value of its expression."""
    padded = "\n" * (block.line - 1) + block.code  # a traceback names the page's own lines
    lines = padded.splitlines()
    for statement in ast.parse(padded).body:
        shown = _SHOWN.search(lines[(statement.end_lineno or 1) - 1])
        if shown is None:
            await _execute([statement], page, namespace)
            continue
        if not isinstance(statement, ast.Expr):
            raise TypeError(f"{page}:{statement.lineno}: '# →' stands behind an expression")
        value = await _evaluate(statement.value, page, namespace)
        where = f"{page}:{statement.lineno}: {value!r}"
        assert repr(value) == shown["value"].strip(), where


async def compiled(block: Block, page: Path, namespace: dict[str, Any]) -> None:
    """Compile a block that needs a provider; what it imports, later blocks of its page use."""
    compile(block.code, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    imports = [s for s in ast.parse(block.code).body if isinstance(s, ast.Import | ast.ImportFrom)]
    await _execute(imports, page, namespace)


async def _execute(body: Sequence[ast.stmt], page: Path, namespace: dict[str, Any]) -> None:
    module = ast.Module(list(body), [])
    code = compile(module, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await _awaited(eval(code, namespace), code)  # noqa: S307  # our own pages


async def _evaluate(expression: ast.expr, page: Path, namespace: dict[str, Any]) -> Any:
    code = compile(ast.Expression(expression), str(page), "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    return await _awaited(eval(code, namespace), code)  # noqa: S307


async def _awaited(value: Any, code: Any) -> Any:
    return await value if code.co_flags & inspect.CO_COROUTINE else value
