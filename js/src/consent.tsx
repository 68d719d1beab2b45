// A control that says yes, and what it says when a press does not count.
import { usePress, type Verdict } from "./press";
import type { Key } from "./words";

export const PRESSES: Record<Exclude<Verdict, "counts">, Key> = {
  early: "press.early",
  moved: "press.moved",
  held: "press.held",
};

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
