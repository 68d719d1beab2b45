// Where the keyboard is in a run's panel: it is not swapped for its record under a person's hands.
import type { Port } from "./model";

/** What has the focus inside of `root`, if anything. */
function focused(root: HTMLElement): Element | null {
  const { activeElement } = root.getRootNode() as Document | ShadowRoot;
  return root.contains(activeElement) ? activeElement : null;
}

/**
 * Whether a person is at work in what outlives the decision. The controls of a card that waits go
 * with it; the line that says what became of it only holds the focus for the next key.
 */
function isAtWork(root: HTMLElement): boolean {
  const active = focused(root);
  return active?.closest(".card.over") != null && !active.matches('[role="status"]');
}

/** Tell the kernel when a person begins and ends to be at work; returns a way to look again. */
export function watchFocus(root: HTMLElement, port: Port): () => void {
  let inside = false;
  const look = () => {
    const now = isAtWork(root);
    if (now === inside) return;
    inside = now;
    port.ask({ type: "focus", inside }, () => {});
  };
  // A moment later: the focus may only be on its way from one control to the next.
  const soon = () => setTimeout(look, 0);
  root.addEventListener("focusin", soon);
  root.addEventListener("focusout", soon);
  return soon;
}

/**
 * The run has ended and its record comes: who decided by keyboard goes on from the notebook's cell
 * (the nearest thing around that takes the focus), not from nowhere.
 */
export function handOn(root: HTMLElement): void {
  if (focused(root) === null || isAtWork(root)) return;
  let node: Node | null = root.parentNode;
  while (node) {
    if (node instanceof HTMLElement && node.hasAttribute("tabindex")) {
      if (root.dataset.keyDown) swallowRepeats();
      node.focus({ preventScroll: true });
      return;
    }
    node = node instanceof ShadowRoot ? node.host : node.parentNode;
  }
}

/** Note while a key is down that was pressed inside. */
export function watchKeys(root: HTMLElement): void {
  root.addEventListener("keydown", () => {
    root.dataset.keyDown = "true";
  });
  root.addEventListener("keyup", () => {
    delete root.dataset.keyDown;
  });
}

/** The key that decided may be down still: its repeats are not meant for the notebook. */
function swallowRepeats(): void {
  const stop = () => {
    removeEventListener("keydown", swallow, true);
    removeEventListener("keyup", stop, true);
  };
  const swallow = (event: KeyboardEvent) => {
    if (!event.repeat) return stop();
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  addEventListener("keydown", swallow, true);
  addEventListener("keyup", stop, true);
}
