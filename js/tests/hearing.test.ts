// A kernel that the page knows to be gone: the card says so at once, touched or not (R12).
import { afterEach, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import type { PageMessage, RunView } from "../src/generated/messages";
import { mount } from "../src/main";
import type { Model } from "../src/model";
import approval from "./fixtures/approval.json";
import { FakeModel, off, yes } from "./kernel";

type Slot = (sender: unknown, value: unknown) => void;

class Signal {
  readonly slots = new Set<Slot>();
  connect = (slot: Slot) => this.slots.add(slot);
  disconnect = (slot: Slot) => this.slots.delete(slot);

  emit(value?: string): void {
    for (const slot of this.slots) slot(null, value);
  }
}

/** The parts of ipywidgets and JupyterLab that tell of a kernel's end. */
class Kernel {
  readonly behind = { comm_live: true };
  readonly disposed = new Signal();
  readonly statusChanged = new Signal();
  readonly manager = { get_model: async () => this.behind, kernel: this };

  get watched(): number {
    return this.disposed.slots.size + this.statusChanged.slots.size;
  }
}

let undo = () => {};
afterEach(() => undo());

/** A widget's view, and the kernel behind it. */
function drawn(state: Record<string, unknown>, answer = yes) {
  const kernel = new Kernel();
  const model = new FakeModel({ requests: [], _id: "m", ...state }, answer);
  (model as Model).widget_manager = kernel.manager;
  const el = document.body.appendChild(document.createElement("div"));
  const unmount = mount({ model, el }, { get: () => "en" });
  undo = () => {
    unmount();
    el.remove();
  };
  return { kernel, model, unmount };
}

async function shown() {
  const made = drawn({ shows: "card", view: approval });
  await expect.element(button("Approve")).toBeEnabled();
  return made;
}

const button = (name: string) => page.getByRole("button", { name, exact: true });

async function expectGone() {
  await expect
    .element(page.getByRole("alert"))
    .toHaveTextContent("If you restarted it, run hitl.inbox()");
  for (const name of ["Approve", "Decline", "More actions"])
    expect(off(button(name).element())).toBe(true);
}

/** As after a restart: some pages throw, others lose what is sent. */
const unheard: [string, (message: PageMessage) => null][] = [
  [
    "that refuses to send",
    () => {
      throw new Error("Cannot send");
    },
  ],
  ["that loses what is sent", () => null],
];

test.each(unheard)("a restart is said at once in a page %s", async (_, answer) => {
  const { kernel, model } = await shown();
  model.answer = answer;
  kernel.behind.comm_live = false;
  model.fire("comm_live_update", undefined);
  await vi.waitFor(expectGone, { timeout: 1000 });
});

test.each(unheard)("so is the end of the connection in a page %s", async (_, answer) => {
  const { kernel, model } = await shown();
  model.answer = answer;
  kernel.disposed.emit();
  await vi.waitFor(expectGone, { timeout: 1000 });
});

test.each(unheard)("so is another's restart in a page %s", async (_, answer) => {
  const { kernel, model } = await shown();
  model.answer = answer;
  kernel.statusChanged.emit("starting");
  await vi.waitFor(expectGone, { timeout: 1000 });
});

test("work, and a comm that has come to life, are no news", async () => {
  const { kernel, model } = await shown();
  for (const status of ["busy", "idle"]) kernel.statusChanged.emit(status);
  model.fire("comm_live_update", undefined);
  await new Promise(requestAnimationFrame);
  expect(page.getByRole("alert").query()).toBeNull();
});

test("a kernel that answers after all is believed", async () => {
  const { kernel, model } = await shown();
  model.answer = () => null;
  kernel.disposed.emit();
  await vi.waitFor(expectGone, { timeout: 1000 });
  model.answer = yes;
  await expect.element(button("Approve"), { timeout: 5000 }).toBeEnabled();
  expect(page.getByRole("alert").query()).toBeNull();
});

test("a card that was taken away watches no longer", async () => {
  const { kernel, model, unmount } = await shown();
  expect(kernel.watched).toBe(2);
  unmount();
  expect(kernel.watched).toBe(0);
  expect(model.listening).toBe(0);
});

const run: RunView = {
  run_id: "run_example",
  title: "data-agent",
  state: "running",
  items: [],
  cancellable: true,
  paused: false,
  seconds: null,
  finish_reason: null,
  times: null,
};

test("a run that nothing waits in says it itself, and has no Cancel any more", async () => {
  const { kernel, model } = drawn({ shows: "panel", view: run });
  await expect.element(button("Cancel")).toBeEnabled();
  model.answer = () => null;
  kernel.disposed.emit();
  await expect
    .element(page.getByRole("alert"))
    .toHaveTextContent("If you restarted it, run hitl.inbox()");
  expect(button("Cancel").element()).toBeDisabled();
});

test("a run with a card that waits says it once", async () => {
  const { kernel, model } = drawn({ shows: "panel", view: run, requests: [approval] });
  await expect.element(button("Approve")).toBeEnabled();
  model.answer = () => null;
  kernel.disposed.emit();
  await vi.waitFor(expectGone, { timeout: 1000 });
  expect(button("Cancel").element()).toBeDisabled();
});

test("a card that is drawn again without its kernel says so, too", async () => {
  drawn({ shows: "card", view: approval }, () => {
    throw new Error("Cannot send");
  });
  await vi.waitFor(expectGone, { timeout: 1000 });
});
