// Two calls at a glance: the picture of a call, and what differs from another one.
import { afterEach, describe, expect, test } from "vitest";
import { page } from "vitest/browser";
import type { Cell, RequestView } from "../src/generated/messages";
import approval from "./fixtures/approval.json";
import compare from "./fixtures/compare.json";
import { show as showIn } from "./kernel";

const away: (() => void)[] = [];
function show(fixture: unknown, more: Partial<RequestView> = {}) {
  const made = showIn({ view: { ...(fixture as RequestView), ...more } });
  away.push(made.unmount, () => made.el.remove());
  return made;
}
afterEach(() => {
  for (const go of away.splice(0)) go();
});

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(bytes).slice(0, 8)]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}

const cellsOf = async (values: string[]): Promise<Cell[]> =>
  Promise.all(values.map(async (value, i) => ({ label: `/${i}`, digest: await digest(value) })));

/** The pixels of a call's picture. */
async function picture(values: string[]): Promise<string> {
  const { el, unmount } = show(approval, { strip: await cellsOf(values) });
  const strip = el.querySelector(".strip") as HTMLElement;
  const base64 = await page.screenshot({ element: strip, save: false });
  unmount();
  el.remove();
  return base64;
}

describe("the picture of a call", () => {
  test("equal calls look equal, a change of one character shows", async () => {
    const values = ["abc-123", "orders", "stale", "90", "s3cret"];
    const seen = await picture(values);
    expect(await picture(values)).toBe(seen);
    for (let i = 0; i < values.length; i++) {
      const changed = values.with(i, `${values[i]}.`);
      expect(await picture(changed)).not.toBe(seen);
    }
  }, 30_000);

  test("a thousand values of one argument have a thousand looks, but for a few", async () => {
    const looks = new Set<string>();
    for (const cell of await cellsOf(Array.from({ length: 1000 }, (_, i) => `A-${i}`))) {
      const { el, unmount } = show(approval, { strip: [cell] });
      looks.add(el.querySelector(".strip .cell")?.innerHTML ?? "");
      unmount();
      el.remove();
    }
    expect(looks.size).toBeGreaterThan(970);
  });

  test("says in words how much of it changed", async () => {
    show(compare);
    await page.getByRole("button", { name: /^Compare with the last decided call/ }).click();
    await expect
      .element(page.getByRole("img", { name: "3 arguments as colours, 1 changed" }))
      .toBeVisible();
  });
});

describe("a call that is asked again", () => {
  const before = {
    label: "original" as const,
    at: "2026-03-04T11:00:00.000+00:00",
    args: JSON.stringify({ id: "abc-123", table: "orders_staging" }),
    secrets: {},
    strip: [],
    fingerprint: "hf1:other",
  };

  test("says so and shows at once what differs from what was approved (R3)", async () => {
    show(approval, { compare: [before], secrets: {} });
    const card = page.getByRole("group", { name: "Approval: delete_record" });
    await expect.element(card).toHaveTextContent("this is not the call that was approved before");
    const changes = page.getByRole("region", { name: "Compared with the original" });
    await expect.element(changes).toHaveTextContent("− wasorders_staging");
    await expect.element(changes).toHaveTextContent("+ noworders");
  });

  test.each(["true", "1.0", '"1"'])("1 and %s are two values", async (now) => {
    const old = { ...before, args: '{"n":1}' };
    show(approval, { compare: [old], secrets: {}, args: `{"n":${now}}` });
    const changes = page.getByRole("region", { name: "Compared with the original" });
    await expect.element(changes).toHaveTextContent("− was1");
    await expect.element(changes).toHaveTextContent(`+ now${now}`);
  });

  test.each([
    [1, "The same call was declined before in this run."],
    [2, "The same call was declined 2 times before in this run."],
  ])("after %i declines says it (R11)", async (declined_before, words) => {
    show(approval, { declined_before });
    await expect.element(page.getByText(words)).toBeVisible();
  });
});
