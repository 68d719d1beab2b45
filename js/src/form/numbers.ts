// Numbers as they are typed. What JavaScript would round stays text: Python reads it.

const DECIMAL = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
const WHOLE = /^[-+]?\d+$/;

/** The number that a text means, the text itself if it means none, undefined if it is empty. */
export function fromText(text: string): number | string | undefined {
  const bare = text.trim();
  if (bare === "") return undefined;
  if (!DECIMAL.test(bare)) return text;
  const value = Number(bare);
  if (!Number.isFinite(value)) return bare;
  return WHOLE.test(bare) && !Number.isSafeInteger(value) ? bare : value;
}

/** What stands in a box. */
export const toText = (value: unknown): string =>
  value === undefined || value === null ? "" : String(value);
