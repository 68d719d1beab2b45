// Which parts are still to be reached before a yes.
import type { Gate } from "./gate";
import { Revealed } from "./text";
import { useUi } from "./ui";

export function Blocked({ gate }: { gate: Pick<Gate, "missing"> }) {
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
