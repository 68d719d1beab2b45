// The arguments of a call, shown so that nothing is cut or closed without saying so.
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Described, type Description, descriptionOf, textsIn } from "./described";
import type { Gate } from "./gate";
import { highlight } from "./highlight";
import { inline, inlineKey, type Node, step } from "./json";
import { hasHidden, lookAlikes } from "./reveal";
import { Revealed } from "./text";
import { useUi } from "./ui";

/** Longer texts are cut, and say so. */
export const CUT = 2000;
/** A nested value that fits in one line of so many characters is shown in that line. */
const LINE = 72;
/** Rows that are laid out together; what is out of view is not laid out at all. */
const CHUNK = 200;
/** More entries than this are folded, and say so. */
const FOLD = 50;

interface Shown {
  gate: Gate;
  secrets: Record<string, string>;
  /** Some values are descriptions of tables, arrays or files. */
  described: boolean;
}

const ShownContext = createContext<Shown | null>(null);

export function useShown(): Shown {
  const shown = useContext(ShownContext);
  if (!shown) throw new Error("hitl-widgets: a value outside of its card");
  return shown;
}

interface ArgsProps {
  args: Node;
  gate: Gate;
  secrets: Record<string, string>;
  described?: boolean;
}

export function Args({ args, gate, secrets, described = false }: ArgsProps) {
  const { say } = useUi();
  const entries: [string, Node][] = args.kind === "object" ? args.entries : [["", args]];
  if (entries.length === 0) return <p class="none">{say("args.none")}</p>;
  return (
    <ShownContext.Provider value={{ gate, secrets, described }}>
      <div class="args">
        <Entries entries={entries} pointer="" label={say("args.root")} typed />
      </div>
    </ShownContext.Provider>
  );
}

/** Where values are shown outside of the arguments: the same rules, the same gate. */
export function Within({ gate, children }: { gate: Gate; children: preact.ComponentChildren }) {
  return (
    <ShownContext.Provider value={{ gate, secrets: {}, described: false }}>
      {children}
    </ShownContext.Provider>
  );
}

/** Says that not all of a text was kept to be shown. */
export function Entire({ shown, all }: { shown: number; all: number }) {
  const { say } = useUi();
  if (shown >= all) return null;
  const counts = { shown, all };
  return <p class="cut">{say("args.cut", counts)}</p>;
}

function chunks<T>(all: T[]): T[][] {
  const count = Math.ceil(all.length / CHUNK);
  return Array.from({ length: count }, (_, i) => all.slice(i * CHUNK, (i + 1) * CHUNK));
}

interface EntriesProps {
  entries: [string, Node][];
  pointer: string;
  label: string;
  typed?: boolean;
}

function Entries({ entries, pointer, label, typed = false }: EntriesProps) {
  const { say } = useUi();
  const { gate } = useShown();
  const folded = entries.length > FOLD;
  const part = `${pointer}#all`;
  const [all, setAll] = useState(!folded || gate.was(part, "open"));
  const need = folded && !all;
  useLayoutEffect(() => {
    if (need) gate.need(part, label, "open");
  }, [need, gate, part, label]);
  const rows = all ? entries : entries.slice(0, FOLD);
  const list = chunks(rows).map((part) => (
    <dl key={part[0]?.[0]} class={typed ? "rows typed" : "rows"}>
      {part.map(([key, node]) => (
        <Row key={key} name={key} node={node} pointer={step(pointer, key)} typed={typed} />
      ))}
    </dl>
  ));
  if (!folded) return <>{list}</>;
  return (
    <>
      <ScrollBlock id={part} label={label} on={all}>
        {list}
      </ScrollBlock>
      {need && (
        <p class="cut">
          {say("args.more", { n: entries.length - FOLD })}
          {" · "}
          <button
            type="button"
            class="link"
            onClick={() => {
              setAll(true);
              gate.reached(part, "open");
            }}
          >
            {say("button.showAll")}
          </button>
        </p>
      )}
    </>
  );
}

function Row({
  name,
  node,
  pointer,
  typed,
}: {
  name: string;
  node: Node;
  pointer: string;
  typed: boolean;
}) {
  const { say } = useUi();
  const { secret, description, alike, hidden } = useRead(name, node, pointer);
  const type = secret ? "secret" : (description?.kind ?? node.kind);
  return (
    <>
      <dt>
        <Revealed text={name} />
      </dt>
      {typed && <dd class="type">{say(`type.${type}`)}</dd>}
      <dd class="value">
        <Content node={node} pointer={pointer} name={name} />
      </dd>
      {(alike.length > 0 || hidden) && <Flags alike={alike} hidden={hidden} />}
    </>
  );
}

/** What a value is, and whether it is what it seems. */
function useRead(name: string, node: Node, pointer: string) {
  const { secrets, described } = useShown();
  const secret = pointer in secrets;
  const description = useMemo(
    () => (described && !secret ? descriptionOf(node) : null),
    [described, secret, node],
  );
  const whole = [name, ...texts(node, secret, description)].join("\n");
  return { secret, description, alike: lookAlikes(whole), hidden: hasHidden(whole) };
}

function Content({ node, pointer, name }: ValueProps) {
  const { secret, description } = useRead(name, node, pointer);
  if (secret) return <span>••••</span>;
  if (!description) return <Value node={node} pointer={pointer} name={name} />;
  return (
    <ScrollBlock id={pointer} label={name} on>
      <Described described={description} />
    </ScrollBlock>
  );
}

interface ArgCellProps extends ValueProps, Shown {}

/** One argument of a call in a table of several: the same rules, and the call's own gate. */
export function ArgCell({ node, pointer, name, ...shown }: ArgCellProps) {
  return (
    <ShownContext.Provider value={shown}>
      <Content node={node} pointer={pointer} name={name} />
      <CellFlags node={node} pointer={pointer} name={name} />
    </ShownContext.Provider>
  );
}

function CellFlags({ node, pointer, name }: ValueProps) {
  const { alike, hidden } = useRead(name, node, pointer);
  return alike.length > 0 || hidden ? <Flags alike={alike} hidden={hidden} as="div" /> : null;
}

/** What a row shows as text of its own. */
function texts(node: Node, secret: boolean, description: Description | null): string[] {
  if (description) return textsIn(description);
  return node.kind === "str" && !secret ? [node.value] : [];
}

interface FlagsProps {
  alike: string[];
  hidden: boolean;
  as?: "dd" | "div";
}

/** Lines in words under a value that is not what it seems. */
function Flags({ alike, hidden, as: As = "dd" }: FlagsProps) {
  const { say } = useUi();
  return (
    <As class="flags">
      {alike.length > 0 && <p>{say("mark.lookalike", { chars: alike.join(", ") })}</p>}
      {hidden && <p>{say("mark.hidden")}</p>}
    </As>
  );
}

interface ValueProps {
  node: Node;
  pointer: string;
  name: string;
}

function Value({ node, pointer, name }: ValueProps) {
  switch (node.kind) {
    case "str":
      return isLong(node.value) ? (
        <Text text={node.value} pointer={pointer} name={name} />
      ) : (
        <Short text={node.value} />
      );
    case "object":
    case "list":
      return <Nested node={node} pointer={pointer} name={name} />;
    default:
      return <span class={`t-${node.kind}`}>{node.text}</span>;
  }
}

function Nested({
  node,
  pointer,
  name,
}: ValueProps & { node: Node & { kind: "object" | "list" } }) {
  const { say } = useUi();
  const { gate, secrets } = useShown();
  const entries: [string, Node][] =
    node.kind === "object" ? node.entries : node.items.map((item, i) => [String(i), item]);
  const hides = Object.keys(secrets).some((secret) => secret.startsWith(`${pointer}/`));
  const line = hides ? null : oneLine(node, entries);
  const [open, setOpen] = useState(gate.was(pointer, "open"));
  const need = line === null && !open && entries.length > 0;
  useLayoutEffect(() => {
    if (need) gate.need(pointer, name, "open");
  }, [need, gate, pointer, name]);
  if (entries.length === 0) return <span>{node.kind === "object" ? "{}" : "[]"}</span>;
  const count = say(`args.count.${node.kind}`, { n: entries.length });
  const toggle = () => {
    setOpen(!open);
    gate.reached(pointer, "open");
  };
  return (
    <>
      <button
        type="button"
        class="twist"
        aria-expanded={open}
        aria-label={say(open ? "args.close" : "args.open", { name })}
        onClick={toggle}
      >
        <span aria-hidden="true">{open ? "▾" : "▸"}</span>
      </button>
      {open || line === null ? <span class="count">{count}</span> : line}
      {open && (
        <div class="tree">
          <Entries entries={entries} pointer={pointer} label={name} />
        </div>
      )}
    </>
  );
}

/** A small flat value in its line, coloured; null if it does not fit. */
function oneLine(node: Node & { kind: "object" | "list" }, entries: [string, Node][]) {
  const flat = entries.every(
    ([key, v]) =>
      v.kind !== "object" &&
      v.kind !== "list" &&
      !suspicious(key) &&
      !(v.kind === "str" && suspicious(v.value)),
  );
  if (!flat || inline(node).length > LINE) return null;
  return (
    <span>
      {entries.map(([key, value], i) => (
        <span key={key}>
          {i > 0 && ", "}
          {node.kind === "object" && (
            <>
              <span class="t-key">{inlineKey(key)}</span>
              {": "}
            </>
          )}
          <span class={`t-${value.kind}`}>{inline(value)}</span>
        </span>
      ))}
    </span>
  );
}

const suspicious = (text: string): boolean =>
  hasHidden(text) || text.includes("\n") || lookAlikes(text).length > 0;

const isLong = (text: string): boolean => text.length > 120 || text.includes("\n");

function Short({ text }: { text: string }) {
  const { say } = useUi();
  if (text === "") return <span class="empty">{say("args.empty")}</span>;
  return (
    <span class="t-str">
      {'"'}
      <Revealed text={text} />
      {'"'}
    </span>
  );
}

interface TextProps {
  text: string;
  pointer: string;
  name: string;
  /** What kind of code it is, if the name does not say so. */
  as?: string;
}

export function Text({ text, pointer, name, as = name }: TextProps) {
  const { say } = useUi();
  const { gate } = useShown();
  const [all, setAll] = useState(gate.was(pointer, "open"));
  const cut = text.length > CUT && !all;
  useLayoutEffect(() => {
    if (cut) gate.need(pointer, name, "open");
  }, [cut, gate, pointer, name]);
  const shown = cut ? text.slice(0, CUT) : text;
  return (
    <>
      <ScrollBlock id={pointer} label={name} on={!cut}>
        <pre>{highlight(shown, as) ?? <Revealed text={shown} />}</pre>
      </ScrollBlock>
      {cut && (
        <p class="cut">
          {say("args.cut", { shown: CUT, all: text.length })}
          {" · "}
          <button
            type="button"
            class="link"
            onClick={() => {
              setAll(true);
              gate.reached(pointer, "open");
            }}
          >
            {say("button.showAll")}
          </button>
        </p>
      )}
    </>
  );
}

interface ScrollProps {
  id: string;
  label: string;
  /** Whether all of it is inside, so that its end is the end. */
  on: boolean;
  children: preact.ComponentChildren;
}

/** A block that scrolls; its end must be reached if it does. */
export function ScrollBlock({ id, label, on, children }: ScrollProps) {
  const ref = useRef<HTMLDivElement>(null);
  const { gate } = useShown();
  const was = useRef({ low: false, right: false });
  const look = () => {
    const block = ref.current;
    if (!block || !on || block.clientHeight === 0) return;
    const seen = was.current;
    seen.low ||= block.scrollTop + block.clientHeight >= block.scrollHeight - 4;
    seen.right ||= Math.abs(block.scrollLeft) + block.clientWidth >= block.scrollWidth - 4;
    if (seen.low && seen.right) gate.reached(id, "scroll");
    else gate.need(id, label, "scroll");
  };
  useLayoutEffect(look);
  useEffect(() => {
    const block = ref.current;
    if (!block) return;
    const observer = new ResizeObserver(look);
    observer.observe(block);
    return () => observer.disconnect();
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="scroll" ref={ref} tabIndex={0} aria-label={label} onScroll={look}>
      {children}
    </section>
  );
}
