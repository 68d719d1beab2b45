// Approve stays off until every part that is cut, closed or scrolls was opened and reached.

export type Need = "open" | "scroll";

export class Gate {
  private readonly parts = new Map<string, { label: string; need: Need }>();
  private readonly done = new Set<string>();

  private readonly listeners = new Set<() => void>();

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    // Parts were needed before anyone listened: effects of children run first.
    listener();
    return () => this.listeners.delete(listener);
  }

  /** The part at `key` is not all in view; nothing happens if it was reached before. */
  need(key: string, label: string, need: Need): void {
    const id = `${need}:${key}`;
    if (this.parts.has(id)) return;
    this.parts.set(id, { label, need });
    if (!this.done.has(id)) this.changed();
  }

  reached(key: string, need: Need): void {
    const id = `${need}:${key}`;
    if (this.done.has(id)) return;
    this.done.add(id);
    this.changed();
  }

  was(key: string, need: Need): boolean {
    return this.done.has(`${need}:${key}`);
  }

  /** Names of the parts that are still to be reached. */
  missing(need: Need): string[] {
    const labels = [...this.parts]
      .filter(([id, part]) => part.need === need && !this.done.has(id))
      .map(([, part]) => part.label);
    return [...new Set(labels)];
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }

  get open(): boolean {
    return this.missing("open").length === 0 && this.missing("scroll").length === 0;
  }
}
