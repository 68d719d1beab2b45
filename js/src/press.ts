// A press of a consenting control counts only if a person could have meant it: the control was
// visible at its place for a while, has not just moved, and the key was not already down.
import { useEffect, useRef } from "preact/hooks";

export const VISIBLE_MS = 400;
export const STILL_MS = 250;
const TICK_MS = 50;

export type Verdict = "counts" | "early" | "moved" | "held";

interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

class Watch {
  visibleSince: number | null = null;
  movedAt = Number.NEGATIVE_INFINITY;
  private place: Place | null = null;

  constructor(readonly element: HTMLElement) {}

  look(now: number): void {
    const { x, y, width, height } = this.element.getBoundingClientRect();
    // Its middle, not all of it: one that the window's edge cuts a little could never be pressed.
    const [middle, center] = [y + height / 2, x + width / 2];
    const seen =
      document.visibilityState === "visible" &&
      width > 0 &&
      middle >= 0 &&
      center >= 0 &&
      middle <= innerHeight &&
      center <= innerWidth;
    if (!seen) this.visibleSince = null;
    else this.visibleSince ??= now;
    const was = this.place;
    // A button that grows is one that moved: what is under the pointer may be another one.
    if (was && (was.x !== x || was.y !== y || was.width !== width || was.height !== height)) {
      this.movedAt = now;
    }
    this.place = { x, y, width, height };
  }

  judge(now: number): Verdict {
    this.look(now);
    // Where it is, no press would ever count: the next one is to find it in view.
    if (this.visibleSince === null) this.element.scrollIntoView({ block: "nearest" });
    if (this.visibleSince === null || now - this.visibleSince < VISIBLE_MS) return "early";
    if (now - this.movedAt < STILL_MS) return "moved";
    return "counts";
  }
}

// One timer for all controls that are on screen; none when there are none.
const watched = new Set<Watch>();
let timer: ReturnType<typeof setInterval> | undefined;

function start(watch: Watch): void {
  watched.add(watch);
  timer ??= setInterval(() => {
    const now = performance.now();
    for (const each of watched) each.look(now);
  }, TICK_MS);
}

function stop(watch: Watch): void {
  watched.delete(watch);
  if (watched.size === 0) {
    clearInterval(timer);
    timer = undefined;
  }
}

/** Handlers for a consenting button; `press` is called with what the press is worth. */
export function usePress(press: (verdict: Verdict) => void, enabled: boolean) {
  const ref = useRef<HTMLButtonElement>(null);
  const watch = useRef<Watch | null>(null);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const mine = new Watch(element);
    watch.current = mine;
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting) start(mine);
      else {
        stop(mine);
        mine.look(performance.now());
      }
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      stop(mine);
    };
  }, []);
  const fresh = useRef(false);
  return {
    ref,
    onFocus: () => {
      fresh.current = false;
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      if (event.repeat) {
        event.preventDefault();
        if (enabled && !fresh.current) press("held");
      } else fresh.current = true;
    },
    onKeyUp: (event: KeyboardEvent) => {
      // Space acts when it is released: only if it went down here.
      if (event.key === " " && !fresh.current) event.preventDefault();
      fresh.current = false;
    },
    onClick: () => {
      // Drawn so lately that nobody has begun to watch it: too early.
      if (enabled) press(watch.current?.judge(performance.now()) ?? "early");
    },
  };
}
