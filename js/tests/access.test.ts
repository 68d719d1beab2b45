// Everybody: axe finds nothing in light and dark, at 320 px; words in both languages.
import axe from "axe-core";
import { afterEach, describe, expect, test } from "vitest";
import { page } from "vitest/browser";
import { pageId } from "../src/model";
import { tables } from "../src/words";
import { show } from "./kernel";

const fixtures = import.meta.glob<{ default: { id?: string; state?: string } }>(
  "./fixtures/*.json",
  {
    eager: true,
  },
);
const views = Object.entries(fixtures)
  .map(([path, module]) => [path.replace(/.*\/|\.json/g, ""), module.default] as const)
  .filter(([, view]) => view.state !== undefined);

const themes = {
  light:
    "color-scheme: light; background: #fff; --jp-layout-color1: #fff; --jp-ui-font-color1: #1f2328",
  dark: "color-scheme: dark; background: #111; --jp-layout-color1: #161a1f; --jp-ui-font-color1: #e6edf3",
  plain: "color-scheme: light dark",
};

let away: () => void = () => {};
afterEach(() => away());

async function faults(element: Element): Promise<string[]> {
  const rules = { region: { enabled: false } };
  const { violations } = await axe.run(element, { rules });
  return violations.flatMap((v) => v.nodes.map((node) => `${v.id}: ${node.html.slice(0, 200)}`));
}

describe.each(Object.entries(themes))("in %s", (_name, style) => {
  test.each(views)("%s has no fault that axe can find", async (_view, view) => {
    const { el, unmount } = show({ view });
    el.setAttribute("style", style);
    away = () => {
      unmount();
      el.remove();
    };
    // Open what can be opened: menus, details, comparisons.
    for (const name of [/^details$/, /^Compare with/, /^More actions$/]) {
      for (const button of page.getByRole("button", { name }).elements()) {
        if (!(button as HTMLButtonElement).disabled) (button as HTMLButtonElement).click();
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await faults(el)).toEqual([]);
  });
});

test.each(views)("%s fits into 320 pixels", async (_view, view) => {
  const { el, unmount } = show({ view });
  el.style.width = "320px";
  away = () => {
    unmount();
    el.remove();
  };
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(el.scrollWidth).toBeLessThanOrEqual(320);
});

test("Japanese has a word for every key", () => {
  expect(Object.keys(tables.ja ?? {}).sort()).toEqual(Object.keys(tables.en ?? {}).sort());
});

test("a card speaks Japanese when that is set", async () => {
  const [, view] = views.find(([name]) => name === "approval") ?? [];
  const { el, unmount } = show({ view }, { locale: "ja" });
  away = () => {
    unmount();
    el.remove();
  };
  await expect.element(page.getByRole("group", { name: "承認: delete_record" })).toBeVisible();
  await expect.element(page.getByRole("button", { name: "承認", exact: true })).toBeVisible();
});

test("a host that floats lists of terms, as JupyterLab does, takes no column away", async () => {
  const host = document.createElement("style");
  host.textContent = "dl dt { float: left; width: 20%; } dl dd { float: left; width: 80%; }";
  document.head.append(host);
  const [, view] = views.find(([name]) => name === "approval") ?? [];
  const { el, unmount } = show({ view });
  away = () => {
    unmount();
    el.remove();
    host.remove();
  };
  const names = [...el.querySelectorAll("dt")].map((dt) => dt.getBoundingClientRect());
  expect(names.every((box) => box.height < 30)).toBe(true);
});

test("every id says which kernel's bundle gave it: another's label never names a field here", async () => {
  // By a name that the bundler does not know beforehand, a module is loaded anew.
  const another = "../src/model.ts?another";
  const other = await import(/* @vite-ignore */ new URL(another, import.meta.url).href);
  expect(other.pageId).not.toEqual(pageId);
  const [, view] = views.find(([name]) => name === "input") ?? [];
  const { el, unmount } = show({ view });
  away = () => {
    unmount();
    el.remove();
  };
  const ids = [...el.querySelectorAll("[id]")].map((element) => element.id);
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.filter((id) => !id.includes(pageId))).toEqual([]);
});
