// To a card that is out of sight: into view, out of another tab of JupyterLab, and focused.

/** Whether a jump can get there; what the front end has taken out of the page it cannot. */
export const reachable = (card: HTMLElement): boolean =>
  card.isConnected && (shown(card) || tabOf(card) !== null);

const shown = (card: HTMLElement): boolean => card.getClientRects().length > 0;

export function jump(card: HTMLElement): void {
  if (!shown(card)) activate(tabOf(card));
  // A tab that was hidden lays itself out first.
  requestAnimationFrame(() => {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    card.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
    if (!card.hasAttribute("tabindex")) card.tabIndex = -1;
    card.focus({ preventScroll: true });
    card.classList.add("found");
    card.addEventListener("blur", () => card.classList.remove("found"), { once: true });
  });
}

/** The tab of the JupyterLab panel that holds a card. */
function tabOf(card: HTMLElement): HTMLElement | null {
  const root = card.getRootNode();
  const place = root instanceof ShadowRoot ? root.host : card;
  const panel = place.closest<HTMLElement>(".lm-DockPanel-widget[id]");
  return panel && document.querySelector(`.lm-TabBar-tab[data-id="${CSS.escape(panel.id)}"]`);
}

/** As a mouse does it: its tabs hear of nothing else. */
function activate(tab: HTMLElement | null): void {
  const { x, y, width, height } = tab?.getBoundingClientRect() ?? new DOMRect();
  const at = { clientX: x + width / 2, clientY: y + height / 2, button: 0, bubbles: true };
  tab?.dispatchEvent(new PointerEvent("pointerdown", at));
  tab?.dispatchEvent(new PointerEvent("pointerup", at));
}
