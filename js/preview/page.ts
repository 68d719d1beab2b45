// Every state on one page, light beside dark, with a kernel that answers.
import type {
  Ack,
  CallItem,
  KernelMessage,
  PageMessage,
  RequestView,
  RunView,
} from "../src/generated/messages";
import { ack, show } from "../tests/kernel";

declare const FIXTURES: Record<string, RequestView>;
const answers = FIXTURES["kernel-messages"] as unknown as KernelMessage[];

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

const over: RunView = {
  ...run,
  state: "completed",
  items: [
    call("s0", "agent-librarian", "done", { seconds: 3.1 }),
    call("s1", "find_user", "done", { seconds: 0.4, agent_path: ["data-agent", "librarian"] }),
    call("s2", "read_file", "done", {
      seconds: 1.2,
      agent_path: ["data-agent", "librarian"],
      granted: "read_file of librarian with any arguments at all, in this run only",
    }),
    { kind: "text", text: "The record is gone.", agent_path: ["data-agent"] },
  ],
  cancellable: false,
  seconds: 14.2,
  finish_reason: "stop",
  times: { model: 4.4, tools: 1.6, human: 8.2 },
};

const silent = () => null;

/** The kernel's part in edits and standing grants. */
function prepares(message: PageMessage): Ack {
  if (message.type !== "prepare") return ack(message.id);
  const of = (what: "form" | "prepared") =>
    answers.find((answer): answer is Ack => answer.type === "ack" && Boolean(answer[what]));
  if (message.draft.kind === "always")
    return ack(message.id, {
      prepared: {
        key: "p",
        args: null,
        secrets: {},
        preview: null,
        words:
          'From now on, without asking: delete_record of data-agent with exactly these arguments: id = "abc-123", table = "orders", in this run only. It ends when the tool changes, or when somebody revokes it (hitl.grants() lists all).',
      },
    });
  return {
    ...ack(""),
    ...(message.draft.kind === "edit" ? of("prepared") : of("form")),
    id: message.id,
  };
}

const later = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Press what has these names, one after the other. */
async function pressAll(el: HTMLElement, names: string[]): Promise<void> {
  for (const name of names) {
    await later(300);
    const all = [...el.querySelectorAll<HTMLElement>("button")];
    all.find((b) => b.textContent === name || b.ariaLabel === name)?.click();
  }
}

function fill(column: HTMLElement, locale: string): void {
  const title = (text: string) => {
    const head = document.createElement("h2");
    head.textContent = text;
    column.append(head);
  };
  const put = (
    name: string,
    state: Record<string, unknown>,
    options = {},
    press: string[] = [],
  ) => {
    title(name);
    const { el } = show(state, { locale, ...options });
    column.append(el);
    pressAll(el, press);
  };
  const names = ["approval", "compare", "described", "hostile", "voted", "confirm", "input"];
  for (const name of names) put(name, { view: view(name) });
  const more = (name: string, ...press: string[]) =>
    put(name, { view: view("approval") }, { answer: prepares }, ["More actions", ...press]);
  more("edit", "Edit arguments…");
  more("edit, then", "Edit arguments…", "Show the changes");
  more("always", "Always allow…");
  put("kernel silent", { view: view("approval") }, { answer: silent });
  for (const name of ["approved", "edited", "declined", "expired", "withdrawn", "stale", "unknown"])
    put(name, { view: view(name) });
  put("run, over", { shows: "panel", view: over, requests: [] });
  put("run", { shows: "panel", view: run, requests: [view("approval")] });
}

const locale = new URLSearchParams(location.search).get("locale") ?? "en";
for (const theme of ["light", "dark"]) {
  const column = document.createElement("main");
  column.className = theme;
  document.body.append(column);
  fill(column, locale);
}
