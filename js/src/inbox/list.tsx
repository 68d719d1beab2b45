// Rows of equal height, of which only those in view are drawn. The keyboard walks over them as in
// any list of mails: the focus stays on the list, which says which row is meant.
import { useEffect, useRef, useState } from "preact/hooks";
import type { RowView } from "../generated/messages";
import { freshElementId, useClock, useUi } from "../ui";
import { type Deeds, Row } from "./row";
import type { Source } from "./source";
import { bringIntoView, useInView } from "./window";

export const ROW_HEIGHT = 52;
/** Rows that are seen at once. */
const SEEN = 8;

interface ListProps {
  source: Source;
  total: number;
  opened: Set<string>;
  open: (row: RowView) => void;
  /** Null where nothing is decided together. */
  chosen: Map<string, RowView> | null;
  choose: (row: RowView) => void;
}

export function List({ source, total, opened, open, chosen, choose }: ListProps) {
  const { say } = useUi();
  const grid = useRef<HTMLDivElement>(null);
  const [id] = useState(() => freshElementId("rows"));
  const [at, setAt] = useState<{ index: number; id: string | null }>({ index: 0, id: null });
  const { first, last } = useInView(grid, ROW_HEIGHT, total);
  const indices = Array.from({ length: last - first + 1 }, (_, i) => first + i);
  useEffect(() => source.want(first, last), [source, first, last]);

  // The row that is meant stays the same when others come and go above it.
  const found = at.id === null ? null : source.place(at.id);
  const current = Math.max(0, Math.min(found ?? at.index, total - 1));
  const go = (index: number) => {
    const next = Math.max(0, Math.min(index, total - 1));
    setAt({ index: next, id: source.row(next)?.id ?? null });
    bringIntoView(grid.current, next, ROW_HEIGHT);
  };
  const keys: Record<string, () => void> = {
    ArrowDown: () => go(current + 1),
    ArrowUp: () => go(current - 1),
    PageDown: () => go(current + SEEN - 1),
    PageUp: () => go(current - SEEN + 1),
    Home: () => go(0),
    End: () => go(total - 1),
    Enter: () => act(open),
    " ": () => chosen && act(choose),
  };
  const act = (what: (row: RowView) => void) => {
    const row = source.row(current);
    if (row) what(row);
  };
  const pressed = (event: KeyboardEvent) => {
    const does = keys[event.key];
    if (!does || event.target !== event.currentTarget) return;
    event.preventDefault();
    does();
  };
  // One clock for all rows: as fast as the youngest of them needs it.
  const newest = indices.map((i) => source.row(i)?.created_at ?? "").reduce(later, "");
  const clock = useClock(newest, chosen !== null);
  const now = clock - (clock % 1000);
  const latest = useRef({ open, choose, source });
  latest.current = { open, choose, source };
  const [deeds] = useState<Deeds>(() => {
    const does = (what: "open" | "choose") => (index: number) => {
      const row = latest.current.source.row(index);
      setAt({ index, id: row?.id ?? null });
      if (row) latest.current[what](row);
    };
    return { open: does("open"), choose: does("choose") };
  });
  return (
    <div
      ref={grid}
      class="rows-view"
      role="grid"
      aria-label={say("inbox.list")}
      aria-rowcount={total}
      aria-multiselectable={chosen !== null}
      aria-activedescendant={first <= current && current <= last ? `${id}-${current}` : undefined}
      tabIndex={0}
      style={{ height: `${Math.min(total, SEEN) * ROW_HEIGHT + 2}px` }}
      onKeyDown={pressed}
    >
      <div role="rowgroup" class="all-rows" style={{ height: `${total * ROW_HEIGHT}px` }}>
        {indices.map((index) => {
          const row = source.row(index);
          return (
            <Row
              key={row?.id ?? `empty-${index}`}
              id={`${id}-${index}`}
              index={index}
              top={index * ROW_HEIGHT}
              row={row}
              current={index === current}
              opened={row !== undefined && opened.has(row.id)}
              chosen={chosen === null || !row ? null : chosen.has(row.id)}
              now={now}
              deeds={deeds}
            />
          );
        })}
      </div>
    </div>
  );
}

/** ISO times compare as text. */
const later = (a: string, b: string): string => (a > b ? a : b);
