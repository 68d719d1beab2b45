// Tables, arrays and files that a plain function was given: what they are, as far as they were
// kept, and the digest by which the rest takes part.
import type { Node } from "./json";
import { inline, kindOf } from "./json";
import { Revealed } from "./text";
import { useUi } from "./ui";

export interface Table {
  kind: "table";
  type: string;
  shape: string[];
  columns: [string, string][];
  rows: Node[][];
  sha256: string;
}
export interface List {
  kind: "array";
  type: string;
  dtype: string;
  shape: string[];
  first: Node[];
  sha256: string;
}
export interface File {
  kind: "file";
  path: string;
  bytes: string;
  sha256: string;
}
export type Description = Table | List | File;

const KEYS = {
  table: ["$described", "type", "shape", "columns", "rows", "sha256"],
  array: ["$described", "type", "dtype", "shape", "first", "sha256"],
  file: ["$described", "path", "bytes", "sha256"],
} as const;

/** A description, if a node is exactly one: whatever has another key is shown as it is. */
export function descriptionOf(node: Node): Description | null {
  if (node.kind !== "object") return null;
  const parts = new Map(node.entries);
  const kind = textOf(parts.get("$described"));
  if (kind !== "table" && kind !== "array" && kind !== "file") return null;
  const keys = KEYS[kind];
  if (node.entries.length !== keys.length || !keys.every((key) => parts.has(key))) return null;
  const sha256 = textOf(parts.get("sha256"));
  if (sha256 === null) return null;
  const type = textOf(parts.get("type"));
  const shape = listOf(parts.get("shape"))?.map(inline);
  if (kind === "file") {
    const path = textOf(parts.get("path"));
    const bytes = parts.get("bytes");
    return path === null || bytes?.kind !== "int"
      ? null
      : { kind, path, bytes: bytes.text, sha256 };
  }
  if (type === null || shape === undefined) return null;
  if (kind === "array") {
    const dtype = textOf(parts.get("dtype"));
    const first = listOf(parts.get("first"));
    return dtype === null || first === undefined
      ? null
      : { kind, type, dtype, shape, first, sha256 };
  }
  const columns = parts.get("columns");
  const rows = listOf(parts.get("rows"))?.map(listOf);
  if (columns?.kind !== "object" || rows === undefined || rows.includes(undefined)) return null;
  const names = columns.entries.map(([name, dtype]): [string, string] => [name, inline(dtype)]);
  return { kind, type, shape, columns: names, rows: rows as Node[][], sha256 };
}

const textOf = (node: Node | undefined): string | null =>
  node?.kind === "str" ? node.value : null;
const listOf = (node: Node | undefined): Node[] | undefined =>
  node?.kind === "list" ? node.items : undefined;

/** One line: what it is, and its short digest. */
export function useTitle(): (described: Description) => string {
  const { say } = useUi();
  const count = (text: string | undefined) =>
    text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : (text ?? "?");
  return (d) => {
    if (d.kind === "file") return say("described.file", { bytes: count(d.bytes) });
    if (d.kind === "array")
      return say("described.array", { type: d.type, dtype: d.dtype, shape: d.shape.join(" × ") });
    return say("described.table", {
      type: d.type,
      rows: count(d.shape[0]),
      columns: count(d.shape[1] ?? String(d.columns.length)),
    });
  };
}

/** All texts in it, to be looked through for what does not show. */
export function textsIn(d: Description): string[] {
  const values = d.kind === "table" ? d.rows.flat() : d.kind === "array" ? d.first : [];
  const texts = values.flatMap((node) => (node.kind === "str" ? [node.value] : [inline(node)]));
  if (d.kind === "file") return [d.path];
  return d.kind === "table" ? [...d.columns.map(([name]) => name), ...texts] : texts;
}

export function Described({ described: d }: { described: Description }) {
  const title = useTitle()(d);
  return (
    <div class="described">
      {d.kind === "table" && <Rows table={d} title={title} />}
      {d.kind !== "table" && (
        <p>
          <Revealed text={title} />
        </p>
      )}
      {d.kind === "file" && (
        <code>
          <Revealed text={d.path} />
        </code>
      )}
      {d.kind === "array" && (
        <code>
          [<Revealed text={d.first.map(inline).join(", ")} />
          {hidden(d) && ", …"}]
        </code>
      )}
      <Remark described={d} />
    </div>
  );
}

const cells = (d: List): bigint =>
  d.shape.reduce((n, part) => n * (/^\d+$/.test(part) ? BigInt(part) : 1n), 1n);
const hidden = (d: List): boolean => cells(d) > BigInt(d.first.length);

function Remark({ described: d }: { described: Description }) {
  const { say, locale } = useUi();
  const digest = say("described.digest", { digest: d.sha256.slice(0, 12) });
  let cut = "";
  if (d.kind === "table" && d.shape[0] !== undefined && d.shape[0] !== String(d.rows.length)) {
    cut = say("described.rows", { shown: d.rows.length, all: Number(d.shape[0]) });
  }
  if (d.kind === "array" && hidden(d)) {
    const all = new Intl.NumberFormat(locale).format(cells(d));
    cut = say("described.values", { shown: d.first.length, all });
  }
  return (
    <p class="cut" title={d.sha256}>
      {cut && `${cut} · `}
      <Revealed text={digest} />
    </p>
  );
}

/** Text without quotes, unless a number, a truth value or nothing would look the same. */
const inCell = (node: Node): string =>
  node.kind === "str" && kindOf(node.value) === null ? node.value : inline(node);

interface RowsProps {
  table: Pick<Table, "columns" | "rows">;
  title: string;
  /** Labels of the rows, if they have any. */
  index?: string[] | null;
}

export function Rows({ table, title, index = null }: RowsProps) {
  return (
    <table class="frame">
      <caption>
        <Revealed text={title} />
      </caption>
      <thead>
        <tr>
          {index && <td />}
          {table.columns.map(([name, dtype], i) => (
            <th scope="col" key={i}>
              <Revealed text={name} />{" "}
              <span class="dtype">
                <Revealed text={dtype.replaceAll('"', "")} />
              </span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((row, i) => (
          <tr key={i}>
            {index && (
              <th scope="row">
                <Revealed text={index[i] ?? ""} />
              </th>
            )}
            {row.map((node, at) => (
              <td key={at} class={`t-${node.kind}`}>
                <Revealed text={inCell(node)} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
