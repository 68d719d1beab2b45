"""What a person does with a card, by roles and names."""

from __future__ import annotations

from playwright.sync_api import Locator, expect


def card(where: Locator, tool: str = "delete_record") -> Locator:
    """The card of a call that waits."""
    return where.get_by_role("group", name=f"Approval: {tool}")


# Longer than a press asks for: 400 ms in view and 250 ms at one place.
_STANDS = """async button => {
  let place, since;
  do {
    const { x, y, width, height } = button.getBoundingClientRect();
    const now = [x, y, width, height].join();
    if (now !== place) [place, since] = [now, performance.now()];
    await new Promise(requestAnimationFrame);
  } while (performance.now() - since < 500);
}"""


def stands(button: Locator) -> None:
    """Wait until a button has been at its place for as long as a press asks for."""
    button.evaluate(_STANDS)


def again(button: Locator) -> Locator:
    """What is said of a press that came too early."""
    return button.page.get_by_role("status").filter(has_text="press again")


def press(button: Locator) -> None:
    """Press a consenting button as a person does: once more, when the card says that it moved."""
    button.click()
    if again(button).count():
        stands(button)
        button.click()
        assert again(button).count() == 0, "the second press was not heard either"


def approve(shown: Locator) -> None:
    """Press Approve."""
    press(shown.get_by_role("button", name="Approve", exact=True))


def decline_with(shown: Locator, reason: str) -> None:
    """Choose `Decline with a reason…` and give one."""
    shown.get_by_role("button", name="More actions").click()
    shown.get_by_role("menuitem", name="Decline with a reason…").click()
    dialog = shown.get_by_role("dialog", name="Decline with a reason")
    dialog.get_by_role("textbox", name="Reason").fill(reason)
    dialog.get_by_role("button", name="Decline", exact=True).click()


def decided(where: Locator, tool: str = "delete_record") -> Locator:
    """The card of a call that was decided and is still drawn by its widget."""
    return where.get_by_role("group", name=f"Decided: {tool}")


def expect_silent(shown: Locator) -> None:
    """The card of a kernel that has gone says so untouched, and nothing on it decides (R12)."""
    expect(shown.get_by_role("alert")).to_contain_text("The kernel does not answer")
    for name in ("Approve", "Decline", "More actions"):
        expect(shown.get_by_role("button", name=name, exact=True)).to_be_disabled()
