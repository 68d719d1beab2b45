// What stands in for the form library's own comparison of what it draws from.
import deepEquals from "@rjsf/utils/lib/deepEquals.js";
import { expect, test } from "vitest";

test.each([
  [{ a: [1, { b: null }] }, { a: [1, { b: null }] }],
  [Number.NaN, Number.NaN],
  [0, -0],
  [
    { a: 1, b: 2 },
    { b: 2, a: 1 },
  ],
  [{ f: () => 1 }, { f: () => 2 }],
  [Object.create(null), Object.create(null)],
])("equal: %j, %j", (a, b) => {
  expect(deepEquals(a, b)).toBe(true);
});

test.each([
  [1, "1"],
  [1, true],
  [null, {}],
  [[], {}],
  [[1], [1, undefined]],
  [{ a: undefined }, { b: undefined }],
  [{ a: { b: [1, 2] } }, { a: { b: [2, 1] } }],
  [{ f: () => 1 }, { f: 1 }],
  [new Date(0), new Date(1)],
])("not equal: %j, %j", (a, b) => {
  expect(deepEquals(a, b)).toBe(false);
  expect(deepEquals(b, a)).toBe(false);
});

test("what holds itself comes to an end", () => {
  const knot = (value: number) => {
    const made: Record<string, unknown> = { value };
    made.self = made;
    return made;
  };
  expect(deepEquals(knot(1), knot(1))).toBe(true);
  expect(deepEquals(knot(1), knot(2))).toBe(false);
});
