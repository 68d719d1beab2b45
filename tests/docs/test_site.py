"""The site: every page is reached, every public name has its place, nothing links to nowhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hitl_widgets as hitl
from hitl_widgets import errors

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
_WITHOUT_A_HEADING = {"disabled"}
"""A constant; the page on policies says what it is."""


def test_every_public_name_is_in_the_reference() -> None:
    text = "\n".join(p.read_text("utf-8") for p in (DOCS / "reference").glob("*.md"))
    named = set(re.findall(r"^::: hitl_widgets\.[\w.]+?\.(\w+)$", text, re.MULTILINE))
    described = {n for n in hitl.__all__ if hasattr(errors, n)} | {*hitl._SUBMODULES}
    missing = set(hitl.__all__) - named - described - _WITHOUT_A_HEADING
    assert missing == set(), "add it to docs/reference"


def test_every_page_is_in_the_navigation() -> None:
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    pages = {str(p.relative_to(DOCS)) for p in DOCS.rglob("*.md")}
    assert {p for p in pages if p not in config} == set()


@pytest.mark.parametrize("name", ["README.md", "README.ja.md"])
def test_what_the_readme_links_to_is_there(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = re.findall(r"\]\((?!https?://)([^)#]+)", text)
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.extended
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "agent" / "index.html").is_file()
