"""A press that comes too early is asked for again, once: the next one is heard (F19)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Locator, expect

from .card import again, card, stands
from .test_core import AFTER, DEFINE

if TYPE_CHECKING:
    from .conftest import Front

everywhere = pytest.mark.parametrize(
    "front",
    [
        "vscode-7.4.0",
        *(
            pytest.param(name, marks=pytest.mark.extended)
            for name in ("lab-7.4.0", "notebook7-7.4.0", "nbclassic-7.4.0")
        ),
    ],
    indirect=True,
)
MOVE_AND_PRESS = """button => {
  button.closest("[role=group]").style.marginTop = "9px";
  button.getBoundingClientRect();
  button.click();
}"""
# The window's edge, or that of the part of it that scrolls, hides most of the button.
CUT = """button => {
  button.scrollIntoView({ block: "end" });
  const page = document.scrollingElement;
  const scrolls = (it) => it.scrollHeight > it.clientHeight + 1
    && getComputedStyle(it).overflowY !== "visible";
  let scroller = button.parentElement;
  while (scroller !== page && !scrolls(scroller)) scroller = scroller.parentElement ?? page;
  scroller.scrollTop -= button.getBoundingClientRect().height * 0.7;
}"""


def approve_of(where: Locator) -> Locator:
    button = card(where).get_by_role("button", name="Approve", exact=True)
    expect(button).to_be_enabled()
    return button


@everywhere
def test_the_press_after_one_that_came_too_early_is_heard(front: Front) -> None:
    book = front.open(DEFINE, front.run("Delete record abc-123"), AFTER)
    book.run_all()
    button = approve_of(book.output(1))
    stands(button)
    button.evaluate(MOVE_AND_PRESS)
    expect(again(button)).to_have_text("The card just moved: press again.")
    stands(button)
    button.click()
    expect(again(button)).to_have_count(0)
    expect(book.output(1)).to_contain_text("Told: {'deleted': 'abc-123'}")
    book.wait_done()
    assert book.text(2) == "after ['abc-123']\n"


@pytest.mark.parametrize("front", ["vscode-7.4.0"], indirect=True)
def test_what_was_said_goes_when_it_was_read_or_when_a_dialog_opens(front: Front) -> None:
    book = front.open(DEFINE, front.run("Delete record abc-123"))
    book.run_all()
    button = approve_of(book.output(1))
    stands(button)
    button.evaluate(MOVE_AND_PRESS)
    expect(again(button)).to_have_count(1)
    expect(again(button)).to_have_count(0)
    button.evaluate(MOVE_AND_PRESS.replace("9px", "3px"))
    expect(again(button)).to_have_count(1)
    shown = card(book.output(1))
    shown.get_by_role("button", name="More actions").click()
    shown.get_by_role("menuitem", name="Decline with a reason…").click()
    expect(shown.get_by_role("dialog")).to_be_visible()
    assert again(button).count() == 0
    shown.get_by_role("button", name="Cancel").click()
    expect(button).to_be_visible()
    assert again(button).count() == 0


@everywhere
def test_a_button_that_is_cut_at_the_edge_is_pressed_at_the_second_try_at_latest(
    front: Front,
) -> None:
    book = front.open(DEFINE, "print('tall\\n' * 60)\n" + front.run("Delete"), AFTER)
    book.run_all()
    button = approve_of(book.output(1))
    button.evaluate(CUT)
    for _ in range(2):
        stands(button)
        box = button.bounding_box()
        assert box is not None
        book.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 7)
        if again(button).count() == 0:
            break
    assert again(button).count() == 0
    expect(book.output(1)).to_contain_text("Told: {'deleted': 'abc-123'}")
    book.wait_done()
    assert book.text(2).endswith("after ['abc-123']\n")
