// The fingerprint as a small picture: one cell per argument, its halves coloured and patterned by
// its digest, so that two values look alike once in 32,400 times; what differs is marked besides.
import type { Cell } from "./generated/messages";
import { useUi } from "./ui";

const HUES = 12;
const PATTERNS = 5;

/** Colour, shade and pattern of half a cell: 12 × 3 × 5 looks; 24 bits of the digest choose. */
function look(digest: string, from: number): string {
  const n = Number.parseInt(digest.slice(from, from + 6), 16) || 0;
  const hue = n % HUES;
  const shade = Math.floor(n / HUES) % 3;
  const pattern = Math.floor(n / HUES / 3) % PATTERNS;
  return `h${hue} l${shade} p${pattern}`;
}

export function Strip({ cells, other }: { cells: Cell[]; other?: Cell[] | undefined }) {
  const { say } = useUi();
  if (cells.length === 0) return null;
  const before = new Map(other?.map((cell) => [cell.label, cell.digest]));
  const differs = (cell: Cell) => other !== undefined && before.get(cell.label) !== cell.digest;
  const changed = cells.filter(differs).length;
  const name = other
    ? say("fp.strip.changed", { n: cells.length, changed })
    : say("fp.strip", { n: cells.length });
  return (
    <span class="strip" role="img" aria-label={name}>
      {cells.map((cell) => (
        <span key={cell.label} class={differs(cell) ? "cell changed" : "cell"} title={cell.label}>
          <i class={look(cell.digest, 0)} />
          <i class={look(cell.digest, 6)} />
        </span>
      ))}
    </span>
  );
}
