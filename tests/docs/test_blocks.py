"""Every Python block of the README and the docs is run; the blocks of a page share their names."""

from __future__ import annotations

import inspect
import sys
import types
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

import hitl_widgets as hitl
from hitl_widgets import deciders
from hitl_widgets.testing import scripted

from .blocks import Block, blocks, compiled, run

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in sorted([*ROOT.glob("README*.md"), *(ROOT / "docs").rglob("*.md")])
    if blocks(page)
]
ASKED = {
    "How many rows?": hitl.Answer(10),
    "何行ですか?": hitl.Answer(10),
    "Which order?": hitl.Answer(102),
}

BEFORE = {
    "front-ends.md": """
import hitl_widgets as hitl
agent = hitl.Agent("records", model=hitl.ScriptedModel(["Gone."]))
""",
}
"""What a page takes as known."""


def reader(request: hitl.Request) -> hitl.Approve | hitl.Answer | None:
    """What a reader of the pages decides."""
    if request.kind == "approval":
        return hitl.Approve()
    if request.message in ASKED:
        return ASKED[request.message]
    return hitl.Answer({"city": "Turin"})


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A page's names, as a module's: tools look their annotations up there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(deciders, "_settings", deciders.Settings())
    page = types.ModuleType("a_page_of_the_docs")
    monkeypatch.setitem(sys.modules, page.__name__, page)
    yield vars(page)
    hitl.configure(audit=None)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
async def test_the_blocks_of_a_page_run(page: Path, namespace: dict[str, Any]) -> None:
    await run(Block(1, BEFORE.get(page.name, ""), None), page, namespace)
    for block in blocks(page):
        if block.mark == "needs a provider":
            await compiled(block, page, namespace)
            continue
        deciding = nullcontext() if block.mark == "nobody" else hitl.reviewer(reader)
        with deciding:
            await run(block, page, namespace)


async def test_the_test_in_the_page_on_testing_passes(namespace: dict[str, Any]) -> None:
    page = ROOT / "docs" / "howto" / "testing.md"
    with hitl.reviewer(reader):
        for block in blocks(page):
            await run(block, page, namespace)
    named = [n for n, v in namespace.items() if n.startswith("test_") and inspect.isfunction(v)]
    assert named == ["test_it_keeps_what_is_declined"]

    def use(*rules: Any) -> Any:
        made = scripted(*rules)
        deciders.configure(reviewer=made)
        return made

    before = list(namespace["deleted"])
    await namespace[named[0]](use)
    assert namespace["deleted"] == before


def test_only_blocks_that_need_a_provider_are_not_run() -> None:
    marked = [(p.name, b.code) for p in PAGES for b in blocks(p) if b.mark == "needs a provider"]
    # A model's, or a messenger's: both would be asked for real.
    assert all('model="' in code or "notify=" in code for _, code in marked), marked


class TestTheHarness:
    """A page that is wrong fails."""

    async def test_a_wrong_value_fails(self) -> None:
        with pytest.raises(AssertionError, match="2"):
            await run(Block(1, "1 + 1  # → 3\n", None), Path("page.md"), {})

    async def test_a_value_that_is_awaited_is_compared(self) -> None:
        code = "import asyncio\nawait asyncio.sleep(0, 'x')  # → 'x'\n"
        await run(Block(1, code, None), Path("page.md"), {})

    async def test_an_error_names_the_page_s_line(self) -> None:
        with pytest.raises(ZeroDivisionError) as caught:
            await run(Block(12, "x = 1\n1 / 0\n", None), Path("page.md"), {})
        assert caught.traceback[-1].lineno + 1 == 13

    def test_a_mark_that_is_not_known_is_an_error(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        page.write_text("<!-- skip -->\n```python\n1\n```\n", "utf-8")
        with pytest.raises(ValueError, match="skip"):
            blocks(page)
