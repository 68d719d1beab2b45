// What the bundle needs of an anywidget model, and the one way to ask the kernel something.
import type { KernelMessage, PageMessage } from "./generated/messages";

export interface Model {
  get(name: string): unknown;
  on(event: string, callback: (value: never) => void): void;
  off(event: string, callback: (value: never) => void): void;
  send(content: unknown): void;
  /** ipywidgets' own, in front ends that have it. */
  widget_manager?: {
    get_model?(id: string): Promise<unknown>;
    kernel?: { disposed?: Signal; statusChanged?: Signal } | null;
  };
}

/** A signal of JupyterLab's. */
interface Signal {
  connect(slot: (sender: unknown, value: unknown) => void): unknown;
  disconnect(slot: (sender: unknown, value: unknown) => void): unknown;
}

type WithoutId<M> = M extends unknown ? Omit<M, "id"> : never;
export type Question = WithoutId<PageMessage>;

/** After so long without an answer a person is told. */
export const SILENT_MS = 2000;

let counter = 0;
const page = Math.random().toString(36).slice(2, 10);

/** An id that no other message of any page has. */
export const freshId = (): string => `${page}-${++counter}`;
export const pageId = page;

/** Questions on their way, each waiting for its one answer. */
export class Port {
  readonly alive = new Liveness(this);
  private readonly waiting = new Map<string, (answer: KernelMessage) => void>();

  constructor(readonly model: Model) {
    model.on("msg:custom", this.hear);
  }

  /** Ask; `silent` is called once if no answer came in time. A late answer still counts. */
  ask(question: Question, silent: () => void): Promise<KernelMessage> {
    const id = freshId();
    return new Promise((resolve) => {
      const timer = setTimeout(silent, SILENT_MS);
      this.waiting.set(id, (answer) => {
        clearTimeout(timer);
        this.waiting.delete(id);
        resolve(answer);
      });
      try {
        this.model.send({ ...question, id });
      } catch {
        // The kernel was restarted: ipywidgets refuses to send on a comm that has gone.
        clearTimeout(timer);
        this.waiting.delete(id);
        silent();
      }
    });
  }

  close(): void {
    this.model.off("msg:custom", this.hear);
    this.waiting.clear();
    this.alive.close();
  }

  private readonly hear = (message: KernelMessage): void => {
    if (message?.type === "ack" || message?.type === "error") {
      this.alive.heard();
      this.waiting.get(message.id)?.(message);
    }
  };
}

export type Life = "unknown" | "alive" | "silent";

/** A pong is believed for so long while nobody looks away. */
const FRESH_MS = 5000;

/**
 * Whether the kernel listens. It is asked only while somebody looks at a card: when it comes into
 * view, when the pointer or the focus comes to it; and again and again only while it is silent.
 */
export class Liveness {
  state: Life = "unknown";
  /** The page knows that the kernel has gone; "silent" may also be a busy one. */
  parted = false;
  private at = Number.NEGATIVE_INFINITY;
  private asking = false;
  private lookers = new Set<object>();
  private readonly listeners = new Set<() => void>();
  private again: ReturnType<typeof setTimeout> | undefined;
  private stale: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly port: Port) {}

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Ask once for a card that was just drawn, in view or not. */
  greet(): void {
    if (this.state === "unknown" && !this.asking) this.ping();
  }

  /** Somebody looks; `who` counts until `leave`. */
  look(who: object): void {
    this.lookers.add(who);
    if (this.asking) return;
    const left = this.at + FRESH_MS - performance.now();
    if (left <= 0) this.ping();
    // Asked once more when the last pong is stale: the kernel may have gone since it came.
    else this.stale ??= setTimeout(() => this.lookAgain(), left);
  }

  private lookAgain(): void {
    this.stale = undefined;
    if (this.lookers.size > 0 && !this.asking) this.ping();
  }

  leave(who: object): void {
    this.lookers.delete(who);
  }

  heard(): void {
    this.at = performance.now();
    this.become("alive", false);
  }

  /** It is known to be gone: silent at once, until something is heard after all. */
  gone(): void {
    this.at = Number.NEGATIVE_INFINITY;
    this.become("silent", true);
    if (!this.asking) this.ping();
  }

  close(): void {
    clearTimeout(this.again);
    clearTimeout(this.stale);
    this.lookers.clear();
    this.listeners.clear();
  }

  private ping(): void {
    this.asking = true;
    const silent = () => {
      this.asking = false;
      this.become("silent");
      clearTimeout(this.again);
      this.again = setTimeout(
        () => this.lookers.size > 0 && !this.asking && this.ping(),
        SILENT_MS,
      );
    };
    this.port.ask({ type: "ping" }, silent).then(() => {
      this.asking = false;
    });
  }

  private become(state: Life, parted = this.parted): void {
    if (state === this.state && parted === this.parted) return;
    this.state = state;
    this.parted = parted;
    for (const listener of this.listeners) listener();
  }
}
