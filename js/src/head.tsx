// The top of a card: which tool, what it does to the world, why a person is asked, since when.
import { Expiry } from "./expiry";
import type { RequestView } from "./generated/messages";
import { Revealed } from "./text";
import { useClock, useUi } from "./ui";
import { type Key, type Say, sayIfKnown, span } from "./words";

const ICONS = { read: "○", write: "✎", costly: "¤", destructive: "✕", unknown: "?" } as const;

export function Head({ view, live }: { view: RequestView; live: boolean }) {
  const { say } = useUi();
  const now = useClock(view.created_at, live);
  const age = span(now - Date.parse(view.created_at), say);
  return (
    <>
      <div class="head">
        <h3>
          {view.message === null ? (
            <code>
              <Revealed text={view.tool} />
            </code>
          ) : (
            <Revealed text={view.message} />
          )}
        </h3>
        {view.kind === "approval" && view.effect !== null && (
          <span class={`badge ${view.effect}`}>
            <span aria-hidden="true">{ICONS[view.effect]} </span>
            {say(`effect.${view.effect}`)}
          </span>
        )}
        <span class="grow" />
        {live && (
          <time class="age" dateTime={view.created_at} title={say("age", { age })}>
            {age}
          </time>
        )}
      </div>
      <Why view={view} />
      {live && <Votes view={view} />}
      {live && view.expires_at !== null && <Expiry at={view.expires_at} then={view.on_expire} />}
      {view.declined_before > 0 && (
        <p class="why warn">{say("why.declined", { n: view.declined_before })}</p>
      )}
    </>
  );
}

/** How many have to agree, who did, and who may. */
function Votes({ view }: { view: RequestView }) {
  const { say, locale } = useUi();
  const list = (names: string[]) => new Intl.ListFormat(locale).format(names);
  if (view.quorum <= 1 && view.reviewers === null) return null;
  return (
    <p class="why">
      {view.quorum > 1 && say("votes", { n: view.votes.length, all: view.quorum })}
      {view.votes.length > 0 && (
        <>
          {" · "}
          <Revealed text={say("votes.by", { names: list(view.votes) })} />
        </>
      )}
      {view.reviewers !== null && (
        <>
          {view.quorum > 1 && " · "}
          <Revealed text={say("votes.reviewers", { names: list(view.reviewers) })} />
        </>
      )}
    </p>
  );
}

function Why({ view }: { view: RequestView }) {
  const { say } = useUi();
  const agent = view.agent_path.at(-1);
  if (agent === undefined || (view.why === null && view.message !== null)) return null;
  const cause = view.why && causeOf(view.why, say);
  const words = cause
    ? say("why.asks", { agent: "\0", cause })
    : say("why.asks.plain", { agent: "\0" });
  const [before, after] = words.split("\0");
  return (
    <p class="why">
      {before}
      <Revealed
        text={view.agent_path
          .slice(0, -1)
          .map((parent) => `${parent} › `)
          .join("")}
      />
      <b>
        <Revealed text={agent} />
      </b>
      {after}
    </p>
  );
}

function causeOf(why: NonNullable<RequestView["why"]>, say: Say): string {
  const key: Key | string =
    why.type === "auto" && why.checked !== "ask" ? "why.auto.unsure" : `why.${why.type}`;
  return sayIfKnown(say, key, say("why.unknown"));
}
