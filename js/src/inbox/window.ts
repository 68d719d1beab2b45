// Which rows of a long list are in view. All are of one height, so that this is arithmetic, and no
// library's work: those measure rows, and the smallest well-kept one is a tenth of the bundle.
import { useLayoutEffect, useState } from "preact/hooks";

/** Rows that are drawn beyond those in view, so that they are there before they are seen. */
const BEYOND = 6;

export interface InView {
  first: number;
  last: number;
}

export function useInView(
  list: preact.RefObject<HTMLElement | null>,
  height: number,
  total: number,
): InView {
  const [place, setPlace] = useState({ top: 0, height: 0 });
  useLayoutEffect(() => {
    const element = list.current;
    if (!element) return;
    const look = () => {
      const top = Math.floor(element.scrollTop / height);
      const rows = Math.ceil(element.clientHeight / height);
      setPlace((was) => (was.top === top && was.height === rows ? was : { top, height: rows }));
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [list, height]);
  return {
    first: Math.max(0, Math.min(place.top, total - 1) - BEYOND),
    last: Math.min(total - 1, place.top + place.height + BEYOND),
  };
}

/** Scroll just so far that a row is in view. */
export function bringIntoView(list: HTMLElement | null, index: number, height: number): void {
  if (!list) return;
  const top = index * height;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + height > list.scrollTop + list.clientHeight)
    list.scrollTop = top + height - list.clientHeight;
}
