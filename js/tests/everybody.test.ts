// Keyboard alone, large text, few colours, little motion, and what a screen reader is told.
import { afterEach, describe, expect, test, vi } from "vitest";
import { cdp, page, userEvent } from "vitest/browser";
import type { RequestView } from "../src/generated/messages";
import approval from "./fixtures/approval.json";
import approved from "./fixtures/approved.json";
import compare from "./fixtures/compare.json";
import described from "./fixtures/described.json";
import edited from "./fixtures/edited.json";
import hostile from "./fixtures/hostile.json";
import input from "./fixtures/input.json";
import kernelMessages from "./fixtures/kernel-messages.json";
import unknown from "./fixtures/unknown.json";
import voted from "./fixtures/voted.json";
import { ack, show as showIn } from "./kernel";

const answers = kernelMessages as unknown as ReturnType<typeof ack>[];
const form = answers[2]?.form ?? null;
const prepared = answers[3]?.prepared ?? null;

const away: (() => void)[] = [];
function show(view: unknown, more: Record<string, unknown> = {}) {
  const made = showIn(
    { view: view as RequestView, ...more },
    {
      answer: (m) =>
        m.type === "prepare"
          ? ack(m.id, m.draft.kind === "open-edit" ? { form } : { prepared })
          : ack(m.id),
    },
  );
  away.push(made.unmount, () => made.el.remove());
  return made;
}
afterEach(async () => {
  for (const go of away.splice(0)) go();
  await send("Emulation.setEmulatedMedia", { features: [] });
});

interface Session {
  send(method: string, params?: Record<string, unknown>): Promise<unknown>;
}
const send = (method: string, params?: Record<string, unknown>) =>
  (cdp() as unknown as Session).send(method, params);
const media = (name: string, value: string) =>
  send("Emulation.setEmulatedMedia", { features: [{ name, value }] });

const RUNNING = {
  kind: "call",
  id: "c",
  tool: "t",
  status: "running",
  agent_path: [],
  seconds: null,
  progress: 0.5,
  note: null,
  granted: null,
};
const RUN = {
  run_id: "r",
  title: "agent",
  state: "running",
  items: [],
  cancellable: true,
  paused: false,
  seconds: null,
  finish_reason: null,
  times: null,
};

const focused = () => document.activeElement as HTMLElement;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Go on by Tab until something of this name has the focus; what was passed on the way. */
async function tabTo(name: string): Promise<string[]> {
  const passed: string[] = [];
  for (let i = 0; i < 30; i++) {
    await userEvent.keyboard("{Tab}");
    const label = focused().getAttribute("aria-label") ?? focused().textContent ?? "";
    passed.push(label);
    if (label === name) return passed;
  }
  throw new Error(`${name} is not reached by Tab: ${passed.join(" | ")}`);
}

describe("by keyboard alone", () => {
  const decisions = (model: ReturnType<typeof show>["model"]) =>
    model.of("decide").map((m) => m.decision);

  test("an approval", async () => {
    const { model } = show(approval);
    await expect.element(page.getByRole("button", { name: "Approve", exact: true })).toBeEnabled();
    await tabTo("Approve");
    await wait(600);
    await userEvent.keyboard("{Enter}");
    expect(decisions(model)).toEqual([{ verdict: "approve" }]);
  });

  test("a cut text is opened and scrolled to its end, then approved", async () => {
    const { model } = show(compare);
    await tabTo("show all");
    await userEvent.keyboard("{Enter}");
    const block = page.getByRole("region", { name: "note" }).element() as HTMLElement;
    block.focus();
    for (let i = 0; i < 40 && block.scrollTop + block.clientHeight < block.scrollHeight - 4; i++) {
      await userEvent.keyboard("{PageDown}");
      await wait(50);
    }
    await expect.element(page.getByRole("button", { name: "Approve", exact: true })).toBeEnabled();
    await tabTo("Approve");
    await wait(700);
    await userEvent.keyboard(" ");
    expect(decisions(model)).toEqual([{ verdict: "approve" }]);
  });

  test("a comparison opens and closes", async () => {
    show(compare);
    const link = page.getByRole("button", { name: /^Compare with/ });
    (link.element() as HTMLElement).focus();
    await userEvent.keyboard("{Enter}");
    await expect.element(page.getByRole("region", { name: /^Compared with/ })).toBeVisible();
    await userEvent.keyboard("{Enter}");
    expect(page.getByRole("region", { name: /^Compared with/ }).elements()).toHaveLength(0);
  });

  test("an edit, from the menu to the yes", async () => {
    const { model } = show(approval);
    await tabTo("More actions");
    await userEvent.keyboard("{ArrowDown}{ArrowDown}{ArrowDown}{ArrowDown}");
    expect(focused().textContent).toBe("Edit arguments…");
    await userEvent.keyboard("{Enter}");
    await vi.waitUntil(() => focused().tagName === "INPUT");
    await userEvent.keyboard("{Tab}_x{Enter}");
    await expect.element(page.getByRole("region", { name: "What changes" })).toBeVisible();
    await tabTo("Approve edited");
    await wait(700);
    await userEvent.keyboard("{Enter}");
    expect(decisions(model)).toEqual([{ verdict: "approve", prepared: prepared?.key }]);
  });

  test.each([
    [1, "Approve with a note…", "go on", { verdict: "approve", note: "go on" }],
    [2, "Decline with a reason…", "not now", { verdict: "decline", reason: "not now" }],
    [3, "Decline and stop the run", null, { verdict: "decline", stop: true }],
    [5, "Respond instead…", "42", { verdict: "respond", text: "42" }],
  ])("item %i of the menu: %s", async (down, item, typed, decision) => {
    const { model } = show(approval);
    await expect.element(page.getByRole("button", { name: "Approve", exact: true })).toBeEnabled();
    await tabTo("More actions");
    await userEvent.keyboard("{ArrowDown}".repeat(down));
    expect(focused().textContent).toBe(item);
    await userEvent.keyboard("{Enter}");
    if (typed !== null) {
      await vi.waitUntil(() => focused().tagName === "TEXTAREA");
      await userEvent.keyboard(`${typed}{Tab}`);
      await wait(700);
      await userEvent.keyboard("{Enter}");
    }
    await vi.waitFor(() => expect(decisions(model)).toEqual([decision]));
  });

  test("calls of one turn together", async () => {
    const calls = ["c1", "c2"].map((id) => ({
      ...(approval as unknown as RequestView),
      id: `req_${id}`,
      tool_call_id: id,
      turn: "t1",
      args: JSON.stringify({ id, table: "orders" }),
      secrets: {},
    }));
    const items = calls.map(({ tool_call_id }) => ({ ...RUNNING, id: tool_call_id }));
    const { model } = show({ ...RUN, items }, { shows: "panel", requests: calls });
    await expect.element(page.getByRole("button", { name: "Approve all 2" })).toBeEnabled();
    await tabTo("Approve all 2");
    await wait(700);
    await userEvent.keyboard("{Enter}");
    expect(model.of("decide-all")).toHaveLength(1);
  });

  test("what became of it is opened from the line that says so", async () => {
    show(edited);
    await tabTo("details");
    await userEvent.keyboard("{Enter}");
    await expect.element(page.getByText("Whole fingerprint")).toBeVisible();
  });

  test("an unknown outcome is settled", async () => {
    const { model } = show(unknown);
    await tabTo("It happened");
    await userEvent.keyboard("{Enter}");
    await vi.waitUntil(() => focused().tagName === "TEXTAREA");
    await userEvent.keyboard("42{Tab}{Enter}");
    expect(model.of("settle").map((m) => [m.how, m.text])).toEqual([["happened", "42"]]);
  });
});

const views = { approval, compare, described, edited, hostile, input, unknown, voted };

describe.each(Object.entries(views))("%s", (_name, view) => {
  // 680 and 320 pixels of the screen: as wide as a card is at most, and a narrow window.
  test.each([340, 160])(
    "at twice its size loses nothing and scrolls in one direction only in %d px",
    async (width) => {
      const { el } = show(view);
      el.style.setProperty("zoom", "2");
      el.style.width = `${width}px`;
      await wait(50);
      expect(el.scrollWidth).toBeLessThanOrEqual(width);
      for (const button of el.querySelectorAll("button")) {
        const box = button.getBoundingClientRect();
        expect(box.left).toBeGreaterThanOrEqual(el.getBoundingClientRect().left - 1);
      }
    },
  );

  test("in a narrow window its menu and its dialogs stay inside", async () => {
    const { el } = show(view);
    el.style.setProperty("zoom", "2");
    el.style.width = "160px";
    const menu = el.querySelector<HTMLElement>(".button.more");
    menu?.click();
    await wait(50);
    for (const item of el.querySelectorAll('[role="menuitem"]')) {
      const box = item.getBoundingClientRect();
      expect(box.left).toBeGreaterThanOrEqual(el.getBoundingClientRect().left);
      expect(box.right).toBeLessThanOrEqual(el.getBoundingClientRect().right);
    }
    for (let i = el.querySelectorAll('[role="menuitem"]').length - 1; i >= 0; i--) {
      if (!el.querySelector('[role="menu"]'))
        el.querySelector<HTMLElement>(".button.more")?.click();
      await wait(30);
      el.querySelectorAll<HTMLElement>('[role="menuitem"]')[i]?.click();
      await wait(50);
      expect(el.scrollWidth).toBeLessThanOrEqual(160);
      const cancel = [...el.querySelectorAll<HTMLElement>('[role="dialog"] .button')].at(-1);
      cancel?.click();
      await wait(30);
    }
  });

  test("with forced colours every control and every mark keeps an edge or a word", async () => {
    await media("forced-colors", "active");
    const { el } = show(view);
    await wait(50);
    expect(matchMedia("(forced-colors: active)").matches).toBe(true);
    for (const control of el.querySelectorAll<HTMLElement>(".button, .card"))
      expect(Number.parseFloat(getComputedStyle(control).borderTopWidth)).toBeGreaterThan(0);
    for (const cell of el.querySelectorAll<HTMLElement>(".strip i"))
      expect(getComputedStyle(cell).forcedColorAdjust).toBe("none");
  });
});

test("with reduced motion nothing moves by itself", async () => {
  await media("prefers-reduced-motion", "reduce");
  const run = { ...RUN, items: [RUNNING] };
  const { el } = show(run, { shows: "panel" });
  await wait(50);
  expect(el.getAnimations({ subtree: true })).toHaveLength(0);
  for (const go of away.splice(0)) go();
  await media("prefers-reduced-motion", "no-preference");
  const again = show(run, { shows: "panel" });
  await wait(50);
  expect(again.el.getAnimations({ subtree: true }).length).toBeGreaterThan(0);
});

interface AxNode {
  role?: { value: string };
  name?: { value: string };
  properties?: { name: string; value: { value: unknown } }[];
  ignored: boolean;
}

interface FrameTree {
  frame: { id: string };
  childFrames?: FrameTree[];
}

/** What a screen reader is given: role, name, and how changes are announced. */
async function tree(): Promise<string[]> {
  const { frameTree } = (await send("Page.getFrameTree")) as { frameTree: FrameTree };
  const frameId = frameTree.childFrames?.[0]?.frame.id;
  const { nodes } = (await send("Accessibility.getFullAXTree", { frameId })) as { nodes: AxNode[] };
  return nodes
    .filter((node) => !node.ignored)
    .map((node) => {
      const live = node.properties?.find((property) => property.name === "live")?.value.value;
      return `${node.role?.value}: ${node.name?.value}${live ? ` (${live})` : ""}`;
    });
}

describe("the accessibility tree", () => {
  test("names the card, its parts and its controls, and nothing twice by colour alone", async () => {
    show(approval);
    await expect.element(page.getByRole("button", { name: "Approve", exact: true })).toBeEnabled();
    const told = await tree();
    for (const part of [
      "group: Approval: delete_record",
      "heading: delete_record",
      "image: 5 arguments as colours",
      "button: Approve",
      "button: Decline",
      "button: More actions",
      "button: Copy the fingerprint",
    ])
      expect(told.filter((line) => line.startsWith(part))).toHaveLength(1);
    expect(told.some((line) => line.startsWith("StaticText:") && /destructive/.test(line))).toBe(
      true,
    );
  });

  test("announces what changes: sending, refusals, the outcome", async () => {
    const { model } = show(approval);
    await expect.element(page.getByRole("button", { name: "Approve", exact: true })).toBeEnabled();
    expect(await tree()).toContainEqual(expect.stringMatching(/^status: .*\(polite\)/));
    model.answer = ({ id }) => ({ type: "error", id, code: "X", words: "no", errors: [] });
    (page.getByRole("button", { name: "Decline" }).element() as HTMLElement).click();
    await expect.element(page.getByRole("alert")).toBeVisible();
    expect(await tree()).toContainEqual(expect.stringMatching(/^alert: .*\(assertive\)/));
    model.set("view", approved);
    await expect.element(page.getByRole("group", { name: "Decided: delete_record" })).toBeVisible();
    expect(await tree()).toContainEqual(expect.stringMatching(/^status: .*\(polite\)/));
  });

  test("a table of a plain function is a table with headers", async () => {
    show(described);
    await wait(50);
    const told = await tree();
    expect(told).toContainEqual(expect.stringMatching(/^table: pandas\.DataFrame, 10,000 rows/));
    expect(told.filter((line) => line.startsWith("columnheader: "))).toEqual([
      "columnheader: order object",
      "columnheader: amount float64",
      "columnheader: paid bool",
    ]);
  });
});
