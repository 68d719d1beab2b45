// Previews on a card: what would happen, shown so that it can be trusted for what it is.
import axe from "axe-core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import type { Ack, Prepared, PreviewDoc, RequestView } from "../src/generated/messages";
import kernelMessages from "./fixtures/kernel-messages.json";
import previewed from "./fixtures/previewed.json";
import { ack, show as showIn } from "./kernel";

type Part = PreviewDoc["parts"][number];

const whole = previewed as unknown as RequestView;
const away: (() => void)[] = [];

function show(preview: Partial<PreviewDoc> = {}, more: Partial<RequestView> = {}, locale = "en") {
  const base = whole.preview as PreviewDoc;
  const view: RequestView = { ...whole, ...more, preview: { ...base, ...preview } };
  const made = showIn({ view }, { locale });
  away.push(made.unmount, () => made.el.remove());
  return made;
}
afterEach(() => {
  for (const go of away.splice(0)) go();
});

const section = () => page.getByRole("group", { name: "Preview" });
const text = () => section().element().textContent ?? "";
const approve = () => page.getByRole("button", { name: "Approve", exact: true });
const seen = (words: string | RegExp) => page.getByText(words);
const plain = { reads: [], reads_changed: [], preview_changed: false };

describe("a preview", () => {
  test("says when it was made, that it is bound, and what runs", () => {
    show();
    expect(text()).toContain("by the tool's own code. What runs is the call above.");
    expect(text()).toContain("part of the fingerprint");
  });

  test("shows a table with its shape, its labels, what was cut, and numbers as they are", () => {
    show();
    const table = page.getByRole("table", { name: /4,210 rows × 41 columns/ });
    expect(
      table
        .getByRole("rowheader")
        .elements()
        .map((e) => e.textContent),
    ).toEqual(["0", "7", "9"]);
    expect(text()).toContain("showing 3 of 4,210 rows · showing 3 of 41 columns");
    expect(text()).toContain("1152921504606846977");
    expect(text()).toContain("AdaU+202E");
  });

  test("shows what would change, in words too", () => {
    show();
    const table = page.getByRole("table", { name: /Rows removed: 1, added: 1, changed: 1/ });
    const rows = table.getByRole("row").elements().slice(1);
    expect(rows.map((row) => row.textContent)).toEqual([
      "− removed0Ada19.9",
      "~ changed1Bob5.0 → 7.5",
      "+ added9Cy1.0",
    ]);
  });

  test("shows text, a diff and a statement as they are", () => {
    show();
    expect(text()).toContain("Two tables, <b>one</b> schema");
    expect(text()).toContain("Lines added: 1, removed: 1");
    expect(text()).toContain("Rows it would touch: 4,210");
  });

  test("shows Markdown as its structure, and an image with its words", async () => {
    show();
    expect(
      page
        .getByRole("listitem")
        .elements()
        .map((e) => e.textContent),
    ).toEqual(["first this", "then that"]);
    await expect.element(page.getByRole("img", { name: "Totals by month" })).toBeInTheDocument();
  });

  test("that failed says so and blocks nothing", async () => {
    show({ failed: "LookupError: no <b>table</b>", parts: [] }, plain);
    expect(text()).toContain("The preview failed: LookupError: no <b>table</b>.");
    await expect.element(approve()).toBeEnabled();
  });

  test("that is longer than its frame must be scrolled before Approve is on", async () => {
    const table = whole.preview?.parts[0] as Part & { kind: "table" };
    const rows = JSON.stringify(Array.from({ length: 50 }, (_, i) => [i, "x", 1]));
    const index = Array.from({ length: 50 }, (_, i) => String(i));
    show({ parts: [{ ...table, rows, index }] }, plain);
    await expect.element(page.getByText(/scrolled Preview to the end/)).toBeVisible();
    await expect.element(approve()).toBeDisabled();
    const scroll = section().getByRole("region", { name: "Preview" }).element();
    scroll.scrollTo(scroll.scrollWidth, scroll.scrollHeight);
    await expect.element(approve()).toBeEnabled();
  });

  test("as HTML is as tall as its page, and its end must be reached too", async () => {
    const rows = Array.from({ length: 60 }, (_, i) => `<tr><td>row ${i}</td></tr>`).join("");
    const body = `<table>${rows}</table>`;
    const { el } = show({ parts: [{ kind: "html", text: body, length: body.length }] }, plain);
    await expect.element(approve()).toBeDisabled();
    await expect.element(section()).toBeVisible();
    await expect.element(approve()).toBeDisabled();
    const block = section().getByRole("region", { name: "Preview" }).element();
    await vi.waitFor(() => expect(block.scrollHeight).toBeGreaterThan(60 * 20));
    expect(el.querySelectorAll("iframe").length).toBe(1);
    await expect.element(seen(/scrolled Preview to the end/)).toBeVisible();
    block.scrollTo(0, 100);
    await settled();
    await expect.element(approve()).toBeDisabled();
    block.scrollTo(0, block.scrollHeight);
    await expect.element(approve()).toBeEnabled();
  });

  test("as HTML that fits asks for nothing", async () => {
    show({ parts: [{ kind: "html", text: "<p>Short</p>", length: 12 }] }, plain);
    await expect.element(approve()).toBeEnabled();
  });

  test.each([
    ["scrolls by itself", "height:40px;overflow:auto"],
    ["is cut", "height:40px;overflow:hidden"],
    ["grows with its frame", "height:calc(100vh + 50px)"],
    ["is painted by itself", "height:40px;contain:paint"],
    ["grows later", "animation:a 9s 9s"],
    ["stands below the page", "position:fixed;top:200vh"],
    ["stands beside the page", "position:absolute;left:-9999px"],
    ["is moved away", "transform:translateY(-9999px)"],
    ["has words beside the page", "text-indent:-9999px"],
    ["is not drawn", "display:none"],
    ["is clear", "opacity:0"],
    ["is not visible", "visibility:hidden"],
    ["has no size", "font-size:0"],
    ["is clipped", "clip-path:inset(0 0 90% 0)"],
    ["is as white as its paper", "}p{color:#fff !important"],
    ["is written with no ink", "-webkit-text-fill-color:transparent"],
    ["is under another part", "}section{position:absolute;inset:0;background:#eee"],
    ["is under what no pointer finds", "}section{position:absolute;inset:0;pointer-events:none"],
    ["has words of its style sheet", "}p::before{content:'not '"],
    ["is a body that scrolls", "}html{overflow:hidden}body{height:40px;overflow:auto"],
  ])("as HTML, a part of which %s, is read as its words", async (_how, style) => {
    const lines = Array.from({ length: 80 }, (_, i) => `<p>line ${i}</p>`).join("");
    const grows = "@keyframes a{to{height:9000px}}";
    const body = `<style>p{color:red}div{${style}}${grows}</style><div>${lines}</div><section></section>`;
    show({ parts: [{ kind: "html", text: body, length: body.length }] }, plain);
    await expect.element(seen("Some of it cannot be measured here")).toBeVisible();
    expect(text()).toContain("line 79");
    expect(text()).not.toContain("color:red");
    await expect.element(approve()).toBeDisabled();
    const block = section().getByRole("region", { name: "Preview" }).element();
    block.scrollTo(0, block.scrollHeight);
    await expect.element(approve()).toBeEnabled();
  });

  test("as HTML that is read as its words keeps apart what stands apart", async () => {
    const body = '<div style="width:30000px"><div>row 1</div><div>0 rows</div></div>';
    show({ parts: [{ kind: "html", text: body, length: body.length }] }, plain);
    await expect.element(seen("Some of it cannot be measured here")).toBeVisible();
    expect(section().element().querySelector<HTMLElement>(".prose")?.innerText).toMatch(
      /row 1\n+0 rows/,
    );
  });

  test("tells what the call reads and what changed in it", () => {
    const { el } = show();
    expect(el.textContent).toContain("Reads orders: pandas.DataFrame, 10,000 rows × 3 columns");
    expect(el.textContent).toContain(
      "orders changed since this was asked: it was pandas.DataFrame, 9,998 rows × 2 columns, " +
        "now it is pandas.DataFrame, 10,000 rows × 3 columns; columns added: total",
    );
  });

  describe("once the arguments are edited", () => {
    const form = (kernelMessages as unknown as Ack[])[2]?.form ?? null;
    const prepared = (kernelMessages as unknown as Ack[])[3]?.prepared as Prepared;
    const lines = Array.from({ length: 60 }, (_, i) => `deletes ${i}`).join("\n");
    const of = (text: string): PreviewDoc => ({
      ...(whole.preview as PreviewDoc),
      parts: [{ kind: "text", text, length: text.length }],
    });
    const changes = () => page.getByRole("group", { name: "Preview of the changed call" });
    const approveEdited = () => page.getByRole("button", { name: "Approve edited" });

    async function edit(looked: Partial<Ack> | null, bound = true) {
      const preview = { ...of("deletes nothing"), bound };
      const made = showIn(
        { view: { ...whole, ...plain, editable: true, preview } },
        {
          answer: (m) => {
            if (m.type !== "prepare") return ack(m.id);
            if (m.draft.kind === "open-edit") return ack(m.id, { form });
            if (m.draft.kind === "edit") return ack(m.id, { prepared });
            return looked && ack(m.id, looked);
          },
        },
      );
      away.push(made.unmount, () => made.el.remove());
      await page.getByRole("button", { name: "More actions" }).click();
      await page.getByRole("menuitem", { name: "Edit arguments…" }).click();
      await page.getByRole("button", { name: "Show the changes" }).click();
      return made.model;
    }

    test("is made of the changed call, and to be read before it is approved (R10)", async () => {
      await edit({ prepared: { ...prepared, preview: of(lines) } });
      await expect.element(changes()).toHaveTextContent("deletes 59");
      await expect.element(approveEdited()).toBeDisabled();
      await expect
        .element(seen("Approve is off until you have scrolled Preview of the changed call"))
        .toBeVisible();
      const block = changes().getByRole("region").element();
      block.scrollTo(0, block.scrollHeight);
      await expect.element(approveEdited()).toBeEnabled();
      await expect.element(seen(/you will be asked again, with that/)).toBeVisible();
    });

    test("is waited for, and its failure blocks nothing", async () => {
      const model = await edit(null);
      await expect.element(seen("Making the preview of the changed call…")).toBeVisible();
      await expect.element(approveEdited()).toBeDisabled();
      const failed = { ...of(""), failed: "gone", parts: [] };
      const { id } = model.of("prepare").at(-1) ?? { id: "" };
      model.fire("msg:custom", ack(id, { prepared: { ...prepared, preview: failed } }));
      await expect.element(seen("The preview failed: gone.")).toBeVisible();
      await expect.element(approveEdited()).toBeEnabled();
    });

    test("is said to be of the call as it was asked where no other can be made", async () => {
      await edit({ prepared: { ...prepared, preview: null } }, false);
      await expect.element(seen(/not of your changes: none can be made of them/)).toBeVisible();
      await expect.element(approveEdited()).toBeEnabled();
    });
  });

  test("has nothing that axe objects to", async () => {
    const { el } = show();
    // axe can not look into a frame that runs nothing.
    const { violations } = await axe.run(el, { iframes: false });
    expect(violations.map((v) => `${v.id}: ${v.nodes[0]?.html}`)).toEqual([]);
  });
});

const hostile = Object.entries(
  import.meta.glob<string>("../../tests/conformance/hostile-html/*.html", {
    eager: true,
    query: "?raw",
    import: "default",
  }),
).map(([path, raw]): [string, string] => [path.replace(/.*\/|\.html/g, ""), raw]);

const OURS = new Set(
  (
    "DIV P SPAN H3 CODE B DL DT DD I BUTTON TIME SECTION PRE MARK IFRAME TABLE CAPTION THEAD TBODY " +
    "TR TH TD UL OL LI EM STRONG S DEL BLOCKQUOTE BR HR"
  ).split(" "),
);

const settled = () => new Promise((resolve) => setTimeout(resolve, 300));

describe.each(hostile)("%s", (_name, raw) => {
  // Unsanitised on purpose: the page must hold though the kernel's sanitiser let all of it through.
  test("in a frame it runs nothing, loads nothing and leads nowhere", async () => {
    const parts: Part[] = [{ kind: "html", text: raw, length: raw.length }];
    const { el } = show({ parts }, plain);
    await vi.waitFor(() => expect(el.querySelector(".probe")).toBeNull());
    const frame = el.querySelector("iframe");
    expect(frame?.getAttribute("sandbox")).toBe("");
    expect(frame?.hasAttribute("src")).toBe(false);
    await vi.waitFor(() => expect(frame?.contentDocument).toBeNull());
    await settled();
    expect((window as { hurt?: number }).hurt).toBeUndefined();
    const block = frame?.closest(".scroll, .loose") as HTMLElement;
    expect(getComputedStyle(block).overflow).toMatch(/auto|hidden/);
    const { left, top, width, height } = block.getBoundingClientRect();
    const card = el.querySelector(".card")?.getBoundingClientRect();
    expect(left >= (card?.left ?? 0) && top >= (card?.top ?? 0)).toBe(true);
    expect(width <= (card?.width ?? 0) && height <= 260).toBe(true);
  });

  test("as Markdown it is words in known elements without attributes", async () => {
    const parts: Part[] = [{ kind: "markdown", html: raw, shown: 1, length: 1 }];
    const { el } = show({ parts }, plain);
    const prose = el.querySelector(".prose");
    const inside = [...(prose?.querySelectorAll("*") ?? [])];
    expect(inside.map((e) => e.tagName).filter((tag) => !OURS.has(tag))).toEqual([]);
    expect(inside.map((e) => e.tagName)).not.toContain("BUTTON");
    const names = inside.flatMap((e) => e.getAttributeNames());
    expect(names.filter((name) => name !== "class")).toEqual([]);
    await settled();
    expect((window as { hurt?: number }).hurt).toBeUndefined();
    const asked = performance.getEntriesByType("resource").map((entry) => entry.name);
    expect(asked.filter((name) => /hurt/.test(name))).toEqual([]);
  });
});

test("the corpus holds what it is meant to", () => {
  expect(hostile.length).toBeGreaterThan(10);
});
