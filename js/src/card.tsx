// One request: what is asked, with what arguments, and the buttons that decide it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { After } from "./after";
import { Args } from "./args";
import { useAttention } from "./attention/index";
import { Difference } from "./compare";
import { type Decider, useDecider, useLook } from "./decide";
import { Fingerprint } from "./fingerprint";
import { Form, forgetDraft } from "./form";
import { Payload } from "./form/payload";
import { Gate } from "./gate";
import type { RequestView } from "./generated/messages";
import { Head } from "./head";
import { parse } from "./json";
import type { Life } from "./model";
import { Preview, ReadsChanged } from "./preview";
import { Settle } from "./settle";
import { Silence } from "./silence";
import { Revealed } from "./text";
import { useUi } from "./ui";
import { Waiting } from "./waiting";
import type { Say } from "./words";

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
  const look = useLook(waiting || view.state === "outcome_unknown");
  const decider = useDecider(view, look.visibleSince);
  const over = !waiting || decider.decided !== null;
  useAttention(look.ref, view, !over);
  const status = useRef<HTMLParagraphElement>(null);
  const hadFocus = useRef(false);
  hadFocus.current = holdsFocus(look.ref.current);
  useLayoutEffect(() => {
    // The buttons are gone: who works by keyboard goes on from what became of them.
    if (over && hadFocus.current) status.current?.focus();
  }, [over]);
  useEffect(() => {
    if (over && view.kind === "input") forgetDraft(view);
  }, [over, view]);
  const role = view.kind === "input" && !over ? "form" : "group";
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both roles can be named
    <div
      ref={look.ref}
      class={over ? "card over" : "card"}
      role={role}
      aria-label={nameOf(view, over, say)}
    >
      {over ? (
        <Over view={view} decider={decider} status={status} life={look.life} />
      ) : view.kind === "input" ? (
        <>
          <Head view={view} live />
          <Form view={view} decider={decider} life={look.life} />
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
  life: Life;
}

function Over({ view, decider, status, life }: OverProps) {
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
      {view.state === "outcome_unknown" && <Settle view={view} life={life} />}
      {open && <Details view={view} />}
    </>
  );
}

function Details({ view }: { view: RequestView }) {
  const { say } = useUi();
  const gate = useMemo(() => new Gate(), []);
  const givenGate = useMemo(() => new Gate(), []);
  const input = view.kind === "input";
  const edited = view.decided?.edited;
  return (
    <div class="details">
      <Head view={view} live={false} />
      {view.payload !== null && <Payload json={view.payload} />}
      {input && view.args !== "{}" && <Title text={say("details.call", { tool: view.tool })} />}
      {!(input && view.args === "{}") && (
        <Args
          args={parse(view.args)}
          gate={gate}
          secrets={view.secrets}
          described={view.described}
        />
      )}
      {view.decided?.given && (
        <>
          <Title text={say(input ? "details.answer" : "details.result")} />
          <Args args={parse(view.decided.given)} gate={givenGate} secrets={{}} />
        </>
      )}
      <ReadsChanged view={view} />
      <Preview view={view} gate={gate} />
      {edited && view.preview && <p class="why warn">{say("preview.original")}</p>}
      {edited && (
        <Difference
          before={view}
          after={{ args: edited, secrets: view.decided?.edited_secrets ?? {} }}
          name={say("compare.name", { what: say("compare.original") })}
        />
      )}
      <Fingerprint view={view} />
      <p class="whole">
        {say("fp.whole")}: <code>{view.fingerprint}</code>
      </p>
      {view.decided?.edited_fingerprint && (
        <p class="whole">
          {say("fp.edited")}: <code>{view.decided.edited_fingerprint}</code>
        </p>
      )}
      {view.why?.reason_code && (
        <p class="whole">{say("why.code", { code: view.why.reason_code })}</p>
      )}
    </div>
  );
}

const Title = ({ text }: { text: string }) => (
  <p class="whole">
    <b>
      <Revealed text={text} />
    </b>
  </p>
);
