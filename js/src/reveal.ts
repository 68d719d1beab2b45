// Characters that do not show, or that turn text around, become text of their own; letters that
// only look like others are found.

export interface Piece {
  text: string;
  hidden: boolean;
}

// Control, format, surrogate, private, unassigned, line and paragraph separators, whatever else is
// not drawn (variation selectors among it), and blanks that pass for an ordinary space. Tab, line
// feed and the selector that makes an emoji of a symbol are ordinary.
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{DI}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800](?<![\n\t]|\p{So}\ufe0f)/gu;

const named = (char: string): string =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** Text in pieces: as it is, or the numbers of hidden characters. */
export function reveal(text: string): Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), hidden: false });
    pieces.push({ text: named(match[0]), hidden: true });
    from = match.index + match[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), hidden: false });
  return pieces;
}

export const hasHidden = (text: string): boolean => text.search(HIDDEN) >= 0;

const WORD = /[\p{L}\p{M}\p{N}_]+/gu;
// Letters of other scripts that are drawn like Latin ones (after Unicode's confusables.txt).
const LIKE_LATIN =
  /[аеорсухіјѕһԁԛԝӏАВЕКМНОРСТУХІЈЅԌԚԜαγικνορτυχωΑΒΕΖΗΙΚΜΝΟΡΤΥΧօոսցհոՕՍᴀ-ᴢⅰⅴⅹⅼⅽⅾⅿＡ-Ｚａ-ｚ]/gu;
const LATIN = /\p{Script=Latin}/u;

/** Letters in words of mixed script that look like Latin ones, as `а (U+0430)`; none: empty. */
export function lookAlikes(text: string): string[] {
  const found = new Set<string>();
  // Almost no text holds such a letter: a megabyte is not taken apart for nothing.
  if (text.search(LIKE_LATIN) < 0) return [];
  for (const [word] of text.matchAll(WORD)) {
    if (!LATIN.test(word)) continue;
    for (const [char] of word.matchAll(LIKE_LATIN)) found.add(`${char} (${named(char)})`);
  }
  return [...found];
}
