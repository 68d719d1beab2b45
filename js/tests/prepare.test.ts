// Approvals that are more than a yes: edited arguments and standing grants.
import axe from "axe-core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import type { Ack, PageMessage, RequestView } from "../src/generated/messages";
import approval from "./fixtures/approval.json";
import described from "./fixtures/described.json";
import kernelMessages from "./fixtures/kernel-messages.json";
import voted from "./fixtures/voted.json";
import { ack, type FakeModel, show as showIn } from "./kernel";

const [accepted, , opened, edited] = kernelMessages as unknown as [Ack, unknown, Ack, Ack];
const form = opened.form as NonNullable<Ack["form"]>;
const prepared = edited.prepared as NonNullable<Ack["prepared"]>;

type Draft = Extract<PageMessage, { type: "prepare" }>["draft"];
let says: (draft: Draft) => Partial<Ack> | { words: string; path?: string };

function answer(message: PageMessage) {
  if (message.type === "decide") return ack(message.id, { receipt: accepted.receipt });
  if (message.type !== "prepare") return ack(message.id);
  const said = says(message.draft);
  if (!("words" in said)) return ack(message.id, said);
  const errors = said.path ? [{ path: [said.path], message: said.words }] : [];
  return {
    type: "error",
    id: message.id,
    code: "InvalidAnswer",
    words: said.words,
    errors,
  } as const;
}

let away: (() => void)[] = [];
let shownAt = 0;
function show(view: unknown, more: Partial<RequestView> = {}) {
  const made = showIn({ view: { ...(view as RequestView), ...more } }, { answer });
  away.push(made.unmount, () => made.el.remove());
  shownAt = performance.now();
  return made;
}
beforeEach(() => {
  says = (draft) => (draft.kind === "open-edit" ? { form } : { prepared });
});
afterEach(() => {
  for (const go of away) go();
  away = [];
});

const button = (name: string) => page.getByRole("button", { name, exact: true });
const box = (name: string) => page.getByRole("dialog", { name });
const decisions = (model: FakeModel) => model.of("decide").map((m) => m.decision);
const drafts = (model: FakeModel) => model.of("prepare").map((m) => m.draft);

async function choose(item: string) {
  await expect.element(button("More actions")).toBeEnabled();
  await button("More actions").click();
  await page.getByRole("menuitem", { name: item }).click();
}

/** Press a consenting control as a person would: once it stands still. */
async function consent(name: string) {
  await expect.element(button(name)).toBeEnabled();
  shownAt = performance.now();
  await vi.waitUntil(() => performance.now() > shownAt + 700, { timeout: 3000 });
  await button(name).click();
}

describe("edited arguments", () => {
  test("a form, then what changes by path and word, then a yes to exactly that (R10)", async () => {
    const { model } = show(approval);
    await choose("Edit arguments…");
    const field = box("Edit arguments").getByRole("textbox", { name: "table" });
    await expect.element(field).toHaveValue("orders");
    await field.fill("orders_staging");
    await button("Show the changes").click();
    const changes = page.getByRole("region", { name: "What changes" });
    await expect.element(changes).toHaveTextContent("− wasorders");
    await expect.element(changes).toHaveTextContent("+ noworders_staging");
    expect(decisions(model)).toEqual([]);
    await consent("Approve edited");
    expect(decisions(model)).toEqual([{ verdict: "approve", prepared: prepared.key }]);
    const last = drafts(model).at(-1) as { data: Record<string, unknown> };
    expect(last.data.table).toBe("orders_staging");
  });

  test("the press is guarded like any other yes", async () => {
    const { model } = show(approval);
    await choose("Edit arguments…");
    await button("Show the changes").click();
    await expect.element(button("Approve edited")).toBeEnabled();
    (button("Approve edited").element() as HTMLButtonElement).click();
    expect(decisions(model)).toEqual([]);
    await expect.element(page.getByRole("status")).toHaveTextContent("press again");
  });

  test("Python's error stands at its field, and what was typed stays (R4)", async () => {
    says = (draft) =>
      draft.kind === "open-edit" ? { form } : { words: "no such table", path: "table" };
    show(approval);
    await choose("Edit arguments…");
    const field = box("Edit arguments").getByRole("textbox", { name: "table" });
    await field.fill("nowhere");
    await button("Show the changes").click();
    await expect.element(field).toHaveAttribute("aria-invalid", "true");
    await expect.element(field).toHaveValue("nowhere");
    await expect.element(field).toHaveFocus();
    await expect.element(page.getByRole("alert")).toHaveTextContent("no such table");
  });

  test("an edit that changes nothing is not approved as one", async () => {
    const view = approval as RequestView;
    says = (draft) =>
      draft.kind === "open-edit"
        ? { form }
        : { prepared: { ...prepared, args: view.args, secrets: view.secrets } };
    show(approval);
    await choose("Edit arguments…");
    await button("Show the changes").click();
    await expect.element(page.getByText("Nothing was changed")).toBeVisible();
    await expect.element(button("Approve edited")).toBeDisabled();
  });

  test("a retyped secret is a change, and its value is not shown (R17)", async () => {
    const view = approval as RequestView;
    says = (draft) =>
      draft.kind === "open-edit"
        ? { form }
        : { prepared: { ...prepared, args: view.args, secrets: { "/token": "another" } } };
    show(approval);
    await choose("Edit arguments…");
    await button("Show the changes").click();
    const changes = page.getByRole("region", { name: "What changes" });
    await expect.element(changes).toHaveTextContent("token");
    await expect.element(changes).toHaveTextContent("a secret value differs");
  });

  test("what was typed is still there after looking at the changes", async () => {
    show(approval);
    await choose("Edit arguments…");
    const field = box("Edit arguments").getByRole("textbox", { name: "table" });
    await field.fill("orders_staging");
    await button("Show the changes").click();
    await button("Edit again").click();
    await expect.element(field).toHaveValue("orders_staging");
  });

  test("is not offered where nothing can be edited", async () => {
    show(approval, { editable: false, always: [] });
    await button("More actions").click();
    const items = page.getByRole("menuitem").elements();
    expect(items.map((item) => item.textContent)).not.toContain("Edit arguments…");
    expect(items.map((item) => item.textContent)).not.toContain("Always allow…");
  });
});

describe("a standing grant (R20)", () => {
  const words = (draft: Draft) => `rule ${JSON.stringify(draft)}`;
  beforeEach(() => {
    says = (draft) => ({
      prepared: {
        key: `p-${words(draft).length}`,
        args: null,
        secrets: {},
        words: words(draft),
        preview: null,
      },
    });
  });

  test("is said in the exact words before it is approved, and begins with the narrowest", async () => {
    const { model } = show(approval);
    await choose("Always allow…");
    const rule = page.getByRole("status", { name: "The exact rule" });
    const narrow: Draft = { kind: "always", covers: "exact", fixed: [], reach: "run", until: null };
    await expect.element(rule).toHaveTextContent(words(narrow));
    await consent("Approve and always allow");
    expect(decisions(model)).toEqual([
      { verdict: "approve", prepared: `p-${words(narrow).length}` },
    ]);
  });

  test("each choice changes the words, and no yes is possible without them", async () => {
    const { model } = show(approval, { always: ["run", "thread", "until"] });
    await choose("Always allow…");
    await page.getByRole("radio", { name: /while these stay/ }).click();
    await expect.element(page.getByText("Choose what stays as shown.")).toBeVisible();
    await expect.element(button("Approve and always allow")).toBeDisabled();
    await page.getByRole("checkbox", { name: "table" }).click();
    await page.getByRole("radio", { name: "until" }).click();
    const rule = page.getByRole("status", { name: "The exact rule" });
    await expect.element(rule).toHaveTextContent('"fixed":["table"]');
    await expect.element(rule).toHaveTextContent('"reach":"until"');
    const last = drafts(model).at(-1) as { until: string };
    expect(Date.parse(last.until)).toBeGreaterThan(Date.now());
  });

  test("a rule that is refused says why and can not be approved", async () => {
    says = () => ({ words: "the administrator allows no standing grants" });
    show(approval);
    await choose("Always allow…");
    await expect.element(page.getByRole("alert")).toHaveTextContent("administrator");
    await expect.element(button("Approve and always allow")).toBeDisabled();
  });

  test("what is chosen on one card changes nothing on another (R20)", async () => {
    const chosen = () =>
      page
        .getByRole("radio")
        .elements()
        .map((radio) => (radio as HTMLInputElement).checked);
    const open = async (more: Partial<RequestView>) => {
      show(approval, more);
      await expect.element(button("More actions").last()).toBeEnabled();
      await button("More actions").last().click();
      await page.getByRole("menuitem", { name: "Always allow…" }).click();
    };
    await open({ always: ["run", "until"] });
    await open({ id: "another", always: ["run", "until"] });
    const one = [true, false, false, true, false];
    await expect.poll(chosen).toEqual([...one, ...one]);
    await page
      .getByRole("radio", { name: /any arguments/ })
      .last()
      .click();
    await expect.poll(chosen).toEqual([...one, false, false, true, true, false]);
  });

  test("everything is reached by keyboard, and Escape leaves", async () => {
    show(approval);
    await choose("Always allow…");
    await expect.element(page.getByRole("radio", { name: "exactly this call" })).toHaveFocus();
    await userEvent.keyboard("{ArrowDown}{ArrowDown}");
    await expect.element(page.getByRole("radio", { name: /any arguments/ })).toBeChecked();
    await userEvent.keyboard("{Escape}");
    expect(box("Always allow").elements()).toHaveLength(0);
  });
});

describe("several reviewers", () => {
  test("who agreed, who may, and what this vote did", async () => {
    const { model } = show(voted);
    const card = page.getByRole("group", { name: "Approval: delete_record" });
    await expect.element(card).toHaveTextContent("1 of 2 reviewers");
    await expect.element(card).toHaveTextContent("Approved so far by user-04.");
    await expect.element(card).toHaveTextContent("May decide: user-04 and user-17.");
    const receipt = { ...accepted.receipt, state: "pending", votes: 1, quorum: 2 };
    model.answer = (m) => ack(m.id, m.type === "decide" ? { receipt: receipt as never } : {});
    await consent("Approve");
    await expect.element(page.getByText("Your approval counts: 1 of 2.")).toBeVisible();
    await expect.element(button("Approve")).toBeDisabled();
    await expect.element(button("Decline")).toBeEnabled();
  });

  test("whoever may not decide is told, and the card stays", async () => {
    const { model } = show(voted);
    await expect.element(button("Approve")).toBeEnabled();
    model.answer = (m) =>
      m.type === "decide"
        ? { type: "error", id: m.id, code: "NotPermitted", words: "eve may not decide", errors: [] }
        : ack(m.id);
    await consent("Approve");
    await expect.element(page.getByRole("alert")).toHaveTextContent("Not done: eve may not decide");
    await expect.element(button("Approve")).toBeEnabled();
  });
});

describe("tables, arrays and files of plain functions", () => {
  test("a table has a caption, columns with types, and says how much of it there is", async () => {
    show(described);
    const table = page.getByRole("table");
    await expect.element(table).toHaveTextContent("pandas.DataFrame, 10,000 rows × 3 columns");
    await expect.element(page.getByRole("columnheader", { name: "amount float64" })).toBeVisible();
    expect(table.element().querySelectorAll("tbody tr")).toHaveLength(20);
    const card = page.getByRole("group", { name: "Approval: upload" });
    await expect.element(card).toHaveTextContent("showing 20 of 10,000 rows");
    await expect.element(card).toHaveTextContent("showing 20 of 4,096 values");
    await expect.element(card).toHaveTextContent("whole content: sha256 9a9a9a9a9a9a");
  });

  const small = (rows: unknown[]) =>
    JSON.stringify({
      frame: {
        $described: "table",
        type: "pandas.DataFrame",
        shape: [rows.length, 1],
        columns: { name: "object" },
        rows,
        sha256: "ab".repeat(32),
      },
    });

  test("one that fits needs no click, one that scrolls needs its end", async () => {
    show(described, { args: small([["a"], ["b"]]) });
    await expect.element(button("Approve")).toBeEnabled();
    expect(page.getByText(/showing/).elements()).toHaveLength(0);
    for (const go of away.splice(0)) go();
    show(described, { args: small(Array.from({ length: 20 }, (_, i) => [`row ${i}`])) });
    await expect
      .element(page.getByText("Approve is off until you have scrolled frame"))
      .toBeVisible();
    const block = page.getByRole("region", { name: "frame" }).element();
    block.scrollTop = block.scrollHeight;
    await expect.element(button("Approve")).toBeEnabled();
  });

  test("a number and the text of it are told apart, and so are nothing and its word", async () => {
    show(described, { args: small([["7"], [7], ["null"], [null], ["Ada"]]) });
    const cells = page.getByRole("cell").elements();
    expect(cells.map((cell) => cell.textContent)).toEqual(['"7"', "7", '"null"', "null", "Ada"]);
  });

  test("what hides in a cell is marked", async () => {
    show(described, { args: small([["pay\u202eme"], ["p\u0430ypal"]]) });
    const card = page.getByRole("group", { name: "Approval: upload" });
    await expect.element(card).toHaveTextContent("payU+202Eme");
    await expect.element(card).toHaveTextContent("look-alike");
  });

  test("a model's own object is never drawn as one, nor is one with a key more (F19)", async () => {
    show(described, { described: false, args: small([["a"]]) });
    expect(page.getByRole("table").elements()).toHaveLength(0);
    for (const go of away.splice(0)) go();
    const more = JSON.parse(small([["a"]]));
    show(described, { args: JSON.stringify({ frame: { ...more.frame, drop: "orders" } }) });
    expect(page.getByRole("table").elements()).toHaveLength(0);
    await expect.element(page.getByText("7 entries")).toBeVisible();
  });
});

test.each(["Edit arguments…", "Always allow…"])("axe finds nothing in %s", async (item) => {
  const { el } = show(approval);
  await choose(item);
  await new Promise((resolve) => setTimeout(resolve, 100));
  const { violations } = await axe.run(el, { rules: { region: { enabled: false } } });
  expect(violations.flatMap((v) => v.nodes.map((n) => `${v.id}: ${n.html}`))).toEqual([]);
});
