// From a press to the kernel's answer: one decision at a time, and no state claimed before it.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Decided, DecisionDoc, Failure, ReceiptDoc, RequestView } from "./generated/messages";
import { useRedraw, useUi } from "./ui";

export type Sending = "idle" | "sending" | "silent";

export interface Decider {
  sending: Sending;
  failure: Failure | null;
  /** What the kernel said of a decision made here, until the view says it too. */
  decided: Decided | null;
  /** Somebody else was first. */
  already: boolean;
  /** A vote from here that counted without deciding: others have to agree. */
  voted: ReceiptDoc | null;
  /** `edited`: JSON text of the arguments that are approved in place of those shown first. */
  send(decision: DecisionDoc, edited?: string | null): void;
}

export function useDecider(view: RequestView, visibleSince: () => number | null): Decider {
  const { port } = useUi();
  const [sending, setSending] = useState<Sending>("idle");
  const [failure, setFailure] = useState<Failure | null>(null);
  const [decided, setDecided] = useState<Decided | null>(null);
  const [voted, setVoted] = useState<ReceiptDoc | null>(null);
  const mine = useRef(false);
  const onItsWay = useRef(false);
  const seenPending = useRef(false);
  if (view.state === "pending") seenPending.current = true;

  const send = (decision: DecisionDoc, edited: string | null = null) => {
    if (onItsWay.current) return; // pressed again before this was drawn: a double click
    onItsWay.current = true;
    setSending("sending");
    setFailure(null);
    const since = visibleSince();
    const question = {
      type: "decide",
      request_id: view.id,
      fingerprint: view.fingerprint,
      decision,
      visible_ms: since === null ? 0 : Math.round(performance.now() - since),
    } as const;
    port
      .ask(question, () => setSending("silent"))
      .then((answer) => {
        onItsWay.current = false;
        setSending("idle");
        if (answer.type === "error") {
          setFailure(answer);
          return;
        }
        mine.current = true;
        const receipt = answer.receipt;
        if (receipt?.state === "pending") setVoted(receipt);
        if (!receipt || receipt.state === "pending") return;
        setDecided({
          verdict: decision.verdict,
          reviewer: receipt.reviewer,
          via: receipt.via,
          at: receipt.decided_at,
          seconds: (Date.parse(receipt.decided_at) - Date.parse(view.created_at)) / 1000,
          note: ("note" in decision && decision.note) || null,
          reason: ("reason" in decision && decision.reason) || null,
          stop: "stop" in decision && decision.stop === true,
          given: null,
          edited,
          edited_secrets: {},
          edited_fingerprint: null,
        });
      });
  };
  const lost = failure?.code === "AlreadyDecided";
  const overtaken = seenPending.current && !mine.current && sending === "idle";
  return {
    sending,
    failure: lost && view.state !== "pending" ? null : failure,
    decided: view.decided ?? decided,
    already: lost || (view.decided !== null && overtaken),
    voted,
    send,
  };
}

/** Whether the card is looked at: asks the kernel for a sign of life then, and only then. */
export function useLook(on: boolean) {
  const { port } = useUi();
  const redraw = useRedraw();
  const ref = useRef<HTMLDivElement>(null);
  const since = useRef<number | null>(null);
  useEffect(() => {
    const card = ref.current;
    if (!card || !on) return;
    const who = {};
    const unsubscribe = port.alive.subscribe(redraw);
    port.alive.greet();
    let inView = false;
    const look = () => {
      if (inView && document.visibilityState === "visible") {
        since.current ??= performance.now();
        port.alive.look(who);
      } else {
        since.current = null;
        port.alive.leave(who);
      }
    };
    const observer = new IntersectionObserver(([entry]) => {
      inView = entry?.isIntersecting ?? false;
      look();
    });
    observer.observe(card);
    const events = [
      [card, "pointerenter"],
      [card, "pointermove"],
      [card, "focusin"],
      [document, "visibilitychange"],
      [window, "focus"],
    ] as const;
    for (const [target, name] of events) target.addEventListener(name, look);
    return () => {
      observer.disconnect();
      for (const [target, name] of events) target.removeEventListener(name, look);
      unsubscribe();
      port.alive.leave(who);
    };
  }, [on, port, redraw]);
  return { ref, life: port.alive.state, visibleSince: () => since.current };
}
