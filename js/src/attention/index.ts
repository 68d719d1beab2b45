// What waits out of sight: the tab's title counts it, a pill jumps to it, and whoever wants is told
// on the desktop. Nothing is asked of the kernel for it.
import { useEffect } from "preact/hooks";
import type { RequestView } from "../generated/messages";
import { useUi } from "../ui";
import type { Language } from "../words";
import { hush, news, ours, SOON_MS, tell } from "./desktop";
import { jump, reachable } from "./jump";
import { hide, show } from "./pill";
import { Title } from "./title";

/** People are reminded at most so often, whatever happens. */
export const REMIND_MS = 60_000;

/** A view may be drawn a moment before it stands in the page: not out of sight at once. */
const SETTLE_MS = 250;

export interface Waiting {
  view: RequestView;
  card: HTMLElement;
  language: Language;
  /** Whether any part of the card is in the page's view; unknown at first. */
  inView: boolean | null;
}

/** An inbox: how many wait in it, and whether any part of it is in the page's view. */
interface Listed {
  count: number;
  inView: boolean | null;
}

const all = new Map<HTMLElement, Waiting>();
const lists = new Map<HTMLElement, Listed>();
const title = new Title();
const told = new Set<string>();
let remindedAt = Number.NEGATIVE_INFINITY;
let timer: ReturnType<typeof setTimeout> | undefined;
let settling: ReturnType<typeof setTimeout> | undefined;
let said = "";

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const place = target as HTMLElement;
    const waiting = all.get(place) ?? lists.get(place);
    if (waiting) waiting.inView = isIntersecting;
  }
  lookSoon();
});

/** Keep an eye on a card for as long as its request waits. */
export function useAttention(
  ref: preact.RefObject<HTMLElement | null>,
  view: RequestView,
  on: boolean,
): void {
  const ui = useUi();
  useEffect(() => {
    const card = ref.current;
    if (!card || !on) return;
    all.set(card, { view, card, language: ui, inView: all.get(card)?.inView ?? null });
    observer.observe(card);
    lookSoon(); // in a hidden tab nothing is observed
    return () => {
      all.delete(card);
      observer.unobserve(card);
      lookSoon();
    };
  }, [ref, view.id, view.expires_at, ui.locale, on]);
}

/** Have an inbox's requests counted, too: it holds those of other notebooks and processes. */
export function useListAttention(ref: preact.RefObject<HTMLElement | null>, count: number): void {
  useEffect(() => {
    const list = ref.current;
    if (!list) return;
    lists.set(list, { count, inView: lists.get(list)?.inView ?? null });
    observer.observe(list);
    lookSoon();
  }, [ref, count]);
  useEffect(() => {
    const list = ref.current;
    return () => {
      if (!list) return;
      lists.delete(list);
      observer.unobserve(list);
      lookSoon();
    };
  }, [ref]);
}

/** Those nobody can see now, oldest first; a request that stands in two places counts once. */
function outOfSight(): Waiting[] {
  const hidden = document.visibilityState === "hidden";
  const seen = new Set<string>();
  const missed = new Map<string, Waiting>();
  for (const waiting of all.values()) {
    const { id } = waiting.view;
    if (!hidden && waiting.inView !== false) seen.add(id);
    else if (!missed.has(id) || reachable(waiting.card)) missed.set(id, waiting);
  }
  return [...missed.values()]
    .filter(({ view }) => !seen.has(view.id))
    .sort((a, b) => a.view.created_at.localeCompare(b.view.created_at));
}

function listed(): number[] {
  const hidden = document.visibilityState === "hidden";
  return [...lists.values()].filter((l) => hidden || l.inView === false).map((l) => l.count);
}

document.addEventListener("visibilitychange", () => {
  if (all.size + lists.size > 0) look();
});

function lookSoon(): void {
  settling ??= setTimeout(look, SETTLE_MS);
}

function look(): void {
  clearTimeout(settling);
  settling = undefined;
  const missed = outOfSight();
  title.count(Math.max(missed.length, ...listed()));
  remind(missed);
  draw(missed);
}

function draw(missed: Waiting[]): void {
  const first = missed.find(({ card }) => reachable(card));
  if (!first || document.visibilityState === "hidden") hide();
  else
    show({
      language: first.language,
      first,
      count: missed.length,
      said,
      jump: () => jump(first.card),
      redraw: look,
    });
}

function remind(missed: Waiting[]): void {
  clearTimeout(timer);
  const fresh = missed.filter((waiting) => news(waiting).some((n) => !told.has(n)));
  const wait = remindedAt + REMIND_MS - Date.now();
  if (fresh.length > 0 && wait <= 0) {
    for (const waiting of missed) for (const n of news(waiting)) told.add(n);
    remindedAt = Date.now();
    said = words(fresh);
    tell(fresh, words, ({ card }) => jump(card));
  }
  if (missed.length === 0) {
    said = "";
    hush();
  }
  const next = fresh.length > 0 && wait > 0 ? wait : untilSoon(missed);
  if (next < Infinity) timer = setTimeout(look, Math.min(next, 2 ** 31 - 1) + 10);
}

/** Milliseconds until a request's time is nearly over, the first that is not told of. */
function untilSoon(missed: Waiting[]): number {
  const ends = missed
    .filter(({ view }) => view.expires_at !== null && !told.has(`${view.id} soon`))
    .map(({ view }) => Date.parse(view.expires_at as string) - SOON_MS - Date.now());
  return Math.max(0, Math.min(Infinity, ...ends));
}

function words(fresh: Waiting[]): string {
  const { language, view } = fresh[0] as Waiting;
  const { say } = language;
  if (fresh.length > 1) return say("attention.said.many", { n: fresh.length });
  const soon = told.has(`${view.id} soon`);
  return say(soon ? "attention.said.soon" : "attention.said", { tool: ours(view, say) });
}
