"""Cards among VS Code's real colours, and behind the content policy that it can put on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from .card import card
from .test_core import AFTER, DEFINE
from .vscode import Theme, VSCodeBook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator

    OpenVSCode = Callable[..., VSCodeBook]

RUN = 'result = await agent.run("Delete record abc-123")'

# The contrast of an element's text with what is painted behind it, by WCAG's formula. A canvas
# mixes the layers, whatever notation the colours have.
CONTRAST = """element => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const paint = (colour) => {
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map(v => (v /= 255) <= 0.04045
      ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const layers = [];
  for (let each = element; each; each = each.parentElement) layers.unshift(each);
  let behind = paint("white");
  for (const layer of layers) behind = paint(getComputedStyle(layer).backgroundColor);
  const text = paint(getComputedStyle(element).color);
  return (Math.max(behind, text) + 0.05) / (Math.min(behind, text) + 0.05);
}"""


@pytest.fixture
def open_vscode(chromium: Browser, tmp_path: Path) -> Iterator[OpenVSCode]:
    books: list[VSCodeBook] = []

    def open_(*cells: str, theme: Theme = "dark", policy: bool = False) -> VSCodeBook:
        books.append(VSCodeBook(chromium, tmp_path, list(cells), theme=theme, policy=policy))
        return books[-1]

    yield open_
    for book in books:
        book.close()
        assert book.foreign == [], "the page asked for addresses elsewhere"


def findings(book: VSCodeBook) -> list[str]:
    """What axe-core finds in the cells, one line each."""
    results = Axe().run(book.page, context="#container")
    return [
        f"{violation['id']}: {node['html']}"
        for violation in results.response["violations"]
        for node in violation["nodes"]
    ]


def contrasts(shown: Locator) -> dict[str, float]:
    """Contrast of every text that the card itself paints."""
    texts = shown.locator("h3, p, dt, dd, button, code, time, .badge").filter(visible=True)
    return {text.inner_text(): text.evaluate(CONTRAST) for text in texts.all() if text.inner_text()}


@pytest.mark.extended
@pytest.mark.parametrize("theme", ["dark", "light", "hcdark", "hclight"])
def test_a_card_can_be_read_in_every_theme(open_vscode: OpenVSCode, theme: Theme) -> None:
    """axe-core finds nothing, waiting and decided; no text is fainter than 4.5 to 1."""
    book = open_vscode(DEFINE, 'handle = agent.start("Delete")', theme=theme)
    book.run_all()
    shown = card(book.output(1))
    button = shown.get_by_role("button", name="Approve", exact=True)
    expect(button).to_be_enabled()
    assert findings(book) == []
    faint = {text: ratio for text, ratio in contrasts(shown).items() if ratio < 4.5}
    assert faint == {}
    backdrop = book.output(1).locator(".cell-output-ipywidget-background")
    assert backdrop.evaluate("e => getComputedStyle(e).backgroundColor") == "rgba(0, 0, 0, 0)"
    button.focus()
    assert button.evaluate("e => getComputedStyle(e).outlineStyle") != "none"
    shown.get_by_role("button", name="More actions").click()
    shown.get_by_role("menuitem", name="Decline with a reason…").click()
    expect(shown.get_by_role("dialog", name="Decline with a reason")).to_be_visible()
    assert findings(book) == []
    shown.get_by_role("dialog").get_by_role("button", name="Decline", exact=True).click()
    expect(book.output(1)).to_contain_text("Declined by")
    assert findings(book) == []


@pytest.mark.extended
def test_behind_the_content_policy_the_input_box_is_offered(open_vscode: OpenVSCode) -> None:
    """No page says hello there: after ten seconds the question is put in VS Code's input box."""
    book = open_vscode(DEFINE, RUN, AFTER, policy=True)
    book.run_all()
    box = book.page.get_by_role("textbox", name='Allow delete_record(id="abc-123")?')
    expect(box).to_be_visible(timeout=30_000)
    assert any("refused by the page's policy: script-src" in line for line in book.host.log)
    expect(card(book.output(1))).to_have_count(0)
    box.fill("y")
    box.press("Enter")
    book.wait_done()
    assert book.text(2) == "after ['abc-123']\n"
