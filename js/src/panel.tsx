// One output per run: what it says, what it does, and what waits for a person.
import { useLayoutEffect, useState } from "preact/hooks";
import { Card } from "./card";
import type { CallItem, RequestView, RunView, TextItem, Times } from "./generated/messages";
import { Siblings } from "./siblings";
import { Revealed } from "./text";
import { useRedraw, useUi } from "./ui";
import { sayIfKnown } from "./words";

const OPEN = new Set(["running", "suspended", "budget-paused"]);

export const isOver = (run: RunView): boolean => !OPEN.has(run.state);

export function Panel({ run, requests }: { run: RunView; requests: RequestView[] }) {
  const { say } = useUi();
  if (run.title === "") {
    return (
      <div class="stack">
        {requests.map((view) => (
          <Card key={view.id} view={view} />
        ))}
      </div>
    );
  }
  const known = new Set(run.items.flatMap((item) => (item.kind === "call" ? [item.id] : [])));
  const loose = requests.filter((view) => !known.has(view.tool_call_id));
  return (
    <section class="panel" aria-label={say("run.name", { agent: run.title })}>
      <PanelHead run={run} waits={requests.some((view) => view.state === "pending")} />
      {run.paused && <p class="alert">{say("run.paused")}</p>}
      <Steps name={say("run.tools")} turns={turns(run.items, requests)} depth={1} />
      {loose.map((view) => (
        <Card key={view.id} view={view} />
      ))}
      {run.times !== null && <Chart times={run.times} />}
    </section>
  );
}

function PanelHead({ run, waits }: { run: RunView; waits: boolean }) {
  const { say, port } = useUi();
  const redraw = useRedraw();
  useLayoutEffect(() => port.alive.subscribe(redraw), [port, redraw]);
  const { parted } = port.alive;
  const [sent, setSent] = useState(false);
  const [silent, setSilent] = useState(false);
  const over = isOver(run);
  const cancel = () => {
    setSent(true);
    const unheard = () => {
      setSent(false);
      setSilent(true);
    };
    port.ask({ type: "cancel" }, unheard).then(() => {
      setSent(true);
      setSilent(false);
    });
  };
  return (
    <>
      <div class="head">
        <b>
          <Revealed text={run.title} />
        </b>
        <span class="state" role="status">
          {sayIfKnown(say, `run.state.${run.state}`, run.state)}
          {over && run.seconds !== null && ` · ${say("age.seconds", { n: run.seconds })}`}
        </span>
        <span class="grow" />
        {run.cancellable && (
          <button type="button" class="button small" disabled={sent || parted} onClick={cancel}>
            {say("run.cancel")}
          </button>
        )}
      </div>
      {/* A card that waits says it itself. */}
      {(silent || (parted && !waits)) && !over && (
        <p class="alert" role="alert">
          {say("kernel.silent")}
        </p>
      )}
    </>
  );
}

interface TurnData {
  key: string;
  items: (TextItem | CallItem)[];
  views: RequestView[];
}

/**
 * Items with their requests; calls of one model turn that ask stand together. A card never moves
 * to another place while its run goes on: what was typed and reached in it would be lost.
 */
function turns(items: RunView["items"], requests: RequestView[]): TurnData[] {
  const out: TurnData[] = [];
  items.forEach((item, i) => {
    const views =
      item.kind === "call" ? requests.filter((view) => view.tool_call_id === item.id) : [];
    const turn = views[0]?.turn;
    const last = out.at(-1);
    if (turn && last?.views.some((view) => view.turn === turn)) {
      last.items.push(item);
      last.views.push(...views);
    } else out.push({ key: item.kind === "call" ? item.id : `text-${i}`, items: [item], views });
  });
  return out;
}

/** The agent below `depth` that a turn belongs to; undefined: it is this level's own. */
const below = (turn: TurnData, depth: number): string | undefined =>
  turn.items[0]?.agent_path[depth];

interface StepsProps {
  name: string;
  turns: TurnData[];
  depth: number;
}

/** Turns in their order; what a sub-agent does in one go stands inside, under its name. */
function Steps({ name, turns, depth }: StepsProps) {
  const { say } = useUi();
  const groups: TurnData[][] = [];
  for (const turn of turns) {
    const agent = below(turn, depth);
    const last = groups.at(-1);
    if (agent !== undefined && last?.[0] && below(last[0], depth) === agent) last.push(turn);
    else groups.push([turn]);
  }
  return (
    <ol class="steps" aria-label={name}>
      {groups.map((group) => {
        const [first] = group;
        const agent = first && below(first, depth);
        if (!first) return null;
        if (agent === undefined) return <Turn key={first.key} turn={first} />;
        const label = say("run.agent", { agent });
        return (
          <li key={first.key} class="nested">
            <p class="state">
              <Revealed text={label} />
            </p>
            <Steps name={label} turns={group} depth={depth + 1} />
          </li>
        );
      })}
    </ol>
  );
}

const PARTS = ["model", "tools", "human"] as const;

/** Where the time went, as a bar and in words. */
function Chart({ times }: { times: Times }) {
  const { say } = useUi();
  const shown = PARTS.filter((part) => times[part] > 0);
  if (shown.length === 0) return null;
  return (
    <figure class="times" aria-label={say("run.times")}>
      <div class="bar" aria-hidden="true">
        {shown.map((part) => (
          <span key={part} class={part} style={{ flexGrow: 1000 * times[part] }} />
        ))}
      </div>
      <figcaption>
        {shown.map((part) => (
          <span key={part} class="legend">
            <i class={part} aria-hidden="true" />
            {say(`run.times.${part}`)} {say("age.seconds", { n: times[part] })}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function Turn({ turn }: { turn: TurnData }) {
  return (
    <li>
      {turn.items.map((item, i) =>
        item.kind === "text" ? (
          <Said key={`text-${i}`} item={item} />
        ) : (
          <Call key={item.id} item={item} />
        ),
      )}
      <Siblings key="cards" views={turn.views} />
    </li>
  );
}

function Said({ item }: { item: TextItem }) {
  return (
    <p class="step said-by-model">
      <span class="dot done" aria-hidden="true" />
      <span>
        <Revealed text={item.text} />
      </span>
    </p>
  );
}

function Call({ item }: { item: CallItem }) {
  const { say } = useUi();
  return (
    <p class="step">
      <span class={`dot ${item.status}`} aria-hidden="true" />
      <code>
        <Revealed text={item.tool} />
      </code>
      <span class="state">
        {say(`call.${item.status}`)}
        {item.seconds !== null && ` · ${say("age.seconds", { n: item.seconds })}`}
      </span>
      {item.progress !== null && item.status === "running" && (
        <progress value={item.progress} aria-label={item.tool} />
      )}
      {item.granted !== null && (
        <span class="state" title={item.granted}>
          {say("call.granted")}
          {item.granted && (
            <>
              {": "}
              <Revealed text={item.granted} />
            </>
          )}
        </span>
      )}
      {item.note !== null && (
        <span class="state">
          <Revealed text={item.note} />
        </span>
      )}
    </p>
  );
}
