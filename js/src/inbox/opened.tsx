// A row that was opened: the whole card, and under it the run, if it goes on here. It stands below
// the list, where it does not move when other requests come and go.
import { useEffect, useRef } from "preact/hooks";
import { Card } from "../card";
import type { InboxView, RequestView, RunRef } from "../generated/messages";
import { Revealed } from "../text";
import { useUi } from "../ui";

type Idle = InboxView["idle"][string];

interface OpenedProps {
  view: RequestView;
  run: RunRef | undefined;
  /** Decided while nobody acts on it: who has to. */
  idle: Idle | undefined;
  /** Whether a person has just opened it here. */
  fresh: boolean;
  close: () => void;
}

export function Opened({ view, run, idle, fresh, close }: OpenedProps) {
  const { say } = useUi();
  const name = view.message ?? view.tool;
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (!fresh) return;
    section.current?.focus({ preventScroll: true });
    section.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <section
      ref={section}
      class="open-row"
      aria-label={say("inbox.opened", { name })}
      tabIndex={-1}
    >
      <p class="bar">
        <span class="state">
          <Revealed text={view.agent_path.join(" › ")} />
        </span>
        <button
          type="button"
          class="link"
          aria-label={say("inbox.close", { name })}
          onClick={close}
        >
          {say("inbox.close.short")}
        </button>
      </p>
      <Card view={view} />
      <p class={idle && "why warn"} role="status">
        {idle && <Revealed text={say(`idle.${idle}`, { agent: view.agent_path[0] ?? "" })} />}
      </p>
      {run && <RunHere key={run.panel} panel={run.panel} />}
    </section>
  );
}

function RunHere({ panel }: { panel: string }) {
  const { embed } = useUi();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => (place.current ? embed(panel, place.current) : undefined), [panel, embed]);
  return <div ref={place} class="run-here" />;
}
