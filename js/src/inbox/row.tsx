// One request in two lines: enough to tell it from others; to decide, it is opened.
import { memo } from "preact/compat";
import { short } from "../fingerprint";
import type { RowView } from "../generated/messages";
import { Revealed } from "../text";
import { useUi } from "../ui";
import { clock, sayIfKnown, span } from "../words";

/** What a person does with a row; the same functions for all of them, as long as the list lives. */
export interface Deeds {
  open(index: number): void;
  choose(index: number): void;
}

interface RowProps {
  id: string;
  index: number;
  top: number;
  row: RowView | undefined;
  current: boolean;
  opened: boolean;
  chosen: boolean | null;
  /** For the age; rows of a list are drawn again together. */
  now: number;
  deeds: Deeds;
}

/** Drawn again only when something of it changes: scrolling moves all rows many times a second. */
export const Row = memo(function Row(props: RowProps) {
  const { id, index, top, row, current, opened, chosen, now, deeds } = props;
  const { say } = useUi();
  const place = { transform: `translateY(${top}px)` };
  if (!row)
    return (
      <div id={id} class="row" role="row" aria-rowindex={index + 1} style={place}>
        <span class="what state" role="gridcell">
          …
        </span>
      </div>
    );
  const name = say("inbox.row", { tool: row.tool, what: row.summary });
  return (
    <div
      id={id}
      class={`row${current ? " current" : ""}${opened ? " opened" : ""}`}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={chosen ?? undefined}
      style={place}
      onClick={() => deeds.open(index)}
    >
      {chosen !== null && (
        <span class="pick" role="gridcell" onClick={(event) => event.stopPropagation()}>
          <input
            type="checkbox"
            tabIndex={-1}
            checked={chosen}
            disabled={row.state !== "pending"}
            aria-label={say("inbox.choose", { name })}
            onChange={() => deeds.choose(index)}
          />
        </span>
      )}
      <span class="what" role="gridcell">
        <span class="line">
          <button
            type="button"
            tabIndex={-1}
            class="name"
            aria-expanded={opened}
            aria-label={say("inbox.open", { name })}
            onClick={(event) => {
              event.stopPropagation();
              deeds.open(index);
            }}
          >
            <code>
              <Revealed text={row.tool} />
            </code>
          </button>
          <span class="summary">
            <Revealed text={row.summary + (row.cut ? "…" : "")} />
          </span>
        </span>
        <span class="line about">
          <About row={row} />
        </span>
      </span>
      <span class="when" role="gridcell">
        <When row={row} now={now} />
      </span>
    </div>
  );
});

/** States that the verdict's own word tells already. */
const TOLD = new Set(["approved", "declined", "answered", "responded", "done", "outcome_unknown"]);

function Part({ text, whole }: { text: string; whole?: string }) {
  return (
    <span title={whole}>
      <Revealed text={text} />
    </span>
  );
}

function About({ row }: { row: RowView }) {
  const { say } = useUi();
  const agent = row.agent_path.join(" › ");
  return (
    <>
      {row.state === "outcome_unknown" ? (
        <b class="caution">{say("state.outcome_unknown")}</b>
      ) : row.state !== "pending" ? (
        <b class={row.verdict === "decline" ? "cross" : "tick"}>
          {row.verdict === null
            ? sayIfKnown(say, `state.${row.state}`, row.state)
            : say(`after.${row.verdict}`)}
        </b>
      ) : (
        <span class={`effect ${row.effect}`}>
          {row.kind === "input"
            ? say("inbox.input")
            : say(row.effect === null ? "inbox.question" : `effect.${row.effect}`)}
        </span>
      )}
      {row.verdict !== null && !TOLD.has(row.state) && (
        <span>{sayIfKnown(say, `state.${row.state}`, row.state)}</span>
      )}
      {row.reviewer !== null && <Part text={row.reviewer} />}
      <Part text={agent} />
      {row.notebook !== null && (
        <Part text={row.notebook.split(/[\\/]/).at(-1) ?? ""} whole={row.notebook} />
      )}
      {row.thread !== null && <Part text={row.thread} />}
      <code>{short(row.fingerprint)}</code>
    </>
  );
}

function When({ row, now }: { row: RowView; now: number }) {
  const { say, locale } = useUi();
  const at = row.decided_at ?? row.created_at;
  return (
    <time class="age" dateTime={at} title={clock(at, locale)}>
      {span(now - Date.parse(at), say)}
    </time>
  );
}
