// One shared sheet per document or shadow root: marimo draws inside a shadow root.
import attention from "./attention/attention.css";
import form from "./form/form.css";
import inbox from "./inbox/inbox.css";
import css from "./style.css";

const sheet = new CSSStyleSheet();
sheet.replaceSync(css + form + attention + inbox);

export function adoptStyles(element: HTMLElement): void {
  const root = element.getRootNode();
  if (root instanceof Document || root instanceof ShadowRoot) {
    if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
  } else {
    // Not in a page yet: Jupyter attaches a view after it was rendered.
    requestAnimationFrame(() => adoptStyles(element));
  }
}
