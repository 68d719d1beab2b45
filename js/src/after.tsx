// What is left of a card that waits no more: one line, and everything again on demand.
import type { Decided, RequestView } from "./generated/messages";
import { Revealed } from "./text";
import { useUi } from "./ui";
import { clock, type Key, type Say, sayIfKnown } from "./words";

/** One line in words; `already`: somebody else was first. */
export function After({
  view,
  decided,
  already,
}: {
  view: RequestView;
  decided: Decided | null;
  already: boolean;
}) {
  const { say } = useUi();
  if (decided === null) return <Undecided view={view} />;
  const good = decided.verdict !== "decline";
  return (
    <>
      <Mark
        sign={view.state in CONSEQUENCES && view.state !== "executing" ? "!" : good ? "✓" : "✕"}
      />
      <span>
        {headline(decided, already, say)}{" "}
        <code>
          <Revealed text={view.message ?? view.tool} />
        </code>
        {" · "}
        <Who decided={decided} />
        {" · "}
        <code>{view.fingerprint.slice(0, 16)}</code>
        <Consequence view={view} />
        <Words decided={decided} />
      </span>
    </>
  );
}

function Undecided({ view }: { view: RequestView }) {
  const { say } = useUi();
  const key = view.state === "expired" ? (`after.expired.${view.on_expire}` as const) : null;
  return (
    <>
      <Mark sign="✕" />
      <span>
        <code>
          <Revealed text={view.message ?? view.tool} />
        </code>
        {" · "}
        {key
          ? say(key)
          : sayIfKnown(
              say,
              `after.${view.state}`,
              sayIfKnown(say, `state.${view.state}`, view.state),
            )}
      </span>
    </>
  );
}

const MARKS = { "✓": "tick", "✕": "cross", "!": "caution" } as const;

const Mark = ({ sign }: { sign: keyof typeof MARKS }) => (
  <span class={MARKS[sign]} aria-hidden="true">
    {sign}
  </span>
);

function headline(decided: Decided, already: boolean, say: Say): string {
  if (already) return say(`after.already.${decided.verdict}`);
  if (decided.verdict === "decline" && decided.stop) return say("after.decline.stop");
  if (decided.verdict === "approve" && decided.edited !== null) return say("after.approve.edited");
  return say(`after.${decided.verdict}`);
}

function Who({ decided }: { decided: Decided }) {
  const { say, locale } = useUi();
  return (
    <>
      <Revealed text={decided.reviewer} />
      {sayIfKnown(say, `after.via.${decided.via}`, `, ${decided.via}`)}
      {" · "}
      <time dateTime={decided.at}>{clock(decided.at, locale)}</time>
      {" · "}
      {say("age.seconds", { n: decided.seconds })}
    </>
  );
}

const CONSEQUENCES: Record<string, Key> = {
  stale: "after.stale",
  blocked: "after.blocked",
  refused: "after.refused",
  withdrawn: "after.withdrawn",
  outcome_unknown: "after.unknown",
  failed: "after.failed",
  executing: "after.executing",
};

function Consequence({ view }: { view: RequestView }) {
  const { say } = useUi();
  const key = CONSEQUENCES[view.state];
  return key ? <> · {say(key)}</> : null;
}

function Words({ decided }: { decided: Decided }) {
  const text = decided.note ?? decided.reason;
  if (!text) return null;
  return (
    <>
      : “<Revealed text={text} />”
    </>
  );
}
