// Calls of one turn that wait together: what is the same once, what differs as a table, and one
// button for all.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Card } from "./card";
import { Consent } from "./consent";
import { useLook } from "./decide";
import { descriptionOf, useTitle } from "./described";
import { leaves } from "./diff";
import { Gate } from "./gate";
import type { DecisionDoc, RequestView } from "./generated/messages";
import { inline, type Node, parse } from "./json";
import { hasHidden, lookAlikes } from "./reveal";
import { useSending } from "./sending";
import { Revealed } from "./text";
import { useRedraw, useUi } from "./ui";

/** Wider tables are not shown: the cards hold everything. */
const MOST_COLUMNS = 6;

export function Siblings({ views }: { views: RequestView[] }) {
  const { say } = useUi();
  const gates = useRef(new Map<string, Gate>());
  const gateOf = (id: string): Gate => {
    const gate = gates.current.get(id) ?? new Gate();
    gates.current.set(id, gate);
    return gate;
  };
  const waiting = views.filter((view) => view.state === "pending");
  const together = waiting.length > 1;
  const group = together
    ? ({
        class: "siblings",
        role: "group",
        "aria-label": say("card.group", { n: waiting.length }),
      } as const)
    : {};
  return (
    <div {...group}>
      {together && <Together key="together" views={waiting} gateOf={gateOf} />}
      {views.map((view) => (
        <Card key={view.id} view={view} gate={gateOf(view.id)} />
      ))}
    </div>
  );
}

interface TogetherProps {
  views: RequestView[];
  gateOf: (id: string) => Gate;
}

function Together({ views, gateOf }: TogetherProps) {
  const { say } = useUi();
  const redraw = useRedraw();
  const look = useLook(true);
  const { sent, send, pressed, status } = useSending();
  const ids = views.map((view) => view.id).join(" ");
  useEffect(() => {
    const stops = views.map((view) => gateOf(view.id).subscribe(redraw));
    return () => {
      for (const stop of stops) stop();
    };
  }, [ids, redraw]);
  const approvals = views.every((v) => v.kind === "approval" && v.allowed.includes("approve"));
  if (!approvals) return null;
  const armed = look.life === "alive" && views.every((view) => gateOf(view.id).open) && !sent;
  const since = look.visibleSince();
  const decide = (decision: DecisionDoc & { verdict: "approve" | "decline" }) => {
    const requests = views.map((v) => ({ request_id: v.id, fingerprint: v.fingerprint }));
    const visible_ms = since === null ? 0 : Math.round(performance.now() - since);
    send({ type: "decide-all", requests, decision, visible_ms });
  };
  return (
    <div class="together" ref={look.ref}>
      <Table views={views} />
      <div class="actions">
        <Consent
          label={say("button.approve.all", { n: views.length })}
          enabled={armed}
          press={(verdict) => pressed(verdict, () => decide({ verdict: "approve" }))}
        />
        <button
          type="button"
          class="button"
          disabled={sent || look.life === "silent"}
          onClick={() => decide({ verdict: "decline" })}
        >
          {say("button.decline.all", { n: views.length })}
        </button>
        {status}
      </div>
    </div>
  );
}

/** What is the same in all, once; what differs, one row per call. Only for calls of one tool. */
function Table({ views }: { views: RequestView[] }) {
  const { say } = useUi();
  const title = useTitle();
  const calls = useMemo(
    () =>
      views.map((view) => {
        const whole = view.described ? (node: Node) => descriptionOf(node) !== null : undefined;
        return leaves(parse(view.args), whole);
      }),
    [views],
  );
  const textOf = (node: Node | undefined): string => {
    if (node === undefined) return "–";
    const described = views[0]?.described ? descriptionOf(node) : null;
    return described
      ? `${title(described)}, sha256 ${described.sha256.slice(0, 12)}`
      : inline(node);
  };
  const pointers = [...new Set(calls.flatMap((call) => [...call.keys()]))];
  const secret = (pointer: string) => views.some((view) => pointer in view.secrets);
  const same = pointers.filter(
    (p) => !secret(p) && new Set(calls.map((call) => textOf(call.get(p)))).size === 1,
  );
  const differing = pointers.filter((p) => !same.includes(p));
  if (new Set(views.map((view) => view.tool)).size > 1) return null;
  if (differing.length === 0 || differing.length > MOST_COLUMNS) return null;
  const read = pointers
    .filter((p) => !secret(p))
    .flatMap((p) => [p, ...calls.map((call) => textOf(call.get(p)))])
    .join("\n");
  const alike = lookAlikes(read);
  return (
    <>
      {same.length > 0 && same.length <= MOST_COLUMNS && (
        <p class="same">
          {say("siblings.same")}:{" "}
          {same.map((p, i) => (
            <span key={p}>
              {i > 0 && ", "}
              <b>
                <Revealed text={p.slice(1)} />
              </b>{" "}
              <code>
                <Revealed text={textOf(calls[0]?.get(p))} />
              </code>
            </span>
          ))}
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section class="scroll" tabIndex={0} aria-label={views[0]?.tool ?? ""}>
        <table>
          <thead>
            <tr>
              <th scope="col">{say("siblings.call")}</th>
              {differing.map((p) => (
                <th scope="col" key={p}>
                  <Revealed text={p.slice(1)} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {views.map((view, i) => (
              <tr key={view.id}>
                <th scope="row">{i + 1}</th>
                {differing.map((p) => (
                  <td key={p}>
                    {secret(p) ? "••••" : <Revealed text={shorten(textOf(calls[i]?.get(p)))} />}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {alike.length > 0 && (
        <p class="caution">{say("mark.lookalike", { chars: alike.join(", ") })}</p>
      )}
      {hasHidden(read) && <p class="caution">{say("mark.hidden")}</p>}
    </>
  );
}

/** The table is an overview; each card below holds the whole value, and must be reached. */
const shorten = (text: string): string => (text.length > 80 ? `${text.slice(0, 79)}…` : text);
