// Model text is text: never HTML, never a link.
import { hasHidden, type Piece, reveal } from "./reveal";

/** With more pieces than this, their numbers stand in plain brackets: elements cost time. */
const MOST = 4000;

const plain = ({ text, hidden }: Piece): string => (hidden ? `[${text}]` : text);

/** Text with hidden characters as their numbers. */
export function Revealed({ text }: { text: string }) {
  if (!hasHidden(text)) return <>{text}</>;
  const pieces = reveal(text);
  if (pieces.length > MOST) return <>{pieces.map(plain).join("")}</>;
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
