// Model text is text: never HTML, never a link.
import { hasHidden, reveal } from "./reveal";

/** Text with hidden characters as their numbers. */
export function Revealed({ text }: { text: string }) {
  if (!hasHidden(text)) return <>{text}</>;
  return (
    <>
      {reveal(text).map((piece, i) =>
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
