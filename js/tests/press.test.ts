// What a press that did not count says: as long as it is of use, and no longer.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { READ_MS } from "../src/consent";
import type { RequestView } from "../src/generated/messages";
import { STILL_MS, VISIBLE_MS } from "../src/press";
import approval from "./fixtures/approval.json";
import input from "./fixtures/input.json";
import unknown from "./fixtures/unknown.json";
import { type FakeModel, show as showIn } from "./kernel";

let away: (() => void)[] = [];
beforeEach(() => {
  away = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  for (const undo of away) undo();
  vi.useRealTimers();
});

const button = (name: string) => page.getByRole("button", { name, exact: true });
const click = (name: string) => (button(name).element() as HTMLButtonElement).click();
const said = () => page.getByText("The card only just appeared: press again.");
const expectSaid = () => vi.waitFor(() => expect(said().query()).not.toBeNull());
const expectQuiet = () => vi.waitFor(() => expect(said().query()).toBeNull());

/** A view whose control `name` was pressed too early. */
async function refused(fixture: unknown, name: string, more: Partial<RequestView> = {}) {
  const made = showIn({ view: { ...(fixture as RequestView), ...more } });
  away.push(made.unmount, () => made.el.remove());
  await vi.waitUntil(() => button(name).query() && !button(name).element().matches(":disabled"));
  click(name);
  await expectSaid();
  return made;
}

/** Real time, by which presses are judged; the clock of what is said stands still. */
async function inView(): Promise<void> {
  const start = performance.now();
  while (performance.now() < start + VISIBLE_MS + STILL_MS)
    await new Promise(requestAnimationFrame);
}
const decisions = (model: FakeModel) => model.of("decide").map((m) => m.decision);

describe("what a press in vain says", () => {
  test("stays until it has been read", async () => {
    await refused(approval, "Approve");
    await vi.advanceTimersByTimeAsync(READ_MS - 1000);
    expect(said().query()).not.toBeNull();
    await vi.advanceTimersByTimeAsync(1000);
    await expectQuiet();
  });

  test("stays as long again when it is pressed in vain again", async () => {
    await refused(approval, "Approve");
    await vi.advanceTimersByTimeAsync(READ_MS - 1000);
    click("Approve");
    await vi.advanceTimersByTimeAsync(READ_MS - 1000);
    expect(said().query()).not.toBeNull();
  });

  test("goes with the press that counts, which is the next one", async () => {
    const { model } = await refused(approval, "Approve");
    await inView();
    model.answer = () => null;
    click("Approve");
    await expectQuiet();
    expect(decisions(model)).toEqual([{ verdict: "approve" }]);
  });

  test("goes when the person declines instead", async () => {
    const { model } = await refused(approval, "Approve");
    model.answer = () => null;
    click("Decline");
    await expectQuiet();
    expect(decisions(model)).toEqual([{ verdict: "decline" }]);
  });

  test("does not stand beside another button in a dialog, nor after it", async () => {
    await refused(approval, "Approve");
    click("More actions");
    await vi.waitUntil(() =>
      page.getByRole("menuitem", { name: "Decline with a reason…" }).query(),
    );
    const item = page.getByRole("menuitem", { name: "Decline with a reason…" });
    (item.element() as HTMLElement).click();
    await vi.waitUntil(() => page.getByRole("dialog").query());
    expect(said().query()).toBeNull();
    click("Cancel");
    await vi.waitUntil(() => button("Approve").query());
    expect(said().query()).toBeNull();
  });

  test("goes in a form that consents, too", async () => {
    const { form } = input as unknown as RequestView;
    await refused(input, "Submit", { form: form && { ...form, consent: true } });
    await vi.advanceTimersByTimeAsync(READ_MS);
    await expectQuiet();
  });

  test("goes in a call whose end is not known, too", async () => {
    await refused(unknown, "Run again");
    await vi.advanceTimersByTimeAsync(READ_MS);
    await expectQuiet();
  });
});
