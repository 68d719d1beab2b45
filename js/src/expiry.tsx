// How long a request still waits for an answer, and what happens then.
import { useEffect } from "preact/hooks";
import type { RequestView } from "./generated/messages";
import { useRedraw, useUi } from "./ui";

const HOUR = 3_600_000;
/** From how much time left which unit is said, the largest first. */
const UNITS = [
  { from: 48 * HOUR, unit: 24 * HOUR, key: "age.days" },
  { from: 2 * HOUR, unit: HOUR, key: "age.hours" },
  { from: 120_000, unit: 60_000, key: "age.minutes" },
  { from: 0, unit: 1000, key: "age.seconds" },
] as const;
/** A page that slept catches up after so long. */
const LOOK_MS = 30_000;

/** Counts down; the kernel alone says that a request has expired, this page's clock may be wrong. */
export function Expiry({ at, then }: { at: string; then: RequestView["on_expire"] }) {
  const { say } = useUi();
  const redraw = useRedraw();
  const left = Date.parse(at) - Date.now();
  const { unit, key } = UNITS.find(({ from }) => left >= from) ?? UNITS[3];
  useEffect(() => {
    if (left <= 0) return;
    const timer = setTimeout(redraw, Math.min((left % unit) + 1, LOOK_MS));
    return () => clearTimeout(timer);
  });
  // Never more than there is: the larger units are rounded down.
  const n = unit === 1000 ? Math.ceil(left / unit) : Math.floor(left / unit);
  return (
    <p class="why">
      {left > 0 ? say(`expires.${then}`, { left: say(key, { n }) }) : say("expires.over")}
    </p>
  );
}
