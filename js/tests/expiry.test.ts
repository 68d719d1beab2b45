// The countdown of a request that ends by itself: every text where it changes, and its end.
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import type { RequestView } from "../src/generated/messages";
import approval from "./fixtures/approval.json";
import expired from "./fixtures/expired.json";
import input from "./fixtures/input.json";
import { show as showIn } from "./kernel";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let away = () => {};
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
});
afterEach(() => {
  away();
  vi.useRealTimers();
});

function show(
  left: number,
  more: Partial<RequestView> = {},
  fixture: unknown = approval,
  locale = "en",
) {
  const expires_at = new Date(Date.now() + left).toISOString();
  const view = { ...(fixture as RequestView), expires_at, on_expire: "decline" as const, ...more };
  const made = showIn({ view }, { locale });
  away = () => {
    made.unmount();
    made.el.remove();
  };
  return { ...made, view };
}

const text = () => page.getByText(/Expires in|Its time is over/).query()?.textContent;
const declines = (left: string) => `Expires in ${left}, then it is declined.`;
const OVER = "Its time is over.";

describe("the time left", () => {
  test.each([
    [3 * DAY, "3 d"],
    [3 * DAY - 1, "2 d"],
    [2 * DAY, "2 d"],
    [2 * DAY - 1, "47 h"],
    [2 * HOUR, "2 h"],
    [2 * HOUR - 1, "119 min"],
    [2 * MINUTE, "2 min"],
    [2 * MINUTE - 1, "120 s"],
    [MINUTE, "60 s"],
    [1, "1 s"],
  ])("%i ms: %s", (left, words) => {
    show(left);
    expect(text()).toBe(declines(words));
  });

  test.each([0, -1, -DAY])("%i ms: it is over", (left) => {
    show(left);
    expect(text()).toBe(OVER);
  });

  test("is told with what happens then", () => {
    show(90 * SECOND, { on_expire: "withdraw" });
    expect(text()).toBe("Expires in 90 s, then the run ends.");
  });

  test("is told of a form, too", () => {
    show(90 * SECOND, {}, input);
    expect(text()).toBe(declines("90 s"));
  });

  test("is told in Japanese", () => {
    show(90 * SECOND, {}, approval, "ja");
    expect(page.getByText("あと 90 秒 で期限が切れ、却下されます。").query()).not.toBeNull();
  });

  test("is not spoken of where there is no limit", () => {
    show(0, { expires_at: null });
    expect(text()).toBeUndefined();
  });
});

describe("as time goes by", () => {
  /** Time passes, and what was to be drawn is drawn. */
  const pass = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    await new Promise(requestAnimationFrame);
  };
  test("it is never more than there is, down to its end", async () => {
    const { view, model } = show(2 * MINUTE + 30 * SECOND);
    const end = Date.parse(view.expires_at as string);
    const seen = new Set<string>();
    while (Date.now() < end + SECOND) {
      const words = text() as string;
      seen.add(words);
      const [, n, unit] = /(\d+) (s|min)/.exec(words) ?? [];
      const said = Number(n ?? 0) * (unit === "min" ? MINUTE : SECOND);
      // A second at most: the one that is running.
      expect(said).toBeLessThan(end - Date.now() + 1.5 * SECOND);
      await pass(500);
    }
    expect(seen).toContain(declines("2 min"));
    for (const n of [120, 119, 60, 10, 1]) expect(seen).toContain(declines(`${n} s`));
    expect(text()).toBe(OVER);
    // The kernel says it; until then nothing here claims that it is decided.
    expect(page.getByRole("group", { name: "Approval: delete_record" }).query()).not.toBeNull();
    model.set("view", { ...(expired as unknown as RequestView), id: view.id });
    await vi.waitFor(() => expect(text()).toBeUndefined());
    expect(
      page.getByText("Expired: nobody decided in time, so it was declined.").query(),
    ).not.toBeNull();
  });

  test("a page that slept catches up", async () => {
    const { view } = show(3 * DAY + HOUR);
    await pass(SECOND);
    vi.setSystemTime(Date.parse(view.expires_at as string) - 90 * SECOND);
    await pass(30 * SECOND);
    expect(text()).toMatch(/^Expires in 6[01] s,/);
  });
});
