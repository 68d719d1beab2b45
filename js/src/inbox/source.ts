// The rows of one list: only those that are looked at are fetched, a block at a time.
import type { RowsDoc, RowView, SearchDoc } from "../generated/messages";
import type { Port } from "../model";

/** What can be filtered by is counted over all rows: not more often than this. */
const TALLY_MS = 3000;

/** Rows that are fetched together. */
export const BLOCK = 50;

export class Source {
  total: number | null = null;
  tally: RowsDoc["tally"] = null;
  /** The kernel has not answered in time. */
  silent = false;
  refused: string | null = null;
  private readonly blocks = new Map<number, RowView[]>();
  /** What is in view. */
  private wanted: readonly number[] = [0];
  /** In view, and shown as it was before the store changed. */
  private stale = new Set<number>();
  private busy = false;
  private changedSince = true;
  private tallied = Number.NEGATIVE_INFINITY;
  private asking: number | null = null;

  constructor(
    private readonly port: Port,
    readonly search: SearchDoc,
    private readonly changed: () => void,
  ) {}

  row(index: number): RowView | undefined {
    return this.blocks.get(Math.floor(index / BLOCK))?.[index % BLOCK];
  }

  /** The place of a request among the rows that were fetched. */
  place(id: string): number | null {
    for (const [block, rows] of this.blocks) {
      const i = rows.findIndex((row) => row.id === id);
      if (i >= 0) return block * BLOCK + i;
    }
    return null;
  }

  /** These rows are in view. */
  want(first: number, last: number): void {
    const from = Math.floor(first / BLOCK);
    this.wanted = Array.from({ length: Math.floor(last / BLOCK) - from + 1 }, (_, i) => from + i);
    this.fetch();
  }

  /** Something changed in the store: what is in view is fetched again, the rest is forgotten. */
  refresh(): void {
    for (const block of [...this.blocks.keys()])
      if (!this.wanted.includes(block)) this.blocks.delete(block);
    this.changedSince = true;
    this.stale = new Set(this.blocks.keys());
    // Its answer may be from before the change.
    if (this.asking !== null) this.stale.add(this.asking);
    this.fetch();
  }

  /** The first rows, as many as can be decided together. */
  async first(limit: number): Promise<RowView[]> {
    const answer = await this.ask(0, limit, false);
    return answer?.rows ?? [];
  }

  /** One block at a time: what was only passed by in scrolling is never asked for. */
  private async fetch(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    for (;;) {
      const block = this.wanted.find((wanted) => !this.has(wanted));
      if (block === undefined) break;
      this.asking = block;
      this.stale.delete(block);
      const found = await this.ask(block * BLOCK, BLOCK, this.toTally());
      this.asking = null;
      if (!found) break;
      this.blocks.set(block, found.rows);
      this.total = found.total;
      this.tally = found.tally ?? this.tally;
      this.changed();
    }
    this.busy = false;
  }

  private toTally(): boolean {
    const now = performance.now();
    if (!this.changedSince || now - this.tallied < TALLY_MS) return false;
    this.changedSince = false;
    this.tallied = now;
    return true;
  }

  private has(block: number): boolean {
    // Past the end there is nothing to ask for.
    const over = this.total !== null && block > 0 && block * BLOCK >= this.total;
    return over || (this.blocks.has(block) && !this.stale.has(block));
  }

  private async ask(offset: number, limit: number, tally: boolean): Promise<RowsDoc | null> {
    const question = { type: "rows", search: this.search, offset, limit, tally } as const;
    const answer = await this.port.ask(question, () => {
      this.silent = true;
      this.changed();
    });
    const was = this.silent || this.refused !== null;
    this.silent = false;
    this.refused = answer.type === "error" ? answer.words : null;
    if (was || this.refused) this.changed();
    return answer.type === "ack" ? answer.rows : null;
  }
}
