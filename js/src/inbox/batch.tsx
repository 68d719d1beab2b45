// Several requests decided together: only calls that are alike stand in one table, with nothing
// left out; each is decided by itself, and what became of each is told.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ArgCell, Args, ScrollBlock, Within } from "../args";
import { Blocked } from "../blocked";
import { Consent } from "../consent";
import { useLook } from "../decide";
import { descriptionOf } from "../described";
import { short } from "../fingerprint";
import { Gate } from "../gate";
import type { DecisionDoc, Looked, OutcomeDoc, RequestView } from "../generated/messages";
import { Head } from "../head";
import { inline, type Node, parse, step } from "../json";
import { Dialog } from "../menu";
import { Preview, ReadsChanged } from "../preview";
import { useSending } from "../sending";
import { Strip } from "../strip";
import { Revealed } from "../text";
import { useRedraw, useUi } from "../ui";
import { clock } from "../words";
import { Report } from "./report";

type Decided = DecisionDoc & { verdict: "approve" | "decline" };

interface BatchProps {
  ids: string[];
  /** Grows with every change of the store: others may have been faster. */
  version: number;
  /** Told which of them still wait. */
  keep: (waiting: Set<string>) => void;
  close: () => void;
}

export function Batch({ ids, version, keep, close }: BatchProps) {
  const { say, port } = useUi();
  const [looked, setLooked] = useState<Looked[] | null>(null);
  const [outcomes, setOutcomes] = useState<OutcomeDoc[]>([]);
  const [trouble, setTrouble] = useState<string | null>(null);
  const section = useRef<HTMLElement>(null);
  useEffect(() => section.current?.focus({ preventScroll: true }), []);
  const key = ids.join(" ");
  useEffect(() => {
    let current = true;
    if (ids.length === 0) {
      setLooked([]);
      return;
    }
    port
      .ask({ type: "look", request_ids: ids }, () => setTrouble(say("kernel.silent")))
      .then((answer) => {
        if (!current) return;
        setTrouble(answer.type === "error" ? say("kernel.refused", { words: answer.words }) : null);
        if (answer.type !== "ack") return;
        const waiting = (answer.looked ?? []).filter((one) => one.view.state === "pending");
        setLooked(waiting);
        keep(new Set(waiting.map((one) => one.view.id)));
      });
    return () => {
      current = false;
    };
  }, [key, version, port, say]);
  const groups = useMemo(() => alike(looked ?? []), [looked]);
  const told = (more: OutcomeDoc[]) => setOutcomes((before) => [...before, ...more]);
  return (
    <section class="batch" aria-label={say("batch.name")} tabIndex={-1} ref={section}>
      <p class="bar">
        <span class="state" role="status">
          {looked && say("batch.groups", { n: total(groups), groups: groups.length })}
        </span>
        <button
          type="button"
          class="link"
          aria-label={say("inbox.close", { name: say("batch.name") })}
          onClick={close}
        >
          {say("inbox.close.short")}
        </button>
      </p>
      {trouble && (
        <p class="alert" role="alert">
          <Revealed text={trouble} />
        </p>
      )}
      <Report outcomes={outcomes} />
      {groups.map((group, i) => (
        <Group key={group[0]?.alike} group={group} place={i + 1} told={told} />
      ))}
    </section>
  );
}

const total = (groups: Looked[][]): number => groups.reduce((n, group) => n + group.length, 0);

/** Those that still wait, by what makes them alike. */
function alike(looked: Looked[]): Looked[][] {
  const groups = new Map<string, Looked[]>();
  for (const one of looked) {
    const group = groups.get(one.alike);
    if (group) group.push(one);
    else groups.set(one.alike, [one]);
  }
  return [...groups.values()];
}

interface GroupProps {
  group: Looked[];
  /** The first, second… of the groups. */
  place: number;
  told: (outcomes: OutcomeDoc[]) => void;
}

function Group({ group, place, told }: GroupProps) {
  const { say } = useUi();
  const look = useLook(true);
  const gates = useGates(group);
  const { sent, send, pressed, status } = useSending();
  const [reason, setReason] = useState(false);
  const draft = useRef({ text: "" });
  const views = group.map((one) => one.view);
  const first = views[0];
  if (!first) return null;
  const n = group.length;
  const together = group.every((one) => one.together);
  const armed = look.life === "alive" && gates.open && !sent;
  const since = look.visibleSince();
  const decide = (decision: Decided) => {
    const requests = views.map((v) => ({ request_id: v.id, fingerprint: v.fingerprint }));
    const visible_ms = since === null ? 0 : Math.round(performance.now() - since);
    send({ type: "decide-each", requests, decision, visible_ms }, (ack) => {
      setReason(false);
      if (ack) told(ack.outcomes ?? []);
    });
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is a group of controls
    <div
      class="card"
      role="group"
      aria-label={say("batch.group", { n, tool: first.tool })}
      ref={look.ref}
    >
      <Head view={{ ...first, message: null, declined_before: 0 }} live={false} />
      <Calls key={gates.round} views={views} place={place} gateOf={gates.of} />
      {together ? (
        <Blocked gate={gates.all} />
      ) : (
        <p class="alert">{say(first.kind === "input" ? "batch.input" : "batch.alone")}</p>
      )}
      {look.life === "silent" && (
        <p class="alert" role="alert">
          {say("kernel.silent")}
        </p>
      )}
      {reason ? (
        <Dialog
          name={say("dialog.reason")}
          field={say("dialog.field.reason")}
          hint={say("dialog.hint.reason")}
          draft={draft.current}
          leave={() => setReason(false)}
          status={status}
          button={(text) => (
            <button
              type="button"
              class="button strong"
              disabled={sent}
              onClick={() =>
                decide({ verdict: "decline", reason: text.trim() || null, stop: false })
              }
            >
              {say("batch.decline", { n })}
            </button>
          )}
        />
      ) : (
        <div class="foot">
          {together && (
            <Consent
              key={gates.round}
              label={say("batch.approve", { n })}
              enabled={armed}
              press={(verdict) => pressed(verdict, () => decide({ verdict: "approve" }))}
            />
          )}
          <button
            type="button"
            class="button"
            disabled={sent}
            onClick={() => decide({ verdict: "decline", stop: false })}
          >
            {say("batch.decline", { n })}
          </button>
          <button type="button" class="button" disabled={sent} onClick={() => setReason(true)}>
            {say("batch.reason", { n })}
          </button>
          {status}
        </div>
      )}
    </div>
  );
}

/** A gate for each call, and one for what they share: another one when a call has joined them, since
 * then the table is longer, and what was the same in all may be something else. */
function useGates(group: Looked[]) {
  const redraw = useRedraw();
  const gates = useRef(new Map<string, Gate>());
  const shared = useRef({ gate: new Gate(), round: 0, ids: new Set<string>() });
  const ids = group.map((one) => one.view.id);
  if (ids.some((id) => !shared.current.ids.has(id)))
    shared.current = { gate: new Gate(), round: shared.current.round + 1, ids: new Set(ids) };
  shared.current.ids = new Set(ids);
  const { gate: common, round } = shared.current;
  const of = (id: string): Gate => {
    if (id === "") return common;
    const gate = gates.current.get(id) ?? new Gate();
    gates.current.set(id, gate);
    return gate;
  };
  const all = ["", ...ids];
  const key = all.join(" ");
  useEffect(() => {
    const stops = all.map((id) => of(id).subscribe(redraw));
    return () => {
      for (const stop of stops) stop();
    };
  }, [key, round, redraw]);
  const missing = (need: "open" | "scroll") => [
    ...new Set(all.flatMap((id) => of(id).missing(need))),
  ];
  const open = all.every((id) => of(id).open);
  return { of, open, round, all: { missing } };
}

interface CallsProps {
  views: RequestView[];
  place: number;
  gateOf: (id: string) => Gate;
}

interface Column {
  name: string;
  pointer: string;
  nodes: (Node | undefined)[];
}

/** What is the same in all calls, once; what differs, a row for each, whole. */
function Calls({ views, place, gateOf }: CallsProps) {
  const { say } = useUi();
  const key = views.map((view) => view.id).join(" ");
  const { same, differing } = useMemo(() => columns(views), [key]);
  const messages = views.some((view) => view.message !== null);
  const first = views[0];
  if (!first) return null;
  const common: Node = {
    kind: "object",
    entries: same.flatMap((c) => (c.nodes[0] ? [[c.name, c.nodes[0]] as [string, Node]] : [])),
  };
  return (
    <>
      {same.length > 0 && (
        <>
          <p class="why">{say("siblings.same")}:</p>
          <Args
            args={common}
            gate={gateOf("")}
            secrets={first.secrets}
            described={first.described}
          />
        </>
      )}
      <div class="calls">
        <Within gate={gateOf("")}>
          <ScrollBlock id="#calls" label={say("batch.calls", { tool: first.tool, n: place })} on>
            <table>
              <thead>
                <tr>
                  <th scope="col">{say("siblings.call")}</th>
                  {messages && <th scope="col">{say("batch.message")}</th>}
                  {differing.map((column) => (
                    <th scope="col" key={column.pointer}>
                      <Revealed text={column.name} />
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {views.map((view, i) => (
                  <tr key={view.id}>
                    <th scope="row">
                      <Identity view={view} />
                    </th>
                    {messages && (
                      <td>
                        <Revealed text={view.message ?? ""} />
                      </td>
                    )}
                    {differing.map(({ name, pointer, nodes }) => {
                      const node = nodes[i];
                      return (
                        <td key={pointer} class="value">
                          {node && (
                            <ArgCell
                              node={node}
                              pointer={pointer}
                              name={name}
                              gate={gateOf(view.id)}
                              secrets={view.secrets}
                              described={view.described}
                            />
                          )}
                        </td>
                      );
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </ScrollBlock>
        </Within>
      </div>
      {views.map((view) => (
        <Around key={view.id} view={view} gate={gateOf(view.id)} />
      ))}
    </>
  );
}

/** What one call's preview shows and what it reads, under the name of that call. */
function Around({ view, gate }: { view: RequestView; gate: Gate }) {
  if (view.preview === null && view.reads.length === 0) return null;
  return (
    <div class="around">
      <code title={view.fingerprint}>{short(view.fingerprint)}</code>
      <ReadsChanged view={view} />
      <Preview view={view} gate={gate} />
    </div>
  );
}

/** Which call it is: its fingerprint, its picture, its time, who agreed, and earlier declines. */
function Identity({ view }: { view: RequestView }) {
  const { say, locale } = useUi();
  return (
    <>
      <code title={view.fingerprint}>{short(view.fingerprint)}</code>
      <Strip cells={view.strip} />
      {view.expires_at !== null && (
        <span class="state">{say("batch.until", { time: clock(view.expires_at, locale) })}</span>
      )}
      {view.quorum > 1 && (
        <span class="state">{say("votes", { n: view.votes.length, all: view.quorum })}</span>
      )}
      {view.declined_before > 0 && (
        <span class="flags">{say("why.declined", { n: view.declined_before })}</span>
      )}
    </>
  );
}

/** Arguments that are the same in all calls, and those that differ; a secret by its digest. */
function columns(views: RequestView[]): { same: Column[]; differing: Column[] } {
  const calls = views.map((view) => {
    const args = parse(view.args);
    return new Map(args.kind === "object" ? args.entries : []);
  });
  const names = [...new Set(calls.flatMap((call) => [...call.keys()]))];
  const all = names.map((name) => {
    return { name, pointer: step("", name), nodes: calls.map((call) => call.get(name)) };
  });
  const isSame = ({ pointer, nodes }: Column): boolean => {
    const texts = nodes.map((node, i) => {
      const digests = Object.entries(views[i]?.secrets ?? {})
        .filter(([at]) => at === pointer || at.startsWith(`${pointer}/`))
        .map(([at, digest]) => `${at} ${digest}`);
      return node ? [inline(node), descriptionOf(node)?.sha256, ...digests].join("\n") : "";
    });
    return new Set(texts).size === 1;
  };
  return { same: all.filter(isSame), differing: all.filter((column) => !isSame(column)) };
}
