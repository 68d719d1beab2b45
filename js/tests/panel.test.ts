import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import type { CallItem, RequestView, RunView } from "../src/generated/messages";
import approval from "./fixtures/approval.json";
import approved from "./fixtures/approved.json";
import compare from "./fixtures/compare.json";
import { show as showIn } from "./kernel";

const call = (id: string, status: CallItem["status"], more: Partial<CallItem> = {}): CallItem => ({
  kind: "call",
  id,
  tool: "delete_record",
  status,
  agent_path: [],
  seconds: null,
  progress: null,
  note: null,
  granted: null,
  ...more,
});

const run = (more: Partial<RunView> = {}): RunView => ({
  run_id: "run_example",
  title: "data-agent",
  state: "suspended",
  items: [
    { kind: "text", text: "I look first.", agent_path: [] },
    call("c0", "done", { tool: "find_user", seconds: 0.4 }),
    call("c1", "waiting"),
    call("c2", "waiting"),
  ],
  cancellable: true,
  paused: false,
  seconds: null,
  finish_reason: null,
  times: null,
  ...more,
});

const request = (id: string, more: Partial<RequestView> = {}): RequestView => ({
  ...(approval as RequestView),
  id: `req_${id}`,
  tool_call_id: id,
  turn: "t1",
  args: JSON.stringify({ id: `abc-${id}`, table: "orders" }),
  secrets: {},
  ...more,
});

let gone: (() => void)[] = [];
beforeEach(() => {
  gone = [];
});
afterEach(() => {
  for (const away of gone) away();
});

function show(view: RunView, requests: RequestView[]) {
  const made = showIn({ shows: "panel", view, requests });
  gone.push(made.unmount, () => made.el.remove());
  return made;
}

const button = (name: string) => page.getByRole("button", { name, exact: true });
const still = () => new Promise((resolve) => setTimeout(resolve, 700));

describe("a run's panel", () => {
  test("shows text, calls in words, and the cards that wait", async () => {
    show(run(), [request("c1")]);
    const panel = page.getByRole("region", { name: "Run: data-agent" });
    await expect.element(panel).toBeVisible();
    const steps = panel
      .getByRole("listitem")
      .elements()
      .map((e) => e.textContent);
    expect(steps[0]).toBe("I look first.");
    expect(steps[1]).toBe("find_userdone · 0.4 s");
    await expect
      .element(panel.getByRole("group", { name: "Approval: delete_record" }))
      .toBeVisible();
  });

  test("a verb shows its cards alone", async () => {
    show(run({ title: "", items: [] }), [request("c1")]);
    await expect
      .element(page.getByRole("group", { name: "Approval: delete_record" }))
      .toBeVisible();
    expect(page.getByRole("region", { name: /^Run/ }).elements()).toHaveLength(0);
  });

  test("Cancel is asked once, and is gone when the run has ended", async () => {
    const { model } = show(run(), []);
    await button("Cancel").click();
    expect(model.of("cancel")).toHaveLength(1);
    await expect.element(button("Cancel")).toBeDisabled();
    model.set("view", run({ state: "cancelled", cancellable: false, seconds: 12.4 }));
    await expect.element(page.getByText("cancelled · 12.4 s")).toBeVisible();
    expect(button("Cancel").elements()).toHaveLength(0);
  });

  test("says when the kernel did not hear Cancel, and takes it again (R12)", async () => {
    const { model } = show(run(), []);
    const answer = model.answer;
    model.answer = () => null;
    await button("Cancel").click();
    await expect
      .element(page.getByRole("alert"), { timeout: 4000 })
      .toHaveTextContent("The kernel does not answer");
    model.answer = answer;
    await button("Cancel").click();
    await vi.waitFor(() => expect(page.getByRole("alert").elements()).toHaveLength(0));
    expect(model.of("cancel")).toHaveLength(2);
  });

  test("says when no cell waits any more (R16)", async () => {
    show(run({ paused: true }), [request("c1")]);
    await expect.element(page.getByText(/^Nobody waits for this run in a cell/)).toBeVisible();
  });

  test("says when its page came too late for the record", async () => {
    const { model } = show(run({ state: "completed" }), []);
    expect(page.getByText(/^This page was loaded after/).elements()).toHaveLength(0);
    model.set("late", true);
    await expect.element(page.getByText(/^This page was loaded after/)).toBeVisible();
  });

  test("tells the kernel when somebody is at work in what stays when the run ends", async () => {
    const { model } = show(run(), [
      request("c1"),
      { ...(approved as RequestView), tool_call_id: "c2" },
    ]);
    await expect.element(button("Decline")).toBeEnabled();
    const inside = () => model.of("focus").map((m) => m.inside);
    (button("Decline").element() as HTMLButtonElement).focus();
    (button("details").element() as HTMLButtonElement).focus();
    await vi.waitFor(() => expect(inside()).toEqual([true]));
    (button("Decline").element() as HTMLButtonElement).focus();
    await vi.waitFor(() => expect(inside()).toEqual([true, false]));
  });
});

describe("the focus of who decided by keyboard", () => {
  const over = run({ state: "completed", cancellable: false, seconds: 2 });
  const after = { ...(approved as RequestView), id: "req_c1", tool_call_id: "c1" };

  /** A panel in a cell that takes the focus, as a notebook's does. */
  async function inACell() {
    const shown = show(run(), [request("c1")]);
    const cell = document.createElement("div");
    cell.tabIndex = 0;
    shown.el.replaceWith(cell);
    cell.append(shown.el);
    gone.push(() => cell.remove());
    await expect.element(button("Decline")).toBeEnabled();
    return { ...shown, cell };
  }

  test("rests on the line that says so, and goes on to the cell when the run ends", async () => {
    const { model, cell } = await inACell();
    (button("Decline").element() as HTMLButtonElement).focus();
    await userEvent.keyboard("{Enter}");
    model.set("requests", [after]);
    const line = page.getByRole("group", { name: "Decided: delete_record" }).getByRole("status");
    await expect.element(line).toHaveFocus();
    model.set("view", over);
    expect(document.activeElement).toBe(cell);
    await still();
    expect(model.of("focus")).toHaveLength(0); // nothing keeps the record from coming
  });

  test("is left alone when it is elsewhere, or reads", async () => {
    const field = document.createElement("textarea");
    document.body.append(field);
    gone.push(() => field.remove());
    const { model } = await inACell();
    model.set("requests", [after]);
    field.focus();
    model.set("view", over);
    expect(document.activeElement).toBe(field);
    const details = button("details").element() as HTMLButtonElement;
    details.focus();
    model.set("view", { ...over });
    expect(document.activeElement).toBe(details);
    await vi.waitFor(() => expect(model.of("focus").map((m) => m.inside)).toEqual([true]));
  });

  test("takes no key along that is still down", async () => {
    const { model, cell } = await inACell();
    const heard: string[] = [];
    cell.addEventListener("keydown", (event) => heard.push(event.key));
    const fire = (type: string, key: string, repeat = false) =>
      document.activeElement?.dispatchEvent(
        new KeyboardEvent(type, { key, repeat, bubbles: true, composed: true }),
      );
    (button("Decline").element() as HTMLButtonElement).focus();
    fire("keydown", "Enter");
    model.set("requests", [after]);
    model.set("view", over);
    expect(document.activeElement).toBe(cell);
    fire("keydown", "Enter", true);
    fire("keydown", "Enter", true);
    expect(heard).toEqual([]);
    fire("keyup", "Enter");
    fire("keydown", "a");
    fire("keydown", "a", true);
    expect(heard).toEqual(["a", "a"]);
  });
});

describe("calls of one turn (R9)", () => {
  const group = () => page.getByRole("group", { name: "Approvals: 2 calls" });

  test("stand together: what is the same once, what differs as a table", async () => {
    show(run(), [request("c1"), request("c2")]);
    await expect.element(group()).toBeVisible();
    await expect.element(group().getByText("The same in all:")).toHaveTextContent('table "orders"');
    const rows = group()
      .getByRole("row")
      .elements()
      .map((e) => e.textContent);
    expect(rows).toEqual(["Callid", '1"abc-c1"', '2"abc-c2"']);
    expect(group().getByRole("group", { name: "Approval: delete_record" }).elements()).toHaveLength(
      2,
    );
  });

  test("are flagged in the table too where they are not what they seem (F19)", async () => {
    const odd = request("c2", { args: JSON.stringify({ id: "p\u0430ypal", table: "orders" }) });
    show(run(), [request("c1"), odd]);
    const words = group().getByText("Contains look-alike letters: а (U+0430).");
    expect(words.elements().length).toBe(2); // beside the table, and on the card
  });

  test("are approved all at once, each with the fingerprint shown", async () => {
    const { model } = show(run(), [request("c1"), request("c2", { fingerprint: "hf1:other" })]);
    await expect.element(button("Approve all 2")).toBeEnabled();
    await still();
    await button("Approve all 2").click();
    await vi.waitFor(() => expect(model.of("decide-all")).toHaveLength(1));
    expect(model.of("decide-all")[0]).toMatchObject({
      requests: [
        { request_id: "req_c1", fingerprint: approval.fingerprint },
        { request_id: "req_c2", fingerprint: "hf1:other" },
      ],
      decision: { verdict: "approve" },
    });
  });

  test("are not approved together while a part of one was not reached", async () => {
    show(run(), [request("c1"), request("c2", { args: compare.args })]);
    await expect
      .element(page.getByText("Approve is off until you have opened note."))
      .toBeVisible();
    await expect.element(button("Approve").first()).toBeEnabled();
    await expect.element(button("Approve all 2")).toBeDisabled();
  });

  test("a decided one leaves the others as they were, with what was typed", async () => {
    const { model } = show(run(), [request("c1"), request("c2")]);
    await button("More actions").last().click();
    await page.getByRole("menuitem", { name: "Decline with a reason…" }).click();
    await userEvent.keyboard("use staging");
    const done = {
      ...(approved as unknown as RequestView),
      id: "req_c1",
      tool_call_id: "c1",
      turn: "t1",
    };
    model.set("requests", [done, request("c2")]);
    await expect.element(page.getByRole("group", { name: "Decided: delete_record" })).toBeVisible();
    const reason = page.getByRole("textbox", { name: "Reason" });
    await expect.element(reason).toHaveValue("use staging");
    await expect.element(reason).toHaveFocus();
    expect(page.getByRole("group", { name: /^Approvals/ }).elements()).toHaveLength(0);
  });
});

describe("sub-agents", () => {
  const of = (id: string, agent_path: string[], tool = "find") =>
    call(id, "done", { tool, agent_path });

  test("stand inside, under their names, however deep", async () => {
    show(
      run({
        items: [
          of("a", ["boss"], "agent-librarian"),
          of("b", ["boss", "librarian"]),
          of("c", ["boss", "librarian", "clerk"]),
          of("d", ["boss", "librarian"]),
          of("e", ["boss"]),
        ],
      }),
      [],
    );
    const inner = page.getByRole("list", { name: "Agent: librarian" });
    await expect.element(inner).toBeVisible();
    expect(inner.element().querySelectorAll("code")).toHaveLength(3);
    const innermost = inner.getByRole("list", { name: "Agent: clerk" });
    expect(innermost.element().querySelectorAll("code")).toHaveLength(1);
    const outer = page.getByRole("list", { name: "Steps of the run" });
    expect(outer.element().querySelectorAll(":scope > li")).toHaveLength(3);
  });
});

test("a call that a standing grant let through says so (R20)", async () => {
  const words = "find of boss with any arguments at all, in this run only";
  show(run({ items: [call("a", "done", { granted: words })] }), []);
  await expect.element(page.getByText(`allowed by a standing permission: ${words}`)).toBeVisible();
});

test("at the end a chart says where the time went, in words too", async () => {
  const times = { model: 4.4, tools: 0, human: 8.2 };
  show(run({ state: "completed", times, cancellable: false }), []);
  const chart = page.getByRole("figure", { name: "Where the time went" });
  await expect.element(chart).toHaveTextContent("model 4.4 speople 8.2 s");
  expect(chart.element().querySelectorAll(".bar span")).toHaveLength(2);
});

test("siblings with tables are told apart by what the tables are", async () => {
  const frame = (rows: number, sha256: string) =>
    JSON.stringify({
      frame: {
        $described: "table",
        type: "pandas.DataFrame",
        shape: [rows, 1],
        columns: { a: "int64" },
        rows: [[1]],
        sha256,
      },
      to: "archive",
    });
  const two = [
    request("c1", { described: true, secrets: {}, args: frame(10, "ab".repeat(32)) }),
    request("c2", { described: true, secrets: {}, args: frame(20, "cd".repeat(32)) }),
  ];
  show(run(), two);
  const table = page.getByRole("region", { name: "delete_record" }).getByRole("table");
  await expect
    .element(table)
    .toHaveTextContent("pandas.DataFrame, 10 rows × 1 column, sha256 abababababab");
  await expect
    .element(table)
    .toHaveTextContent("pandas.DataFrame, 20 rows × 1 column, sha256 cdcdcdcdcdcd");
  await expect.element(page.getByText('The same in all: to "archive"')).toBeVisible();
});

test("in a narrow cell no short word comes apart, and a long name stands beside its dot", async () => {
  const long = "look_up_what_is_known_of_a_customer";
  const items = [call("c0", "done", { tool: long }), call("c1", "waiting"), call("c2", "waiting")];
  const why = { reason: "Kraftfahrzeughaftpflichtversicherungsgesellschaft" };
  const calls = ["c1", "c2"].map((id) =>
    request(id, { args: JSON.stringify({ id: `abc-${id}`, ...(id === "c1" ? why : {}) }) }),
  );
  const { el } = show(run({ items }), calls);
  el.style.width = "304px";
  await expect.element(page.getByRole("button", { name: "Approve all 2" })).toBeVisible();
  const height = (element: Element | undefined) => {
    const range = document.createRange();
    range.selectNodeContents(element as Element);
    return range.getBoundingClientRect().height;
  };
  const cells = [...el.querySelectorAll(".together th, .together td")];
  for (const words of ["Call", '"abc-c1"'])
    expect(height(cells.find((cell) => cell.textContent === words))).toBeLessThan(25);
  const step = [...el.querySelectorAll(".step")].find((s) => s.textContent?.includes(long));
  const [dot, name] = [".dot", "code"].map((part) => step?.querySelector(part));
  const top = (element: Element | null | undefined) => element?.getBoundingClientRect().top ?? 0;
  expect(Math.abs(top(dot) - top(name))).toBeLessThan(12);
  expect(el.scrollWidth).toBeLessThanOrEqual(304);
});
