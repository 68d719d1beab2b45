// All words: the tables are the files that Python reads too.
import en from "../../hitl_widgets/words/en.json";
import ja from "../../hitl_widgets/words/ja.json";

export type Key = keyof typeof en;
export type Say = (key: Key, values?: Record<string, string | number>) => string;

export const tables: Record<string, Record<Key, string>> = { en, ja };

export interface Language {
  locale: string;
  say: Say;
}

/** The language to speak: the one that was set, else the front end's, else English. */
export function language(set: unknown, page = document.documentElement.lang): Language {
  const wanted = [set, page, ...navigator.languages].filter((l) => typeof l === "string" && l);
  const locale = (wanted as string[]).find((l) => short(l) in tables) ?? "en";
  const table = tables[short(locale)] ?? en;
  const numbers = new Intl.NumberFormat(locale);
  const plurals = new Intl.PluralRules(locale);
  const say: Say = (key, values = {}) =>
    table[key].replace(PLACE, (place: string, name: string, forms?: string) => {
      const value = values[name];
      if (value === undefined) return place;
      const counts = typeof value === "number";
      const text = counts ? numbers.format(value) : value;
      if (forms === undefined) return text;
      return form(forms, counts ? plurals.select(value) : "other").replace("#", () => text);
    });
  return { locale, say };
}

/** `{name}`, or with a form for each plural category, as `hitl_widgets/words` explains. */
const PLACE = /\{(\w+)(?::([^{}]*))?\}/g;

function form(forms: string, category: string): string {
  const all = new Map(forms.split("|").map((one) => one.split("=", 2) as [string, string]));
  return all.get(category) ?? all.get("other") ?? "";
}

const short = (locale: string): string => locale.toLowerCase().split("-")[0] ?? "en";

/** Words for `key` if there are any: another version's value is shown as it is. */
export function sayIfKnown(say: Say, key: string, otherwise: string): string {
  return key in en ? say(key as Key) : otherwise;
}

export function clock(iso: string, locale: string): string {
  const options: Intl.DateTimeFormatOptions = { timeStyle: "long" };
  if (new Date(iso).toDateString() !== new Date().toDateString()) options.dateStyle = "medium";
  return new Intl.DateTimeFormat(locale, options).format(new Date(iso));
}

export function shortClock(iso: string, locale: string): string {
  const options: Intl.DateTimeFormatOptions = { hour: "2-digit", minute: "2-digit" };
  return new Intl.DateTimeFormat(locale, options).format(new Date(iso));
}

export const number = (n: number, locale: string): string =>
  new Intl.NumberFormat(locale).format(n);

/** A duration in one unit: seconds, minutes, hours or days. */
export function span(ms: number, say: Say): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 100) return say("age.seconds", { n: s });
  if (s < 5400) return say("age.minutes", { n: Math.round(s / 60) });
  if (s < 129600) return say("age.hours", { n: Math.round(s / 3600) });
  return say("age.days", { n: Math.round(s / 86400) });
}
