// One output per run: what it says, what it does, and what waits for a person.
import { useState } from "preact/hooks";
import { Card } from "./card";
import type { CallItem, RequestView, RunView, TextItem } from "./generated/messages";
import { Siblings } from "./siblings";
import { Revealed } from "./text";
import { useUi } from "./ui";
import { number, sayIfKnown } from "./words";

const OPEN = new Set(["running", "suspended", "budget-paused"]);

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
      <PanelHead run={run} />
      {run.paused && <p class="alert">{say("run.paused")}</p>}
      <ol class="steps" aria-label={say("run.tools")}>
        {turns(run.items, requests).map((turn) => (
          <Turn key={turn.key} turn={turn} />
        ))}
      </ol>
      {loose.map((view) => (
        <Card key={view.id} view={view} />
      ))}
    </section>
  );
}

function PanelHead({ run }: { run: RunView }) {
  const { say, locale, port } = useUi();
  const [sent, setSent] = useState(false);
  const over = !OPEN.has(run.state);
  return (
    <div class="head">
      <b>
        <Revealed text={run.title} />
      </b>
      <span class="state" role="status">
        {sayIfKnown(say, `run.state.${run.state}`, run.state)}
        {over &&
          run.seconds !== null &&
          ` · ${say("age.seconds", { n: number(run.seconds, locale) })}`}
      </span>
      <span class="grow" />
      {run.cancellable && (
        <button
          type="button"
          class="button small"
          disabled={sent}
          onClick={() => {
            setSent(true);
            port.ask({ type: "cancel" }, () => setSent(false));
          }}
        >
          {say("run.cancel")}
        </button>
      )}
    </div>
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
  const { say, locale } = useUi();
  return (
    <p class="step">
      <span class={`dot ${item.status}`} aria-hidden="true" />
      <code>
        <Revealed text={item.tool} />
      </code>
      <span class="state">
        {say(`call.${item.status}`)}
        {item.seconds !== null && ` · ${say("age.seconds", { n: number(item.seconds, locale) })}`}
      </span>
      {item.progress !== null && item.status === "running" && (
        <progress value={item.progress} aria-label={item.tool} />
      )}
      {item.note !== null && (
        <span class="state">
          <Revealed text={item.note} />
        </span>
      )}
    </p>
  );
}
