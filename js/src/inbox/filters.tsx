// What is looked for: text, the values there are, age and order.
import { memo } from "preact/compat";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RowsDoc, SearchDoc } from "../generated/messages";
import { plain } from "../text";
import { freshElementId, useUi } from "../ui";
import { type Key, number } from "../words";

/** Typed text is looked for when nobody has typed for so long. */
const TYPED_MS = 250;

/** With every part said. */
export type Search = Required<SearchDoc>;

const VALUES = ["agent", "thread", "tool", "notebook"] as const;

const HOUR = 3600;
const AGES: Record<string, Pick<Search, "youngest" | "oldest">> = {
  any: { youngest: null, oldest: null },
  hour: { youngest: null, oldest: HOUR },
  day: { youngest: null, oldest: 24 * HOUR },
  overHour: { youngest: HOUR, oldest: null },
  overDay: { youngest: 24 * HOUR, oldest: null },
  overWeek: { youngest: 7 * 24 * HOUR, oldest: null },
};

const ORDERS = {
  waiting: ["oldest", "newest", "expiry", "tool", "agent"],
  history: ["decided", "newest", "oldest", "tool", "agent"],
} as const;

const STATES = {
  waiting: ["pending", "outcome_unknown"],
  history: ["done", "failed", "declined", "answered", "responded", "expired", "withdrawn"],
} as const;

export const nothing = (among: Search["among"]): Search => ({
  among,
  state: null,
  agent: null,
  thread: null,
  tool: null,
  notebook: null,
  youngest: null,
  oldest: null,
  text: "",
  order: ORDERS[among][0],
});

/** Whether anything is left out; the order leaves nothing out. */
export const narrows = (search: Search): boolean =>
  JSON.stringify({ ...search, order: "" }) !==
  JSON.stringify({ ...nothing(search.among), order: "" });

interface FiltersProps {
  search: Search;
  tally: RowsDoc["tally"];
  look: (search: Search) => void;
}

/** Drawn again only when the search or the values change, not with every row that comes. */
export const Filters = memo(function Filters({ search, tally, look }: FiltersProps) {
  const { say, locale } = useUi();
  const change = (more: Partial<Search>) => look({ ...search, ...more });
  const age = Object.keys(AGES).find(
    (name) => AGES[name]?.youngest === search.youngest && AGES[name]?.oldest === search.oldest,
  );
  return (
    <search class="filters" aria-label={say("inbox.filters")}>
      <Text key={search.among} text={search.text} look={(text) => change({ text })} />
      {VALUES.map((name) => (
        <Choice
          key={name}
          label={say(`inbox.filter.${name}`)}
          value={search[name] ?? ""}
          options={[
            ["", say("inbox.filter.all")],
            ...values(tally?.[name] ?? {}, search[name]).map(
              ([value, n]) => [value, `${plain(value)} (${number(n, locale)})`] as const,
            ),
          ]}
          choose={(value) => change({ [name]: value || null })}
        />
      ))}
      <Choice
        label={say("inbox.filter.state")}
        value={search.state ?? ""}
        options={[
          ["", say("inbox.filter.all")],
          ...STATES[search.among].map((state) => [state, say(`state.${state}`)] as const),
        ]}
        choose={(value) => change({ state: (value || null) as Search["state"] })}
      />
      <Choice
        label={say("inbox.filter.age")}
        value={age ?? "any"}
        options={Object.keys(AGES).map((name) => [name, say(`inbox.age.${name}` as Key)] as const)}
        choose={(value) => change(AGES[value] ?? {})}
      />
      <Choice
        label={say("inbox.order")}
        value={search.order}
        options={ORDERS[search.among].map((name) => [name, say(`inbox.order.${name}`)] as const)}
        choose={(value) => change({ order: value as Search["order"] })}
      />
      {narrows(search) && (
        <button
          type="button"
          class="link"
          onClick={() => look({ ...nothing(search.among), order: search.order })}
        >
          {say("inbox.clear")}
        </button>
      )}
    </search>
  );
});

/** The values there are, by name; the chosen one stays, even when nothing has it any more. */
function values(counts: Record<string, number>, chosen: string | null): [string, number][] {
  const all = chosen !== null && !(chosen in counts) ? { ...counts, [chosen]: 0 } : counts;
  return Object.entries(all).sort(([a], [b]) => a.localeCompare(b));
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  choose: (value: string) => void;
}

function Choice({ label, value, options, choose }: ChoiceProps) {
  const [id] = useState(() => freshElementId("filter"));
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {options.map(([name, words]) => (
          <option key={name} value={name}>
            {words}
          </option>
        ))}
      </select>
    </div>
  );
}

function Text({ text, look }: { text: string; look: (text: string) => void }) {
  const { say } = useUi();
  const [id] = useState(() => freshElementId("filter"));
  const [typed, setTyped] = useState(text);
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => setTyped(text), [text]);
  useEffect(() => {
    if (typed.trim() === text) return;
    const timer = setTimeout(() => latest.current(typed.trim()), TYPED_MS);
    return () => clearTimeout(timer);
  }, [typed, text]);
  return (
    <div class="filter search">
      <label for={id}>{say("inbox.filter.text")}</label>
      <input
        id={id}
        type="search"
        value={typed}
        placeholder={say("inbox.filter.text.hint")}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
    </div>
  );
}
