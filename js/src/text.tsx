// Model text is text: never HTML, never a link.
import { hasHidden, type Piece, reveal } from "./reveal";

/** With more pieces than this, their numbers stand in plain brackets: elements cost time. */
const MOST = 4000;

const inBrackets = ({ text, hidden }: Piece): string => (hidden ? `[${text}]` : text);

/** Text where no element can stand: hidden characters as their numbers in brackets. */
export const plain = (text: string): string => reveal(text).map(inBrackets).join("");

/** Text with hidden characters as their numbers. */
export function Revealed({ text }: { text: string }) {
  if (!hasHidden(text)) return <>{text}</>;
  const pieces = reveal(text);
  if (pieces.length > MOST) return <>{pieces.map(inBrackets).join("")}</>;
  return (
    <>
      {pieces.map((piece, i) =>
        piece.hidden ? (
          <mark key={i} class="hidden-char">
            {piece.text}
          </mark>
        ) : (
          piece.text
        ),
      )}
    </>
  );
}
