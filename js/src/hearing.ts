// Whether messages reach a model at all. A model that is deaf hears again: anywidget gives a model's
// module two seconds to load; a model that needed longer, on a page that was busy, is drawn all the
// same, but drops every message from then on: no card would come, no answer. And a model whose
// kernel has gone is told so. What is reached into here is looked for first.
import type { Model } from "./model";

type Handler = (message: unknown) => Promise<unknown>;

/** What ipywidgets has behind anywidget's model. */
interface Behind {
  _handle_comm_msg: Handler;
  /** False as soon as ipywidgets knows that the kernel restarts. */
  comm_live?: boolean;
  comm?: {
    on_msg(handler: Handler): void;
    send(data: unknown, callbacks: object, metadata: object, buffers: []): unknown;
  };
}

/** Handled by no one: it only tells whether messages arrive. */
const NOTHING = { content: { data: { method: "nothing" } } };

/** See that the kernel's messages reach a model whose module has been loaded. */
export async function hear(model: Model): Promise<void> {
  const behind = await behindOf(model);
  if (typeof behind?._handle_comm_msg !== "function") return;
  try {
    await behind._handle_comm_msg(NOTHING);
  } catch {
    mend(behind);
  }
}

/** Tell when the page learns that the model's kernel has gone; returns what stops it. */
export function watchKernel(model: Model, gone: () => void): () => void {
  const told = async () => {
    if ((await behindOf(model))?.comm_live === false) gone();
  };
  model.on("comm_live_update", told);
  // A kernel that is shut down, and in VS Code one that restarts, takes its connection with it;
  // models are not told.
  const kernel = model.widget_manager?.kernel;
  kernel?.disposed?.connect(gone);
  // Where another page has restarted it, this one is told only that a kernel starts.
  const changed = (_: unknown, status: unknown) => {
    if (status === "starting") gone();
  };
  kernel?.statusChanged?.connect(changed);
  return () => {
    model.off("comm_live_update", told);
    kernel?.disposed?.disconnect(gone);
    kernel?.statusChanged?.disconnect(changed);
  };
}

async function behindOf(model: Model): Promise<Behind | undefined> {
  const id = model.get("_id");
  if (typeof id !== "string") return undefined;
  return (await model.widget_manager?.get_model?.(id)) as Behind | undefined;
}

function mend(behind: Behind): void {
  const handle = inherited(behind)?.bind(behind);
  if (!handle || !behind.comm) return;
  behind._handle_comm_msg = handle;
  behind.comm.on_msg(handle);
  // What was dropped is in the state as it is now.
  behind.comm.send({ method: "request_state" }, {}, {}, []);
}

/** The handler of ipywidgets' own, which anywidget's stands on. */
function inherited(behind: Behind): Handler | undefined {
  const handlers: Handler[] = [];
  for (let one = Object.getPrototypeOf(behind); one; one = Object.getPrototypeOf(one))
    if (Object.hasOwn(one, "_handle_comm_msg")) handlers.push(one._handle_comm_msg);
  return handlers[1];
}
