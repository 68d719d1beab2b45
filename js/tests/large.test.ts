// Large arguments: the card opens at once and scrolls, and all of it must be reached.
import { afterEach, describe, expect, test } from "vitest";
import { page } from "vitest/browser";
import type { RequestView } from "../src/generated/messages";
import approval from "./fixtures/approval.json";
import { show as showIn } from "./kernel";

let away: () => void = () => {};
afterEach(() => away());

function show(args: unknown, more: Partial<RequestView> = {}) {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  const view = { ...(approval as RequestView), args: text, secrets: {}, ...more };
  const made = showIn({ view });
  away = () => {
    made.unmount();
    made.el.remove();
  };
  return made;
}

const painted = () =>
  new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));

/** How long it takes is measured in tests/bench/bench_screen.py. */
async function drawn(deed: () => void): Promise<void> {
  deed();
  await painted();
}

const button = (name: string) => page.getByRole("button", { name, exact: true });
const press = (name: string) => () => (button(name).element() as HTMLButtonElement).click();

describe("a megabyte", () => {
  test.each([
    ["of lines", "0123456789 abcdefghijklmnopqrst\n".repeat(32_768)],
    ["in one line", "x".repeat(1_048_576)],
    ["of hidden characters", "pay\u200bme ".repeat(100_000)],
  ])("%s opens and scrolls", async (_name, text) => {
    await drawn(() => show({ text }));
    await drawn(press("show all"));
    const block = page.getByRole("region", { name: "text" }).element();
    expect(block.textContent?.length).toBeGreaterThanOrEqual(text.length);
    await drawn(() => {
      block.scrollTop = block.scrollHeight;
    });
    await expect.element(button("Approve")).toBeEnabled();
  });

  test("of ten thousand keys opens, and all of them are there", async () => {
    const keys = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, i) => [`key_${i}`, "v".repeat(90)]),
    );
    await drawn(() => show(keys));
    await expect.element(page.getByText("9,950 more")).toBeVisible();
    await drawn(press("show all"));
    expect(document.querySelectorAll(".rows > dt")).toHaveLength(10_000);
  });
});

describe("nested arguments", () => {
  test("a hundred levels open one by one, and each must be opened", async () => {
    let text = "1";
    for (let i = 0; i < 100; i++) text = `{"k":${text}}`;
    const { el } = show(text);
    for (let i = 0; i < 98; i++) {
      const closed = el.querySelector<HTMLButtonElement>('.twist[aria-expanded="false"]');
      expect(closed).not.toBeNull();
      if (i === 50) expect(button("Approve").element()).toBeDisabled();
      closed?.click();
      await painted();
    }
    await expect.element(button("Approve")).toBeEnabled();
  }, 20_000);
});
