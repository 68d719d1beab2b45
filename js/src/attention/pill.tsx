// The pill in the page's corner: how many wait out of sight, and the way to the first.
import { render } from "preact";
import { useState } from "preact/hooks";
import { adoptStyles } from "../styles";
import { Revealed } from "../text";
import type { Language } from "../words";
import { choose, possible, wanted } from "./desktop";
import type { Waiting } from "./index";

interface PillProps {
  language: Language;
  first: Waiting;
  count: number;
  /** The last reminder, for those who hear the page. */
  said: string;
  jump: () => void;
  redraw: () => void;
}

let root: HTMLElement | null = null;

/** An output's frame is as tall as all that it holds: nothing stays in the corner of the window. */
const framed = (): boolean =>
  "vscodeThemeKind" in document.body.dataset || document.documentElement.hasAttribute("theme");

/** The corner of the page: the pills of several kernels' bundles stand in it one above the other. */
function corner(): Element {
  const found = document.querySelector("body > .hitl-attention");
  if (found) return found;
  const made = document.createElement("div");
  made.className = "hitl-root hitl-attention";
  made.dataset.lmSuppressShortcuts = "true";
  made.addEventListener("keydown", (event) => event.stopPropagation());
  document.body.append(made);
  adoptStyles(made);
  return made;
}

export function show(props: PillProps): void {
  if (framed()) return;
  if (!root?.isConnected) {
    root = document.createElement("div");
    corner().append(root);
  }
  root.lang = props.language.locale;
  render(<Pill {...props} />, root);
}

export function hide(): void {
  if (!root) return;
  const place = root.parentElement;
  render(null, root);
  root.remove();
  root = null;
  if (place?.childElementCount === 0) place.remove();
}

function Pill({ language, first, count, said, jump, redraw }: PillProps) {
  const { say } = language;
  const [refused, setRefused] = useState(false);
  const tool = first.view.message ?? first.view.tool;
  const on = wanted();
  const ring = async () => {
    setRefused(!(await choose(!on)));
    redraw();
  };
  return (
    <section class="pill" aria-label={say("attention.name")}>
      <button type="button" class="jump" onClick={jump}>
        <span aria-hidden="true">{above(first.card) ? "↑" : "↓"} </span>
        <Revealed text={say("attention.jump", { tool: short(tool) })} />
        {count > 1 && <span class="count"> {say("attention.count", { n: count })}</span>}
      </button>
      {possible() && (
        <button
          type="button"
          class="bell"
          aria-pressed={on}
          aria-label={say("attention.bell")}
          title={say("attention.bell")}
          onClick={ring}
        >
          <Bell on={on} />
        </button>
      )}
      <span class="unseen" role="status">
        {refused ? say("attention.blocked") : said}
      </span>
    </section>
  );
}

function Bell({ on }: { on: boolean }) {
  return (
    <svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true">
      <path
        d="M8 1.8a4 4 0 0 0-4 4V9l-1.4 2.4h10.8L12 9V5.8a4 4 0 0 0-4-4zM6.4 13a1.7 1.7 0 0 0 3.2 0"
        fill={on ? "currentColor" : "none"}
        stroke="currentColor"
        stroke-width="1.2"
        stroke-linejoin="round"
      />
      {!on && <path d="M2.5 2.5l11 11" stroke="currentColor" stroke-width="1.3" />}
    </svg>
  );
}

const above = (card: HTMLElement): boolean => card.getBoundingClientRect().bottom <= 0;

const short = (text: string): string => (text.length <= 40 ? text : `${text.slice(0, 39)}…`);
