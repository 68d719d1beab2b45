// A kernel for tests and the preview: a model whose messages are answered as a test says.
import type { Ack, KernelMessage, PageMessage } from "../src/generated/messages";
import { mount } from "../src/main";
import type { Model } from "../src/model";

type Answer = (message: PageMessage) => KernelMessage | null;

export const ack = (id: string, more: Partial<Ack> = {}): Ack => ({
  type: "ack",
  id,
  session: "s1",
  receipt: null,
  form: null,
  prepared: null,
  rows: null,
  looked: null,
  outcomes: null,
  grants: null,
  ...more,
});
export const yes: Answer = ({ id }) => ack(id);

export class FakeModel implements Model {
  readonly sent: PageMessage[] = [];
  private readonly listeners = new Map<string, Set<(value: never) => void>>();

  constructor(
    private readonly state: Record<string, unknown>,
    public answer: Answer = yes,
  ) {}

  get(name: string): unknown {
    return this.state[name];
  }

  set(name: string, value: unknown): void {
    this.state[name] = value;
    this.fire(`change:${name}`, value);
  }

  on(event: string, callback: (value: never) => void): void {
    const all = this.listeners.get(event) ?? new Set();
    this.listeners.set(event, all.add(callback));
  }

  off(event: string, callback: (value: never) => void): void {
    this.listeners.get(event)?.delete(callback);
  }

  send(content: unknown): void {
    const message = content as PageMessage;
    this.sent.push(message);
    const answer = this.answer(message);
    // Over the wire an answer never comes in the same turn.
    if (answer) queueMicrotask(() => this.fire("msg:custom", answer));
  }

  /** Messages of one type that the page has sent. */
  of<T extends PageMessage["type"]>(type: T): Extract<PageMessage, { type: T }>[] {
    return this.sent.filter((m): m is Extract<PageMessage, { type: T }> => m.type === type);
  }

  get listening(): number {
    return [...this.listeners.values()].reduce((n, all) => n + all.size, 0);
  }

  fire(event: string, value: unknown): void {
    for (const callback of this.listeners.get(event) ?? []) callback(value as never);
  }
}

/** Not pressable: `aria-disabled`, where `disabled` would lose the keyboard's focus. */
export const off = (element: Element): boolean =>
  element.matches('[aria-disabled="true"], :disabled');

/** Draw a view in a new element of the page. */
export function show(
  state: Record<string, unknown>,
  { answer = yes, locale = "en" }: { answer?: Answer; locale?: string } = {},
) {
  const model = new FakeModel({ shows: "card", requests: [], ...state }, answer);
  const el = document.createElement("div");
  document.body.append(el);
  const unmount = mount({ model, el }, { get: () => locale });
  return { model, el, unmount };
}
