// A control that says yes, and what it says when a press does not count.
import { useEffect, useState } from "preact/hooks";
import { usePress, type Verdict } from "./press";
import { useUi } from "./ui";
import type { Key } from "./words";

/** Long enough to read why a press did not count; later it is no longer true. */
export const READ_MS = 6000;

const PRESSES: Record<Exclude<Verdict, "counts">, Key> = {
  early: "press.early",
  moved: "press.moved",
  held: "press.held",
};

/** Why the last press did not count, until it was read or something else is done. */
export function useRefusal() {
  const { say } = useUi();
  const [why, setWhy] = useState<{ key: Key } | null>(null);
  useEffect(() => {
    if (why === null) return;
    const timer = setTimeout(() => setWhy(null), READ_MS);
    return () => clearTimeout(timer);
  }, [why]);
  /** A press that counts does it; another says why it does not. */
  const pressed = (verdict: Verdict, act: () => void) => {
    setWhy(verdict === "counts" ? null : { key: PRESSES[verdict] });
    if (verdict === "counts") act();
  };
  return { refusal: why && say(why.key), pressed, forget: () => setWhy(null) };
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
