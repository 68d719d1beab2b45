// One request: what is asked, with what arguments, and the buttons that decide it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { After } from "./after";
import { Args } from "./args";
import { Difference } from "./compare";
import { type Decider, useDecider, useLook } from "./decide";
import { diff, leaves } from "./diff";
import { Form } from "./form";
import { Gate } from "./gate";
import type { Compared, DecisionDoc, RequestView } from "./generated/messages";
import { Head } from "./head";
import { parse } from "./json";
import { Dialog, Menu } from "./menu";
import type { Life } from "./model";
import { usePress, type Verdict } from "./press";
import { Settle } from "./settle";
import { Strip } from "./strip";
import { Revealed } from "./text";
import { useRedraw, useUi } from "./ui";
import { type Key, type Say, shortClock } from "./words";

export function nameOf(view: RequestView, over: boolean, say: Say): string {
  const tool = view.message ?? view.tool;
  if (over) return say("card.decided", { tool });
  if (view.kind === "input") return say("card.input", { tool });
  return view.message === null
    ? say("card.approval", { tool })
    : say("card.confirm", { message: tool });
}

interface CardProps {
  view: RequestView;
  /** What must be reached before a yes; siblings share a look at each other's. */
  gate?: Gate;
}

export function Card({ view, gate }: CardProps) {
  const { say } = useUi();
  const waiting = view.state === "pending";
  const look = useLook(waiting);
  const decider = useDecider(view, look.visibleSince);
  const over = !waiting || decider.decided !== null;
  const status = useRef<HTMLParagraphElement>(null);
  const hadFocus = useRef(false);
  hadFocus.current = holdsFocus(look.ref.current);
  useLayoutEffect(() => {
    // The buttons are gone: who works by keyboard goes on from what became of them.
    if (over && hadFocus.current) status.current?.focus();
  }, [over]);
  const role = view.kind === "input" && !over ? "form" : "group";
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles can be named
    <div ref={look.ref} class="card" role={role} aria-label={nameOf(view, over, say)}>
      {over ? (
        <Over view={view} decider={decider} status={status} />
      ) : view.kind === "input" ? (
        <>
          <Head view={view} live />
          <Form view={view} decider={decider} armed={look.life === "alive"} />
          <Silence decider={decider} life={look.life} />
        </>
      ) : (
        <Waiting view={view} decider={decider} life={look.life} gate={gate} />
      )}
    </div>
  );
}

/** Whether the keyboard's focus is in the card; a button that the mouse pressed does not count. */
function holdsFocus(card: HTMLElement | null): boolean {
  const root = card?.getRootNode() as Document | ShadowRoot | undefined;
  const active = root?.activeElement;
  return Boolean(active && card?.contains(active) && active.matches(":focus-visible"));
}

interface OverProps {
  view: RequestView;
  decider: Decider;
  status: preact.RefObject<HTMLParagraphElement | null>;
}

function Over({ view, decider, status }: OverProps) {
  const { say } = useUi();
  const [open, setOpen] = useState(false);
  return (
    <>
      <div class="after">
        <p role="status" tabIndex={-1} ref={status}>
          <After view={view} decided={decider.decided} already={decider.already} />
        </p>
        <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
          {say(open ? "button.less" : "button.details")}
        </button>
      </div>
      {view.state === "outcome_unknown" && <Settle view={view} />}
      {open && <Details view={view} />}
    </>
  );
}

function Details({ view }: { view: RequestView }) {
  const { say } = useUi();
  const gate = useMemo(() => new Gate(), []);
  const edited = view.decided?.edited;
  return (
    <div class="details">
      <Head view={view} live={false} />
      <Args args={parse(view.args)} gate={gate} secrets={view.secrets} />
      {edited && (
        <Difference
          before={{ args: view.args, secrets: {} }}
          after={{ args: edited, secrets: {} }}
          name={say("compare.name", { what: say("compare.original") })}
        />
      )}
      <Fingerprint view={view} />
      <p class="whole">
        {say("fp.whole")}: <code>{view.fingerprint}</code>
      </p>
      {view.why?.reason_code && (
        <p class="whole">{say("why.code", { code: view.why.reason_code })}</p>
      )}
    </div>
  );
}

export const PRESSES: Record<Exclude<Verdict, "counts">, Key> = {
  early: "press.early",
  moved: "press.moved",
  held: "press.held",
};

type Open = "note" | "reason" | "respond" | null;

interface WaitingProps {
  view: RequestView;
  decider: Decider;
  life: Life;
  gate: Gate | undefined;
}

function Waiting({ view, decider, life, gate: given }: WaitingProps) {
  const { say } = useUi();
  const redraw = useRedraw();
  const gate = useMemo(() => given ?? new Gate(), [given]);
  useEffect(() => gate.subscribe(redraw), [gate, redraw]);
  const args = useMemo(() => parse(view.args), [view.args]);
  const [said, setSaid] = useState<Key | null>(null);
  const [open, setOpen] = useState<Open>(null);
  const [compared, setCompared] = useState<Compared | null>(null);
  const drafts = useRef({ note: { text: "" }, reason: { text: "" }, respond: { text: "" } });
  const busy = decider.sending !== "idle";
  const armed = life === "alive" && gate.open;
  const confirm = view.message !== null;
  // Not `disabled` while busy: a disabled control loses the keyboard's focus.
  const send = (decision: DecisionDoc) => {
    if (busy) return;
    setSaid(null);
    decider.send(decision);
  };
  const consent = (decision: DecisionDoc) => (verdict: Verdict) =>
    verdict === "counts" ? send(decision) : setSaid(PRESSES[verdict]);
  const can = (verdict: (typeof view.allowed)[number]) => view.allowed.includes(verdict);
  const items = [
    ...(can("approve") && !confirm
      ? [{ label: say("menu.note"), choose: () => setOpen("note") }]
      : []),
    ...(can("decline")
      ? [
          { label: say("menu.reason"), choose: () => setOpen("reason") },
          { label: say("menu.stop"), choose: () => send({ verdict: "decline", stop: true }) },
        ]
      : []),
    ...(can("respond") && !confirm
      ? [{ label: say("menu.respond"), choose: () => setOpen("respond") }]
      : []),
  ];
  const leave = () => setOpen(null);
  // Beside the buttons: a line of its own would move them, and a press on what moved is refused.
  const status = (
    <p class="said" role="status">
      {busy ? say("kernel.sending") : said && say(said)}
    </p>
  );
  return (
    <>
      <Head view={view} live />
      {!(confirm && args.kind === "object" && args.entries.length === 0) && (
        <Args args={args} gate={gate} secrets={view.secrets} />
      )}
      <Fingerprint view={view} compared={compared} choose={setCompared} />
      {compared && (
        <Difference
          before={compared}
          after={view}
          name={say("compare.name", { what: say(`compare.${compared.label}`, { time: "" }) })}
        />
      )}
      <Blocked gate={gate} />
      <Silence decider={decider} life={life} />
      {open === "note" && (
        <Dialog
          name={say("dialog.note")}
          field={say("dialog.field.note")}
          hint={say("dialog.hint.note")}
          draft={drafts.current.note}
          leave={leave}
          status={status}
          button={(text) => (
            <Consent
              label={say("button.approve")}
              enabled={armed}
              busy={busy}
              press={consent({ verdict: "approve", note: text.trim() || null })}
            />
          )}
        />
      )}
      {open === "reason" && (
        <Dialog
          name={say("dialog.reason")}
          field={say("dialog.field.reason")}
          hint={say("dialog.hint.reason")}
          draft={drafts.current.reason}
          leave={leave}
          status={status}
          button={(text) => (
            <button
              type="button"
              class="button strong"
              aria-disabled={busy}
              onClick={() => send({ verdict: "decline", reason: text.trim() || null })}
            >
              {say("button.decline")}
            </button>
          )}
        />
      )}
      {open === "respond" && (
        <Dialog
          name={say("dialog.respond")}
          field={say("dialog.field.result")}
          hint={say("dialog.hint.result")}
          draft={drafts.current.respond}
          leave={leave}
          status={status}
          button={(text) => (
            <button
              type="button"
              class="button strong"
              aria-disabled={busy}
              disabled={text.trim() === ""}
              onClick={() => send({ verdict: "respond", result: jsonOrText(text) })}
            >
              {say("button.respond")}
            </button>
          )}
        />
      )}
      {open === null && (
        <div class="foot">
          {can("approve") && (
            <Consent
              label={say(confirm ? "button.yes" : "button.approve")}
              enabled={armed}
              busy={busy}
              press={consent({ verdict: "approve" })}
            />
          )}
          {can("decline") && (
            <button
              type="button"
              class="button"
              aria-disabled={busy}
              onClick={() => send({ verdict: "decline" })}
            >
              {say(confirm ? "button.no" : "button.decline")}
            </button>
          )}
          {status}
          <Menu name={say("button.more")} items={items} disabled={busy} />
        </div>
      )}
    </>
  );
}

/** JSON where it is JSON, else the text itself. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

interface ConsentProps {
  label: string;
  enabled: boolean;
  busy?: boolean;
  press: (verdict: Verdict) => void;
}

/** A control that says yes: see press.ts for when a press counts. */
export function Consent({ label, enabled, busy = false, press }: ConsentProps) {
  const handlers = usePress(press, enabled);
  return (
    <button type="button" class="button go" disabled={!enabled} aria-disabled={busy} {...handlers}>
      {label}
    </button>
  );
}

function Blocked({ gate }: { gate: Gate }) {
  const { say, locale } = useUi();
  const need = gate.missing("open").length > 0 ? "open" : "scroll";
  const missing = gate.missing(need);
  if (missing.length === 0) return null;
  const parts = new Intl.ListFormat(locale).format(missing.slice(0, 5));
  const more = missing.length > 5 ? `, ${say("args.more", { n: missing.length - 5 })}` : "";
  return (
    <p class="alert">
      <Revealed text={say(`gate.${need}`, { parts: parts + more })} />
    </p>
  );
}

/** What is wrong between this page and the kernel, if anything. */
export function Silence({ decider, life }: { decider: Decider; life: Life }) {
  const { say } = useUi();
  const words =
    decider.sending === "silent"
      ? say("kernel.sent")
      : decider.failure && decider.failure.errors.length === 0 // else they stand at their fields
        ? say("kernel.refused", { words: decider.failure.words })
        : life === "silent"
          ? say("kernel.silent")
          : null;
  if (words === null) return null;
  return (
    <p class="alert" role="alert">
      <Revealed text={words} />
    </p>
  );
}

function countChanged(view: RequestView, other: Compared, say: Say): string {
  const n = diff(parse(other.args), parse(view.args), other.secrets, view.secrets).length;
  return n === 0
    ? say("compare.same")
    : say("compare.changed", { n, all: leaves(parse(view.args)).size });
}

interface FingerprintProps {
  view: RequestView;
  compared?: Compared | null;
  choose?: (compared: Compared | null) => void;
}

function Fingerprint({ view, compared = null, choose }: FingerprintProps) {
  const { say, locale } = useUi();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const what = (other: Compared) =>
    say(`compare.${other.label}`, { time: shortClock(other.at, locale) });
  return (
    <div class="fp">
      <Strip cells={view.strip} other={compared?.strip} />
      <code title={view.fingerprint}>{view.fingerprint.slice(0, 16)}</code>
      <button
        type="button"
        class="link"
        aria-label={say("button.copy.name")}
        onClick={() => navigator.clipboard?.writeText(view.fingerprint).then(() => setCopied(true))}
      >
        {say(copied ? "button.copied" : "button.copy")}
      </button>
      {compared && <span>{countChanged(view, compared, say)}</span>}
      <span class="grow" />
      {choose &&
        view.compare.map((other) => (
          <button
            type="button"
            class="link"
            key={other.label}
            aria-expanded={compared === other}
            onClick={() => choose(compared === other ? null : other)}
          >
            {say("button.compare", { what: what(other) })}
          </button>
        ))}
    </div>
  );
}
