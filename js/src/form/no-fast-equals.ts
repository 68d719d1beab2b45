// Stands in for fast-equals, whose other nine tenths compare what no form holds: here are JSON values,
// functions, and objects of the library's own. Anything else is equal to itself alone.
type Equal = (a: unknown, b: unknown) => boolean;

interface Options {
  createCustomConfig: () => { areFunctionsEqual: Equal };
}

const KNOWN = new Set(["[object Object]", "[object Array]"]);
const kind = (value: object): string => Object.prototype.toString.call(value);

export function createCustomEqual({ createCustomConfig }: Options): Equal {
  const { areFunctionsEqual } = createCustomConfig();
  // `inside`: what is being compared already, so that what holds itself comes to an end.
  const equal = (a: unknown, b: unknown, inside: Map<unknown, unknown>): boolean => {
    if (a === b || Object.is(a, b)) return true;
    if (typeof a === "function") return areFunctionsEqual(a, b);
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (!KNOWN.has(kind(a)) || Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    // An element points to all around it.
    if ("$$typeof" in a) return false;
    if (inside.has(a)) return inside.get(a) === b;
    inside.set(a, b);
    const [one, other] = [a, b] as Record<string, unknown>[];
    const keys = Object.keys(a);
    const same =
      keys.length === Object.keys(b).length &&
      keys.every((key) => Object.hasOwn(b, key) && equal(one?.[key], other?.[key], inside));
    inside.delete(a);
    return same;
  };
  return (a, b) => equal(a, b, new Map());
}
