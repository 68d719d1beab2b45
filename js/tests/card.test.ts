import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import type { KernelMessage, PageMessage, RequestView } from "../src/generated/messages";
import { inline, parse } from "../src/json";
import answered from "./fixtures/answered.json";
import approval from "./fixtures/approval.json";
import approved from "./fixtures/approved.json";
import compare from "./fixtures/compare.json";
import confirm from "./fixtures/confirm.json";
import declined from "./fixtures/declined.json";
import edited from "./fixtures/edited.json";
import expired from "./fixtures/expired.json";
import hostile from "./fixtures/hostile.json";
import kernelMessages from "./fixtures/kernel-messages.json";
import type pageMessages from "./fixtures/page-messages.json";
import stale from "./fixtures/stale.json";
import unknown from "./fixtures/unknown.json";
import withdrawn from "./fixtures/withdrawn.json";
import { ack, off, show as showIn, yes } from "./kernel";

const view = (fixture: unknown, more: Partial<RequestView> = {}): RequestView => ({
  ...(fixture as RequestView),
  ...more,
});

let gone: (() => void)[] = [];
function show(shown: RequestView, answer: Parameters<typeof showIn>[1] = {}) {
  const made = showIn({ view: shown }, answer);
  gone.push(made.unmount, () => made.el.remove());
  return made;
}

beforeEach(() => {
  gone = [];
});
afterEach(() => {
  for (const away of gone) away();
});

const button = (name: string) => page.getByRole("button", { name, exact: true });
const card = () => page.getByRole("group", { name: "Approval: delete_record" });

/** Long enough in view, and still, for a press to count. */
const settled = (element: Element) =>
  vi.waitUntil(
    () => element.getBoundingClientRect().height > 0 && performance.now() > bornAt + 600,
    { timeout: 2000 },
  );
let bornAt = 0;
beforeEach(() => {
  bornAt = performance.now();
});

/** Have the window's lower edge hide a part of a button, for long enough. */
async function cutOff(el: HTMLElement, hidden: Element, part: number) {
  el.style.position = "absolute";
  const { height, bottom } = hidden.getBoundingClientRect();
  const top = el.getBoundingClientRect().top + innerHeight + part * height - bottom;
  el.style.top = `${top}px`;
  bornAt = performance.now();
  await settled(hidden);
}

async function press(name: string) {
  const target = button(name);
  await expect.element(target).toBeEnabled();
  await settled(target.element());
  await target.click();
}

describe("an approval card", () => {
  test("shows tool, effect, cause, path, arguments and fingerprint", async () => {
    show(view(approval));
    await expect.element(card()).toBeVisible();
    const text = card().element().textContent;
    for (const part of [
      "delete_record",
      "destructive",
      "supervisor › data-agent asks, because this tool always needs approval",
      '"abc-123"',
      "status",
      "secret",
      "••••",
      approval.fingerprint.slice(0, 16),
    ])
      expect(text).toContain(part);
    expect(text).not.toContain("s3cret");
  });

  test("sends one decision with the fingerprint that it shows (R3)", async () => {
    const { model } = show(view(approval));
    await press("Approve");
    await vi.waitFor(() => expect(model.of("decide")).toHaveLength(1));
    const { id, visible_ms, ...message } = model.of("decide")[0] as (typeof pageMessages)[2] & {
      visible_ms: number;
    };
    expect(message).toEqual({
      type: "decide",
      request_id: approval.id,
      fingerprint: approval.fingerprint,
      decision: { verdict: "approve" },
    });
    expect(visible_ms).toBeGreaterThan(399);
  });

  test.each(["Approve", "Decline"])("%s pressed twice at once is sent once (R1)", async (name) => {
    const { model } = show(view(approval), {
      answer: (m: PageMessage) => (m.type === "decide" ? null : yes(m)),
    });
    await expect.element(button(name)).toBeEnabled();
    await settled(button(name).element());
    await button(name).dblClick();
    await expect.element(page.getByRole("status")).toHaveTextContent("Sending");
    expect(model.of("decide")).toHaveLength(1);
  });

  test("declines at once, with a reason, or with the run", async () => {
    const { model } = show(view(approval));
    await press("More actions");
    const items = page
      .getByRole("menuitem")
      .elements()
      .map((e) => e.textContent);
    expect(items).toEqual([
      "Approve with a note…",
      "Decline with a reason…",
      "Decline and stop the run",
      "Edit arguments…",
      "Respond instead…",
      "Always allow…",
    ]);
    await page.getByRole("menuitem", { name: "Decline with a reason…" }).click();
    const dialog = page.getByRole("dialog", { name: "Decline with a reason" });
    await dialog.getByRole("textbox", { name: "Reason" }).fill("use staging");
    await dialog.getByRole("button", { name: "Decline" }).click();
    expect(model.of("decide").map((m) => m.decision)).toEqual([
      { verdict: "decline", reason: "use staging" },
    ]);
  });

  test("approves with a note", async () => {
    const { model } = show(view(approval));
    await press("More actions");
    await page.getByRole("menuitem", { name: "Approve with a note…" }).click();
    const dialog = page.getByRole("dialog", { name: "Approve with a note" });
    await dialog.getByRole("textbox", { name: "Note" }).fill("only this once");
    bornAt = performance.now();
    await settled(dialog.element());
    await dialog.getByRole("button", { name: "Approve" }).click();
    await vi.waitFor(() =>
      expect(model.of("decide").map((m) => m.decision)).toEqual([
        { verdict: "approve", note: "only this once" },
      ]),
    );
  });

  test("offers no note where it could not be delivered", async () => {
    show(view(approval, { notes: false }));
    await press("More actions");
    await expect
      .element(page.getByRole("menuitem", { name: "Decline with a reason…" }))
      .toBeInTheDocument();
    expect(page.getByRole("menuitem", { name: "Approve with a note…" }).query()).toBeNull();
  });

  test("responds in place of the tool, and says how it understood what was typed (F19)", async () => {
    const { model } = show(view(approval));
    await press("More actions");
    await page.getByRole("menuitem", { name: "Respond instead…" }).click();
    const dialog = page.getByRole("dialog", { name: "Respond instead" });
    const send = dialog.getByRole("button", { name: "Respond" });
    await expect.element(send).toBeDisabled();
    const box = dialog.getByRole("textbox", { name: "Result (JSON or text)" });
    for (const [typed, words] of [
      ["forty-two", "Will be given as text."],
      ["9007199254740993", "Will be given as JSON: int."],
      ['{"n": 9007199254740993}', "Will be given as JSON: object."],
    ] as const) {
      await box.fill(typed);
      await expect.element(dialog.getByText(words)).toBeVisible();
    }
    await send.click();
    expect(model.of("decide").map((m) => m.decision)).toEqual([
      { verdict: "respond", text: '{"n": 9007199254740993}' },
    ]);
  });

  test("offers only what the request allows", async () => {
    show(view(approval, { allowed: ["approve", "decline"] }));
    await press("More actions");
    expect(page.getByRole("menuitem", { name: "Respond instead…" }).elements()).toHaveLength(0);
  });

  test("a plain question has no effect to tell, and a call that declares none has", async () => {
    const { el } = show(view(confirm, { effect: null }));
    await expect.element(button("Yes")).toBeVisible();
    expect(el.querySelector(".badge")).toBeNull();
    show(view(approval, { effect: "unknown" }));
    await expect.element(page.getByText("effect unknown")).toBeVisible();
  });

  test("a confirmation asks Yes or No", async () => {
    const { model } = show(view(confirm));
    await expect
      .element(page.getByRole("group", { name: "Confirm: Train for 3 h on the GPU?" }))
      .toBeVisible();
    await press("No");
    expect(model.of("decide")[0]?.decision).toEqual({ verdict: "decline" });
  });
});

describe("a press counts only if it could be meant", () => {
  test("not in the first 400 ms", async () => {
    const { model } = show(view(approval));
    await vi.waitUntil(() => !(button("Approve").element() as HTMLButtonElement).disabled);
    (button("Approve").element() as HTMLButtonElement).click();
    await expect.element(page.getByText("The card only just appeared: press again.")).toBeVisible();
    expect(model.of("decide")).toHaveLength(0);
  });

  test("not when the card just moved", async () => {
    const { el, model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    await settled(button("Approve").element());
    el.style.marginTop = "40px";
    (button("Approve").element() as HTMLButtonElement).click();
    await expect
      .element(page.getByRole("status").getByText("The card just moved: press again."))
      .toBeVisible();
    expect(model.of("decide")).toHaveLength(0);
  });

  test("not while the window's edge hides its middle, but the next one then", async () => {
    const { el, model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    const approve = button("Approve").element() as HTMLButtonElement;
    model.answer = () => null;
    await cutOff(el, approve, 0.7);
    approve.click();
    expect(model.of("decide")).toHaveLength(0);
    // It was brought into view: the next press counts.
    bornAt = performance.now();
    await settled(approve);
    approve.click();
    await vi.waitFor(() => expect(model.of("decide")).toHaveLength(1));
  });

  test("though the window's edge cuts a little of the button", async () => {
    const { el, model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    const approve = button("Approve").element() as HTMLButtonElement;
    await cutOff(el, approve, 0.2);
    approve.click();
    await vi.waitFor(() => expect(model.of("decide")).toHaveLength(1));
  });

  test("not by a key that was already down", async () => {
    const { model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    const approve = button("Approve").element() as HTMLButtonElement;
    await settled(approve);
    approve.focus();
    const held = new KeyboardEvent("keydown", {
      key: "Enter",
      repeat: true,
      bubbles: true,
      cancelable: true,
    });
    approve.dispatchEvent(held);
    expect(held.defaultPrevented).toBe(true);
    await expect.element(page.getByText("A key was still held down: press again.")).toBeVisible();
    expect(model.of("decide")).toHaveLength(0);
    await userEvent.keyboard("{Enter}");
    await vi.waitFor(() => expect(model.of("decide")).toHaveLength(1));
  });
});

describe("the kernel", () => {
  test("Approve is armed only after a pong (R12)", async () => {
    let pong: () => void = () => {};
    const { model } = show(view(approval), {
      answer: (message) => {
        pong = () => model.fire("msg:custom", yes(message));
        return null;
      },
    });
    await vi.waitFor(() => expect(model.of("ping")).toHaveLength(1));
    expect(button("Approve").element()).toBeDisabled();
    pong();
    await expect.element(button("Approve")).toBeEnabled();
  });

  test("says within two seconds that it does not answer, and goes on asking while looked at", async () => {
    const { model } = show(view(approval), { answer: () => null });
    await expect
      .element(page.getByRole("alert"), { timeout: 3000 })
      .toHaveTextContent("The kernel does not answer (busy or restarted).");
    expect(button("Approve").element()).toBeDisabled();
    model.answer = yes;
    await expect.element(button("Approve"), { timeout: 4000 }).toBeEnabled();
    expect(page.getByRole("alert").elements()).toHaveLength(0);
  });

  test("while it is silent no control decides, a no neither, and the focus stays (R12)", async () => {
    const { model } = show(view(approval), { answer: () => null });
    await expect.element(page.getByRole("alert"), { timeout: 3000 }).toBeVisible();
    const decline = button("Decline").element() as HTMLButtonElement;
    decline.focus();
    await userEvent.keyboard("{Enter}");
    (button("More actions").element() as HTMLButtonElement).click();
    for (const name of ["Approve", "Decline", "More actions"])
      expect(off(button(name).element())).toBe(true);
    expect(page.getByRole("menu").elements()).toHaveLength(0);
    expect(model.of("decide")).toHaveLength(0);
    expect(document.activeElement).not.toBe(document.body);
    model.answer = yes;
    await vi.waitUntil(() => !off(decline), { timeout: 5000 });
    decline.click();
    await vi.waitFor(() => expect(model.of("decide")).toHaveLength(1));
  });

  test("a reason that is being typed when it falls silent stays, and is not sent (R12)", async () => {
    const { model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    await button("More actions").click();
    await page.getByRole("menuitem", { name: "Decline with a reason…" }).click();
    const dialog = page.getByRole("dialog", { name: "Decline with a reason" });
    await dialog.getByRole("textbox").fill("not this one");
    model.answer = () => null;
    const decline = dialog.getByRole("button", { name: "Decline" }).element() as HTMLButtonElement;
    await vi.waitUntil(() => off(decline), { timeout: 9000 });
    decline.click();
    expect(model.of("decide")).toHaveLength(0);
    await expect.element(dialog.getByRole("textbox")).toHaveValue("not this one");
  }, 15_000);

  test("a decision without an answer claims nothing", async () => {
    const { model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    model.answer = () => null;
    await press("Approve");
    await expect
      .element(page.getByRole("alert"), { timeout: 3500 })
      .toHaveTextContent("Sent, but the kernel has not answered.");
    await expect.element(card()).toBeVisible();
  });

  test("a comm that is gone is noticed at once", async () => {
    const { model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    model.answer = () => {
      throw new Error("Cannot send");
    };
    await press("Approve");
    await expect
      .element(page.getByRole("alert"))
      .toHaveTextContent("Sent, but the kernel has not answered.");
  });

  test("is left alone while nothing happens", async () => {
    const { model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    const before = model.sent.length;
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(model.sent).toHaveLength(before);
  });

  test("its error is shown, and the card stays open", async () => {
    const { model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    model.answer = ({ id }) => ({
      type: "error",
      id,
      code: "StoreBusy",
      words: "the store is busy",
      errors: [],
    });
    await press("Decline");
    await expect.element(page.getByRole("alert")).toHaveTextContent("Not done: the store is busy");
    await expect.element(button("Approve")).toBeEnabled();
  });
});

describe("afterwards", () => {
  const decidedCard = () => page.getByRole("group", { name: "Decided: delete_record" });

  test.each([
    ["approved", approved, "Approved delete_record · user-17"],
    ["edited", edited, "Approved with changes delete_record"],
    ["declined", declined, "Declined delete_record · user-17"],
    ["expired", expired, "Expired: nobody decided in time, so it was declined."],
    ["withdrawn", withdrawn, "Withdrawn: the question was taken back."],
    ["stale", stale, "Not run: what would have run was no longer what was approved."],
    ["unknown", unknown, "Nobody knows how it ended"],
  ])("%s is one line, and no control decides any more (R12, F23)", async (name, fixture, words) => {
    show(view(fixture));
    await expect.element(decidedCard().getByRole("status").first()).toHaveTextContent(words);
    const left = decidedCard()
      .getByRole("button")
      .elements()
      .map((e) => e.textContent);
    const settle = ["It happened", "Run again", "Give up"];
    expect(left).toEqual(name === "unknown" ? ["details", ...settle] : ["details"]);
  });

  test("the details show what was asked and answered, apart from the call's arguments", async () => {
    show(view(answered));
    await page.getByRole("button", { name: "details" }).click();
    const decided = page.getByRole("group", { name: "Decided: Which city would you like" });
    await expect.element(decided).toHaveTextContent("Which city?");
    await expect.element(decided).toHaveTextContent("Arguments of get_weather, which asks");
    await expect.element(decided).toHaveTextContent(/The answercity.*Berlin/);
  });

  test("the details show everything again, and an edit as a difference", async () => {
    show(view(edited));
    await page.getByRole("button", { name: "details" }).click();
    await expect.element(page.getByText("whole fingerprint", { exact: false })).toBeVisible();
    const diff = page.getByRole("region", { name: "Compared with the original" });
    await expect.element(diff).toHaveTextContent("− wasorders");
    await expect.element(diff).toHaveTextContent("+ noworders_staging");
  });

  test("the kernel's answer is shown before its view arrives", async () => {
    const receipt = (kernelMessages[0] as unknown as Extract<KernelMessage, { type: "ack" }>)
      .receipt;
    const { model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    model.answer = ({ id }: PageMessage) => ack(id, { receipt });
    await press("Approve");
    await expect.element(decidedCard()).toHaveTextContent("Approved delete_record · user-17");
  });

  test("whoever was first is named (R1)", async () => {
    const { model } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    model.answer = ({ id }) => ({
      ...(kernelMessages[1] as Extract<KernelMessage, { type: "error" }>),
      id,
    });
    await press("Approve");
    await expect
      .element(page.getByRole("alert"))
      .toHaveTextContent("user-04 declined it in the inbox");
    model.set(
      "view",
      view(declined, {
        decided: { ...view(declined).decided, reviewer: "user-04", via: "inbox" } as never,
      }),
    );
    await expect
      .element(decidedCard())
      .toHaveTextContent("Already declined delete_record · user-04, in the inbox");
  });

  test("a card decided elsewhere says so and moves the keyboard's focus to the line", async () => {
    const { model } = show(view(approval));
    await expect.element(button("Decline")).toBeEnabled();
    (button("Decline").element() as HTMLButtonElement).focus();
    await userEvent.keyboard("{Shift}");
    model.set("view", view(declined));
    await expect.element(decidedCard().getByRole("status")).toHaveFocus();
    await expect.element(decidedCard()).toHaveTextContent("Already declined");
  });
});

test("who decides by keyboard goes on from the line that says so; the mouse moves no focus", async () => {
  for (const keyboard of [true, false]) {
    const { model, unmount, el } = show(view(approval));
    await expect.element(button("Approve")).toBeEnabled();
    model.answer = (message) => {
      if (message.type === "decide") setTimeout(() => model.set("view", view(declined)), 50);
      return yes(message);
    };
    if (keyboard) {
      (button("Approve").element() as HTMLButtonElement).focus();
      await userEvent.keyboard("{Tab}{Enter}");
    } else await button("Decline").click();
    const line = page.getByRole("group", { name: "Decided: delete_record" }).getByRole("status");
    await expect.element(line).toBeVisible();
    expect(line.element() === document.activeElement).toBe(keyboard);
    unmount();
    el.remove();
  }
});

describe("an outcome that nobody knows is settled by a person (R13)", () => {
  test("it happened, with its result", async () => {
    const { model } = show(view(unknown));
    await button("It happened").click();
    const dialog = page.getByRole("dialog", { name: "It happened: give its result" });
    await dialog.getByRole("textbox").fill('{"deleted": 1}');
    await dialog.getByRole("button", { name: "It happened" }).click();
    expect(model.of("settle")).toMatchObject([
      { request_id: unknown.id, how: "happened", text: '{"deleted": 1}' },
    ]);
  });

  test("not while the kernel is silent (R12)", async () => {
    const { model } = show(view(unknown), { answer: () => null });
    await expect
      .element(page.getByText(/^The kernel does not answer/), { timeout: 3000 })
      .toBeVisible();
    for (const name of ["It happened", "Run again", "Give up"]) {
      expect(off(button(name).element())).toBe(true);
      (button(name).element() as HTMLButtonElement).click();
    }
    expect(model.of("settle")).toHaveLength(0);
    expect(page.getByRole("dialog").elements()).toHaveLength(0);
  });

  test("run again is a yes like any other, give up is not", async () => {
    const { model } = show(view(unknown));
    (button("Run again").element() as HTMLButtonElement).click();
    expect(model.of("settle")).toEqual([]);
    await press("Run again");
    await vi.waitFor(() => expect(model.of("settle")).toMatchObject([{ how: "run_again" }]));
    await expect.element(button("Give up")).toBeDisabled();
  });
});

describe("nothing is approved unseen", () => {
  test("Approve waits until a cut text was opened and scrolled to its end", async () => {
    show(view(compare));
    await expect.element(page.getByText("showing 2,000 of 3,300 characters")).toBeVisible();
    await expect
      .element(page.getByText("Approve is off until you have opened note."))
      .toBeVisible();
    expect(button("Approve").element()).toBeDisabled();
    await button("show all").click();
    await expect
      .element(page.getByText("Approve is off until you have scrolled note to the end."))
      .toBeVisible();
    const block = page.getByRole("region", { name: "note" }).element();
    block.scrollTop = block.scrollHeight;
    await expect.element(button("Approve")).toBeEnabled();
  });

  test("a nested value that does not fit in a line must be opened", async () => {
    const args = JSON.stringify({ deep: { inner: { list: [1, 2, 3] } } });
    show(view(approval, { args, secrets: {} }));
    await expect
      .element(page.getByText("Approve is off until you have opened deep."))
      .toBeVisible();
    await button("open deep").click();
    await button("open inner").click();
    await expect.element(button("Approve")).toBeEnabled();
  });

  test("hostile arguments are text, and each is shown truthfully (F19)", async () => {
    const before = document.querySelectorAll("script, img, a, svg, iframe").length;
    const { el } = show(view(hostile));
    await expect.element(page.getByRole("group", { name: "Approval: send_mail" })).toBeVisible();
    const text = el.textContent ?? "";
    for (const part of [
      "<img src=x onerror=alert(1)><script>alert(2)</script>",
      "javascript:alert(1)",
      "![x](https://example.org/x.png)",
      "invoiceU+202Efdp.exe",
      "aU+0000bU+001B[31m",
      "payU+200BU+00ADme",
      "xU+D800y",
      "12345678901234567890123",
      "1.0",
      "look-alike letters: а (U+0430)",
      "(empty)",
    ])
      expect(text).toContain(part);
    expect(document.querySelectorAll("script, img, a, svg, iframe").length).toBe(before);
    const names = [...el.querySelectorAll(".rows.typed > dt")].map((e) => e.textContent);
    expect(names.slice(-4)).toEqual(["10", "2", "empty", "nothing"]);
  });

  test("blanks are shown as many as there are, in values, names and words (F19)", async () => {
    const spaced = { "a  b": "rm  x", nested: { "k  l": "v  w" } };
    const message = "Delete  it?";
    const { el } = show(view(approval, { args: JSON.stringify(spaced), message, secrets: {} }));
    const parts = ["a  b", "rm  x", "k  l", '"v  w"', message];
    const text = el.innerText;
    for (const part of parts) expect(text).toContain(part);
  });

  test("no key passes for several, in a line or beside what is the same (F19)", async () => {
    const where = { "safe: true, x": 1 };
    const { el } = show(view(approval, { args: JSON.stringify({ where }), secrets: {} }));
    expect(el.textContent).toContain('"safe: true, x": 1');
    const texts = [where, { safe: true, x: 1 }].map((v) => inline(parse(JSON.stringify(v))));
    expect(texts).toEqual(['{"safe: true, x": 1}', "{safe: true, x: 1}"]);
  });

  test("the difference from the last call is shown on demand", async () => {
    show(view(compare));
    await page.getByRole("button", { name: /^Compare with the last decided call/ }).click();
    const diff = page.getByRole("region", { name: /^Compared with/ });
    await expect.element(diff).toHaveTextContent("− was40.0");
    await expect.element(diff).toHaveTextContent("+ now400.0");
    await expect.element(page.getByText("1 of 3 values changed")).toBeVisible();
  });
});

describe("the keyboard", () => {
  test("keys never leave the card, Escape does", async () => {
    const { el } = show(view(approval));
    const heard: string[] = [];
    const listen = (event: KeyboardEvent) => heard.push(event.key);
    document.addEventListener("keydown", listen);
    gone.push(() => document.removeEventListener("keydown", listen));
    await expect.element(button("Approve")).toBeEnabled();
    (el.querySelector(".foot button") as HTMLButtonElement).focus();
    await userEvent.keyboard("dd{Shift>}{Enter}{/Shift}{Escape}");
    expect(heard).toEqual(["Escape"]);
  });

  test("the menu and the dialog can be left by Escape, and what was typed stays", async () => {
    show(view(approval));
    await expect.element(button("More actions")).toBeEnabled();
    (button("More actions").element() as HTMLButtonElement).focus();
    await userEvent.keyboard("{ArrowDown}{ArrowDown}{Enter}");
    const reason = page.getByRole("textbox", { name: "Reason" });
    await expect.element(reason).toHaveFocus();
    await userEvent.keyboard("use staging{Escape}");
    await expect.element(button("Approve")).toBeVisible();
    await button("More actions").click();
    await userEvent.keyboard("{Escape}");
    await expect.element(button("More actions")).toHaveFocus();
    await userEvent.keyboard("{ArrowDown}{ArrowDown}{Enter}");
    await expect.element(reason).toHaveValue("use staging");
  });
});

test("a card that is taken away leaves no listener behind", () => {
  const { model, unmount } = showIn({ view: view(approval) });
  expect(model.listening).toBeGreaterThan(0);
  unmount();
  expect(model.listening).toBe(0);
});
