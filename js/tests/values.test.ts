import { describe, expect, test } from "vitest";
import { diff, words } from "../src/diff";
import { inline, parse } from "../src/json";
import { lookAlikes, reveal } from "../src/reveal";

describe("JSON is read without loss (F19)", () => {
  test("numbers stay as they were written", () => {
    const text = "[9007199254740993, 1.0, 1e400, -0, NaN, -Infinity]";
    expect(inline(parse(text))).toBe(text);
  });

  test("keys keep their order, and __proto__ is a key like any other", () => {
    const node = parse('{"10":1,"2":2,"__proto__":{"polluted":true},"2":3}');
    expect(node.kind === "object" && node.entries.map(([key]) => key)).toEqual([
      "10",
      "2",
      "__proto__",
      "2",
    ]);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test("a lone surrogate and escaped quotes survive", () => {
    expect(parse('"x\\ud800\\\\\\"y"')).toEqual({ kind: "str", value: 'x\ud800\\"y' });
  });

  test("a thousand levels and a megabyte of escapes are no trouble", () => {
    expect(() => parse("[".repeat(1000) + "]".repeat(1000))).not.toThrow();
    expect((parse(`"${"\\n".repeat(500_000)}"`) as { value: string }).value.length).toBe(500_000);
  });

  test.each(["", "{", '{"a" 1}', "[1,]", "tru", '"x', "1 2"])("%s is refused", (text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
  });
});

describe("what does not show is shown", () => {
  test.each([
    ["\u202e", "U+202E"],
    ["\u200b", "U+200B"],
    ["\u0000", "U+0000"],
    ["\u001b", "U+001B"],
    ["\u00ad", "U+00AD"],
    ["\ud800", "U+D800"],
    ["\u{e0041}", "U+E0041"],
    ["\u3164", "U+3164"],
    ["\r", "U+000D"],
    ["\u{e0101}", "U+E0101"],
    ["\ufe0f", "U+FE0F"],
    ["\u034f", "U+034F"],
    ["\u2003", "U+2003"],
  ])("%j is spelt %s", (char, name) => {
    expect(reveal(`a${char}b`)).toEqual([
      { text: "a", hidden: false },
      { text: name, hidden: true },
      { text: "b", hidden: false },
    ]);
  });

  test("ordinary text in any script, tab and line feed stay", () => {
    const text = "Zürich 東京　Привет שלום 👩 ⚠️ \n\t";
    expect(reveal(text)).toEqual([{ text, hidden: false }]);
  });

  test("a Cyrillic letter in a Latin word is flagged, a Russian word is not", () => {
    expect(lookAlikes("p\u0430ypal")).toEqual(["\u0430 (U+0430)"]);
    expect(lookAlikes("Привет from Moscow")).toEqual([]);
  });
});

describe("two calls are compared", () => {
  const changes = (a: string, b: string, x = {}, y = {}) =>
    diff(parse(a), parse(b), x, y).map(({ sign, pointer }) => `${sign} ${pointer}`);

  test("by path: added, removed, changed", () => {
    expect(changes('{"a":1,"b":{"c":2},"d":[]}', '{"a":2,"b":{},"e":[1]}')).toEqual([
      "~ /a",
      "− /b/c",
      "− /d",
      "+ /b",
      "+ /e/0",
    ]);
  });

  test("1 and 1.0 and true differ, equal calls do not", () => {
    expect(changes('{"a":1}', '{"a":1.0}')).toEqual(["~ /a"]);
    expect(changes('{"a":1}', '{"a":true}')).toEqual(["~ /a"]);
    expect(changes('{"a":{"b":[1,"x"]}}', '{"a":{"b":[1,"x"]}}')).toEqual([]);
  });

  test("secrets take part unseen, by their digests", () => {
    const masked = '{"t":"••••"}';
    expect(changes(masked, masked, { "/t": "aa" }, { "/t": "bb" })).toEqual(["~ /t"]);
    expect(changes(masked, masked, { "/t": "aa" }, { "/t": "aa" })).toEqual([]);
  });

  test("texts word by word", () => {
    const { before, after } = words("drop table orders now", "drop table users now");
    expect(before.filter((p) => p.changed).map((p) => p.text)).toEqual(["orders"]);
    expect(after.filter((p) => p.changed).map((p) => p.text)).toEqual(["users"]);
    const joined = (parts: { text: string }[]) => parts.map((p) => p.text).join("");
    expect(joined(before)).toBe("drop table orders now");
    expect(joined(after)).toBe("drop table users now");
  });
});
