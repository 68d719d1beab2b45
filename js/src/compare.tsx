// What differs from another call, in signs, words and colour.
import { useMemo } from "preact/hooks";
import { type Change, diff, type Part, words } from "./diff";
import { inline, type Node, parse } from "./json";
import { Revealed } from "./text";
import { useUi } from "./ui";

interface Side {
  args: string;
  secrets: Record<string, string>;
}

export function Difference({ before, after, name }: { before: Side; after: Side; name: string }) {
  const { say } = useUi();
  const changes = useMemo(
    () => diff(parse(before.args), parse(after.args), before.secrets, after.secrets),
    [before.args, after.args, before.secrets, after.secrets],
  );
  return (
    <section class="diff" aria-label={name}>
      {changes.length === 0 && <p class="none">{say("compare.same")}</p>}
      {changes.map((change) => (
        <One key={change.pointer} change={change} />
      ))}
    </section>
  );
}

function One({ change }: { change: Change }) {
  const { say } = useUi();
  const { before, after, secret } = change;
  const parts = useMemo(() => sides(before, after), [before, after]);
  return (
    <div class="change">
      <p class="where">
        <span aria-hidden="true">{change.sign} </span>
        <Revealed text={change.pointer.slice(1) || "/"} />
      </p>
      {secret ? (
        <p class="both">{say("compare.secret")}</p>
      ) : (
        <>
          {before && (
            <Line
              sign="−"
              word={say(after ? "compare.was" : "compare.removed")}
              parts={parts.before}
            />
          )}
          {after && (
            <Line
              sign="+"
              word={say(before ? "compare.now" : "compare.added")}
              parts={parts.after}
            />
          )}
        </>
      )}
    </div>
  );
}

function Line({ sign, word, parts }: { sign: "+" | "−"; word: string; parts: Part[] }) {
  return (
    <p class={sign === "+" ? "add" : "del"}>
      <b>
        {sign} {word}
      </b>
      <span>
        {parts.map((part, i) =>
          part.changed ? (
            <em key={i}>
              <Revealed text={part.text} />
            </em>
          ) : (
            <Revealed text={part.text} />
          ),
        )}
      </span>
    </p>
  );
}

/** Both values; word by word when both are text. */
function sides(before: Node | null, after: Node | null): { before: Part[]; after: Part[] } {
  if (before?.kind === "str" && after?.kind === "str") {
    const parts = words(before.value, after.value);
    return { before: shorten(parts.before), after: shorten(parts.after) };
  }
  const whole = (node: Node | null): Part[] =>
    node ? [{ text: inline(node), changed: false }] : [];
  return { before: whole(before), after: whole(after) };
}

/** Equal text around a change: so much of it helps to find the place. */
const AROUND = 60;

/** Long equal parts are shortened: this block shows what differs, the arguments show all. */
function shorten(parts: Part[]): Part[] {
  if (!parts.some((part) => part.changed)) return parts;
  return parts.map((part, i) => {
    if (part.changed || part.text.length <= 2 * AROUND) return part;
    const head = i === 0 ? "" : part.text.slice(0, AROUND);
    const tail = i === parts.length - 1 ? "" : part.text.slice(-AROUND);
    return { ...part, text: `${head} … ${tail}` };
  });
}
