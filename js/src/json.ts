// A JSON reader that loses nothing: numbers stay as written, keys keep their order, `__proto__` is
// a key like any other. What a card shows must be what runs, and JSON.parse rounds 2^53 + 1.

export type Node =
  | { kind: "object"; entries: [string, Node][] }
  | { kind: "list"; items: Node[] }
  | { kind: "str"; value: string }
  | { kind: "int" | "float" | "bool" | "null"; text: string };

const SPACE = /[ \t\n\r]*/y;
// Python writes NaN and the infinities as these words.
const ATOM = /true|false|null|NaN|-?Infinity|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

export function parse(text: string): Node {
  const reader = new Reader(text);
  const node = reader.value();
  reader.end();
  return node;
}

class Reader {
  private at = 0;
  constructor(private readonly text: string) {}

  value(): Node {
    this.take(SPACE);
    const next = this.text[this.at];
    if (next === "{") return { kind: "object", entries: this.entries() };
    if (next === "[") return { kind: "list", items: this.items() };
    if (next === '"') return { kind: "str", value: this.string() };
    const text = this.take(ATOM) ?? this.fail();
    if (text === "null") return { kind: "null", text };
    if (text === "true" || text === "false") return { kind: "bool", text };
    return { kind: /^-?\d+$/.test(text) ? "int" : "float", text };
  }

  end(): void {
    this.take(SPACE);
    if (this.at !== this.text.length) this.fail();
  }

  private entries(): [string, Node][] {
    return this.many("}", () => {
      this.take(SPACE);
      const key = this.string();
      this.expect(":");
      return [key, this.value()] as [string, Node];
    });
  }

  private items(): Node[] {
    return this.many("]", () => this.value());
  }

  private many<T>(close: string, one: () => T): T[] {
    const out: T[] = [];
    this.at++;
    this.take(SPACE);
    if (this.text[this.at] === close) {
      this.at++;
      return out;
    }
    for (;;) {
      out.push(one());
      this.take(SPACE);
      const mark = this.text[this.at++];
      if (mark === close) return out;
      if (mark !== ",") this.fail();
    }
  }

  private string(): string {
    // By hand: a pattern would keep a way back for every escape of a megabyte.
    if (this.text[this.at] !== '"') this.fail();
    let end = this.at;
    do {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) this.fail();
    } while (this.escaped(end));
    const literal = this.text.slice(this.at, end + 1);
    this.at = end + 1;
    return JSON.parse(literal) as string;
  }

  private escaped(at: number): boolean {
    let first = at;
    while (this.text[first - 1] === "\\") first--;
    return (at - first) % 2 === 1;
  }

  private expect(mark: string): void {
    this.take(SPACE);
    if (this.text[this.at++] !== mark) this.fail();
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  private fail(): never {
    throw new SyntaxError(`This is not JSON, from character ${this.at} on.`);
  }
}

/** JSON Pointer (RFC 6901) of a child. */
export const step = (pointer: string, key: string | number): string =>
  `${pointer}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`;

const PLAIN_KEY = /^[\p{L}\p{M}\p{N}_$.\-/]+$/u;

/** A key in a line: in quotes where it could pass for more than one. */
export const inlineKey = (key: string): string => (PLAIN_KEY.test(key) ? key : JSON.stringify(key));

/** A node in one line, as JSON text but with readable characters. */
export function inline(node: Node): string {
  switch (node.kind) {
    case "object":
      return `{${node.entries.map(([k, v]) => `${inlineKey(k)}: ${inline(v)}`).join(", ")}}`;
    case "list":
      return `[${node.items.map(inline).join(", ")}]`;
    case "str":
      return JSON.stringify(node.value);
    default:
      return node.text;
  }
}

/** What typed text stands for: JSON of some kind, or null for text that is no JSON. */
export function kindOf(text: string): Node["kind"] | null {
  try {
    return parse(text).kind;
  } catch {
    return null;
  }
}
