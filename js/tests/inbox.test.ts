import axe from "axe-core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import type {
  GrantDoc,
  InboxView,
  KernelMessage,
  Looked,
  OutcomeDoc,
  PageMessage,
  RequestView,
  RowView,
} from "../src/generated/messages";
import approval from "./fixtures/approval.json";
import approved from "./fixtures/approved.json";
import { ack, show as showIn } from "./kernel";

const inbox = (more: Partial<InboxView> = {}): InboxView => ({
  store: "/home/user/hitl.db",
  version: 1,
  waiting: 3,
  unknown: 0,
  runs: [],
  idle: {},
  ...more,
});

const row = (n: number, more: Partial<RowView> = {}): RowView => ({
  id: `req_${n}`,
  kind: "approval",
  state: "pending",
  tool: "delete_record",
  agent_path: ["supervisor", "data-agent"],
  thread: null,
  notebook: "clean.ipynb",
  effect: "destructive",
  summary: `id="abc-${n}"`,
  cut: false,
  fingerprint: `hf1:abcdefghijk${n}zzzz`,
  created_at: new Date(Date.now() - 60_000 * n).toISOString(),
  expires_at: null,
  verdict: null,
  reviewer: null,
  decided_at: null,
  ...more,
});

const view = (n: number, more: Partial<RequestView> = {}): RequestView => ({
  ...(approval as RequestView),
  id: `req_${n}`,
  run_id: `run_${n}`,
  tool_call_id: `call_${n}`,
  args: JSON.stringify({ id: `abc-${n}`, table: "orders" }),
  secrets: {},
  fingerprint: `hf1:abcdefghijk${n}zzzz`,
  compare: [],
  ...more,
});

/** A kernel with so many rows. */
class Kernel {
  total = 3;
  rows = (n: number): RowView => row(n);
  looked: Looked[] = [];
  outcomes: OutcomeDoc[] = [];
  grants: GrantDoc[] = [];
  asked: PageMessage[] = [];
  /** Nothing can be looked at for now. */
  busy = false;

  answer = (message: PageMessage): KernelMessage => {
    this.asked.push(message);
    switch (message.type) {
      case "rows": {
        const n = Math.max(0, Math.min(message.limit, this.total - message.offset));
        const rows = Array.from({ length: n }, (_, i) => this.rows(message.offset + i));
        const tally = {
          agent: { "data-agent": 2, other: 1 },
          thread: {},
          tool: { delete_record: 3 },
          notebook: { "clean.ipynb": 3 },
        };
        return ack(message.id, {
          rows: { total: this.total, rows, tally: message.tally ? tally : null },
        });
      }
      case "look":
        if (this.busy)
          return { type: "error", id: message.id, code: "StoreBusy", words: "Busy.", errors: [] };
        return ack(message.id, {
          looked: this.looked.filter((one) => message.request_ids.includes(one.view.id)),
        });
      case "decide-each":
        return ack(message.id, { outcomes: this.outcomes });
      case "grants":
        return ack(message.id, { grants: this.grants });
      default:
        return ack(message.id);
    }
  };

  of<T extends PageMessage["type"]>(type: T): Extract<PageMessage, { type: T }>[] {
    return this.asked.filter((m): m is Extract<PageMessage, { type: T }> => m.type === type);
  }
}

let gone: (() => void)[] = [];
let kernel: Kernel;
beforeEach(() => {
  gone = [];
  kernel = new Kernel();
});
afterEach(() => {
  for (const away of gone) away();
});

function show(seen: Partial<InboxView> = {}, requests: RequestView[] = [], locale = "en") {
  const state = { shows: "inbox", view: inbox(seen), requests };
  const made = showIn(state, { answer: kernel.answer, locale });
  gone.push(made.unmount, () => made.el.remove());
  return made;
}

const looked = (n: number, more: Partial<RequestView> = {}, alike = "a"): Looked => ({
  view: view(n, more),
  alike,
  together: true,
});

const button = (name: string) => page.getByRole("button", { name, exact: true });
const grid = () => page.getByRole("grid", { name: "Requests" });
const still = () => new Promise((resolve) => setTimeout(resolve, 700));

describe("the list", () => {
  test("says how many wait, where, and shows each in a row", async () => {
    show({ waiting: 3, unknown: 2 });
    const region = page.getByRole("region", { name: "Inbox" });
    await expect.element(region.getByText("3 waiting · 2 of unknown outcome")).toBeVisible();
    await expect.element(region.getByText("/home/user/hitl.db")).toBeVisible();
    await expect.element(grid()).toHaveAttribute("aria-rowcount", "3");
    await expect
      .element(button('Open delete_record: id="abc-0"'))
      .toHaveAttribute("aria-expanded", "false");
    await expect.element(grid().getByText("supervisor › data-agent").first()).toBeVisible();
  });

  test("draws and fetches only what is in view of ten thousand", async () => {
    kernel.total = 10_000;
    show({ waiting: 10_000 });
    await expect.element(grid()).toHaveAttribute("aria-rowcount", "10000");
    await expect.element(button('Open delete_record: id="abc-0"')).toBeVisible();
    expect(grid().getByRole("row").elements().length).toBeLessThan(40);
    expect(kernel.of("rows").map((m) => m.limit)).toEqual([50]);
    const list = grid().element();
    list.scrollTop = list.scrollHeight;
    await expect.element(button('Open delete_record: id="abc-9999"')).toBeVisible();
    expect(kernel.of("rows").length).toBeLessThan(5);
  });

  test("is walked by keyboard: arrows, Home and End, Enter opens, Space chooses", async () => {
    kernel.total = 200;
    show({ waiting: 200 });
    await expect.element(grid()).toBeVisible();
    grid().element().focus();
    const current = () =>
      document.getElementById(grid().element().getAttribute("aria-activedescendant") ?? "");
    await userEvent.keyboard("{ArrowDown}{ArrowDown}");
    await expect.poll(() => current()?.getAttribute("aria-rowindex")).toBe("3");
    await userEvent.keyboard(" ");
    await expect.element(page.getByText("1 chosen")).toBeVisible();
    expect(current()?.getAttribute("aria-selected")).toBe("true");
    await userEvent.keyboard("{End}");
    await expect.poll(() => current()?.textContent).toContain("abc-199");
    await userEvent.keyboard("{Home}{Enter}");
    expect(kernel.of("open")).toMatchObject([{ request_id: "req_0", open: true }]);
  });

  test("is filtered and sorted by the kernel, and says how many match", async () => {
    show();
    await expect.element(grid()).toBeVisible();
    await page.getByLabelText("Agent", { exact: true }).selectOptions("other (1)");
    await page.getByLabelText("Age", { exact: true }).selectOptions("over a day");
    await page.getByLabelText("Sort", { exact: true }).selectOptions("expires first");
    kernel.total = 1;
    await page.getByLabelText("Search", { exact: true }).fill("orders");
    await expect
      .poll(() => kernel.of("rows").at(-1)?.search)
      .toMatchObject({
        among: "waiting",
        agent: "other",
        youngest: 86_400,
        oldest: null,
        order: "expiry",
        text: "orders",
      });
    await expect.element(page.getByText("1 match")).toBeVisible();
    await button("clear filters").click();
    await expect.poll(() => kernel.of("rows").at(-1)?.search.agent).toBe(null);
    await expect.element(page.getByLabelText("Search", { exact: true })).toHaveValue("");
  });

  test("is fetched again when the store changes, and keeps the row that is meant", async () => {
    const { model } = show();
    await expect.element(grid()).toBeVisible();
    grid().element().focus();
    await userEvent.keyboard("{ArrowDown}");
    kernel.total = 2;
    kernel.rows = (n) => row(n + 1);
    model.set("view", inbox({ version: 2, waiting: 2 }));
    await expect.element(grid()).toHaveAttribute("aria-rowcount", "2");
    await userEvent.keyboard("{Enter}");
    expect(kernel.of("open")).toMatchObject([{ request_id: "req_1" }]);
  });

  test("an answer from before a change is not the last word", async () => {
    const held: KernelMessage[] = [];
    const late = (message: PageMessage) => {
      held.push(kernel.answer(message));
      return null;
    };
    const made = showIn({ shows: "inbox", view: inbox(), requests: [] }, { answer: late });
    gone.push(made.unmount, () => made.el.remove());
    await expect.poll(() => kernel.of("rows").length).toBe(1);
    const answer = held.find((each) => each.type === "ack" && each.rows);
    kernel.total = 1;
    made.model.set("view", inbox({ version: 2, waiting: 1 }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    made.model.answer = kernel.answer;
    made.model.fire("msg:custom", answer);
    await expect.element(grid()).toHaveAttribute("aria-rowcount", "1");
  });

  test("shows hidden characters of a name as their numbers", async () => {
    kernel.rows = () => row(0, { tool: "pay\u202e", summary: "to\u200b" });
    kernel.total = 1;
    show();
    await expect.element(grid().getByText("U+202E")).toBeVisible();
    await expect.element(grid().getByText("U+200B")).toBeVisible();
  });

  test("says it when the kernel does not answer", async () => {
    const made = showIn(
      { shows: "inbox", view: inbox(), requests: [] },
      { answer: () => null, locale: "en" },
    );
    gone.push(made.unmount, () => made.el.remove());
    await expect
      .element(page.getByRole("alert"), { timeout: 4000 })
      .toHaveTextContent("The kernel does not answer");
  });
});

describe("a row that is opened", () => {
  test("is the whole card, below the list, and is closed again", async () => {
    show({}, [view(1)]);
    const opened = page.getByRole("region", { name: "Opened: delete_record" });
    await expect
      .element(opened.getByRole("group", { name: "Approval: delete_record" }))
      .toBeVisible();
    await button("Close delete_record").click();
    expect(kernel.of("open")).toMatchObject([{ request_id: "req_1", open: false }]);
  });

  test("keeps Approve off until all was reachable, as everywhere", async () => {
    show({}, [view(1, { args: JSON.stringify({ text: "x".repeat(5000) }) })]);
    await expect.element(button("Approve")).toBeDisabled();
    await expect
      .element(page.getByText("Approve is off until you have opened text."))
      .toBeVisible();
  });

  test("settles a call whose outcome nobody knows", async () => {
    show({ unknown: 1 }, [view(1, { state: "outcome_unknown", allowed: [] })]);
    await button("Give up").click();
    expect(kernel.of("settle")).toMatchObject([{ request_id: "req_1", how: "give_up" }]);
  });
});

describe("deciding together", () => {
  const chooseAll = async () => {
    await button("choose all").click();
    await button("Decide together").click();
  };
  const group = (name: string) => page.getByRole("group", { name });

  test("only calls that are alike stand together, each with its fingerprint", async () => {
    kernel.looked = [looked(0), looked(1), looked(2, { tool: "send_mail" }, "b")];
    show();
    await chooseAll();
    const deletes = group("Together: delete_record (2)");
    await expect.element(deletes).toBeVisible();
    await expect.element(group("Together: send_mail (1)")).toBeVisible();
    const cells = deletes
      .getByRole("row")
      .elements()
      .map((r) => r.textContent);
    expect(cells[0]).toContain("id");
    expect(cells[1]).toContain("hf1:abcdefghijk0");
    expect(cells[1]).toContain('"abc-0"');
    expect(cells[2]).toContain("hf1:abcdefghijk1");
    // What is the same stands once.
    await expect.element(deletes.getByText("The same in all")).toBeVisible();
    expect(deletes.element().textContent?.match(/"orders"/g)?.length).toBe(1);
  });

  test("approves what was shown, each by its fingerprint, and tells what was lost", async () => {
    kernel.looked = [looked(0), looked(1), looked(2)];
    kernel.outcomes = [
      {
        request_id: "req_0",
        tool: "delete_record",
        fingerprint: "hf1:a",
        state: "approved",
        code: null,
        words: null,
        agent: "supervisor",
        idle: "agent",
      },
      {
        request_id: "req_1",
        tool: "delete_record",
        fingerprint: "hf1:b",
        state: null,
        code: "AlreadyDecided",
        words: "ada was first.",
        agent: "supervisor",
        idle: null,
      },
    ];
    show();
    await chooseAll();
    await expect.element(button("Approve 3")).toBeEnabled();
    await still();
    await button("Approve 3").click();
    await expect.element(page.getByText("1 decided; 1 did not count")).toBeVisible();
    await expect.element(page.getByText("ada was first.")).toBeVisible();
    await expect
      .element(page.getByText(/Where agent supervisor is defined, run: await agent.resume_decided/))
      .toBeVisible();
    expect(kernel.of("decide-each")).toMatchObject([
      {
        decision: { verdict: "approve" },
        requests: [0, 1, 2].map((n) => ({
          request_id: `req_${n}`,
          fingerprint: `hf1:abcdefghijk${n}zzzz`,
        })),
      },
    ]);
  });

  test("an opened call that is decided while nobody acts on it says who has to", async () => {
    const decided = { state: "approved", decided: approved.decided } as Partial<RequestView>;
    const requests = [view(0, decided), view(1, decided), view(2, decided)];
    show({ idle: { req_0: "agent", req_1: "again" } }, requests);
    const opened = page.getByRole("region", { name: "Opened: delete_record" });
    await expect
      .element(opened.nth(0))
      .toHaveTextContent(
        "nothing runs yet: nobody drives this run. Where agent supervisor is defined, run: " +
          "await agent.resume_decided()",
      );
    await expect.element(opened.nth(1)).toHaveTextContent("Run the code that asked again.");
    await expect.element(opened.nth(2)).not.toHaveTextContent("nothing runs yet");
  });

  test("stays off until every argument of every call was reachable", async () => {
    const long = JSON.stringify({ id: "abc-1", table: "orders", note: "y".repeat(3000) });
    const short = JSON.stringify({ id: "abc-0", table: "orders", note: "n" });
    kernel.looked = [looked(0, { args: short }), looked(1, { args: long })];
    show();
    await chooseAll();
    await expect.element(button("Approve 2")).toBeDisabled();
    await expect
      .element(page.getByText("Approve is off until you have opened note."))
      .toBeVisible();
    await page.getByRole("button", { name: "show all" }).click();
    const block = page.getByRole("region", { name: "note" }).element();
    block.scrollTop = block.scrollHeight;
    const calls = page.getByRole("region", { name: "table 1: calls of delete_record" }).element();
    calls.scrollTop = calls.scrollHeight;
    calls.scrollLeft = calls.scrollWidth;
    await expect.element(button("Approve 2")).toBeEnabled();
  });

  test("a call that joins is to be seen, too, before all are approved", async () => {
    kernel.total = 40;
    kernel.looked = Array.from({ length: 40 }, (_, n) => looked(n));
    show();
    await grid().getByRole("checkbox").first().click();
    await button("Decide together").click();
    await expect.element(button("Approve 1")).toBeEnabled();
    await button("choose all").click();
    await expect.element(button("Approve 40")).toBeDisabled();
    const calls = page.getByRole("region", { name: "table 1: calls of delete_record" }).element();
    calls.scrollTop = calls.scrollHeight;
    calls.scrollLeft = calls.scrollWidth;
    await expect.element(button("Approve 40")).toBeEnabled();
  });

  test("another value that is the same in all is to be opened anew", async () => {
    const args = (n: number) =>
      JSON.stringify({ id: `abc-${n}`, note: (n < 2 ? "y" : "z").repeat(3000) });
    kernel.total = 4;
    kernel.looked = [0, 1, 2, 3].map((n) => looked(n, { args: args(n) }));
    show();
    const pick = (n: number) => grid().getByRole("checkbox").nth(n).click();
    await pick(0);
    await pick(1);
    await button("Decide together").click();
    await page.getByRole("button", { name: "show all" }).click();
    const block = page.getByRole("region", { name: "note" }).element();
    block.scrollTop = block.scrollHeight;
    await expect.element(button("Approve 2")).toBeEnabled();
    // All four change between two looks.
    kernel.busy = true;
    const looks = kernel.of("look").length;
    for (const n of [2, 3, 0]) await pick(n);
    await expect.poll(() => kernel.of("look").length).toBe(looks + 3);
    await expect.element(page.getByText("Busy.")).toBeVisible();
    kernel.busy = false;
    await pick(1);
    await expect.element(page.getByText("Busy.")).not.toBeInTheDocument();
    await expect
      .element(page.getByText("Approve is off until you have opened note."))
      .toBeVisible();
    await expect.element(button("Approve 2")).toBeDisabled();
  });

  test("each preview stands under the fingerprint of its call", async () => {
    const preview = (words: string) => ({
      made_at: "2026-12-01T09:00:00+00:00",
      bound: false,
      failed: null,
      parts: [{ kind: "text" as const, text: words, length: words.length }],
    });
    const third = { preview: preview("two go"), quorum: 2, votes: ["Ada"] };
    kernel.looked = [looked(0, { preview: preview("one goes") }), looked(1), looked(2, third)];
    show();
    await chooseAll();
    await expect.element(page.getByText("one goes")).toBeVisible();
    const previews = page.getByRole("group", { name: "Preview" }).elements();
    expect(previews.map((one) => one.previousElementSibling?.textContent)).toEqual([
      "hf1:abcdefghijk0",
      "hf1:abcdefghijk2",
    ]);
    await expect.element(page.getByText("1 of 2")).toBeVisible();
  });

  test("a press that nobody can have meant does not count", async () => {
    kernel.looked = [looked(0)];
    show();
    await button("choose all").click();
    await button("Decide together").click();
    await expect.element(button("Approve 1")).toBeEnabled();
    (button("Approve 1").element() as HTMLElement).click();
    await expect.element(page.getByText(/press again/)).toBeVisible();
    expect(kernel.of("decide-each")).toEqual([]);
  });

  test("inputs can only be declined, with a reason", async () => {
    kernel.looked = [{ ...looked(0, { kind: "input" }), together: false }];
    show();
    await chooseAll();
    expect(page.getByRole("button", { name: "Approve 1" }).elements()).toEqual([]);
    await button("Decline 1 with a reason…").click();
    await page.getByLabelText("Reason", { exact: true }).fill("not today");
    await button("Decline 1").click();
    expect(kernel.of("decide-each")).toMatchObject([
      { decision: { verdict: "decline", reason: "not today" } },
    ]);
  });

  test("one that somebody else decided leaves its group", async () => {
    kernel.looked = [looked(0), looked(1)];
    const { model } = show();
    await chooseAll();
    await expect.element(group("Together: delete_record (2)")).toBeVisible();
    kernel.looked = [looked(0), looked(1, { state: "declined" })];
    model.set("view", inbox({ version: 2 }));
    await expect.element(group("Together: delete_record (1)")).toBeVisible();
    await expect.element(page.getByText("1 chosen")).toBeVisible();
  });

  test("what does not wait for a decision is not chosen", async () => {
    kernel.rows = (n) => row(n, n === 1 ? { state: "outcome_unknown" } : {});
    show();
    await button("choose all").click();
    await expect.element(page.getByText("2 chosen")).toBeVisible();
    const boxes = grid().getByRole("checkbox").elements() as HTMLInputElement[];
    expect(boxes.map((box) => [box.checked, box.disabled])).toEqual([
      [true, false],
      [false, true],
      [true, false],
    ]);
  });

  test("no secret is shown, and two that differ stand apart", async () => {
    const args = JSON.stringify({ id: "x", token: "••••" });
    kernel.looked = [
      looked(0, { args, secrets: { "/token": "d1" } }),
      looked(1, { args, secrets: { "/token": "d2" } }),
    ];
    show();
    await chooseAll();
    const columns = group("Together: delete_record (2)").getByRole("columnheader");
    await expect
      .poll(() => columns.elements().map((c) => c.textContent))
      .toEqual(["Call", "token"]);
  });
});

describe("the other tabs", () => {
  test("history lists what was decided, and opens it", async () => {
    show();
    kernel.total = 1;
    kernel.rows = () =>
      row(7, { state: "done", verdict: "approve", reviewer: "ada", decided_at: row(1).created_at });
    await page.getByRole("tab", { name: "History" }).click();
    await expect.element(grid().getByText("Approved")).toBeVisible();
    await expect.element(grid().getByText("ada")).toBeVisible();
    expect(kernel.of("rows").at(-1)?.search).toMatchObject({ among: "history", order: "decided" });
    expect(grid().getByRole("checkbox").elements()).toEqual([]);
  });

  test("a standing grant is listed in its words, and revoked", async () => {
    kernel.grants = [
      {
        id: "g_1",
        tool: "pay",
        words: "pay of clerk with any arguments",
        reviewer: "ada",
        reach: "thread",
        run_id: null,
        thread: "t-1",
        expires_at: null,
      },
    ];
    show();
    await page.getByRole("tab", { name: "Standing grants" }).click();
    await expect.element(page.getByText("pay of clerk with any arguments")).toBeVisible();
    kernel.grants = [];
    await button("Revoke the grant for pay").click();
    expect(kernel.of("revoke")).toMatchObject([{ grant_id: "g_1" }]);
    await expect.element(page.getByText("Revoked: pay asks again.")).toBeVisible();
    await expect.element(page.getByText(/No standing grants/)).toBeVisible();
  });

  test("tabs are walked by arrows", async () => {
    show();
    (page.getByRole("tab", { name: "Waiting" }).element() as HTMLElement).focus();
    await userEvent.keyboard("{ArrowRight}");
    await expect
      .element(page.getByRole("tab", { name: "History" }))
      .toHaveAttribute("aria-selected", "true");
    await userEvent.keyboard("{ArrowLeft}{ArrowLeft}");
    await expect
      .element(page.getByRole("tab", { name: "Standing grants" }))
      .toHaveAttribute("aria-selected", "true");
  });
});

describe("access", () => {
  for (const scheme of ["light", "dark"]) {
    test(`axe finds nothing, ${scheme}`, async () => {
      document.documentElement.style.colorScheme = scheme;
      kernel.looked = [looked(0), looked(1), looked(2, { tool: "send_mail" }, "b")];
      kernel.rows = (n) => row(n, n === 1 ? { state: "outcome_unknown" } : {});
      const { el } = show({}, [view(1)]);
      await button("choose all").click();
      await button("Decide together").click();
      await expect
        .element(page.getByRole("group", { name: /Together: delete_record/ }))
        .toBeVisible();
      const { violations } = await axe.run(el);
      document.documentElement.style.colorScheme = "";
      expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`)).toEqual([]);
    });
  }

  test("speaks Japanese", async () => {
    show({}, [], "ja");
    await expect.element(page.getByRole("tab", { name: "判断待ち" })).toBeVisible();
    await expect.element(page.getByLabelText("エージェント", { exact: true })).toBeVisible();
  });
});
