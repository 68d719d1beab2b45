// The fingerprint as a small picture: one cell per argument, coloured and patterned by its digest.
import type { Cell } from "./generated/messages";
import { useUi } from "./ui";

const HUES = 12;
const PATTERNS = 5;

/** Colour, shade and pattern of a cell: 12 × 3 × 5 looks; the digest's first 24 bits choose. */
function look(digest: string): string {
  const n = Number.parseInt(digest.slice(0, 6), 16) || 0;
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
        <i
          key={cell.label}
          class={`${look(cell.digest)}${differs(cell) ? " changed" : ""}`}
          title={cell.label}
        />
      ))}
    </span>
  );
}
