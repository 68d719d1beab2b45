// What differs between two calls: by JSON Pointer, and by word within a text.
import { type Node, step } from "./json";

export interface Change {
  pointer: string;
  sign: "+" | "−" | "~";
  before: Node | null;
  after: Node | null;
  secret: boolean;
}

type Leaves = Map<string, Node>;

/** Every leaf (and empty container) by its pointer; `whole` says what is not taken apart. */
export function leaves(
  node: Node,
  whole: (node: Node) => boolean = () => false,
  pointer = "",
  out: Leaves = new Map(),
): Leaves {
  const children: [string | number, Node][] = whole(node)
    ? []
    : node.kind === "object"
      ? node.entries
      : node.kind === "list"
        ? node.items.map((item, i): [number, Node] => [i, item])
        : [];
  if (children.length === 0) out.set(pointer, node);
  for (const [key, child] of children) leaves(child, whole, step(pointer, key), out);
  return out;
}

const same = (a: Node, b: Node): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Changes from one call to another; secrets are compared by their digests. */
export function diff(
  before: Node,
  after: Node,
  secretsBefore: Record<string, string>,
  secretsAfter: Record<string, string>,
): Change[] {
  const old = leaves(before);
  const now = leaves(after);
  const changes: Change[] = [];
  for (const pointer of new Set([...old.keys(), ...now.keys()])) {
    const a = old.get(pointer) ?? null;
    const b = now.get(pointer) ?? null;
    const secret = pointer in secretsBefore || pointer in secretsAfter;
    const equal =
      a !== null && b !== null && same(a, b) && secretsBefore[pointer] === secretsAfter[pointer];
    if (equal) continue;
    const sign = a === null ? "+" : b === null ? "−" : "~";
    changes.push({ pointer, sign, before: a, after: b, secret });
  }
  return changes;
}

export interface Part {
  text: string;
  changed: boolean;
}

/** More words than this are compared as a whole: the table below grows with their square. */
const MOST_WORDS = 1500;

/** The words of two texts, each marked if the other one has it not at this place. */
export function words(before: string, after: string): { before: Part[]; after: Part[] } {
  const a = split(before);
  const b = split(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail++;
  const midA = a.slice(head, a.length - tail);
  const midB = b.slice(head, b.length - tail);
  const [keepA, keepB] = common(midA, midB);
  const parts = (all: string[], mid: string[], keep: Set<number>) =>
    merge([
      { text: all.slice(0, head).join(""), changed: false },
      ...mid.map((text, i) => ({ text, changed: !keep.has(i) })),
      { text: all.slice(all.length - tail).join(""), changed: false },
    ]);
  return { before: parts(a, midA, keepA), after: parts(b, midB, keepB) };
}

const split = (text: string): string[] => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

/** Places of a longest common subsequence in both lists. */
function common(a: string[], b: string[]): [Set<number>, Set<number>] {
  const keepA = new Set<number>();
  const keepB = new Set<number>();
  if (a.length > MOST_WORDS || b.length > MOST_WORDS) return [keepA, keepB];
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => best[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      best[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) {
      keepA.add(i++);
      keepB.add(j++);
    } else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  }
  return [keepA, keepB];
}

function merge(parts: Part[]): Part[] {
  const out: Part[] = [];
  for (const part of parts) {
    const last = out.at(-1);
    if (last && last.changed === part.changed) last.text += part.text;
    else if (part.text) out.push({ ...part });
  }
  return out;
}
