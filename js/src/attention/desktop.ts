// Notifications of the desktop, for those who asked for them: which tool, never arguments.
import type { RequestView } from "../generated/messages";
import { plain } from "../text";
import type { Say } from "../words";
import type { Waiting } from "./index";

const KEPT = "hitl-widgets:notifications";

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

/** Tell it on the desktop, unless the page itself is being looked at. */
export function tell(first: Waiting, words: string, jump: () => void): void {
  if (!wanted() || (document.visibilityState === "visible" && document.hasFocus())) return;
  const agent = first.view.agent_path.map(plain).join(" › ");
  // One at a time, from whichever tab: a new one takes the place of the old.
  const shown = new Notification(words, { body: agent, tag: "hitl-widgets" });
  shown.onclick = () => {
    window.focus();
    jump();
    shown.close();
  };
}
