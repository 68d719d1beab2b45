// Notifications of the desktop, for those who asked for them: which tool, never arguments.
import type { RequestView } from "../generated/messages";
import { plain } from "../text";
import type { Say } from "../words";
import type { Waiting } from "./index";

const KEPT = "hitl-widgets:notifications";
const TOLD = "hitl-widgets:told";
/** What is told is remembered until so much else was told. */
const KEPT_NEWS = 500;

/** A request that ends by itself is news again when so much of its time is left. */
export const SOON_MS = 60_000;

/** The tool's name; the words of a question stay in the notebook. */
export const ours = (view: RequestView, say: Say): string =>
  view.message === null ? plain(view.tool) : say("attention.question");

/** Whether this page could show notifications at all. */
export const possible = (): boolean =>
  "Notification" in window && isSecureContext && Notification.permission !== "denied";

export const wanted = (): boolean => {
  try {
    return possible() && Notification.permission === "granted" && localStorage[KEPT] === "on";
  } catch {
    return false; // a page without storage remembers no choice
  }
};

/** Turn them on or off; false when the browser does not let them. */
export async function choose(on: boolean): Promise<boolean> {
  if (on && (await Notification.requestPermission()) !== "granted") return false;
  try {
    if (on) localStorage[KEPT] = "on";
    else localStorage.removeItem(KEPT);
  } catch {
    return false;
  }
  return true;
}

/** What there is to tell of a request: that it waits, and that its time is nearly over. */
export function news({ view }: Waiting): string[] {
  const left = view.expires_at === null ? Infinity : Date.parse(view.expires_at) - Date.now();
  return left < SOON_MS ? [view.id, `${view.id} soon`] : [view.id];
}

/** Whether no page of this origin has told all of it yet; now one has. */
function claim(fresh: string[]): boolean {
  const told = toldBefore();
  const more = fresh.filter((n) => !told.includes(n));
  if (more.length > 0) localStorage[TOLD] = JSON.stringify([...told, ...more].slice(-KEPT_NEWS));
  return more.length > 0;
}

function toldBefore(): unknown[] {
  try {
    const told: unknown = JSON.parse(localStorage[TOLD]);
    return Array.isArray(told) ? told : [];
  } catch {
    return [];
  }
}

let shown: Notification | null = null;

/** Tell it on the desktop, once for all pages, unless this page itself is being looked at. */
export function tell(
  fresh: Waiting[],
  words: (fresh: Waiting[]) => string,
  jump: (to: Waiting) => void,
): void {
  if (!wanted() || (document.visibilityState === "visible" && document.hasFocus())) return;
  const untold = fresh.filter((waiting) => claim(news(waiting)));
  const first = untold[0];
  if (!first) return;
  const agent = first.view.agent_path.map(plain).join(" › ");
  hush();
  // Two pages that tell at the same moment have the same tag: one takes the other's place, unheard.
  const tag = `hitl-widgets ${news(first).at(-1)}`;
  const mine = new Notification(words(untold), { body: agent, tag });
  mine.onclick = () => {
    window.focus();
    jump(first);
    mine.close();
  };
  shown = mine;
}

/** Take back what this page has told: nothing waits out of sight any more. */
export function hush(): void {
  shown?.close();
  shown = null;
}
