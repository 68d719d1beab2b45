// The bundle's two doors: `initialize` for the hub, whose exports draw every card's view.
import { render } from "preact";
import { Card } from "./card";
import { handOn, watchFocus, watchKeys } from "./focus";
import type { InboxView, RequestView, RunView } from "./generated/messages";
import { hear, watchKernel } from "./hearing";
import { Inbox } from "./inbox/index";
import { freshId, type Model, Port, pageId } from "./model";
import { isOver, Panel } from "./panel";
import { adoptStyles } from "./styles";
import { UiContext } from "./ui";
import { language } from "./words";

export interface MountProps {
  model: Model;
  el: HTMLElement;
  /** The front end's door to other widgets, by anywidget. */
  host?: { getModel?(ref: string): Promise<Model> };
}

function initialize({ model }: { model: Model }) {
  // Never awaited: a hub that waits for the kernel here is deaf for ever.
  const { locale } = language(model.get("locale"));
  model.send({ type: "hello", id: freshId(), page: pageId, locale });
  void hear(model);
  return { mount: (props: MountProps) => mount(props, model) };
}

/** Draw a widget's view into `el` and keep it true; returns what takes it away. */
export function mount({ model, el, host }: MountProps, hub: Pick<Model, "get">): () => void {
  const embed = (ref: string, into: HTMLElement) => embedded(ref, into, hub, host);
  const port = new Port(model);
  const root = document.createElement("div");
  root.className = "hitl-root";
  el.replaceChildren(root);
  adoptStyles(root);
  const panel = model.get("shows") === "panel";
  const lookAtFocus = panel ? watchFocus(root, port) : () => {};
  const draw = () => {
    const ui = { ...language(hub.get("locale")), port, embed };
    root.lang = ui.locale;
    render(
      <UiContext.Provider value={ui}>
        {content(model)}
        {model.get("late") === true && <p class="alert">{ui.say("late")}</p>}
      </UiContext.Provider>,
      root,
    );
    if (panel && isOver(model.get("view") as RunView)) handOn(root);
    lookAtFocus();
  };
  const events = ["change:view", "change:requests", "change:late"];
  for (const event of events) model.on(event, draw);
  guardKeys(root);
  draw();
  void hear(model);
  const unwatch = watchKernel(model, () => port.alive.gone());
  return () => {
    unwatch();
    for (const event of events) model.off(event, draw);
    port.close();
    render(null, root);
  };
}

/** Draw a widget inside another one's view, as soon as the front end hands it out. */
function embedded(
  ref: string,
  into: HTMLElement,
  hub: Pick<Model, "get">,
  host: MountProps["host"],
): () => void {
  let away: (() => void) | null = () => {};
  host?.getModel?.(ref).then(
    (model) => {
      if (away) away = mount({ model, el: into, host }, hub);
    },
    (error: unknown) => console.error("[hitl-widgets]", error),
  );
  return () => {
    away?.();
    away = null;
  };
}

function content(model: Model) {
  const requests = () => model.get("requests") as RequestView[];
  switch (model.get("shows")) {
    case "panel":
      return <Panel run={model.get("view") as RunView} requests={requests()} />;
    case "inbox":
      return <Inbox inbox={model.get("view") as InboxView} requests={requests()} />;
    default:
      return <Card view={model.get("view") as RequestView} />;
  }
}

/** Keys stay in the card: Shift+Enter must not run the cell, `dd` must not delete it. */
function guardKeys(root: HTMLElement): void {
  root.dataset.lmSuppressShortcuts = "true";
  watchKeys(root);
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") event.stopPropagation();
  });
}

export default { initialize };
