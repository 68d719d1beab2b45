// The short fingerprint, its picture, and what it can be compared with.
import { useEffect, useState } from "preact/hooks";
import { diff, leaves } from "./diff";
import type { Compared, RequestView } from "./generated/messages";
import { parse } from "./json";
import { Strip } from "./strip";
import { useUi } from "./ui";
import { type Say, shortClock } from "./words";

/** For the eye, never for authorising: the same as `Request.short_fingerprint`. */
export const short = (fingerprint: string): string => fingerprint.slice(0, 16);

/** What another call is to this one, in words. */
export function useCompared(): (other: Compared) => string {
  const { say, locale } = useUi();
  return (other) => say(`compare.${other.label}`, { time: shortClock(other.at, locale) });
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

export function Fingerprint({ view, compared = null, choose }: FingerprintProps) {
  const { say } = useUi();
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const what = useCompared();
  return (
    <div class="fp">
      <Strip cells={view.strip} other={compared?.strip} />
      <code title={view.fingerprint}>{short(view.fingerprint)}</code>
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
