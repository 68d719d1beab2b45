// What every component needs, handed down by context.
import { createContext } from "preact";
import { useContext, useEffect, useReducer } from "preact/hooks";
import { type Port, pageId } from "./model";
import type { Language } from "./words";

export interface Ui extends Language {
  port: Port;
  /** Draw another widget's view into an element; returns what takes it away. */
  embed(ref: string, into: HTMLElement): () => void;
}

export const UiContext = createContext<Ui | null>(null);

export function useUi(): Ui {
  const ui = useContext(UiContext);
  if (!ui) throw new Error("hitl-widgets: a component outside of its root");
  return ui;
}

/** A function that draws the component again. */
export function useRedraw(): () => void {
  return useReducer((n: number) => n + 1, 0)[1] as () => void;
}

/** Draw again as time goes by: every second at first, then less often. */
export function useClock(since: string, on: boolean): number {
  const redraw = useRedraw();
  const age = Date.now() - Date.parse(since);
  const every = age < 100_000 ? 1000 : 30_000;
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(redraw, every);
    return () => clearInterval(timer);
  }, [on, every, redraw]);
  return Date.now();
}

let ids = 0;
/** An id for aria references and groups of radio buttons, unique on the page: each kernel's bundle
 * counts for itself, and each card is a root of its own. */
export const freshElementId = (what: string): string => `hitl-${what}-${pageId}-${++ids}`;
