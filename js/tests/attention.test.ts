import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { REMIND_MS } from "../src/attention/index";
import type { RequestView } from "../src/generated/messages";
import { language } from "../src/words";
import approval from "./fixtures/approval.json";
import confirm from "./fixtures/confirm.json";
import { show } from "./kernel";

let away: (() => void)[] = [];
let number = 0;

/** A card below everything that a person sees. */
function below(more: Partial<RequestView> = {}, fixture: unknown = approval) {
  const space = document.createElement("div");
  space.style.height = "3000px";
  document.body.append(space);
  number += 1;
  const view = { ...(fixture as RequestView), id: `r_${number}`, ...more };
  const made = show({ view });
  away.push(
    made.unmount,
    () => made.el.remove(),
    () => space.remove(),
  );
  const decide = () => made.model.set("view", { ...view, state: "declined", decided: null });
  return { ...made, view, decide };
}

const pill = () => page.getByRole("region", { name: "Waiting out of sight" });
const jump = () => pill().getByRole("button", { name: /Jump to/ });
const shownTitle = () => document.title;

/** The page as the browser says it is, hidden or not. */
function tab(state: "hidden" | "visible") {
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
  document.dispatchEvent(new Event("visibilitychange"));
}

beforeEach(() => {
  away = [];
  document.title = "work.ipynb";
  scrollTo(0, 0);
});
afterEach(async () => {
  for (const undo of away) undo();
  tab("visible");
  vi.useRealTimers();
  await expect.poll(shownTitle).toBe("work.ipynb");
  await expect.element(pill()).not.toBeInTheDocument();
});

describe("the tab's title", () => {
  test("counts what waits out of sight, and is what it was when nothing does", async () => {
    const first = below();
    await expect.poll(shownTitle).toBe("(1) work.ipynb");
    const second = below();
    await expect.poll(shownTitle).toBe("(2) work.ipynb");
    first.decide();
    await expect.poll(shownTitle).toBe("(1) work.ipynb");
    second.decide();
    await expect.poll(shownTitle).toBe("work.ipynb");
  });

  test("keeps its count when the front end names the tab anew", async () => {
    const made = below();
    await expect.poll(shownTitle).toBe("(1) work.ipynb");
    document.title = "other.ipynb";
    await expect.poll(shownTitle).toBe("(1) other.ipynb");
    made.decide();
    await expect.poll(shownTitle).toBe("other.ipynb");
    document.title = "work.ipynb";
  });

  test("does not fight with another counter", async () => {
    below();
    await expect.poll(shownTitle).toBe("(1) work.ipynb");
    document.title = "(9 mails) (1) work.ipynb";
    await new Promise(requestAnimationFrame);
    expect(document.title).toBe("(9 mails) (1) work.ipynb");
    document.title = "(1) work.ipynb";
  });

  test("does not count what is in view, until the tab is hidden", async () => {
    const made = show({ view: { ...(approval as RequestView), id: "seen" } });
    away.push(made.unmount, () => made.el.remove());
    below();
    await expect.poll(shownTitle).toBe("(1) work.ipynb");
    tab("hidden");
    expect(document.title).toBe("(2) work.ipynb");
    tab("visible");
    expect(document.title).toBe("(1) work.ipynb");
  });

  test("counts a request that came while the tab was hidden", async () => {
    tab("hidden");
    below();
    await expect.poll(shownTitle).toBe("(1) work.ipynb");
  });

  test("counts a request that stands in two places once, and not when one is in view", async () => {
    const one = below({ id: "twice" });
    below({ id: "twice" });
    await expect.poll(shownTitle).toBe("(1) work.ipynb");
    one.el.scrollIntoView();
    await expect.poll(shownTitle).toBe("work.ipynb");
  });
});

describe("an inbox out of sight", () => {
  test("is counted by what waits in it, as long as nobody can see it", async () => {
    const space = document.createElement("div");
    space.style.height = "3000px";
    document.body.append(space);
    const inbox = { store: "a.db", version: 1, waiting: 4, unknown: 0, runs: [] };
    const made = show({ shows: "inbox", view: inbox, requests: [] });
    away.push(
      made.unmount,
      () => made.el.remove(),
      () => space.remove(),
    );
    await expect.poll(shownTitle).toBe("(4) work.ipynb");
    made.model.set("view", { ...inbox, waiting: 5, version: 2 });
    await expect.poll(shownTitle).toBe("(5) work.ipynb");
    made.el.scrollIntoView();
    await expect.poll(shownTitle).toBe("work.ipynb");
    tab("hidden");
    expect(document.title).toBe("(5) work.ipynb");
  });
});

describe("the pill", () => {
  test("jumps to the one that waits longest, and goes when all is in sight", async () => {
    below({ created_at: "2026-01-01T00:00:02+00:00", tool: "second" });
    const made = below({ created_at: "2026-01-01T00:00:01+00:00", tool: "first" });
    await expect.element(jump()).toHaveTextContent("↓ Jump to first · 2 waiting");
    await jump().click();
    const card = page.getByRole("group", { name: "Approval: first" });
    await expect.element(card).toHaveFocus();
    await expect.poll(() => made.el.getBoundingClientRect().top).toBeLessThan(innerHeight);
    await expect.element(jump()).toHaveTextContent("↑ Jump to second");
    await jump().click();
    await expect.element(page.getByRole("group", { name: "Approval: second" })).toHaveFocus();
  });

  test("is reached by the keyboard, and its keys do not leak", async () => {
    below();
    await expect.element(jump()).toBeVisible();
    const leaked = vi.fn();
    document.body.addEventListener("keydown", leaked);
    (jump().element() as HTMLElement).focus();
    await userEvent.keyboard("{Enter}");
    document.body.removeEventListener("keydown", leaked);
    await expect.element(page.getByRole("group", { name: /Approval/ })).toHaveFocus();
    expect(leaked).not.toHaveBeenCalled();
  });

  test("of another kernel's bundle stands above or below it, never over it", async () => {
    const made = below();
    await expect.element(jump()).toBeVisible();
    const another = "../src/attention/pill.tsx?another";
    const other = await import(/* @vite-ignore */ new URL(another, import.meta.url).href);
    const first = { view: made.view, card: made.el, language: language("en"), inView: false };
    const nothing = () => {};
    const shown = { count: 1, said: "", jump: nothing, redraw: nothing };
    other.show({ language: first.language, first, ...shown });
    const boxes = pill().elements();
    const [upper, lower] = boxes.map((element) => element.getBoundingClientRect());
    expect(boxes).toHaveLength(2);
    expect(upper?.bottom).toBeLessThanOrEqual(lower?.top ?? 0);
    other.hide();
    expect(pill().elements()).toHaveLength(1);
    await expect.element(jump()).toBeVisible();
  });

  test("does not sit in the corner of an output's own frame", async () => {
    document.body.dataset.vscodeThemeKind = "vscode-dark";
    away.push(() => delete document.body.dataset.vscodeThemeKind);
    below();
    await expect.poll(shownTitle).toBe("(1) work.ipynb");
    await expect.element(pill()).not.toBeInTheDocument();
  });

  test("shows hidden characters of a tool's name", async () => {
    below({ tool: "pay\u202etxt" });
    await expect.element(jump()).toHaveTextContent("payU+202Etxt");
  });
});

describe("reminders", () => {
  const shown: { title: string; options: NotificationOptions }[] = [];
  class Told extends EventTarget {
    static permission = "granted";
    static requestPermission = async () => Told.permission;
    onclick: (() => void) | null = null;
    constructor(title: string, options: NotificationOptions) {
      super();
      shown.push({ title, options });
      last = this;
      open.add(this);
    }
    close() {
      open.delete(this);
    }
  }
  const open = new Set<Told>();
  let last: Told;
  let hour = 0;

  beforeEach(() => {
    shown.length = 0;
    open.clear();
    Told.permission = "granted";
    // The desktop itself: a headless browser has none.
    vi.stubGlobal("Notification", Told);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    hour += 1;
    vi.setSystemTime(Date.now() + hour * 3_600_000); // later than every reminder before
  });
  afterEach(() => {
    localStorage.clear();
    vi.unstubAllGlobals();
  });
  const bell = () => pill().getByRole("button", { name: "Notify me on this desktop" });

  test("go to the desktop only for those who asked, and never hold arguments", async () => {
    below();
    tab("hidden");
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown).toEqual([]);
    tab("visible");
    await vi.waitUntil(() => bell().query());
    await expect.element(bell()).toHaveAttribute("aria-pressed", "false");
    await bell().click();
    await expect.element(bell()).toHaveAttribute("aria-pressed", "true");
    tab("hidden");
    await vi.advanceTimersByTimeAsync(REMIND_MS);
    const { view } = below({ args: '{"card":"4111 1111"}', tool: "pay" });
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown).toEqual([
      {
        title: "pay waits for you",
        options: { body: "supervisor › data-agent", tag: `hitl-widgets ${view.id}` },
      },
    ]);
  });

  test("come at most once a minute, and then tell all that came meanwhile", async () => {
    localStorage["hitl-widgets:notifications"] = "on";
    tab("hidden");
    below({ tool: "first" });
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown.map((n) => n.title)).toEqual(["first waits for you"]);
    below({ tool: "second" });
    below({ tool: "third" });
    await vi.advanceTimersByTimeAsync(REMIND_MS - 3000);
    expect(shown).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(4000);
    expect(shown.map((n) => n.title)).toEqual(["first waits for you", "2 calls wait for you"]);
    await vi.advanceTimersByTimeAsync(10 * REMIND_MS);
    expect(shown).toHaveLength(2);
  });

  test("tell again when little time is left", async () => {
    localStorage["hitl-widgets:notifications"] = "on";
    tab("hidden");
    below({ tool: "pay", expires_at: new Date(Date.now() + 5 * 60_000).toISOString() });
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(3 * 60_000);
    expect(shown).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(62_000);
    expect(shown[1]?.title).toBe("pay waits for you, and its time is nearly over");
    await vi.advanceTimersByTimeAsync(3 * 60_000);
    expect(shown).toHaveLength(2);
  });

  describe("of one request in two tabs", () => {
    /** What another page of this origin has told. */
    const told = () => JSON.parse(localStorage["hitl-widgets:told"]) as string[];
    const soon = () => new Date(Date.now() + 30_000).toISOString();

    beforeEach(() => {
      localStorage["hitl-widgets:notifications"] = "on";
      tab("hidden");
    });

    test("come from the first of them alone", async () => {
      const { view } = below();
      localStorage["hitl-widgets:told"] = JSON.stringify([view.id]);
      await vi.advanceTimersByTimeAsync(1000);
      expect(shown).toEqual([]);
    });

    test("tell of those alone that the other did not tell", async () => {
      const { view } = below({ tool: "first" });
      below({ tool: "second" });
      localStorage["hitl-widgets:told"] = JSON.stringify([view.id]);
      await vi.advanceTimersByTimeAsync(1000);
      expect(shown.map((n) => n.title)).toEqual(["second waits for you"]);
      expect(told()).toEqual([view.id, expect.stringMatching(/^r_/)]);
    });

    test("tell that the time is nearly over, once for both", async () => {
      const first = below({ expires_at: soon(), tool: "pay" });
      localStorage["hitl-widgets:told"] = JSON.stringify([first.view.id]);
      await vi.advanceTimersByTimeAsync(1000);
      expect(shown.map((n) => n.title)).toEqual(["pay waits for you, and its time is nearly over"]);
      expect(told()).toEqual([first.view.id, `${first.view.id} soon`]);
    });

    test("have one tag, so that two at the same moment are seen as one", async () => {
      const { view } = below();
      await vi.advanceTimersByTimeAsync(1000);
      expect(shown[0]?.options).toMatchObject({ tag: `hitl-widgets ${view.id}` });
      expect(shown[0]?.options).not.toHaveProperty("renotify");
    });

    test("come though another wrote nonsense there", async () => {
      localStorage["hitl-widgets:told"] = "{";
      below();
      await vi.advanceTimersByTimeAsync(1000);
      expect(shown).toHaveLength(1);
    });

    test("remember so much and no more", async () => {
      localStorage["hitl-widgets:told"] = JSON.stringify(Array.from({ length: 600 }, String));
      const { view } = below();
      await vi.advanceTimersByTimeAsync(1000);
      expect(told()).toHaveLength(500);
      expect(told().at(-1)).toBe(view.id);
    });
  });

  test("one takes the place of the last, and goes when nothing waits out of sight", async () => {
    localStorage["hitl-widgets:notifications"] = "on";
    tab("hidden");
    const first = below({ tool: "first" });
    await vi.advanceTimersByTimeAsync(1000);
    const second = below({ tool: "second" });
    await vi.advanceTimersByTimeAsync(REMIND_MS);
    expect(shown).toHaveLength(2);
    expect([...open]).toEqual([last]);
    first.decide();
    second.decide();
    await vi.waitFor(() => expect(open.size).toBe(0));
  });

  test("leave the words of a question in the notebook", async () => {
    localStorage["hitl-widgets:notifications"] = "on";
    tab("hidden");
    below({ message: "Pay 4111 1111?" }, confirm);
    await vi.advanceTimersByTimeAsync(1000);
    expect(shown.map((n) => n.title)).toEqual(["A question waits for you"]);
  });

  test("a press on one goes to its card", async () => {
    localStorage["hitl-widgets:notifications"] = "on";
    tab("hidden");
    below();
    await vi.advanceTimersByTimeAsync(1000);
    tab("visible");
    last.onclick?.();
    await expect.element(page.getByRole("group", { name: /Approval/ })).toHaveFocus();
  });

  test("a browser that refuses is said so", async () => {
    Told.permission = "default";
    below();
    await vi.waitUntil(() => bell().query());
    await bell().click();
    await expect
      .element(pill().getByRole("status"))
      .toHaveTextContent("The browser does not allow notifications from this page.");
    await expect.element(bell()).toHaveAttribute("aria-pressed", "false");
  });
});
