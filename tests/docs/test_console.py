"""What the pages tell the reader to type in a shell exists: commands, targets, extras, files.

It is not run: it installs things and starts servers.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from hitl_widgets import cli

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SETTING = re.compile(r"\w+=")


def commands() -> list[tuple[str, str]]:
    """Every line after a prompt, with its page; comments and redirections are the shell's."""
    return [
        (page.name, re.split(r"\s+[#>]", line.removeprefix("$ "))[0])
        for page in PAGES
        for block in _BLOCK.findall(page.read_text("utf-8"))
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


def of(program: str) -> list[list[str]]:
    """The arguments of each time a program is called."""
    found = [shlex.split(c) for _, c in commands() if ".venv\\" not in c]
    bare = [c[1:] if _SETTING.match(c[0]) else c for c in found]
    return [c[1:] for c in bare if c and c[0] == program]


def test_every_command_of_ours_is_understood() -> None:
    calls = of("hitl-widgets")
    assert calls, "the pages name no command any more: this test looks in the wrong place"
    for call in calls:
        cli._parser().parse_args(call)


def test_a_command_that_is_not_there_would_be_noticed() -> None:
    with pytest.raises(SystemExit):
        cli._parser().parse_args(["inbox", "aprove", "ID"])


def test_every_target_of_make_exists() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = {a for call in of("make") for a in call if "=" not in a}
    assert {"demo", "test", "lite"} <= targets
    assert {t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)} == set()


def test_every_extra_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    named = {
        extra
        for inside in re.findall(r"hitl-widgets\[([\w,-]+)\]", text)
        for extra in inside.split(",")
    }
    assert {"anthropic", "mcp"} <= named
    assert named - set(project["optional-dependencies"]) == set()


def test_every_file_that_is_opened_exists() -> None:
    opened = [a for call in of("jupyter") for a in call if a.endswith(".ipynb")]
    assert opened
    assert [name for name in opened if not (ROOT / name).is_file()] == []
