// A call that waits for a person: everything about it, and the controls that decide it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Always } from "./always";
import { Args } from "./args";
import { Blocked } from "./blocked";
import { Difference } from "./compare";
import { Consent, useRefusal } from "./consent";
import type { Decider } from "./decide";
import { Edit } from "./edit";
import { Fingerprint, useCompared } from "./fingerprint";
import { Gate } from "./gate";
import type { Compared, DecisionDoc, RequestView } from "./generated/messages";
import { Head } from "./head";
import { parse } from "./json";
import { Dialog, Menu, Understood } from "./menu";
import type { Life } from "./model";
import type { Verdict } from "./press";
import { Preview, ReadsChanged } from "./preview";
import { Silence } from "./silence";
import { useRedraw, useUi } from "./ui";

type Open = "note" | "reason" | "edit" | "respond" | "always" | null;

interface WaitingProps {
  view: RequestView;
  decider: Decider;
  life: Life;
  gate: Gate | undefined;
}

export function Waiting({ view, decider, life, gate: given }: WaitingProps) {
  const { say } = useUi();
  const redraw = useRedraw();
  const gate = useMemo(() => given ?? new Gate(), [given]);
  useEffect(() => gate.subscribe(redraw), [gate, redraw]);
  const args = useMemo(() => parse(view.args), [view.args]);
  // Kept: what is said beside the buttons must not draw ten thousand rows again.
  const shown = useMemo(
    () => <Args args={args} gate={gate} secrets={view.secrets} described={view.described} />,
    [args, gate, JSON.stringify(view.secrets), view.described],
  );
  const preview = useMemo(
    () => <Preview view={view} gate={gate} />,
    [gate, JSON.stringify([view.preview, view.reads])],
  );
  const { refusal, pressed, forget } = useRefusal();
  const [open, setOpen] = useState<Open>(null);
  const turn = (to: Open) => {
    forget();
    setOpen(to);
  };
  // Asked again: what differs from the call that was approved is what a person came to see.
  const original = view.compare.find((other) => other.label === "original") ?? null;
  // With the same arguments it is what stands around the call that differs.
  const differs = JSON.stringify(original?.strip) !== JSON.stringify(view.strip);
  const [compared, setCompared] = useState<Compared | null>(differs ? original : null);
  const what = useCompared();
  const drafts = useRef({ note: { text: "" }, reason: { text: "" }, respond: { text: "" } });
  const busy = decider.sending !== "idle";
  const voted = decider.voted;
  const armed = life === "alive" && gate.open && voted === null;
  // A kernel that does not answer may be gone: nothing here decides then, a no neither (R12).
  const shut = busy || life === "silent";
  const confirm = view.message !== null;
  // Not `disabled` while shut: a disabled control loses the keyboard's focus.
  const send = (decision: DecisionDoc, edited: string | null = null) => {
    if (shut) return;
    forget();
    decider.send(decision, edited);
  };
  const consent =
    (decision: DecisionDoc, edited: string | null = null) =>
    (verdict: Verdict) =>
      pressed(verdict, () => send(decision, edited));
  const can = (verdict: (typeof view.allowed)[number]) => view.allowed.includes(verdict);
  const items = [
    ...(can("approve") && !confirm && view.notes
      ? [{ label: say("menu.note"), choose: () => turn("note") }]
      : []),
    ...(can("decline")
      ? [
          { label: say("menu.reason"), choose: () => turn("reason") },
          { label: say("menu.stop"), choose: () => send({ verdict: "decline", stop: true }) },
        ]
      : []),
    ...(view.editable ? [{ label: say("menu.edit"), choose: () => turn("edit") }] : []),
    ...(can("respond") && !confirm
      ? [{ label: say("menu.respond"), choose: () => turn("respond") }]
      : []),
    ...(view.always.length > 0
      ? [{ label: say("menu.always"), choose: () => turn("always") }]
      : []),
  ];
  const leave = () => turn(null);
  // Beside the buttons: a line of its own would move them, and a press on what moved is refused.
  const status = (
    <p class="said" role="status">
      {busy ? say("kernel.sending") : refusal}
    </p>
  );
  return (
    <>
      <Head view={view} live />
      {original && <p class="why warn">{say("compare.again")}</p>}
      <ReadsChanged view={view} />
      {!(confirm && args.kind === "object" && args.entries.length === 0) && shown}
      {preview}
      <Fingerprint view={view} compared={compared} choose={setCompared} />
      {compared && (
        <Difference
          before={compared}
          after={view}
          name={say("compare.name", { what: what(compared) })}
        />
      )}
      <Blocked gate={gate} />
      {voted && (
        <p class="alert" role="status">
          {say("votes.mine", { n: voted.votes, all: voted.quorum })}
        </p>
      )}
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
              aria-disabled={shut}
              onClick={() => send({ verdict: "decline", reason: text.trim() || null })}
            >
              {say("button.decline")}
            </button>
          )}
        />
      )}
      {open === "edit" && (
        <Edit
          view={view}
          armed={armed}
          busy={busy}
          consent={consent}
          leave={leave}
          status={status}
        />
      )}
      {open === "always" && (
        <Always
          view={view}
          armed={armed}
          busy={busy}
          consent={consent}
          leave={leave}
          status={status}
        />
      )}
      {open === "respond" && (
        <Dialog
          name={say("dialog.respond")}
          field={say("dialog.field.result")}
          hint={say("dialog.hint.result")}
          draft={drafts.current.respond}
          about={(text) => <Understood text={text} />}
          leave={leave}
          status={status}
          button={(text) => (
            <button
              type="button"
              class="button strong"
              aria-disabled={shut}
              disabled={text.trim() === ""}
              onClick={() => send({ verdict: "respond", text })}
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
              aria-disabled={shut}
              onClick={() => send({ verdict: "decline" })}
            >
              {say(confirm ? "button.no" : "button.decline")}
            </button>
          )}
          {status}
          <Menu name={say("button.more")} items={items} disabled={shut} />
        </div>
      )}
    </>
  );
}
