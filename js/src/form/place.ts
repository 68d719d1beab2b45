// What a field is called, and where it stands: handed down, since the form library's own titles
// repeat themselves in unions and number list items from names.
import { createContext } from "preact";

/** Set around a field by what holds it. */
export type Place =
  | { kind: "branch"; label: string }
  | { kind: "item"; label: string; index: number; named: boolean }
  | { kind: "entry" }
  | null;

export const PlaceContext = createContext<Place>(null);

export interface Called {
  label: string;
  /** Read out, but not drawn: something beside it says the same. */
  quiet: boolean;
  /** There is a description, or a hint. */
  about: boolean;
  wrong: boolean;
  /** It is required, and that is drawn beside its name. */
  star: boolean;
}

export const CalledContext = createContext<Called>({
  label: "",
  quiet: false,
  about: false,
  wrong: false,
  star: false,
});
