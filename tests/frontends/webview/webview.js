// VS Code's notebook webview, the part that cards meet: cells and their outputs, a kernel whose
// messages come from the extension's side, Microsoft's widget manager on top of it.
//
// Like there: no subshells (comm messages carry no subshell id); widget code comes through
// RequireJS from the kernel's `nbextensions`; a restart disposes the connection and the manager;
// every widget stands on a white backdrop, whatever the theme.
import { ServerConnection } from "@jupyterlab/services";
import { KernelConnection } from "@jupyterlab/services/lib/kernel/default";

const WIDGET = "application/vnd.jupyter.widget-view+json";
const host = new WebSocket(`${location.origin.replace("http", "ws")}/host`);
const tell = (message) => host.send(JSON.stringify(message));

// -- the kernel ----------------------------------------------------------------------------------

let options;
let socket;
let kernel;
let manager;

class HostSocket {
  protocol = "";
  // The extension's side has sent an execute request itself; here it is only mirrored.
  muted = false;

  constructor() {
    socket = this;
    setTimeout(() => this.onopen?.({ target: this }), 0);
  }

  send(data) {
    if (!this.muted) tell({ type: "message", data });
  }

  hear(data) {
    this.onmessage?.({ target: this, data, type: "message" });
  }

  close() {}
}

function connect() {
  kernel = new KernelConnection({
    serverSettings: ServerConnection.makeSettings({
      WebSocket: HostSocket,
      wsUrl: "ws://host.invalid",
    }),
    clientId: options.clientId,
    username: "person",
    model: { id: "kernel", name: options.kernel },
    handleComms: true,
    commsOverSubshells: "disabled",
  });
  const { WidgetManager } = window.vscIPyWidgets;
  manager = new WidgetManager(kernel, document.createElement("div"), loader, note);
  window.connections = (window.connections ?? 0) + 1;
}

const loader = {
  widgetsRegisteredInRequireJs: new Set(),
  errorHandler: (name, module, version, error) =>
    note(`${module} ${version} did not load: ${error?.message ?? error}`),
  successHandler: () => {},
  async loadWidgetScript(module) {
    window.requirejs.config({ paths: { [module]: `/nbextensions/${module}/index` } });
  },
};

function note(text) {
  tell({ type: "log", text: String(text) });
}

function restarted() {
  manager.dispose();
  kernel.dispose();
  connect();
}

function mirror(message) {
  socket.muted = true;
  try {
    kernel.sendShellMessage(message, false, false);
  } finally {
    socket.muted = false;
  }
}

// -- cells and outputs ---------------------------------------------------------------------------

function area(cell) {
  const id = `cell-${cell}`;
  const found = document.getElementById(id);
  if (found) return found;
  const made = document.createElement("div");
  made.id = id;
  made.className = "cell_container";
  document.getElementById("container").append(made);
  return made;
}

async function show({ cell, index, output }) {
  const outputs = area(cell);
  while (outputs.children.length <= index) {
    const container = document.createElement("div");
    container.className = "output_container";
    container.append(document.createElement("div"));
    outputs.append(container);
  }
  const container = outputs.children[index];
  const element = document.createElement("div");
  element.className = "output";
  container.replaceChildren(element);
  const data = output.data ?? {};
  if (data[WIDGET]) await showWidget(data[WIDGET], element);
  else if (data["text/html"]) element.innerHTML = data["text/html"];
  else {
    const text = document.createElement("pre");
    text.textContent = output.text ?? data["text/plain"] ?? `${output.ename}: ${output.evalue}`;
    element.append(text);
  }
}

async function showWidget(data, element) {
  element.classList.add("cell-output-ipywidget-background");
  const node = document.createElement("div");
  element.append(node);
  const owner = manager;
  try {
    while (!owner.has_model(data.model_id)) await new Promise((again) => setTimeout(again, 20));
    const model = await owner.get_model(data.model_id);
    const view = await owner.create_view(model, { el: node });
    await owner.display_view(data, view, { node });
  } catch (error) {
    note(error?.stack ?? error);
    node.textContent = `Failed to display the widget: ${error?.message ?? error}`;
  }
}

/** The box at the top of the window in which VS Code asks for a line of text. */
function askForLine({ prompt, password }) {
  const form = document.createElement("form");
  form.id = "input-box";
  const field = document.createElement("input");
  field.type = password ? "password" : "text";
  field.setAttribute("aria-label", prompt || "input");
  form.append(prompt, field);
  const answer = (value) => {
    form.remove();
    tell({ type: "line", value });
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    answer(field.value);
  });
  // Escape answers with nothing, as in VS Code.
  form.addEventListener("keydown", (event) => event.key === "Escape" && answer(""));
  document.body.append(form);
}

// -- what the host says --------------------------------------------------------------------------

const hear = {
  kernel(message) {
    options = message;
    connect();
    tell({ type: "connected" });
  },
  restarted,
  message: ({ message }) => socket.hear(JSON.stringify(message)),
  executing: ({ message }) => mirror(message),
  clear: ({ cell }) => area(cell).replaceChildren(),
  output: show,
  ask: askForLine,
  unask: () => document.getElementById("input-box")?.remove(),
  running({ count, started }) {
    window.running = count;
    window.started = started;
  },
};

async function start() {
  const { activate } = await import("/bundle/ipywidgets.js");
  await activate();
  window.vscIPyWidgets8.load();
  document.body.dataset.baseUrl = `${location.origin}/`;
  document.getElementById("container").replaceChildren();
  tell({ type: "ready" });
}

window.addEventListener("securitypolicyviolation", (event) =>
  note(`refused by the page's policy: ${event.violatedDirective} ${event.blockedURI}`),
);
host.addEventListener("message", (event) => {
  const message = JSON.parse(event.data);
  hear[message.type](message);
});
host.addEventListener("open", start);
