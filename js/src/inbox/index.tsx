// Everything that waits in a store, from any notebook; what was decided; what runs without asking.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useListAttention } from "../attention/index";
import type { InboxView, RequestView, RowView } from "../generated/messages";
import { Revealed } from "../text";
import { useRedraw, useUi } from "../ui";
import { Batch } from "./batch";
import { Filters, narrows, nothing, type Search } from "./filters";
import { Grants } from "./grants";
import { List } from "./list";
import { Opened } from "./opened";
import { Source } from "./source";
import { Tabs } from "./tabs";

export type Tab = "waiting" | "history" | "grants";

/** As many as the kernel takes together. */
const MOST_TOGETHER = 100;

export function Inbox({ inbox, requests }: { inbox: InboxView; requests: RequestView[] }) {
  const { say, port } = useUi();
  const place = useRef<HTMLElement>(null);
  useListAttention(place, inbox.waiting);
  const [tab, setTab] = useState<Tab>("waiting");
  const [fresh, setFresh] = useState<string | null>(null);
  const open = (id: string) => {
    const opened = requests.some((view) => view.id === id);
    setFresh(opened ? null : id);
    port.ask({ type: "open", request_id: id, open: !opened }, () => {});
  };
  const counts = [say("inbox.count", { n: inbox.waiting })];
  if (inbox.unknown > 0) counts.push(say("inbox.unknown", { n: inbox.unknown }));
  return (
    <section class="inbox" aria-label={say("inbox.name")} ref={place}>
      <div class="top">
        <b>{say("inbox.name")}</b>
        <span class="state" role="status">
          {inbox.waiting + inbox.unknown === 0 ? say("inbox.empty") : counts.join(" · ")}
        </span>
        <span class="grow" />
        <code class="state store">
          <Revealed text={inbox.store} />
        </code>
      </div>
      <Tabs tab={tab} choose={setTab}>
        {tab === "grants" ? (
          <Grants version={inbox.version} />
        ) : (
          <Listed
            key={tab}
            among={tab}
            version={inbox.version}
            opened={new Set(requests.map((view) => view.id))}
            open={open}
          />
        )}
      </Tabs>
      {requests.map((view, i) => {
        const last = requests.findLastIndex((other) => other.run_id === view.run_id) === i;
        const run = last ? inbox.runs.find((ref) => ref.run_id === view.run_id) : undefined;
        return (
          <Opened
            key={view.id}
            view={view}
            run={run}
            idle={inbox.idle[view.id]}
            fresh={fresh === view.id}
            close={() => open(view.id)}
          />
        );
      })}
    </section>
  );
}

interface ListedProps {
  among: Search["among"];
  version: number;
  opened: Set<string>;
  open: (id: string) => void;
}

function Listed({ among, version, opened, open }: ListedProps) {
  const { say, port } = useUi();
  const redraw = useRedraw();
  const [search, setSearch] = useState(() => nothing(among));
  const source = useMemo(() => new Source(port, search, redraw), [port, search, redraw]);
  const seen = useRef({ source, version });
  // A new search is fetched by the list; a change of the store is fetched again.
  useEffect(() => {
    if (seen.current.source === source && seen.current.version !== version) source.refresh();
    seen.current = { source, version };
  }, [source, version]);
  useEffect(() => source.want(0, 0), [source]);
  // What was last shown stays until the kernel has answered, so that nothing flickers.
  const shown = useRef(source);
  if (source.total !== null) shown.current = source;
  const { total, tally } = shown.current;
  const [chosen, setChosen] = useState(() => new Map<string, RowView>());
  const choose = (row: RowView) => {
    if (row.state !== "pending") return;
    const next = new Map(chosen);
    if (!next.delete(row.id)) next.set(row.id, row);
    setChosen(next);
  };
  return (
    <>
      <Filters search={search} tally={tally} look={setSearch} />
      {source.silent && (
        <p class="alert" role="alert">
          {say("kernel.silent")}
        </p>
      )}
      {source.refused && (
        <p class="alert" role="alert">
          <Revealed text={say("kernel.refused", { words: source.refused })} />
        </p>
      )}
      <p class="matches state" role="status">
        {total !== null && narrows(search) && say("inbox.matches", { n: total })}
        {total === 0 && !narrows(search) && say("inbox.none")}
      </p>
      {total !== null && total > 0 && (
        <List
          source={shown.current}
          total={total}
          opened={opened}
          open={(row) => open(row.id)}
          chosen={among === "waiting" ? chosen : null}
          choose={choose}
        />
      )}
      {among === "waiting" && (
        <Together
          source={shown.current}
          total={total ?? 0}
          chosen={chosen}
          setChosen={setChosen}
          version={version}
        />
      )}
    </>
  );
}

interface TogetherProps {
  source: Source;
  total: number;
  chosen: Map<string, RowView>;
  setChosen: (chosen: Map<string, RowView>) => void;
  version: number;
}

/** What was chosen in the list, and what to do with it. */
function Together({ source, total, chosen, setChosen, version }: TogetherProps) {
  const { say } = useUi();
  const [open, setOpen] = useState(false);
  const all = Math.min(total, MOST_TOGETHER);
  const chooseAll = async () =>
    setChosen(
      new Map(
        (await source.first(all))
          .filter((row) => row.state === "pending")
          .map((row) => [row.id, row]),
      ),
    );
  const keep = (waiting: Set<string>) => {
    if (![...chosen.keys()].every((id) => waiting.has(id)))
      setChosen(new Map([...chosen].filter(([id]) => waiting.has(id))));
  };
  const clear = () => {
    setOpen(false);
    setChosen(new Map());
  };
  if (total === 0 && chosen.size === 0 && !open) return null;
  const many = chosen.size > MOST_TOGETHER;
  return (
    <>
      <div class="chosen">
        <span class="state" role="status">
          {say(many ? "inbox.toomany" : "inbox.chosen", { n: chosen.size, most: MOST_TOGETHER })}
        </span>
        <button type="button" class="link" onClick={chooseAll}>
          {say(total > all ? "inbox.choose.first" : "inbox.choose.all", { n: all })}
        </button>
        {chosen.size > 0 && (
          <button type="button" class="link" onClick={clear}>
            {say("inbox.choose.none")}
          </button>
        )}
        <span class="grow" />
        <button
          type="button"
          class="button small"
          disabled={(chosen.size === 0 && !open) || many}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          {say("batch.name")}
        </button>
      </div>
      {open && !many && (
        <Batch ids={[...chosen.keys()]} version={version} keep={keep} close={clear} />
      )}
    </>
  );
}
