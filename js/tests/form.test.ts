import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { dropDraft, keepDraft, readDraft, withoutSecrets } from "../src/form/draft";
import { errorTree } from "../src/form/errors";
import { elementId, SEPARATOR } from "../src/form/ids";
import { fromText, toText } from "../src/form/numbers";
import type { KernelMessage, PageMessage, RequestView } from "../src/generated/messages";
import input from "./fixtures/input.json";
import { off, show as showIn, yes } from "./kernel";

interface Asked {
  properties: Record<string, object>;
  required?: string[];
  data?: unknown;
  more?: Partial<RequestView>;
  consent?: boolean;
  unshown?: { path: string[]; text: string }[];
}

let count = 0;
const fresh = (): string => `req_form_${++count}_${Math.random()}`;

function asked({ properties, required = [], data, more, consent = false, unshown = [] }: Asked) {
  return {
    ...(input as unknown as RequestView),
    id: fresh(),
    form: {
      layout: JSON.stringify({ type: "object", properties, required }),
      data: data === undefined ? null : JSON.stringify(data),
      unshown,
      consent,
    },
    ...more,
  } as RequestView;
}

let gone: (() => void)[] = [];
function show(view: RequestView, answer: (m: PageMessage) => KernelMessage | null = yes) {
  const made = showIn({ view }, { answer });
  gone.push(made.unmount, () => made.el.remove());
  return made;
}
beforeEach(() => {
  gone = [];
});
afterEach(() => {
  for (const away of gone) away();
});

const refuse =
  (...errors: { path: (string | number)[]; message: string }[]) =>
  (message: PageMessage): KernelMessage | null =>
    message.type === "decide"
      ? { type: "error", id: message.id, code: "InvalidAnswer", words: "no", errors }
      : yes(message);

const submit = async () => {
  const button = page.getByRole("button", { name: "Submit" });
  await expect.element(button).toBeEnabled();
  await button.click();
};
const box = (name: string) => page.getByRole("textbox", { name, exact: true });
const answers = (model: ReturnType<typeof show>["model"]) =>
  model.of("decide").map((m) => m.decision);
const text = (title: string, more = {}) => ({ type: "string", title, ...more });
const whole = (title: string) => ({ type: "integer", title, "x-ui": { widget: "num" } });

describe("a form", () => {
  test("is named by its question and sends what stands in it", async () => {
    const { model } = show(asked({ properties: { city: text("City") }, required: ["city"] }));
    const form = page.getByRole("form", { name: `Input: ${input.message}` });
    await expect.element(form).toBeVisible();
    await userEvent.type(box("City"), "Oslo");
    await submit();
    await vi.waitFor(() =>
      expect(answers(model)).toEqual([{ verdict: "answer", data: { city: "Oslo" }, edited: true }]),
    );
  });

  test("is answered once by a double click, and declined once", async () => {
    for (const name of ["Submit", "Decline"]) {
      const held = vi.fn((m: PageMessage) => (m.type === "decide" ? null : yes(m)));
      const { model, unmount, el } = show(asked({ properties: { city: text("City") } }), held);
      const button = page.getByRole("button", { name, exact: true });
      await expect.element(button).toBeEnabled();
      await button.dblClick();
      await vi.waitFor(() => expect(model.of("decide")).toHaveLength(1));
      await expect.element(page.getByRole("status")).toHaveTextContent("Sending");
      expect(model.of("decide")).toHaveLength(1);
      unmount();
      el.remove();
    }
  });

  test("says that nobody touched it", async () => {
    const { model } = show(asked({ properties: { city: text("City") }, data: { city: "Oslo" } }));
    await submit();
    await vi.waitFor(() => expect(answers(model)[0]).toMatchObject({ edited: false }));
  });

  test("keeps the text and goes to the first error (R4)", async () => {
    const view = asked({ properties: { city: text("City"), days: whole("Days") } });
    show(view, refuse({ path: ["days"], message: "Should be at most 14" }));
    await userEvent.type(box("City"), "Oslo");
    await userEvent.type(box("Days"), "99");
    await submit();
    const days = box("Days");
    await expect.element(days).toHaveFocus();
    await expect.element(days).toHaveAttribute("aria-invalid", "true");
    await expect.element(days).toHaveAccessibleDescription("Should be at most 14");
    await expect.element(box("City")).toHaveValue("Oslo");
  });

  test("shows an error without a field of its own at what is around it", async () => {
    const view = asked({ properties: { city: text("City") } });
    show(view, refuse({ path: ["extra", "x"], message: "Not allowed" }));
    await submit();
    await expect.element(page.getByText("extra.x: Not allowed")).toBeVisible();
  });

  test("names what no control shows", async () => {
    const unshown = [{ path: ["old"], text: "true" }];
    show(asked({ properties: { city: text("City") }, unshown }));
    await expect.element(page.getByRole("alert")).toHaveTextContent("old: true");
  });

  test("draws no markup from a schema", async () => {
    const evil = "<img src=x onerror=alert(1)>**b**[l](http://x)";
    const { el } = show(asked({ properties: { a: text(evil, { description: evil }) } }));
    await expect.element(box(evil)).toBeVisible();
    expect(el.querySelectorAll("img, a, strong")).toHaveLength(0);
  });

  test("neither sends nor declines while the kernel is silent, and keeps what was typed (R12)", async () => {
    const { model } = show(asked({ properties: { city: text("City") } }), () => null);
    await expect.element(page.getByRole("alert"), { timeout: 3000 }).toBeVisible();
    await box("City").fill("Oslo");
    for (const name of ["Submit", "Decline", "More actions"]) {
      const control = page.getByRole("button", { name });
      expect(off(control.element())).toBe(true);
      (control.element() as HTMLButtonElement).click();
    }
    expect(model.of("decide")).toHaveLength(0);
    await expect.element(box("City")).toHaveValue("Oslo");
  });

  test("that is sent by keyboard keeps the focus until it is decided", async () => {
    const view = asked({ properties: { city: text("City") } });
    const { model } = show(view, (m) => (m.type === "ping" ? yes(m) : null));
    const button = page.getByRole("button", { name: "Submit" });
    await expect.element(button).toBeEnabled();
    (button.element() as HTMLButtonElement).focus();
    await userEvent.keyboard("{Enter}");
    await vi.waitFor(() => expect(model.of("decide")).toHaveLength(1));
    await userEvent.keyboard("{Enter}");
    expect(document.activeElement).toBe(button.element());
    expect(model.of("decide")).toHaveLength(1);
  });

  test("that is consent needs a press that is meant", async () => {
    const yesNo = {
      type: "boolean",
      title: "Ok",
      "x-ui": { widget: "radio", enumNames: ["Yes", "No"] },
    };
    const view = asked({ properties: { ok: { ...yesNo, enum: [true, false] } }, consent: true });
    const { model, el } = show(view);
    const button = page.getByRole("button", { name: "Submit" });
    await expect.element(button).toBeEnabled();
    (el.querySelector(".foot .go") as HTMLButtonElement).click();
    await expect.element(page.getByRole("status")).toHaveTextContent("press again");
    expect(answers(model)).toEqual([]);
  });
});

describe("a control", () => {
  test("a number is taken as it is typed, key by key", async () => {
    const { model } = show(asked({ properties: { n: { ...whole("N"), type: "number" } } }));
    const n = box("N");
    for (const key of "1e-07") await userEvent.type(n, key);
    await expect.element(n).toHaveValue("1e-07");
    await submit();
    await vi.waitFor(() => expect(answers(model)[0]).toMatchObject({ data: { n: 1e-7 } }));
  });

  test("text with line breaks is never put into a single line", async () => {
    const { model } = show(asked({ properties: { t: text("T") }, data: { t: "a\nb" } }));
    await expect.element(box("T")).toHaveValue("a\nb");
    await submit();
    await vi.waitFor(() => expect(answers(model)[0]).toMatchObject({ data: { t: "a\nb" } }));
  });

  test("typing into an old secret replaces it as a whole (R17)", async () => {
    const secret = { token: text("Token", { "x-ui": { widget: "password" } }) };
    const { model } = show(asked({ properties: secret, data: { token: "••••1" } }));
    const token = page.getByLabelText("Token").element() as HTMLInputElement;
    token.focus();
    token.setSelectionRange(5, 5);
    await userEvent.keyboard("new");
    await submit();
    await vi.waitFor(() => expect(answers(model)[0]).toMatchObject({ data: { token: "new" } }));
  });

  test("lists are filled, moved and emptied by keyboard, and focus stays", async () => {
    const list = { tags: { type: "array", title: "Tags", items: { type: "string" } } };
    const { model } = show(asked({ properties: list, data: { tags: ["a", "b"] } }));
    const press = async (name: string) => {
      (page.getByRole("button", { name, exact: true }).element() as HTMLElement).focus();
      await userEvent.keyboard("{Enter}");
    };
    await press("Move down: Tags 1");
    await expect.element(page.getByRole("button", { name: "Move up: Tags 2" })).toHaveFocus();
    await press("Add: Tags");
    await expect.element(box("Tags 3")).toHaveFocus();
    await userEvent.keyboard("c");
    await press("Remove: Tags 1");
    await submit();
    await vi.waitFor(() => expect(answers(model)[0]).toMatchObject({ data: { tags: ["a", "c"] } }));
  });

  test("a new entry of a dictionary holds nothing until it is typed", async () => {
    const extra = { type: "object", title: "More", additionalProperties: whole("") };
    const { model } = show(asked({ properties: { more: extra } }));
    await page.getByRole("button", { name: "Add: More" }).click();
    await expect.element(box("Key")).toHaveFocus();
    await userEvent.keyboard("a{Tab}");
    await expect.element(box("a")).toHaveValue("");
    await submit();
    await vi.waitFor(() =>
      expect(answers(model)[0]).toMatchObject({ data: { more: { a: null } } }),
    );
  });
});

describe("a draft", () => {
  test("survives a redraw, and goes with the decision", async () => {
    const view = asked({ properties: { city: text("City") } });
    const first = show(view);
    await userEvent.type(box("City"), "Oslo");
    first.unmount();
    first.el.remove();
    const { model } = show(view);
    await expect.element(box("City")).toHaveValue("Oslo");
    model.set("view", { ...view, state: "withdrawn", form: null });
    await vi.waitFor(() => expect(readDraft(`${view.id}:${view.fingerprint}`)).toBeUndefined());
  });

  test("holds no secret, in no branch, list or entry (R17)", () => {
    const secret = { type: "string", "x-ui": { widget: "password" } };
    const layout = {
      properties: {
        a: secret,
        either: { anyOf: [{ type: "null" }, secret] },
        list: { items: { properties: { key: secret, name: { type: "string" } } } },
        more: { additionalProperties: { $ref: "#/$defs/s" } },
      },
      $defs: { s: secret },
    };
    const data = {
      a: "s1",
      either: "s2",
      list: [
        { key: "s3", name: "n" },
        { key: "••••2", name: "m" },
      ],
      more: { x: "s4" },
    };
    expect(JSON.parse(JSON.stringify(withoutSecrets(data, layout)))).toEqual({
      list: [{ name: "n" }, { key: "••••2", name: "m" }],
      more: {},
    });
  });

  test("lives in the page where there is no storage", () => {
    const spy = vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("no", "QuotaExceededError");
    });
    keepDraft("k", { data: { a: 1 }, edited: true }, {});
    expect(readDraft("k")).toEqual({ data: { a: 1 }, edited: true });
    dropDraft("k");
    expect(readDraft("k")).toBeUndefined();
    spy.mockRestore();
  });
});

describe("values", () => {
  test.each([
    ["", undefined],
    ["7", 7],
    [" 7 ", 7],
    ["1.50", 1.5],
    ["1e-07", 1e-7],
    ["9007199254740993", "9007199254740993"],
    ["1e999", "1e999"],
    ["0x10", "0x10"],
    ["NaN", "NaN"],
    ["1,5", "1,5"],
  ])("the number %j", (typed, value) => {
    expect(fromText(typed)).toBe(value);
    if (typeof value === "string") expect(toText(value)).toBe(value);
  });

  test("no two paths share an element id", () => {
    const ids = [["a", "b"], ["a.b"], ["a b"], ["a_b"], ["a:b"], ["ä"]].map((path) =>
      elementId(path.join(SEPARATOR)),
    );
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9._-]+$/);
  });

  test("an error climbs to the nearest field that is shown", () => {
    const shown = new Set(["", "/a", "/a/0"]);
    const tree = errorTree(
      [
        { path: ["a", 0], message: "x" },
        { path: ["a", 1, "b"], message: "y" },
        { path: ["__proto__"], message: "z" },
      ],
      shown,
    );
    expect(tree).toEqual({
      __errors: ["__proto__: z"],
      a: { __errors: ["1.b: y"], "0": { __errors: ["x"] } },
    });
  });
});
