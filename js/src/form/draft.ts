// What was typed survives an error, a redraw and a reload of the page. Secrets are never kept.

interface Node {
  [keyword: string]: unknown;
}

export interface Draft {
  data: unknown;
  edited: boolean;
}

/** How an old secret is written that the kernel keeps to itself. */
export const isMarker = (value: unknown): value is string =>
  typeof value === "string" && /^••••\d+$/.test(value);

const kept = new Map<string, Draft>();
const place = (key: string): string => `hitl-draft:${key}`;

export function readDraft(key: string): Draft | undefined {
  const here = kept.get(key);
  if (here) return here;
  try {
    const text = sessionStorage.getItem(place(key));
    return text === null ? undefined : (JSON.parse(text) as Draft);
  } catch {
    return undefined; // a page without storage: the draft lives as long as the page does
  }
}

export function keepDraft(key: string, draft: Draft, layout: unknown): void {
  const open = { ...draft, data: withoutSecrets(draft.data, layout) };
  kept.set(key, open);
  try {
    sessionStorage.setItem(place(key), JSON.stringify(open));
  } catch {
    // full, or forbidden: as above
  }
}

export function dropDraft(key: string): void {
  kept.delete(key);
  try {
    sessionStorage.removeItem(place(key));
  } catch {
    // as above
  }
}

/** A copy without what stands in password boxes; whatever any branch of a union calls secret is. */
export function withoutSecrets(data: unknown, layout: unknown): unknown {
  return without(data, [layout as Node], layout as Node);
}

function without(data: unknown, nodes: Node[], root: Node): unknown {
  const all = expanded(nodes, root);
  if (all.some(isSecret)) return isMarker(data) ? data : undefined;
  if (Array.isArray(data))
    return data.map((item, i) => without(item, itemsOf(all, i), root) ?? null);
  if (typeof data !== "object" || data === null) return data;
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, without(value, partsOf(all, key), root)]),
  );
}

const isSecret = (node: Node): boolean =>
  (node["x-ui"] as Node | undefined)?.widget === "password" || node.writeOnly === true;

/** Every node that speaks about the same value. */
function expanded(nodes: Node[], root: Node): Node[] {
  const seen = new Set<Node>();
  const todo = [...nodes];
  for (let node = todo.pop(); node !== undefined; node = todo.pop()) {
    if (typeof node !== "object" || node === null || seen.has(node)) continue;
    seen.add(node);
    const name = typeof node.$ref === "string" ? node.$ref.replace("#/$defs/", "") : null;
    if (name !== null) todo.push((root.$defs as Record<string, Node>)[name] as Node);
    for (const word of ["anyOf", "oneOf", "allOf"]) todo.push(...((node[word] as Node[]) ?? []));
    for (const word of ["then", "else"]) if (node[word]) todo.push(node[word] as Node);
    todo.push(...(Object.values(node.dependencies ?? {}) as Node[]));
  }
  return [...seen];
}

const partsOf = (nodes: Node[], key: string): Node[] =>
  nodes.flatMap((node) => {
    const named = (node.properties as Record<string, Node> | undefined)?.[key];
    return named ? [named] : node.additionalProperties ? [node.additionalProperties as Node] : [];
  });

const itemsOf = (nodes: Node[], index: number): Node[] =>
  nodes.flatMap((node) => {
    if (!Array.isArray(node.items)) return node.items ? [node.items as Node] : [];
    const item = node.items[index] ?? node.additionalItems;
    return item ? [item as Node] : [];
  });
