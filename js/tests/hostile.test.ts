// The hostile corpus: each call is shown truthfully, and nothing but our own elements appears.
import { afterEach, describe, expect, test } from "vitest";
import type { RequestView } from "../src/generated/messages";
import { type Node, parse } from "../src/json";
import approval from "./fixtures/approval.json";
import { show } from "./kernel";

const files = import.meta.glob<string>("../../tests/conformance/hostile/*.json", {
  eager: true,
  query: "?raw",
  import: "default",
});

interface Case {
  tool: string;
  args: string;
  shows: string[];
}

const part = (node: Node, name: string): Node | undefined =>
  node.kind === "object" ? node.entries.find(([key]) => key === name)?.[1] : undefined;

/** JSON text again, with every number as it was written. */
function text(node: Node): string {
  switch (node.kind) {
    case "object":
      return `{${node.entries.map(([key, v]) => `${JSON.stringify(key)}:${text(v)}`).join(",")}}`;
    case "list":
      return `[${node.items.map(text).join(",")}]`;
    case "str":
      return JSON.stringify(node.value);
    default:
      return node.text;
  }
}

const calls = Object.entries(files).flatMap(([path, raw]): [string, Case][] => {
  const doc = parse(raw);
  const args = part(doc, "args");
  const tool = part(doc, "tool");
  const shows = part(doc, "shows");
  if (!args || tool?.kind !== "str" || shows?.kind !== "list") return [];
  const words = shows.items.map((item) => (item.kind === "str" ? item.value : text(item)));
  return [[path.replace(/.*\/|\.json/g, ""), { tool: tool.value, args: text(args), shows: words }]];
});

const OURS = new Set("DIV P SPAN H3 CODE B DL DT DD I BUTTON TIME SECTION PRE MARK".split(" "));
const painted = () =>
  new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));

let away = () => {};
afterEach(() => away());

/** Open what is closed or cut, until nothing is. */
async function openAll(el: HTMLElement): Promise<void> {
  for (let more = true; more; await painted()) {
    const closed = el.querySelectorAll<HTMLElement>('.twist[aria-expanded="false"], .cut > .link');
    more = closed.length > 0;
    for (const button of closed) button.click();
  }
}

/**
 * What of the page must stay as it is: everything outside of the card. One that grew out of the
 * window is counted in the title and in a pill of ours, which are looked past.
 */
const outside = (el: HTMLElement) => ({
  heads: document.head.childElementCount,
  bodies: [...document.body.children].filter(
    (child) => child !== el && !child.matches(".hitl-attention"),
  ).length,
  title: document.title.replace(/^\(\d+\) /, ""),
  address: location.href,
  shown: getComputedStyle(document.body).display,
});

describe.each(calls)("%s", (_name, { tool, args, shows }) => {
  test("is shown truthfully, runs nothing, loads nothing, adds nothing", async () => {
    const view: RequestView = { ...(approval as RequestView), tool, args, secrets: {}, strip: [] };
    const { el, unmount } = show({ view });
    away = () => {
      unmount();
      el.remove();
    };
    const before = outside(el);
    const closed = el.textContent ?? "";
    await openAll(el);
    const all = closed + el.textContent;
    for (const words of shows) expect(all).toContain(words);
    expect([...el.querySelectorAll("*")].map((e) => e.tagName).filter((t) => !OURS.has(t))).toEqual(
      [],
    );
    const attributes = [...el.querySelectorAll("*")].flatMap((e) => e.getAttributeNames());
    expect(attributes.filter((name) => /^on|href|src|^style$/.test(name))).toEqual([]);
    expect(outside(el)).toEqual(before);
    expect((window as { hurt?: number }).hurt).toBeUndefined();
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    const asked = performance.getEntriesByType("resource").map((entry) => entry.name);
    expect(asked.filter((name) => /hurt/.test(name))).toEqual([]);
  }, 30_000);
});

test("the corpus holds what it is meant to", () => {
  expect(calls.length).toBeGreaterThan(12);
});
