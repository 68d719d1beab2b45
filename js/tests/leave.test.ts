// A thousand cards opened, decided and taken away leave nothing behind in the page.
import { expect, test } from "vitest";
import type { RequestView } from "../src/generated/messages";
import approval from "./fixtures/approval.json";
import approved from "./fixtures/approved.json";
import described from "./fixtures/described.json";
import input from "./fixtures/input.json";
import { type FakeModel, show } from "./kernel";

/** Listeners on what outlives a card. */
function countListeners() {
  let open = 0;
  const undo = [document, window].map((target) => {
    const { addEventListener: add, removeEventListener: remove } = target;
    target.addEventListener = ((...given: Parameters<typeof add>) => {
      open++;
      return add.apply(target, given);
    }) as typeof add;
    target.removeEventListener = ((...given: Parameters<typeof remove>) => {
      open--;
      return remove.apply(target, given);
    }) as typeof remove;
    return () => {
      target.addEventListener = add;
      target.removeEventListener = remove;
    };
  });
  return { open: () => open, undo: () => undo.map((one) => one()) };
}

const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));

test("no listener, no element, no timer, no sheet", async () => {
  const listeners = countListeners();
  const models: FakeModel[] = [];
  const views = [approval, described, input] as unknown as RequestView[];
  const before = document.querySelectorAll("*").length;
  const sheets = document.adoptedStyleSheets.length;
  for (let round = 0; round < 20; round++) {
    const cards = Array.from({ length: 50 }, (_, i) =>
      show({ view: views[i % views.length] as RequestView }),
    );
    await frame();
    for (const { model } of cards) model.set("view", approved as unknown as RequestView);
    await frame();
    for (const { model, el, unmount } of cards) {
      unmount();
      el.remove();
      models.push(model);
    }
  }
  await frame();
  listeners.undo();
  expect(models).toHaveLength(1000);
  expect(models.filter((model) => model.listening > 0)).toEqual([]);
  expect(listeners.open()).toBe(0);
  expect(document.querySelectorAll("*").length).toBe(before);
  expect(document.adoptedStyleSheets.length).toBeLessThanOrEqual(sheets + 1);
  // Nobody looks any more: no ping is sent, whatever the timers do.
  const sent = models.reduce((n, model) => n + model.sent.length, 0);
  await new Promise((resolve) => setTimeout(resolve, 2500));
  expect(models.reduce((n, model) => n + model.sent.length, 0)).toBe(sent);
}, 120_000);
