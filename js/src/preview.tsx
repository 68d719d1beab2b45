// What would happen, as the tool's own preview says, and the variables that the call reads. None of
// it decides anything: text is text, pictures are data, and HTML is shut in a frame.
import { Entire, ScrollBlock, Text, Within } from "./args";
import { Rows } from "./described";
import { Framed } from "./framed";
import type { Gate } from "./gate";
import type {
  ChangedRow,
  ChangesPart,
  PreviewDoc,
  ReadChange,
  ReadDoc,
  RequestView,
  TablePart,
} from "./generated/messages";
import { parse } from "./json";
import { Prose } from "./prose";
import { Revealed } from "./text";
import { useUi } from "./ui";
import { number, shortClock } from "./words";

type Part = PreviewDoc["parts"][number];

export function Preview({ view, gate }: { view: RequestView; gate: Gate }) {
  const { say } = useUi();
  const { preview, reads, preview_changed: changed } = view;
  const name = say("preview.name");
  return (
    <>
      {preview && <PreviewOf preview={preview} gate={gate} name={name} changed={changed} />}
      {reads.length > 0 && <Reads reads={reads} />}
    </>
  );
}

interface PreviewOfProps {
  preview: PreviewDoc;
  gate: Gate;
  name: string;
  /** Begins the places of its parts at the gate. */
  place?: string;
  changed?: boolean;
}

export function PreviewOf(props: PreviewOfProps) {
  const { preview, gate, name, place = "#preview", changed = false } = props;
  const { say } = useUi();
  return (
    <Within gate={gate}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls */}
      <div class="preview" role="group" aria-label={name}>
        <Made preview={preview} name={name} />
        {changed && <p class="warn">{say("preview.changed")}</p>}
        {preview.failed !== null && (
          <p class="warn">
            <Revealed text={say("preview.failed", { words: preview.failed })} />
          </p>
        )}
        {preview.failed === null && preview.parts.length === 0 && (
          <p class="cut">{say("preview.empty")}</p>
        )}
        {preview.parts.map((part, i) => (
          <PartView
            key={i}
            part={part}
            id={`${place}-${i}`}
            label={preview.parts.length > 1 ? `${name} ${i + 1}` : name}
          />
        ))}
      </div>
    </Within>
  );
}

function Made({ preview, name }: { preview: PreviewDoc; name: string }) {
  const { say, locale } = useUi();
  return (
    <p class="made">
      <b>{name}</b> <span>{say("preview.by", { time: shortClock(preview.made_at, locale) })}</span>
      {preview.bound && <span> · {say("preview.bound")}</span>}
    </p>
  );
}

interface PartProps<P> {
  part: P;
  /** Of its place at the gate. */
  id: string;
  label: string;
}

function PartView({ part, id, label }: PartProps<Part>) {
  const { say } = useUi();
  switch (part.kind) {
    case "table":
      return <Table part={part} id={id} label={label} />;
    case "changes":
      return <Changes part={part} id={id} label={label} />;
    case "markdown":
      return (
        <>
          <ScrollBlock id={id} label={label} on>
            <Prose html={part.html} />
          </ScrollBlock>
          <Entire shown={part.shown} all={part.length} />
        </>
      );
    case "html":
      return <Framed html={part.text} id={id} label={label} />;
    case "image":
      return (
        <img
          class="picture"
          src={`data:${part.mime};base64,${part.data}`}
          alt={part.alt || say("preview.image")}
        />
      );
    default:
      return (
        <>
          {part.kind === "diff" && (
            <p>{say("preview.diff", { added: part.added, removed: part.removed })}</p>
          )}
          {part.kind === "sql" && (
            <p>
              <b>
                {part.rows === null
                  ? say("preview.sql.unknown")
                  : say("preview.sql", { rows: part.rows })}
              </b>
            </p>
          )}
          <Text text={part.text} pointer={id} name={label} as={part.kind} />
          <Entire shown={part.text.length} all={part.length} />
        </>
      );
  }
}

// -- tables --------------------------------------------------------------------------------------

function Table({ part, id, label }: PartProps<TablePart>) {
  const { say } = useUi();
  const count = (n: number | undefined) => n ?? 0;
  const title = say("described.table", {
    type: part.type,
    rows: count(part.shape[0]),
    columns: count(part.shape[1]),
  });
  const node = parse(part.rows);
  const rows =
    node.kind !== "list" ? [] : node.items.map((r) => (r.kind === "list" ? r.items : []));
  const columns = part.columns.map(([name, dtype]): [string, string] => [name ?? "", dtype ?? ""]);
  const cut = [
    ...(rows.length < (part.shape[0] ?? 0)
      ? [say("described.rows", { shown: count(rows.length), all: count(part.shape[0]) })]
      : []),
    ...(columns.length < (part.shape[1] ?? 0)
      ? [say("preview.columns", { shown: count(columns.length), all: count(part.shape[1]) })]
      : []),
  ];
  return (
    <>
      <ScrollBlock id={id} label={label} on>
        <Rows table={{ columns, rows }} index={part.index} title={title} />
      </ScrollBlock>
      <p class="cut" title={part.sha256}>
        {[...cut, say("described.digest", { digest: part.sha256.slice(0, 12) })].join(" · ")}
      </p>
    </>
  );
}

const HOW = { added: "add", removed: "del", changed: "" } as const;

function Changes({ part, id, label }: PartProps<ChangesPart>) {
  const { say } = useUi();
  const count = (n: number | undefined) => n ?? 0;
  const size = (shape: number[]) =>
    say("preview.size", { rows: count(shape[0]), columns: count(shape[1]) });
  const all = part.added + part.removed + part.changed;
  const cut = [
    ...(part.rows.length < all
      ? [say("preview.changes.shown", { shown: count(part.rows.length), all: count(all) })]
      : []),
    ...(part.columns.length < part.all_columns
      ? [say("preview.columns", { shown: part.columns.length, all: part.all_columns })]
      : []),
    say("described.digest", { digest: part.sha256.slice(0, 12) }),
  ];
  return (
    <>
      <ScrollBlock id={id} label={label} on>
        <table class="frame">
          <caption>
            {say("preview.changes", {
              removed: count(part.removed),
              added: count(part.added),
              changed: count(part.changed),
            })}
            {" · "}
            {say("preview.changes.size", {
              before: size(part.shape_before),
              after: size(part.shape_after),
            })}
          </caption>
          <thead>
            <tr>
              <th scope="col">{say("preview.how")}</th>
              <th scope="col">{say("preview.row")}</th>
              {part.columns.map((name, i) => (
                <th scope="col" key={i}>
                  <Revealed text={name} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {part.rows.map((row, i) => (
              <tr key={i} class={HOW[row.how]}>
                <td>{say(`preview.how.${row.how}`)}</td>
                <th scope="row">
                  <Revealed text={row.label} />
                </th>
                {part.columns.map((_, at) => (
                  <Cell key={at} row={row} at={at} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBlock>
      <p class="cut" title={part.sha256}>
        {cut.join(" · ")}
      </p>
    </>
  );
}

/** A cell as it is, or as it was and would be. */
function Cell({ row, at }: { row: ChangedRow; at: number }) {
  const was = row.was[at] ?? null;
  const now = row.now[at] ?? null;
  if (row.how !== "changed" || was === null)
    return (
      <td>
        <Revealed text={now ?? was ?? ""} />
      </td>
    );
  return (
    <td>
      <del>
        <Revealed text={was} />
      </del>{" "}
      →{" "}
      <ins>
        <Revealed text={now ?? ""} />
      </ins>
    </td>
  );
}

// -- variables -----------------------------------------------------------------------------------

function useRead(): (read: ReadDoc) => string {
  const { say, locale } = useUi();
  return (read) => {
    if (read.missing) return say("reads.missing");
    if (read.shape === null) return read.value === null ? read.type : `${read.type} ${read.value}`;
    const [rows, columns] = read.shape;
    return columns === undefined
      ? `${read.type}, ${number(rows ?? 0, locale)}`
      : say("described.table", {
          type: read.type,
          rows: rows ?? 0,
          columns,
        });
  };
}

function Reads({ reads }: { reads: ReadDoc[] }) {
  const { say } = useUi();
  const words = useRead();
  return (
    <p class="reads">
      <b>{say("reads.name")}</b>{" "}
      {reads.map((read, i) => (
        <span key={read.name} title={read.digest}>
          {i > 0 && "; "}
          <code>
            <Revealed text={read.name} />
          </code>
          {": "}
          <Revealed text={words(read)} />
          {!read.missing && `, ${say("described.digest", { digest: read.digest.slice(0, 12) })}`}
        </span>
      ))}
    </p>
  );
}

/** What changed, of what the call reads, since a person approved it. */
export function ReadsChanged({ view }: { view: RequestView }) {
  return (
    <>
      {view.reads_changed.map((change) => (
        <Changed
          key={change.name}
          change={change}
          now={view.reads.find((read) => read.name === change.name)}
        />
      ))}
    </>
  );
}

function Changed({ change, now }: { change: ReadChange; now: ReadDoc | undefined }) {
  const { say, locale } = useUi();
  const words = useRead();
  const names = (all: string[]) => new Intl.ListFormat(locale).format(all);
  const is = now === undefined ? "" : words(now);
  const was = words(change.was);
  const parts = [
    ...(was === is ? [] : [say("reads.was", { was, now: is })]),
    ...(["added", "removed", "retyped"] as const)
      .filter((how) => change[how].length > 0)
      .map((how) => say(`reads.${how}`, { names: names(change[how]) })),
  ];
  if (parts.length === 0) parts.push(say("reads.content"));
  return (
    <p class="why warn">
      <b>
        <Revealed text={say("reads.changed", { name: change.name })} />
      </b>
      {": "}
      <Revealed text={parts.join("; ")} />
    </p>
  );
}
