// Every state on one page, light beside dark, with a kernel that answers.
import type { CallItem, RequestView, RunView } from "../src/generated/messages";
import { show } from "../tests/kernel";

declare const FIXTURES: Record<string, RequestView>;

function view(name: string): RequestView {
  const found = FIXTURES[name];
  if (!found) throw new Error(`no fixture ${name}`);
  const age = Date.now() - 12_000;
  return found.state === "pending" ? { ...found, created_at: new Date(age).toISOString() } : found;
}

const call = (id: string, tool: string, status: CallItem["status"], more = {}): CallItem => ({
  kind: "call",
  id,
  tool,
  status,
  agent_path: [],
  seconds: null,
  progress: null,
  note: null,
  granted: null,
  ...more,
});

const run: RunView = {
  run_id: "run_example",
  title: "data-agent",
  state: "suspended",
  items: [
    {
      kind: "text",
      text: "I'll look the record up first, then delete it.",
      agent_path: [],
    },
    call("c0", "find_user", "done", { seconds: 0.4 }),
    call("call_example", "delete_record", "waiting"),
    call("c2", "rebuild_index", "running", { progress: 0.62, note: "62 of 100 shards" }),
    call("c3", "send_mail", "failed", { seconds: 1.2 }),
  ],
  cancellable: true,
  paused: false,
  seconds: null,
  finish_reason: null,
  times: null,
};

const silent = () => null;

function fill(column: HTMLElement, locale: string): void {
  const title = (text: string) => {
    const head = document.createElement("h2");
    head.textContent = text;
    column.append(head);
  };
  const put = (name: string, state: Record<string, unknown>, options = {}) => {
    title(name);
    column.append(show(state, { locale, ...options }).el);
  };
  for (const name of ["approval", "compare", "hostile", "confirm", "input"])
    put(name, { view: view(name) });
  put("kernel silent", { view: view("approval") }, { answer: silent });
  for (const name of ["approved", "edited", "declined", "expired", "withdrawn", "stale", "unknown"])
    put(name, { view: view(name) });
  put("run", { shows: "panel", view: run, requests: [view("approval")] });
}

const locale = new URLSearchParams(location.search).get("locale") ?? "en";
for (const theme of ["light", "dark"]) {
  const column = document.createElement("main");
  column.className = theme;
  document.body.append(column);
  fill(column, locale);
}
